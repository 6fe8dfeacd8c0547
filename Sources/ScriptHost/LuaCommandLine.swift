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
