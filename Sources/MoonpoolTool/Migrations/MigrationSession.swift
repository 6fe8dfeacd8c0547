import EventLoops
import LuaHost
import ObjectStore
import REPL
import ScriptHost
import StoreBindings

/// Runs a migration command on a script's thread, because migrations run Lua code.
///
/// Ctrl-C and SIGTERM stop this code and roll back its transaction. Output of migrations goes to standard error, so
/// that standard output contains only the report.
enum MigrationSession {
    /// The final report of a command.
    struct Result {
        /// The report for programs.
        var report: ReportValue
        /// The lines of the text report; empty if they were already printed.
        var lines: [String] = []
        var exitCode: Int32 = 0
        /// Whether the lines are in a requested format and precede the report.
        var isFormatted = false

        /// Writes the report for programs or for people to standard output.
        fileprivate func show(json: Bool) {
            if json && !isFormatted {
                ProcessServices.writeOutput(report.json + "\n")
            } else if !lines.isEmpty {
                ProcessServices.writeOutput(lines.joined(separator: "\n") + "\n")
            }
        }
    }

    /// Runs the work and ends the process with the exit code.
    ///
    /// An error is printed, and the exit code is `failure`. A command that writes findings in a format also writes the
    /// error as one.
    static func perform(
        json: Bool, failure: Int32 = 1, format: FindingFormat? = nil,
        _ work: @escaping @Sendable (ScriptContext) throws -> Result
    ) -> Never {
        ProcessServices.reserveOutput()
        var configuration = ScriptConfiguration(name: "migrate")
        configuration.prepare = { context in
            InspectFunction.install(in: context)
            // The error is ignored: the code only assigns globals, which fails only without memory, and then the script
            // fails anyway.
            _ = try? context.state.run(redirection)
        }
        let main = { @Sendable (context: ScriptContext) -> Int32 in
            var outcome: Swift.Result<Result, any Error>?
            do throws(LuaError) {
                // Ctrl-C and SIGTERM interrupt all phases of a call from the script.
                try context.belowNativeFrame { outcome = .init { try work(context) } }
            } catch {
                // Work that has finished ignores a late interruption.
                outcome = outcome ?? .failure(error)
            }
            switch outcome ?? .failure(LuaInterrupted()) {
            case .success(let result):
                result.show(json: json)
                return result.exitCode
            case .failure(let error): return show(error, json: json, format, failure)
            }
        }
        ProcessServices.exit(
            ScriptRunner.run([(configuration, main)], rollingBackOnTermination: true))
    }

    /// Runs the work with each store; the exit code is the highest one.
    static func each(
        _ stores: [String], _ work: (String) throws -> Result
    ) throws -> Result {
        var lines: [String] = []
        var reports: [ReportValue] = []
        var code: Int32 = 0
        for store in stores {
            let result: Result
            do {
                result = try work(store)
            } catch {
                let (errorCode, message) = MigrationFailure.describe(error)
                if errorCode == "interrupted" { throw error }
                result = Result(
                    report: .members([
                        "error": .members(["code": .text(errorCode), "message": .text(message)])
                    ]), lines: ["error: \(message)"], exitCode: 1)
            }
            lines.append("\(store):")
            lines += result.lines.map { "  \($0)" }
            reports.append(.members(["store": .text(store), "report": result.report]))
            code = max(code, result.exitCode)
        }
        return Result(
            report: .members(["stores": .array(reports)]), lines: lines, exitCode: code)
    }

    /// Returns the JSON of an error in the command line.
    static func report(usage message: String) -> String {
        ReportValue.members([
            "error": .members(["code": .text("invalid_argument"), "message": .text(message)]),
            "applied": .array([]),
        ]).json + "\n"
    }

    private static func report(_ error: any Error) -> String {
        let (code, message) = MigrationFailure.describe(error)
        let failure = error as? MigrationFailure
        return ReportValue.members([
            "error": .members([
                "code": .text(code), "message": .text(message),
                "file": failure.map { .text($0.file.path) } ?? .null,
                "line": failure?.line.map(ReportValue.count) ?? .null,
                "number": failure.map { .count($0.file.number) } ?? .null,
                "object": failure?.object.map(ReportValue.text) ?? .null,
            ]),
            "applied": .array((failure?.applied ?? []).map(\.value)),
        ]).json + "\n"
    }

    private static func show(
        _ error: any Error, json: Bool, _ format: FindingFormat?, _ failure: Int32
    ) -> Int32 {
        let (code, message) = MigrationFailure.describe(error)
        if json {
            ProcessServices.writeOutput(report(error))
        } else {
            if let format, format != .text, code != "interrupted" {
                let finding = MigrationFinding(error, in: [])
                ProcessServices.writeOutput(
                    format.text([finding], suite: "migrate", passed: []) + "\n")
            }
            ProcessServices.writeError("moonpool: \(message)\n")
        }
        guard code == "interrupted" else { return failure }
        return interruptedExitCode
    }

    /// The exit code after SIGTERM or Ctrl-C.
    static var interruptedExitCode: Int32 { ScriptRunner.isTerminated ? 143 : 130 }

    /// A Lua chunk that writes output of scripts, which goes to standard error, without delay, and refuses `os.exit`.
    private static let redirection = """
        io.stdout:setvbuf "no"
        os.exit = function() error("os.exit ends the process; a script returns or raises an error", 2) end
        """
}
