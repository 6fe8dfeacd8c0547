import EventLoops
import LuaHost

/// How a script is run.
public struct ScriptConfiguration: Sendable {
    /// What the script is called: its thread is named `<name>-<uuid>`.
    public var name: String
    /// Which of Lua's libraries it has.
    public var libraries: LuaLibraries
    /// Whether `LUA_PATH`, `LUA_CPATH` and `LUA_INIT` count.
    public var usesEnvironment: Bool
    /// Whether the loop goes on when nothing is left to do, and an interrupt ends only the code that runs: for prompts.
    public var isInteractive: Bool
    /// Whether `os.exit(code, true)` may end the process: for programs that run one script and nothing else.
    public var endsProcess: Bool
    /// What the name of the program is in messages: `moonpool: …`.
    public var programName: String
    /// Where errors of observers and timers, and warnings, go.
    ///
    /// Called on the script's thread.
    public var report: @Sendable (ScriptReport) -> Void
    /// The clock of its timers.
    public var clock: any LoopClock

    /// Makes a configuration with the usual settings: all libraries, reports on standard error.
    public init(
        name: String, libraries: LuaLibraries = .all, usesEnvironment: Bool = true,
        isInteractive: Bool = false, endsProcess: Bool = false, programName: String = "moonpool",
        clock: any LoopClock = SystemClock(),
        report: @escaping @Sendable (ScriptReport) -> Void = { ProcessServices.writeError($0.text) }
    ) {
        self.name = name
        self.libraries = libraries
        self.usesEnvironment = usesEnvironment
        self.isInteractive = isInteractive
        self.endsProcess = endsProcess
        self.programName = programName
        self.clock = clock
        self.report = report
    }
}
