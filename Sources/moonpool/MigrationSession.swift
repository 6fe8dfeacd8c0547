import EventLoops
import LuaHost
import ObjectStore
import ScriptHost
import StoreBindings

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
        json: Bool, failure: Int32 = 1,
        _ work: @escaping @Sendable (ScriptContext) throws -> Result
    ) -> Never {
        let status = ScriptRunner.run([
            (
                ScriptConfiguration(name: "migrate"),
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
        ])
        ProcessServices.exit(status)
    }

    private static func show(_ error: any Error, json: Bool, _ failure: Int32) -> Int32 {
        let (code, message) = MigrationFailure.describe(error)
        if json {
            let report = ReportValue.members([
                "error": .members(["code": .text(code), "message": .text(message)])
            ])
            ProcessServices.writeOutput(report.json + "\n")
        } else {
            ProcessServices.writeError("moonpool: \(message)\n")
        }
        return code == "interrupted" ? 130 : failure
    }
}
