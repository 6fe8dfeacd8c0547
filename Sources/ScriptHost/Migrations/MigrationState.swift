import ObjectStore
import StoreBindings

/// The state of a store compared with the migrations of a folder.
package struct MigrationState: Sendable {
    /// The migrations that the store records.
    package let applied: [MigrationLog.Entry]
    /// The pending files of the folder.
    package let pending: [MigrationFile]
    /// The progress of the next migration, if it was interrupted and can be resumed.
    package let resumable: (done: Int, total: Int)?
    /// Whether the store and the folder do not match.
    let hasDrift: Bool
    /// Descriptions of mismatches between the store and the folder, or of errors in pending migrations.
    package internal(set) var problems: [String]
    /// Descriptions of unusual conditions that are not problems, such as renumbered migrations.
    package let notes: [String]
    /// The schema version of the store.
    package let schemaVersion: UInt64

    /// The exit code of `check`: 0 up to date, 1 pending, 2 drift.
    package var code: Int32 {
        !problems.isEmpty ? 2 : pending.isEmpty && notes.isEmpty ? 0 : 1
    }

    /// A summary of the state.
    package enum Condition: String, CaseIterable, Sendable {
        case upToDate = "up_to_date"
        case pending
        /// The next migration was interrupted, and the next run resumes it.
        case interrupted
        /// The store and the folder do not match, or a pending migration would fail.
        case problem

        var text: String { rawValue.replacing("_", with: " ") }
    }

    /// The summary of the state.
    package var condition: Condition {
        if !problems.isEmpty { return .problem }
        if resumable != nil { return .interrupted }
        return pending.isEmpty && notes.isEmpty ? .upToDate : .pending
    }

    /// The report of the state for programs.
    package var report: ReportValue {
        .members([
            "state": .text(condition.rawValue),
            "schema_version": .int(Int64(clamping: schemaVersion)),
            "applied": .array(
                applied.map { entry in
                    .members([
                        "number": .count(entry.number), "name": .text(entry.name),
                        "applied_at": .text(entry.appliedAt.description),
                        "checksum": .text(CodeIdentity.checksums(in: entry.checksum).first ?? ""),
                        "backup": entry.backup.map(ReportValue.text) ?? .null,
                    ])
                }),
            "pending": .array(
                pending.map {
                    .members(["number": .count($0.number), "name": .text($0.name)])
                }),
            "resumable": resumable.map {
                .members(["done": .count($0.done), "total": .count($0.total)])
            } ?? .null,
            "problems": .texts(problems),
            "notes": .texts(notes),
            "code": .int(Int64(code)),
        ])
    }

    /// The lines of the text report.
    package var lines: [String] {
        var lines: [String] = []
        for entry in applied {
            lines.append(
                "\(Self.number(entry.number)) \(entry.name)  applied \(entry.appliedAt)"
                    + (entry.backup.map { ", backup \($0)" } ?? ""))
        }
        for (index, file) in pending.enumerated() {
            let state =
                index > 0
                ? ""
                : resumable.map { ", interrupted after \($0.done) of \($0.total) objects" } ?? ""
            lines.append("\(Self.number(file.number)) \(file.name)  pending\(state)")
        }
        lines += notes.map { "note: \($0)" }
        lines += problems.map { "problem: \($0)" }
        return lines + [summary]
    }

    /// The state in one line.
    package var summary: String {
        let version = "schema version \(schemaVersion)"
        if hasDrift { return "the store and the folder do not match, \(version)" }
        if !problems.isEmpty {
            return "\(pending.count) pending, \(problems.count) "
                + "problem\(problems.count == 1 ? "" : "s"), \(version)"
        }
        return pending.isEmpty
            ? "up to date, \(version)" : "\(pending.count) pending, \(version)"
    }

    static func number(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

/// The comparison of an open store with the folder, for commands that change the store.
struct MigrationComparison {
    let history: MigrationHistory
    /// The problems of the record and of the schema.
    let problems: [MigrationHistory.Problem]
    /// The progress of the next migration, if it was interrupted and can be resumed.
    let resumable: InterruptedMigration?
    let schemaVersion: UInt64

    /// The number of the last applied migration in the folder; 0 for none.
    var lastNumber: Int { history.last?.number ?? 0 }
}

extension MigrationRunner {
    /// Compares the store with the folder, without changing anything.
    ///
    /// Throws `invalid_argument` if the store does not exist, and errors of opening it.
    package func state() throws -> MigrationState {
        try state(examine())
    }

    func state(_ comparison: MigrationComparison) -> MigrationState {
        let renumbered = comparison.history.applied.compactMap { applied -> String? in
            guard let file = applied.file, !file.heading.isSquash,
                file.number != applied.entry.number
            else { return nil }
            return
                "migration \(applied.entry.number) (\(applied.entry.name)) is now '\(file.fileName)'; up records "
                + "the new name"
        }
        return MigrationState(
            applied: comparison.history.applied.map(\.entry), pending: comparison.history.pending,
            resumable: comparison.resumable.map { ($0.done, $0.total) },
            hasDrift: !comparison.problems.isEmpty,
            problems: comparison.problems.map { $0.message(store: store, folder: directory.path) },
            notes: comparison.problems.isEmpty ? renumbered : [],
            schemaVersion: comparison.schemaVersion)
    }

    /// Opens the store and compares it with the folder.
    func examine() throws -> MigrationComparison {
        let borrowed = try borrowExisting(isReadOnly: true)
        defer { borrowed.end() }
        return try comparison(with: borrowed.store)
    }

    /// Compares an open store with the folder.
    func comparison(with store: Store) throws -> MigrationComparison {
        let log = try store.migrationLog()
        let history = MigrationHistory(log, directory)
        var problems = history.problems
        let interrupted = try store.interruptedMigration()
        let next = history.pending.first
        let resumable = interrupted.flatMap { state in
            next.map { continues(state, with: $0) } == true ? state : nil
        }
        if let interrupted, resumable == nil, interrupted.number != nil {
            problems.append(
                .interrupted(
                    interrupted, file: next.flatMap { $0.name == interrupted.name ? $0 : nil },
                    backup: log.backupOfInterrupted))
        } else if problems.isEmpty, interrupted == nil {
            problems += try drift(store, history)
        }
        return MigrationComparison(
            history: history, problems: problems, resumable: resumable,
            schemaVersion: store.schema.version)
    }

    /// Returns whether a file continues an interrupted migration.
    ///
    /// An edited file does so only on request: the first objects keep the values of its earlier version.
    func continues(_ interrupted: InterruptedMigration, with file: MigrationFile) -> Bool {
        file.isContinuation(of: interrupted)
            || continuesEdited && file.name == interrupted.name
    }

    /// Throws `migration_needed` if the store and the folder do not match.
    func requireSound(_ comparison: MigrationComparison) throws {
        guard !comparison.problems.isEmpty else { return }
        throw StoreError(
            .migrationNeeded,
            comparison.problems.map { $0.message(store: store, folder: directory.path) }
                .joined(separator: "\n"))
    }

    /// Returns the change of the schema by a migration.
    func delta(of file: MigrationFile) throws -> SchemaDelta {
        try SchemaDelta(
            from: scripts.schema(after: directory.file(before: file.number)),
            to: scripts.schema(after: file))
    }

    /// Returns the differences between the schema of the store and that of the last migration.
    private func drift(
        _ store: Store, _ history: MigrationHistory
    ) throws -> [MigrationHistory.Problem] {
        guard let last = history.last else { return [] }
        let skipped = history.pending.filter { $0.number < last.number }
        if let first = skipped.first {
            // No file has the schema of the store, which has the last one's after the skipped files are applied.
            let schema = try skipped.reduce(store.schema.classes) { schema, file in
                try delta(of: file).applied(to: schema)
            }
            let differences = try SchemaDifference.between(
                Schema.planned(schema.map(\.unplaced)), and: scripts.schema(after: last))
            return differences.isEmpty ? [] : [.notRebased(last, on: first, differences)]
        }
        let schema = store.schema
        var problems: [MigrationHistory.Problem] = []
        let recorded = history.applied.last?.entry.number ?? last.number
        if schema.version != UInt64(last.number), schema.version != UInt64(recorded) {
            problems.append(.otherVersion(schema.version, last))
        }
        let differences = try SchemaDifference.between(schema, and: try scripts.schema(after: last))
        if !differences.isEmpty, problems.isEmpty {
            problems.append(.otherSchema(differences, last))
        }
        return problems
    }
}
