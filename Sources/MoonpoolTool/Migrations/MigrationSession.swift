import EventLoops
import LuaHost
import ObjectStore
import REPL
import ScriptHost
import StoreBindings
import Synchronization

/// Runs the work of a migration command on the thread of a script, where its Lua code belongs.
///
/// Ctrl-C stops that code, and with it the transaction.
enum MigrationSession {
    /// What a command has to say in the end.
    struct Result {
        /// For programs.
        var report: ReportValue
        /// For people; nothing where it was said already.
        var lines: [String] = []
        var exitCode: Int32 = 0
    }

    /// Runs it and ends the process with the exit code; an error is shown, and counts as `failure`.
    static func run(
        json: Bool, failure: Int32 = 1, notice: WaitNotice? = nil,
        _ work: @escaping @Sendable (ScriptContext) throws -> Result
    ) -> Never {
        var configuration = ScriptConfiguration(name: "migrate")
        configuration.prepare = { InspectFunction.install(in: $0) }
        let jobs: [ScriptRunner.Job] = [
            (
                configuration,
                { @Sendable context in
                    do {
                        let result = try context.entry { () throws in try work(context) }
                        if json {
                            ProcessServices.writeOutput(result.report.json + "\n")
                        } else if !result.lines.isEmpty {
                            ProcessServices.writeOutput(
                                result.lines.joined(separator: "\n") + "\n")
                        }
                        return result.exitCode
                    } catch {
                        return show(error, json: json, failure)
                    }
                }
            )
        ]
        ProcessServices.exit(
            ScriptRunner.run(jobs) { loop in
                guard let notice else { return nil }
                return loop.timer(
                    after: .milliseconds(500), every: .milliseconds(500), keepsAlive: false
                ) { notice.look() }
            })
    }

    /// What a program reads that has called a command with words that it does not know.
    static func report(usage message: String) -> String { report("invalid_argument", message, []) }

    private static func report(
        _ code: String, _ message: String, _ applied: [ReportValue]
    ) -> String {
        ReportValue.members([
            "error": .members(["code": .text(code), "message": .text(message)]),
            "applied": .array(applied),
        ]).json + "\n"
    }

    private static func show(_ error: any Error, json: Bool, _ failure: Int32) -> Int32 {
        let (code, message) = MigrationFailure.describe(error)
        if json {
            let applied = (error as? MigrationFailure)?.applied ?? []
            ProcessServices.writeOutput(report(code, message, applied))
        } else {
            ProcessServices.writeError("moonpool: \(message)\n")
        }
        return code == "interrupted" ? 130 : failure
    }
}

/// Says, once, that another process has to be waited for.
final class WaitNotice: Sendable {
    private enum State { case idle, waiting, due, said }
    private let state = Mutex(State.idle)
    private let store: String

    /// For a store.
    init(_ store: String) { self.store = store }

    /// Called by the thread that waits, before and after.
    func note(isWaiting: Bool) {
        state.withLock { state in if state != .said { state = isWaiting ? .waiting : .idle } }
    }

    /// Called now and then by another thread: what has waited from one look to the next takes its time.
    func look() {
        let isDue = state.withLock { state in
            defer {
                if state == .waiting { state = .due } else if state == .due { state = .said }
            }
            return state == .due
        }
        if isDue {
            ProcessServices.writeError(
                "moonpool: waiting for another process that is writing to '\(store)'\n")
        }
    }
}
