import ArgumentParser
import EventLoops
import ObjectStore
import ScriptHost
import StoreBindings

/// The command `moonpool migrate status STORE --dir DIR`.
struct MigrateStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show applied and pending migrations.",
        discussion: """
            With a pattern of stores, such as 'tenants/*.moonpool', prints a table with one line for each store, and then \
            the problems.
            """)

    @OptionGroup var location: MigrationLocation

    func run() throws {
        let location = location
        let pattern = StorePattern(location.store)
        MigrationSession.perform(json: location.json) { context in
            guard pattern.isPattern else {
                let state = try location.runner(context).state()
                return .init(report: state.report, lines: state.lines)
            }
            return try Self.table(pattern, location, context)
        }
    }

    private static func table(
        _ pattern: StorePattern, _ location: MigrationLocation, _ context: ScriptContext
    ) throws -> MigrationSession.Result {
        var states: [(store: String, state: MigrationState)] = []
        var reports: [ReportValue] = []
        var problems: [String] = []
        var errors = 0
        // An error in the folder is reported once, not for each store.
        _ = try MigrationDirectory(location.folder, context.storeModule)
        for store in try pattern.requirePaths() {
            do {
                let state = try location.runner(context, for: store).state()
                states.append((store, state))
                problems += state.problems.map { "\(store): \($0)" }
                reports.append(.members(["store": .text(store), "report": state.report]))
            } catch {
                let (code, message) = MigrationFailure.describe(error)
                if code == "interrupted" { throw error }
                errors += 1
                problems.append("\(store): \(message)")
                reports.append(
                    .members([
                        "store": .text(store),
                        "error": .members(["code": .text(code), "message": .text(message)]),
                    ]))
            }
        }
        var counts = MigrationState.Condition.allCases.map { condition in
            (condition.rawValue, states.count { $0.state.condition == condition })
        }
        counts.append(("error", errors))
        let summary = counts.filter { $0.1 > 0 }
            .map { "\($0.1) \($0.0.replacing("_", with: " "))" }
        let total = states.count + errors
        return .init(
            report: .members([
                "stores": .array(reports),
                "summary": .object(counts.map { .init($0.0, .count($0.1)) }),
            ]),
            lines: MigrationText.table(states) + problems + [
                "\(total) store\(total == 1 ? "" : "s"): " + summary.joined(separator: ", ")
            ], exitCode: errors == 0 ? 0 : 1)
    }
}

/// The command `moonpool migrate check STORE --dir DIR`.
struct MigrateCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract:
            "Check whether a store is up to date and its pending migrations work.",
        discussion: """
            Compiles every pending file and applies it to a copy of the store. The exit code is 0 if the store is up to \
            date, 1 if migrations are pending, and 2 after an error. Errors are: a pending file does not compile or fails; the \
            schema was changed outside of the migrations; an applied migration was edited (except comments and white space); \
            the store is newer than the folder; there is no store. With --fail-on, the exit code is 3 if a pending migration drops or rewrites \
            values.
            """)

    @OptionGroup var location: MigrationLocation
    @OptionGroup var gate: MigrationGate
    @OptionGroup var output: FindingOptions

    func run() throws {
        let command = self
        let pattern = StorePattern(location.store)
        MigrationSession.perform(json: location.json, failure: 2, format: output.format) {
            context in
            guard pattern.isPattern else { return try command.check(context) }
            return try command.check(pattern, context)
        }
    }

    /// The result of checking one store.
    private struct Outcome {
        var state: MigrationState
        var findings: [MigrationFinding]
        var code: Int32

        /// The lines of the text report.
        var lines: [String] {
            let gated = findings.filter { [.drops, .rewrites].contains($0.kind) }
            return (state.problems.isEmpty ? [state.summary] : state.lines)
                + gated.map { "\($0.path ?? ""): \($0.message)" }
        }
    }

    private func outcome(_ store: String, _ context: ScriptContext) throws -> Outcome {
        let (state, findings, rehearsal) = try location.runner(context, for: store).check()
        let gated = rehearsal.map { MigrationFinding.gated($0, gate.kinds) } ?? []
        return Outcome(
            state: state, findings: findings + gated,
            code: state.problems.isEmpty && !gated.isEmpty ? 3 : state.code)
    }

    private func check(_ context: ScriptContext) throws -> MigrationSession.Result {
        let outcome = try outcome(location.store, context)
        if let format = output.format {
            return .init(
                report: outcome.state.report,
                lines: [
                    format.text(
                        outcome.findings, suite: "migrate check \(location.store)",
                        passed: outcome.findings.isEmpty ? [outcome.state.summary] : [])
                ], exitCode: outcome.code, isFormatted: true)
        }
        return .init(
            report: outcome.state.report, lines: outcome.lines, exitCode: outcome.code)
    }

    /// Checks all stores; a store that cannot be checked counts as a problem.
    private func check(
        _ pattern: StorePattern, _ context: ScriptContext
    ) throws -> MigrationSession.Result {
        var findings: [MigrationFinding] = []
        var passed: [String] = []
        var lines: [String] = []
        var reports: [ReportValue] = []
        var codes: Set<Int32> = []
        _ = try MigrationDirectory(location.folder, context.storeModule)
        for store in try pattern.requirePaths() {
            lines.append("\(store):")
            do {
                let outcome = try outcome(store, context)
                findings += outcome.findings.map { $0.about(store) }
                if outcome.findings.isEmpty {
                    passed.append("\(store): \(outcome.state.summary)")
                }
                lines += outcome.lines.map { "  \($0)" }
                reports.append(.members(["store": .text(store), "report": outcome.state.report]))
                codes.insert(outcome.code)
            } catch {
                let (code, message) = MigrationFailure.describe(error)
                if code == "interrupted" { throw error }
                findings.append(MigrationFinding(error, in: []).about(store))
                lines.append("  error: \(message)")
                reports.append(
                    .members([
                        "store": .text(store),
                        "error": .members(["code": .text(code), "message": .text(message)]),
                    ]))
                codes.insert(2)
            }
        }
        // An error takes precedence over a failed gate, and a failed gate over pending migrations.
        let code = [2, 3, 1].first(where: codes.contains) ?? 0
        if let format = output.format {
            return .init(
                report: .null,
                lines: [
                    format.text(findings, suite: "migrate check \(location.store)", passed: passed)
                ], exitCode: code, isFormatted: true)
        }
        return .init(
            report: .members(["stores": .array(reports)]), lines: lines, exitCode: code)
    }
}
