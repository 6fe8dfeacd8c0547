import DataFormats
import EventLoops
import LuaHost
import ObjectStore
import ScriptHost
import StoreBindings

/// Migrates many stores, each in its own process, so that an error in one store does not affect the others.
///
/// A second run continues: stores that are up to date have no pending migrations.
final class MigrationFleet {
    /// The options for migrating many stores.
    struct Options {
        /// The number of stores to migrate at the same time.
        var jobs = 1
        /// The number of stores that must succeed before the other stores start.
        var canaries = 0
        /// The number of failures after which no other store starts; nil for no limit.
        var mostFailures: Int?
        /// Whether to report each store on standard error.
        var showsProgress = true
    }

    /// The outcome of migrating a store.
    private enum State: String {
        case notStarted = "not_started"
        case running
        case migrated
        case upToDate = "up_to_date"
        case failed
        /// The command was stopped, and the migration of the store was rolled back.
        case interrupted
    }

    private struct Member {
        let store: String
        var state = State.notStarted
        var message: String?
    }

    private var members: [Member]
    private let arguments: [String]
    private let options: Options

    /// Creates a fleet; `arguments` are the arguments of `up` after the store.
    init(_ stores: [String], arguments: [String], _ options: Options) {
        members = stores.map { Member(store: $0) }
        self.arguments = arguments
        self.options = options
    }

    /// Migrates the stores; returns the reports for programs and people, and the exit code.
    ///
    /// Ctrl-C and SIGTERM stop the processes of the stores, which roll back; stores that have not started remain
    /// unchanged.
    func migrateStores(_ context: ScriptContext) throws -> MigrationSession.Result {
        guard let program = ChildProcesses.thisProgram else {
            throw StoreError(.invalidArgument, "the path of the running program is unknown")
        }
        let commands = members.map {
            [program, "migrate", "up", $0.store] + arguments + ["--json"]
        }
        let canaries = min(options.canaries, members.count)
        do {
            // The canaries run first, one after the other; the other stores start only if all canaries have succeeded.
            let rounds = [
                (end: canaries, jobs: 1, limit: Optional(1)),
                (end: members.count, jobs: options.jobs, limit: options.mostFailures),
            ]
            for (index, round) in rounds.enumerated() where index == 0 || count(.failed) == 0 {
                try ChildProcesses.run(commands, jobs: round.jobs) {
                    start(before: round.end, failureLimit: round.limit)
                } didEnd: {
                    didEnd($0, $1)
                } whileWaiting: {
                    try context.state.checkStopping()
                }
            }
        } catch is LuaInterrupted {
            for index in members.indices where members[index].state == .running {
                members[index].state = .interrupted
            }
            return result(exitCode: MigrationSession.interruptedExitCode)
        }
        return result(exitCode: count(.failed) == 0 ? 0 : 1)
    }

    /// Starts the next store below an index; returns the index of the store, or nil if no store may start.
    private func start(before end: Int, failureLimit: Int?) -> Int? {
        let failures = count(.failed)
        guard failureLimit.map({ failures < $0 }) ?? true,
            let next = members[..<end].firstIndex(where: { $0.state == .notStarted })
        else { return nil }
        members[next].state = .running
        return next
    }

    private func didEnd(_ index: Int, _ outcome: ChildProcesses.Outcome) {
        let report = ChildReport(outcome.output)
        if outcome.exitCode == 0 {
            members[index].state = report.isUpToDate ? .upToDate : .migrated
        } else {
            members[index].state = .failed
            members[index].message = report.message ?? "the process ended without a report"
        }
        guard options.showsProgress else { return }
        let ended = members.count { $0.state != .notStarted && $0.state != .running }
        ProcessServices.writeError(
            "[\(ended)/\(members.count)] \(members[index].store): "
                + "\(Self.words(members[index].state))\n")
    }

    private func count(_ state: State) -> Int { members.count { $0.state == state } }

    private static func words(_ state: State) -> String { state.rawValue.replacing("_", with: " ") }

    private func result(exitCode: Int32) -> MigrationSession.Result {
        let lines = members.compactMap { member in
            member.message.map { "\(member.store): \($0)" }
        }
        let states: [State] = [.migrated, .upToDate, .failed, .notStarted, .interrupted]
        let counts = states.filter { $0 != .interrupted || count($0) > 0 }
            .map { "\(count($0)) \(Self.words($0))" }
        let isInterrupted = exitCode == MigrationSession.interruptedExitCode
        return .init(
            report: .object(
                [
                    .init(
                        "stores",
                        .array(
                            members.map {
                                .members([
                                    "store": .text($0.store), "state": .text($0.state.rawValue),
                                    "error": $0.message.map(ReportValue.text) ?? .null,
                                ])
                            }))
                ] + states.map { .init($0.rawValue, .count(count($0))) }
                    + [
                        .init(
                            "error",
                            isInterrupted
                                ? .members([
                                    "code": .text("interrupted"),
                                    "message": .text("the command was stopped"),
                                ]) : .null)
                    ]),
            lines: lines + ["\(members.count) stores: " + counts.joined(separator: ", ")],
            exitCode: exitCode)
    }
}

/// The JSON that `migrate up --json` printed for one store.
private struct ChildReport {
    /// Whether no migration was pending.
    private(set) var isUpToDate = false
    /// The message of the error; nil for success.
    private(set) var message: String?

    init(_ output: [UInt8]) {
        let tape = JSONTape()
        // A process that was killed has written no report, or only the beginning of one.
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
