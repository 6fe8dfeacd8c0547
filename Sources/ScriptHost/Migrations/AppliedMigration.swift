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
    /// The number of objects that failed; only a rehearsal continues after a failure.
    package let failureCount: Int
    /// The first failures.
    package let failures: [Failure]
    /// The path of the backup that was made before the migration; nil if none was made.
    package let backup: String?
    /// The duration in seconds.
    package let seconds: Double
    /// The number of dropped values that were written since the migration, by property or class; only for `down`.
    ///
    /// Nil if the history is incomplete.
    package var writtenSince: [String: Int]?

    /// The outcome for scripts and for `--json`.
    package var value: ReportValue {
        .members([
            "number": .count(file.number), "name": .text(file.name),
            "differences": .texts(report.differences.map(\.description)),
            "classes": .array(report.classes.map(Self.value)),
            "dropped": .array(
                report.dropped.map { dropped in
                    .members([
                        "name": .text(dropped.qualifiedName),
                        "what": .text(dropped.isClass ? "objects" : "values"),
                        "count": .count(dropped.count),
                        "written_since": writtenSince.map { .count($0[dropped.qualifiedName] ?? 0) }
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
    /// The path of the store, as given.
    package let store: String
    /// The migrations, in order.
    package let applied: [AppliedMigration]
    /// Whether the migrations were applied to a copy only.
    package let isRehearsal: Bool
    /// The duration in seconds.
    package let seconds: Double
    /// The peak memory of the process so far, in bytes.
    package let peakMemory: Int
    /// The estimated cost of the migrations for all objects, if a sample was migrated.
    package var estimate: Estimate?

    /// An estimate of time and memory for all objects, extrapolated from a sample.
    package struct Estimate: Sendable {
        /// The number of objects in the store.
        package let objects: Int
        /// The number of objects that were copied.
        package let copiedObjects: Int
        /// The estimated duration in seconds.
        package let seconds: Double
        /// The estimated memory in bytes.
        package let memory: Int

        /// The maximum growth of memory in bytes; beyond this limit, changed pages are written to the file early.
        static let mostGrowth = 600 << 20

        /// The estimate for scripts and for `--json`.
        package var value: ReportValue {
            .members([
                "objects": .count(objects), "copied_objects": .count(copiedObjects),
                "seconds": .double(seconds), "memory": .count(memory),
            ])
        }
    }

    /// Whether an object failed, which is only possible in a rehearsal.
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

/// An attempt to run a migration, and the details for its report.
final class MigrationAttempt {
    /// The path of the backup that was made before the migration.
    var backup: String?
    /// Whether this attempt, and not an earlier interrupted one, has made the backup.
    var hasMadeBackup = false
    /// The migration, after its function has begun.
    var migration: Migration?
    /// The number of values that were written since the migration, by property or class; only for `down`.
    ///
    /// Nil if the history is incomplete.
    var writtenSince: [String: Int]?
    let file: MigrationFile
    /// The key by which an interrupted run is recognized.
    var resumeKey: String
    private let start = ContinuousClock.now
    private var failures: [AppliedMigration.Failure] = []
    private var failureCount = 0
    private static let failureLimit = 20

    init(_ file: MigrationFile) {
        self.file = file
        resumeKey = file.resumeKey
    }

    /// Returns whether an earlier run of the migration has committed batches.
    func isInterrupted(_ store: Store) -> Bool {
        // A store that cannot be read cannot be resumed.
        guard let found = try? store.interruptedMigration() else { return false }
        return found.key == resumeKey
    }

    /// Records an object that could not be migrated.
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
