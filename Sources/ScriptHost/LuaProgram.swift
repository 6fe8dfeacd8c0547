import EventLoops
import LuaHost
import SystemCalls

/// Runs the command line of `lua` in a running script.
///
/// Messages go to standard error in the format of `lua`, but with the name of this program.
package struct LuaProgram {
    private let context: ScriptContext
    private let line: LuaCommandLine

    /// Creates a program for a command line, on the script's thread.
    package init(_ line: LuaCommandLine, in context: ScriptContext) {
        self.line = line
        self.context = context
    }

    /// Runs `LUA_INIT`, the steps and the script until the first error; returns false after an error.
    ///
    /// An interrupt is rethrown, because it ends more than the main part.
    package func run() throws -> Bool {
        setArguments()
        guard try runInit() else { return false }
        for step in line.steps {
            guard try run(step) else { return false }
        }
        switch line.source {
        case .file(let path): return try runFile(path)
        case .standardInput: return try runFile(nil)
        case .none: return true
        }
    }

    /// Runs standard input as a script.
    package func runStandardInput() throws -> Bool { try runFile(nil) }

    /// Sets the table `arg`: the script's name at 0, its arguments from 1 on, and the words before it at negative
    /// indexes.
    private func setArguments() {
        let arguments = context.state.makeTable()
        let script = line.script < line.words.count ? line.script : 0
        for (index, word) in line.words.enumerated() {
            arguments[index - script] = .text(word)
        }
        context.state.globals["arg"] = .table(arguments)
    }

    private func runInit() throws -> Bool {
        if line.ignoresEnvironment || !context.configuration.usesEnvironment { return true }
        let names = ["LUA_INIT_5_4", "LUA_INIT"]
        guard let name = names.first(where: { ProcessServices.environment($0) != nil }),
            let text = ProcessServices.environment(name)
        else { return true }
        if text.hasPrefix("@") { return try runFile(String(text.dropFirst()), arguments: []) }
        return try runChunk(text, name: "=\(name)")
    }

    private func run(_ step: LuaCommandLine.Step) throws -> Bool {
        switch step {
        case .warnings:
            context.state.setWarnings(true)
            return true
        case .execute(let chunk):
            return try runChunk(chunk, name: "=(command line)")
        case .require(let module, let global):
            return try attempt {
                let result = try context.state.call(
                    context.state.globals["require"], [.text(module)])
                context.state.globals[global] = result.first ?? .nil
            }
        }
    }

    private func runChunk(_ text: String, name: String) throws -> Bool {
        try attempt { try context.state.load(text, name: name).callAsChunk() }
    }

    /// Runs a file loaded with Lua's own `loadfile`.
    ///
    /// Lines that begin with `#`, binary chunks and messages are therefore handled as in `lua`, and standard input is
    /// the stream that the script continues to read.
    private func runFile(_ path: String?, arguments: [LuaValue]? = nil) throws -> Bool {
        try attempt {
            let loaded = try context.loadFile.call(path.map { [.text($0)] } ?? [])
            guard let chunk = loaded.first?.function else {
                let message = loaded.dropFirst().first?.text ?? "cannot load \(path ?? "stdin")"
                throw LoadFailure(message: message)
            }
            try chunk.callAsChunk(arguments ?? scriptArguments())
        }
    }

    /// Returns the script's arguments `...`: as in `lua`, the current content of the table `arg`, not the command line.
    private func scriptArguments() throws -> [LuaValue] {
        guard let arguments = context.state.globals["arg"].table else {
            throw LoadFailure(message: "'arg' is not a table")
        }
        return arguments.array
    }

    private struct LoadFailure: Error { let message: String }

    private func attempt(_ body: @escaping () throws -> Void) throws -> Bool {
        var outcome: (any Error)?
        do throws(LuaError) {
            try context.belowNativeFrame { do { try body() } catch { outcome = error } }
        } catch {
            // The body stores its own errors, so `error` is an interrupt that arrived between its calls.
            outcome = outcome ?? error
        }
        // After `return os.exit()`, no instruction is left that an interrupt could stop.
        if context.isExiting { return false }
        switch outcome {
        case nil: return true
        case let error as LoadFailure: show(error.message)
        case let error as LuaError:
            show(Self.message(error))
            if error.kind == .interrupted { throw error }
        case let error?: show("\(error)")
        }
        return false
    }

    private func show(_ message: String) {
        ProcessServices.flushOutput()
        ProcessServices.writeError("\(context.configuration.programName): \(message)\n")
    }

    /// Returns the message in the format of `lua`, with a traceback if `lua` prints one.
    package static func message(_ error: LuaError) -> String {
        guard let traceback = error.traceback else { return error.message }
        return "\(error.message)\n\(traceback)"
    }
}

/// A command line of `lua`, parsed as `lua` does.
package struct LuaCommandLine: Equatable, Sendable {
    /// A step before the script, in the given order.
    package enum Step: Equatable, Sendable {
        /// Run a chunk: `-e chunk`.
        case execute(String)
        /// Load a module: `-l name` or `-l global=name`.
        case require(module: String, global: String)
        /// Turn warnings on: `-W`.
        case warnings
    }

    /// The source of the script.
    package enum Source: Equatable, Sendable {
        /// A file.
        case file(String)
        /// Standard input, given as `-`.
        case standardInput
        /// No source: a prompt at a terminal, otherwise standard input, unless the command line has only `-e` or `-v`.
        case none
    }

    /// The steps before the script.
    package var steps: [Step] = []
    /// The source of the script.
    package var source = Source.none
    /// The arguments of the script.
    package var arguments: [String] = []
    /// All words, starting with the name of the program; `script` is the index of the script.
    package var words: [String]
    /// The index of the script's name in `words`; the number of words if there is no script.
    package var script: Int
    /// Whether a prompt follows the script: `-i`.
    package var isInteractive = false
    /// Whether to print the version first: `-v`, or implied by `-i`.
    package var showsVersion = false
    /// Whether to ignore environment variables: `-E`.
    package var ignoresEnvironment = false

    /// Whether the prompt skips `init.lua`: `--no-rc`.
    ///
    /// This is not an option of `lua`.
    package var skipsInitFile = false

    /// The rights, limits and reports of the script.
    ///
    /// These are not options of `lua`.
    package var host = HostOptions()

    /// Whether the command line contains `-e`.
    package var hasChunks: Bool {
        steps.contains { if case .execute = $0 { true } else { false } }
    }

    /// The error of a word that is not a valid option.
    package struct UsageError: Error, Equatable {
        /// The invalid word.
        package let option: String
        /// Whether the option lacks its argument.
        package let needsArgument: Bool
        /// A description of the problem in one line.
        package let problem: String

        init(option: String, needsArgument: Bool = false, problem: String? = nil) {
            self.option = option
            self.needsArgument = needsArgument
            self.problem =
                problem
                ?? (needsArgument
                    ? "'\(option)' needs argument" : "unrecognized option '\(option)'")
        }
    }

    /// Parses the words of a command line, starting with the name of the program.
    package init(_ words: [String]) throws(UsageError) {
        self.words = words
        script = 1
        try read(from: 1)
    }

    /// Parses options, a script and its arguments after a source that is a data file or a store.
    package mutating func readAfterSource() throws(UsageError) {
        source = .none
        arguments = []
        try read(from: min(script + 1, words.count))
    }

    private mutating func read(from start: Int) throws(UsageError) {
        var index = start
        reading: while index < words.count {
            let word = words[index]
            guard word.first == "-" else { break }
            switch word {
            case "-":
                break reading
            case "--":
                index += 1
                break reading
            case "-E": ignoresEnvironment = true
            case "--no-rc": skipsInitFile = true
            case "-W": steps.append(.warnings)
            case "-v": showsVersion = true
            case "-i":
                isInteractive = true
                showsVersion = true
            case _ where word.hasPrefix("-e") || word.hasPrefix("-l"):
                var argument = String(word.dropFirst(2))
                if argument.isEmpty {
                    index += 1
                    // As in `lua`, a word that begins with a dash is not accepted as an argument, because the argument
                    // is probably missing.
                    guard index < words.count, words[index].first != "-" else {
                        throw UsageError(option: word, needsArgument: true)
                    }
                    argument = words[index]
                }
                steps.append(word.hasPrefix("-e") ? .execute(argument) : Self.require(argument))
            default:
                let isTaken = try host.take(word) {
                    index += 1
                    return index < words.count && words[index].first != "-" ? words[index] : nil
                }
                if !isTaken { throw UsageError(option: word) }
            }
            index += 1
        }
        script = index
        if index < words.count {
            source =
                words[index] == "-" && words[index - 1] != "--"
                ? .standardInput : .file(words[index])
            arguments = Array(words[(index + 1)...])
        }
    }

    private static func require(_ argument: String) -> Step {
        guard let equals = argument.firstIndex(of: "=") else {
            return .require(module: argument, global: argument)
        }
        return .require(
            module: String(argument[argument.index(after: equals)...]),
            global: String(argument[..<equals]))
    }
}
