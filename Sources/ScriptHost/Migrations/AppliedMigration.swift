import ObjectStore
import StoreBindings

/// The changes of a migration to a store, or to a copy of it.
package struct AppliedMigration {
    /// An object that the function given to `m:each` could not migrate.
    package struct Failure: Sendable {
        /// The object, such as `Person id = 17`.
        package let object: String
        /// The error.
        package let message: String
    }

    /// The migration.
    package let file: MigrationFile
    /// The engine's report.
    package let report: MigrationReport
    /// How many objects failed: only a rehearsal continues after a failure.
    package let failureCount: Int
    /// The first of them.
    package let failures: [Failure]
    /// The copy of the store that was made before.
    package let backup: String?
    /// How long it took.
    package let seconds: Double
    /// Of `down`: how many dropped values, by place, were written since the migration; nil if the history is not known.
    package var writtenSince: [String: Int]?

    /// How many values and objects were dropped.
    package var droppedCount: Int { report.dropped.reduce(0) { $0 + $1.count } }

    /// How many values of properties that existed before differ now.
    package var rewrittenCount: Int { report.classes.reduce(0) { $0 + $1.rewrittenValues } }

    /// The outcome for scripts and for `--json`.
    package var value: ReportValue {
        .members([
            "number": .count(file.number), "name": .text(file.name),
            "differences": .texts(report.differences.map(\.description)),
            "classes": .array(report.classes.map(Self.value)),
            "dropped": .array(
                report.dropped.map { dropped in
                    .members([
                        "place": .text(dropped.place),
                        "what": .text(dropped.isClass ? "objects" : "values"),
                        "count": .count(dropped.count),
                        "written_since": writtenSince.map { .count($0[dropped.place] ?? 0) }
                            ?? .null,
                    ])
                }),
            "failed": .count(failureCount),
            "failures": .array(
                failures.map {
                    .members(["object": .text($0.object), "message": .text($0.message)])
                }),
            "backup": backup.map(ReportValue.text) ?? .null,
            "seconds": .double(seconds),
        ])
    }

    private static func value(_ report: MigrationReport.ClassReport) -> ReportValue {
        .members([
            "class": .text(report.name), "before": .count(report.before),
            "after": .count(report.after), "created": .count(report.created),
            "deleted": .count(report.deleted), "changed": .count(report.changed),
            "samples": .array(
                report.samples.map {
                    .members(["before": values($0.before), "after": values($0.after)])
                }),
        ])
    }

    private static func values(_ values: [(name: String, value: Value)]) -> ReportValue {
        .object(values.map { ReportValue.Member($0.name, value($0.value)) })
    }

    private static func value(_ value: Value) -> ReportValue {
        switch value {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        case .string(let text): .text(text)
        case .list(let values): .array(values.prefix(20).map(Self.value))
        default: .text(value.summary)
        }
    }
}

/// The changes of `up`, or of a rehearsal.
package struct UpReport {
    /// The store, as it was named.
    package let store: String
    /// The migrations, in order.
    package let applied: [AppliedMigration]
    /// Whether all of it was done to a copy.
    package let isRehearsal: Bool
    /// How long it took.
    package let seconds: Double
    /// The most memory that the process has used so far, in bytes.
    package let peakMemory: Int
    /// The estimated cost of the migrations for all objects, if a sample was migrated.
    package var estimate: Estimate?

    /// Time and memory for all objects, extrapolated from a sample.
    package struct Estimate: Sendable {
        /// The number of objects of the store.
        package let objects: Int
        /// The number of objects that were copied.
        package let copiedObjects: Int
        /// How long the migrations would take.
        package let seconds: Double
        /// How much memory they would use, in bytes.
        package let memory: Int

        /// The most by which memory grows, in bytes: more changed pages are written to the file early.
        static let mostGrowth = 600 << 20

        /// The estimate for scripts and for `--json`.
        package var value: ReportValue {
            .members([
                "objects": .count(objects), "copied_objects": .count(copiedObjects),
                "seconds": .double(seconds), "memory": .count(memory),
            ])
        }
    }

    /// Whether an object failed, which only a rehearsal survives.
    package var hasFailures: Bool { applied.contains { $0.failureCount > 0 } }

    /// The report for scripts and for `--json`.
    package var value: ReportValue {
        let list = ReportValue.array(applied.map(\.value))
        if isRehearsal {
            return .members([
                "version": .count(1), "store": .text(store), "dry_run": .bool(true),
                "applied": list,
                "migrations": RehearsalFormat.migrations(self),
                "seconds": .double(seconds), "peak_memory": .count(peakMemory),
                "estimate": estimate?.value ?? .null,
            ])
        }
        return .members([
            "store": .text(store), "applied": list,
            "backup": applied.first?.backup.map(ReportValue.text) ?? .null,
            "seconds": .double(seconds), "peak_memory": .count(peakMemory),
        ])
    }
}

/// One try to run a migration, and what there is to say about it.
final class MigrationAttempt {
    /// The copy of the store that was made before.
    var backup: String?
    /// Whether this attempt has made the copy, and not an interrupted one before it.
    var hasMadeBackup = false
    /// The object that was being migrated when it failed.
    var object: String?
    /// Of `down`: how many values, by place, were written since the migration; nil if the history is not known.
    var writtenSince: [String: Int]?
    private let file: MigrationFile
    private let start = ContinuousClock.now
    private var failures: [AppliedMigration.Failure] = []
    private var failureCount = 0
    private static let failureLimit = 20

    init(_ file: MigrationFile) { self.file = file }

    /// Throws ``MigrationFailure`` for what the work throws.
    func explainingFailures<Result>(
        of store: Store, _ work: () throws -> Result
    ) throws -> Result {
        do {
            return try work()
        } catch {
            throw MigrationFailure(
                cause: error, file: file, object: object, isResumable: isInterrupted(store))
        }
    }

    /// Whether an earlier run of the migration has committed batches.
    func isInterrupted(_ store: Store) -> Bool {
        // A store that cannot be read cannot be resumed either.
        guard let found = try? store.interruptedMigration() else { return false }
        return found.key == file.resumeKey
    }

    /// Notes an object that could not be migrated.
    func failed(_ message: String, _ object: String) {
        failureCount += 1
        if failures.count < Self.failureLimit {
            failures.append(.init(object: object, message: message))
        }
    }

    /// Returns the finished report.
    func finished(_ report: MigrationReport) -> AppliedMigration {
        AppliedMigration(
            file: file, report: report, failureCount: failureCount, failures: failures,
            backup: backup, seconds: MigrationRunner.seconds(since: start),
            writtenSince: writtenSince)
    }
}
