import ArgumentParser
import ScriptHost

/// What confines scripts, for commands: the same words as before a script's name, read by the same code.
struct HostOptionGroup: ParsableArguments {
    @Flag(help: "No file, program or C module, and 256M of memory at most.")
    var sandbox = false

    @Option(
        help: ArgumentHelp(
            "What sandboxed scripts may use all the same. Repeatable.", valueName: "folder"),
        completion: .directory)
    var allow: [String] = []

    @Flag(help: "Open the files of stores for reading only.")
    var readOnly = false

    @Option(help: ArgumentHelp("The most memory that Lua values may take: 64M.", valueName: "size"))
    var memory: String?

    @Option(
        help: ArgumentHelp(
            "The longest that a script, an observer or a timer may run: 5s.", valueName: "time"))
    var timeLimit: String?

    @Option(
        help: ArgumentHelp(
            "What the host does, on standard error: debug, info, warning, error.",
            valueName: "level"))
    var logLevel: String?

    @Flag(help: "Let moonpool attach look into the scripts.")
    var attachable = false

    @Option(
        help: ArgumentHelp(
            "The path of the socket for that, if not the usual one.", valueName: "path"),
        completion: .file())
    var socket: String?

    /// The words as options of the host.
    ///
    /// Throws what the parser shows: which one makes no sense, and what would.
    var options: HostOptions {
        get throws {
            var words: [String] = []
            if sandbox { words.append("--sandbox") }
            if readOnly { words.append("--read-only") }
            words += allow.map { "--allow=" + $0 }
            if let memory { words.append("--memory=" + memory) }
            if let timeLimit { words.append("--time-limit=" + timeLimit) }
            if let logLevel { words.append("--log-level=" + logLevel) }
            if attachable { words.append("--attachable") }
            if let socket {
                guard attachable else {
                    throw ValidationError("'--socket' is for '--attachable'")
                }
                words.append("--attachable=" + socket)
            }
            do throws(LuaCommandLine.UsageError) {
                return try HostOptions(words)
            } catch {
                throw ValidationError(error.problem)
            }
        }
    }

    func validate() throws { _ = try options }
}
