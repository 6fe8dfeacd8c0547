import EventLoops
import Logging
import LuaHost
import MemoryAccounts

/// How a script is run.
public struct ScriptConfiguration: Sendable {
    /// The script's name: its thread is named `<name>-<uuid>`.
    public var name: String
    /// The script's rights.
    public var rights: ScriptRights
    /// The script's limits.
    public var limits: ScriptLimits
    /// Whether `LUA_PATH`, `LUA_CPATH` and `LUA_INIT` count.
    public var usesEnvironment: Bool
    /// Whether the loop continues when nothing is left to do, and an interrupt ends only the running code: for prompts.
    package var isInteractive: Bool
    /// Whether `os.exit(code, true)` may end the process: for programs that run one script and nothing else.
    package var endsProcess: Bool
    /// The name of the program in messages: `moonpool: …`.
    package var programName: String
    /// Where errors of observers and timers, and warnings, go.
    ///
    /// Called on the script's thread.
    public var report: @Sendable (ScriptReport) -> Void
    /// Where `print`, `io.write` and `io.stderr:write` write; nil for the standard streams.
    ///
    /// Called on the script's thread for each line with its end; for an unfinished line when the run ends.
    public var output: (@Sendable (String) -> Void)?
    /// Gets the host's own events: the script's begin and end, stores, limits, errors in observers and timers.
    public var logger: Logger
    /// The clock of its timers.
    package var clock: any LoopClock
    /// The label in brackets before each line that `print` writes, where several scripts share the output; nil for
    /// none.
    package var outputLabel: String?
    /// Adds what the host has for its scripts, before anything of them runs; for their workers as well.
    ///
    /// Called on the script's thread.
    package var prepare: (@Sendable (ScriptContext) -> Void)?
    /// The script that has started this one as a worker.
    var parent: ParentLink?
    /// The account of that script, which its workers share; nil for one of the script's own where memory is limited.
    var account: MemoryAccount?

    /// Creates a configuration: by default all rights, no limits, and reports on standard error.
    public init(
        name: String = "script", rights: ScriptRights = .all, limits: ScriptLimits = .none,
        usesEnvironment: Bool = true, logger: Logger? = nil,
        report: (@Sendable (ScriptReport) -> Void)? = nil,
        output: (@Sendable (String) -> Void)? = nil
    ) {
        self.init(
            name: name, rights: rights, limits: limits, usesEnvironment: usesEnvironment,
            isInteractive: false, logger: logger ?? ScriptLog.none,
            report: report ?? { ProcessServices.writeError($0.text) }, output: output)
    }

    /// Creates the configuration of a script that a program of this package runs.
    @_disfavoredOverload
    package init(
        name: String = "script", rights: ScriptRights = .all, limits: ScriptLimits = .none,
        usesEnvironment: Bool = true,
        isInteractive: Bool = false, endsProcess: Bool = false, programName: String = "moonpool",
        logger: Logger = ScriptLog.none, clock: any LoopClock = SystemClock(),
        report: @escaping @Sendable (ScriptReport) -> Void = {
            ProcessServices.writeError($0.text)
        },
        output: (@Sendable (String) -> Void)? = nil
    ) {
        self.name = name
        self.rights = rights
        self.limits = limits
        self.output = output
        self.usesEnvironment = usesEnvironment
        self.isInteractive = isInteractive
        self.endsProcess = endsProcess
        self.programName = programName
        self.logger = logger
        self.clock = clock
        self.report = report
    }

    /// For scripts of strangers: nothing outside of the script but these files, 64 MiB, 5 seconds for each run.
    public static func sandboxed(
        files: FileRights = .none, limits: ScriptLimits = .sandboxed
    ) -> ScriptConfiguration {
        ScriptConfiguration(
            rights: .sandboxed(files: files), limits: limits, usesEnvironment: false)
    }

    /// For scripts of strangers: nothing outside of the script, 64 MiB, 5 seconds for each run.
    public static var sandboxed: ScriptConfiguration { sandboxed() }
}
