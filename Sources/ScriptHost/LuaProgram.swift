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
