import ArgumentParser
import ScriptHost

/// The command options that restrict scripts.
///
/// The script host parses them, as in a command line of `lua`.
struct HostOptionGroup: ParsableArguments {
    @Flag(help: "Deny access to files, programs and C modules; limit memory to 256M.")
    var sandbox = false

    @Option(
        help: ArgumentHelp(
            "Allow sandboxed scripts to use this folder. Repeatable.", valueName: "folder"),
        completion: .directory)
    var allow: [String] = []

    @Flag(help: "Open store files read-only.")
    var readOnly = false

    @Option(
        help: ArgumentHelp(
            "Memory limit for the script and its workers, such as 64M.", valueName: "size"))
    var memory: String?

    @Option(
        help: ArgumentHelp(
            "Memory beyond which the system ends the process, such as 1G.", valueName: "size"))
    var memoryHard: String?

    @Option(
        help: ArgumentHelp(
            "Time limit for a script and for each later callback, such as 5s.", valueName: "time"))
    var timeLimit: String?

    @Option(
        help: ArgumentHelp(
            "Total time limit for a script, including its callbacks and waits, such as 60s.",
            valueName: "time"))
    var totalTimeLimit: String?

    @Option(
        help: ArgumentHelp(
            "Log host events to standard error: debug, info, warning or error.",
            valueName: "level"))
    var logLevel: String?

    @Flag(help: "Allow moonpool attach to open a prompt in the scripts.")
    var attachable = false

    @Option(
        help: ArgumentHelp(
            "The path of the socket for --attachable.", valueName: "path"),
        completion: .file())
    var socket: String?

    /// Returns the options, parsed by the script host.
    ///
    /// Throws a validation error with the name of the invalid option.
    var options: HostOptions {
        get throws {
            var words: [String] = []
            if sandbox { words.append("--sandbox") }
            if readOnly { words.append("--read-only") }
            words += allow.map { "--allow=" + $0 }
            if let memory { words.append("--memory=" + memory) }
            if let memoryHard { words.append("--memory-hard=" + memoryHard) }
            if let timeLimit { words.append("--time-limit=" + timeLimit) }
            if let totalTimeLimit { words.append("--total-time-limit=" + totalTimeLimit) }
            if let logLevel { words.append("--log-level=" + logLevel) }
            if attachable { words.append("--attachable") }
            if let socket {
                guard attachable else {
                    throw ValidationError("--socket requires --attachable")
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
