import DataFormats
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
        var messages = [String?](repeating: nil, count: stores.count)
        var started = 0
        var ended = 0
        var failures = 0
        let canaries = min(options.canaries, stores.count)
        func didEnd(_ index: Int, _ outcome: ChildProcesses.Outcome) throws {
            ended += 1
            let report = ChildReport(outcome.output)
            if outcome.exitCode == 0 {
                states[index] = report.isUpToDate ? .upToDate : .migrated
            } else {
                states[index] = .failed
                messages[index] = report.message ?? "the process ended without a report"
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
        return result(states, messages, failures)
    }

    private func result(
        _ states: [State], _ messages: [String?], _ failures: Int
    ) -> MigrationSession.Result {
        func count(_ state: State) -> Int { states.count { $0 == state } }
        var lines: [String] = []
        var values: [ReportValue] = []
        for ((store, state), message) in zip(zip(stores, states), messages) {
            if let message { lines.append("\(store): \(message)") }
            values.append(
                .members([
                    "store": .text(store), "state": .text(state.rawValue),
                    "error": message.map(ReportValue.text) ?? .null,
                ]))
        }
        lines.append(
            "\(stores.count) stores: \(count(.migrated)) migrated, \(count(.upToDate)) up to date, "
                + "\(count(.failed)) failed, \(count(.skipped)) not started")
        let report = ReportValue.members([
            "stores": .array(values), "migrated": .count(count(.migrated)),
            "up_to_date": .count(count(.upToDate)), "failed": .count(count(.failed)),
            "not_started": .count(count(.skipped)),
        ])
        return .init(report: report, lines: lines, exitCode: failures == 0 ? 0 : 1)
    }
}

/// The JSON that `migrate up --json` has printed for one store.
private struct ChildReport {
    /// Whether no migration was pending.
    private(set) var isUpToDate = false
    /// The message of the error, if there is one.
    private(set) var message: String?

    init(_ output: [UInt8]) {
        let tape = JSONTape()
        // A process that was killed has written no report, or the beginning of one.
        guard (try? JSONText.read(output, onto: tape)) != nil else { return }
        JSONNode(tape).forEachMember { name, member in
            switch name {
            case "applied":
                isUpToDate = true
                member.forEachElement { _ in isUpToDate = false }
            case "error":
                member.forEachMember { name, member in
                    if name == "message" { message = member.text }
                }
            default: break
            }
        }
    }
}
