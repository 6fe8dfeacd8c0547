/// The options of `lua`, as `lua` reads them.
package struct LuaCommandLine: Equatable, Sendable {
    /// A step before the script, in the order given.
    package enum Step: Equatable, Sendable {
        /// `-e chunk`.
        case execute(String)
        /// `-l name` or `-l global=name`.
        case require(module: String, global: String)
        /// `-W`: warnings on from here on.
        case warnings
    }

    /// Where the script comes from.
    package enum Source: Equatable, Sendable {
        /// A file.
        case file(String)
        /// Standard input, given as `-`.
        case standardInput
        /// Nothing was named: a prompt at a terminal, else standard input, unless `-e` or `-v` was all there was to do.
        case none
    }

    /// The steps before the script.
    package var steps: [Step] = []
    /// Where the script comes from.
    package var source = Source.none
    /// The script's own arguments.
    package var arguments: [String] = []
    /// All words, the program's name first; `script` is the script's index among them.
    package var words: [String]
    /// The index in `words` of the script's name; their number when there is none.
    package var script: Int
    /// `-i`: a prompt afterwards.
    package var isInteractive = false
    /// `-v`, or `-i` by implication: shows the version first.
    package var showsVersion = false
    /// `-E`: the environment's variables do not count.
    package var ignoresEnvironment = false

    /// `--no-rc`: the prompt does not run `init.lua`.
    ///
    /// Not an option of `lua`.
    package var skipsInitFile = false

    /// The script's rights, limits and reports.
    ///
    /// Not options of `lua`.
    package var host = HostOptions()

    /// Whether there is an `-e`.
    package var hasChunks: Bool {
        steps.contains { if case .execute = $0 { true } else { false } }
    }

    /// A word that is not an option.
    package struct UsageError: Error, Equatable {
        /// The word.
        package let option: String
        /// Whether its argument is what is missing.
        package let needsArgument: Bool
        /// The problem, in one line.
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

    /// Reads the words of a command line, the program's name first.
    package init(_ words: [String]) throws(UsageError) {
        self.words = words
        script = 1
        try read(from: 1)
    }

    /// Reads what follows the source as options, a script and its arguments: the source is a file of data.
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
                    // As in lua: an argument that begins with a dash is an option that was forgotten an argument.
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
