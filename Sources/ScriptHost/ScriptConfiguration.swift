import EventLoops
import Logging
import LuaHost
import MemoryAccounts
import SystemCalls

/// The configuration of a script.
public struct ScriptConfiguration: Sendable {
    /// The name of the script; its thread has the name `<name>-<uuid>`.
    public var name: String
    /// The rights of the script.
    public var rights: ScriptRights
    /// The limits of the script.
    public var limits: ScriptLimits
    /// Whether the variables `LUA_PATH`, `LUA_CPATH` and `LUA_INIT` apply.
    public var usesEnvironment: Bool
    /// Whether the loop continues when it is idle, and an interrupt ends only the running code, as at a prompt.
    package var isInteractive: Bool
    /// Whether `os.exit(code, true)` can end the process, for programs that only run one script.
    package var endsProcess: Bool
    /// The name of the program in messages: `moonpool: …`.
    package var programName: String
    /// Receives errors of observers and timers, and warnings.
    ///
    /// Called on the script's thread.
    public var report: @Sendable (ScriptReport) -> Void
    /// Receives the output of `print`, `io.write` and `io.stderr:write`; nil for the standard streams.
    ///
    /// Called on the script's thread for each line, including the line break, and for an unfinished line at the end of
    /// a run.
    public var output: (@Sendable (String) -> Void)?
    /// Receives events of the host: the start and the end of scripts, stores, limits, errors in observers and timers.
    public var logger: Logger
    /// The clock of the script's timers.
    package var clock: any LoopClock
    /// The time after a commit of another process until the script checks for the next ones; zero for none.
    package var commitPause = Duration.zero
    /// The label in brackets before each line that `print` writes, if several scripts share the output; nil for none.
    package var outputLabel: String?
    /// Adds the functions of the host before any code of the script, or of one of its workers, runs.
    ///
    /// Called on the script's thread.
    package var prepare: (@Sendable (ScriptContext) -> Void)?
    /// The script that has started this script as a worker; nil for other scripts.
    var parent: ParentLink?
    /// The memory account of the parent, which workers share; nil for a script with its own account.
    var account: MemoryAccount?

    /// Creates a configuration; by default, with all rights, no limits, and reports on standard error.
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

    /// Returns a configuration for untrusted scripts: access only to these files, 64 MiB, 5 seconds for each run.
    public static func sandboxed(
        files: FileRights = .none, limits: ScriptLimits = .sandboxed
    ) -> ScriptConfiguration {
        ScriptConfiguration(
            rights: .sandboxed(files: files), limits: limits, usesEnvironment: false)
    }

    /// A configuration for untrusted scripts: no access outside of the script, 64 MiB, 5 seconds for each run.
    public static var sandboxed: ScriptConfiguration { sandboxed() }
}
