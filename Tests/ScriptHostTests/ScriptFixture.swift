import EventLoops
import LuaHost
import ScriptHost
import Synchronization
import TestThreads
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The name of an in-memory store that no other test has, because those with the same name share their data.
func freshName() -> String { "test \(UInt64.random(in: 0 ... .max))" }

/// A script that collects the lines of `log(text)` and its reports.
final class ScriptFixture: Sendable {
    private let lines = Mutex<[String]>([])
    private let reported = Mutex<[ScriptReport]>([])
    private let traced = Mutex<String?>(nil)
    private let running = Mutex<Script?>(nil)

    /// The lines that the script has logged.
    var log: [String] { lines.withLock { $0 } }
    /// The reports of errors outside of the main chunk.
    var reports: [ScriptReport] { reported.withLock { $0 } }
    /// The traceback of an error in the main chunk.
    var traceback: String? { traced.withLock { $0 } }
    var script: Script { running.withLock { $0! } }

    /// Starts a script with this source; `main` errors are logged as `error: …`.
    init(
        _ source: String, chunk: String = "=script", isInteractive: Bool = false,
        clock: any LoopClock = SystemClock(), rights: ScriptRights = .all,
        limits: ScriptLimits = .none
    ) throws {
        let configuration = ScriptConfiguration(
            name: "test", rights: rights, limits: limits, isInteractive: isInteractive,
            clock: clock,
            report: { [self] report in reported.withLock { $0.append(report) } })
        let script = try Script(configuration) { [self] context in
            let log = context.state.makeFunction("log") { [self] call in
                let text = try call.state.describe(call[1]).description
                lines.withLock { $0.append(text) }
                return .none
            }
            context.state.globals["log"] = .function(log)
            do {
                try context.state.load(source, name: chunk).call([])
            } catch let error as LuaError {
                lines.withLock { $0.append("error: \(error.message)") }
                traced.withLock { $0 = error.traceback }
                throw error
            }
            return 0
        }
        running.withLock { $0 = script }
    }

    /// Waits for a line of the log.
    ///
    /// Returns false after a minute.
    func logs(_ line: String) -> Bool { eventually { log.contains(line) } }

    /// Interrupts the script when it has logged this line; it ends with code 130.
    func expectInterrupt(at line: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(logs(line), "\(log)", sourceLocation: sourceLocation)
        script.interrupt()
        #expect(finish() == 130, "\(log)", sourceLocation: sourceLocation)
    }

    /// Waits for the end, at most a minute, and returns the exit code.
    func finish() -> Int32? {
        let flag = Flag()
        script.whenEnded { _ in flag.set() }
        guard eventually({ flag.isSet }) else { return nil }
        return script.wait()
    }
}

/// Runs a script, which ends with this status after it has logged these lines.
@discardableResult
func expectScript(
    _ source: String, rights: ScriptRights = .all, limits: ScriptLimits = .none,
    status: Int32 = 0, logs lines: [String]? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> ScriptFixture {
    let script = try ScriptFixture(source, rights: rights, limits: limits)
    #expect(script.finish() == status, "\(script.log)", sourceLocation: sourceLocation)
    #expect(script.log == lines ?? script.log, sourceLocation: sourceLocation)
    return script
}

/// Waits until the condition is true.
///
/// Returns false after a minute.
func eventually(_ condition: () -> Bool) -> Bool {
    let clock = SystemClock()
    let deadline = clock.now() + .seconds(60)
    while !condition() {
        if clock.now() > deadline { return false }
        usleep(500)
    }
    return true
}

typealias Folder = TemporaryFolder
