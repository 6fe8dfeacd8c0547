import EventLoops
import ObjectStore
import ScriptHost
import StoreBindings

/// Migrates many stores, each in a process of its own: what one of them does wrong cannot harm another.
///
/// Running it again continues: stores that are up to date have nothing left to do.
struct MigrationFleet {
    /// How the fleet is migrated.
    struct Options {
        /// How many stores at a time.
        var jobs = 1
        /// How many stores must succeed before the others begin.
        var canaries = 0
        /// After how many failures no other store begins; nil for any number.
        var mostFailures: Int?
        /// Reports each store on standard error.
        var showsProgress = true
    }

    /// What became of a store.
    private enum State: String { case migrated, failed, skipped, upToDate = "up_to_date" }

    private let stores: [String]
    private let arguments: [String]
    private let options: Options

    /// For stores, with the arguments of `up` behind the store.
    init(_ stores: [String], arguments: [String], _ options: Options) {
        self.stores = stores
        self.arguments = arguments
        self.options = options
    }

    /// Migrates the stores; the summary for programs and people, and the exit code.
    func run(_ context: ScriptContext) throws -> MigrationSession.Result {
        guard let program = ChildProcesses.thisProgram else {
            throw StoreError(.invalidArgument, "the path of the running program is unknown")
        }
        let commands = stores.map { [program, "migrate", "up", $0] + arguments + ["--json"] }
        var states = [State](repeating: .skipped, count: stores.count)
        var reports = [String](repeating: "", count: stores.count)
        var started = 0
        var ended = 0
        var failures = 0
        let canaries = min(options.canaries, stores.count)
        func didEnd(_ index: Int, _ outcome: ChildProcesses.Outcome) throws {
            ended += 1
            let text = String(decoding: outcome.output, as: UTF8.self)
                .trimmed
            reports[index] = text
            if outcome.exitCode == 0 {
                states[index] = text.contains("\"applied\":[]") ? .upToDate : .migrated
            } else {
                states[index] = .failed
                failures += 1
            }
            if options.showsProgress {
                ProcessServices.writeError(
                    "[\(ended)/\(stores.count)] \(stores[index]): \(states[index].rawValue)\n")
            }
            try context.state.checkStopping()
        }
        func mayStart() -> Bool {
            if failures > 0, ended <= canaries, started <= canaries, canaries > 0 { return false }
            if let most = options.mostFailures, failures >= most { return false }
            return true
        }
        // The canaries first, one after the other; the others begin only if all of them have succeeded.
        try ChildProcesses.run(commands, jobs: 1) {
            guard started < canaries, failures == 0 else { return nil }
            defer { started += 1 }
            return started
        } didEnd: {
            try didEnd($0, $1)
        }
        if failures == 0 {
            try ChildProcesses.run(commands, jobs: options.jobs) {
                guard started < stores.count, mayStart() else { return nil }
                defer { started += 1 }
                return started
            } didEnd: {
                try didEnd($0, $1)
            }
        }
        return result(states, reports, failures)
    }

    private func result(
        _ states: [State], _ reports: [String], _ failures: Int
    ) -> MigrationSession.Result {
        func count(_ state: State) -> Int { states.count { $0 == state } }
        var lines: [String] = []
        for (store, (state, report)) in zip(stores, zip(states, reports)) where state == .failed {
            lines.append("\(store): \(FleetReport.message(in: report))")
        }
        lines.append(
            "\(stores.count) stores: \(count(.migrated)) migrated, \(count(.upToDate)) up to date, "
                + "\(count(.failed)) failed, \(count(.skipped)) not started")
        let report = ReportValue.members([
            "stores": .array(
                zip(stores, zip(states, reports)).map { store, outcome in
                    .members([
                        "store": .text(store), "state": .text(outcome.0.rawValue),
                        "error": outcome.0 == .failed
                            ? .text(FleetReport.message(in: outcome.1)) : .null,
                    ])
                }),
            "migrated": .count(count(.migrated)), "up_to_date": .count(count(.upToDate)),
            "failed": .count(count(.failed)), "not_started": .count(count(.skipped)),
        ])
        return .init(report: report, lines: lines, exitCode: failures == 0 ? 0 : 1)
    }
}

/// What the process of one store has reported.
private enum FleetReport {
    /// The message of the error in a report; the report itself if there is none.
    static func message(in report: String) -> String {
        guard let start = report.firstRange(of: "\"message\":\"")?.upperBound else {
            return report.isEmpty ? "the process has ended without a report" : report
        }
        var message = ""
        var isEscaped = false
        for character in report[start...] {
            if isEscaped {
                message.append(character == "n" ? "\n" : character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                break
            } else {
                message.append(character)
            }
        }
        return message
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }
}
