import ObjectStore
import StoreBindings

/// Where a store stands among the migrations of a folder.
package struct MigrationState: Sendable {
    /// The migrations that the store records.
    package let applied: [MigrationLog.Entry]
    /// Those of the folder that come next.
    package let pending: [MigrationFile]
    /// How far the next migration has come that was interrupted and can be resumed.
    package let resumable: (done: Int, total: Int)?
    /// In sentences: why the store and the folder do not belong together.
    package let problems: [String]
    /// The schema version of the store.
    package let schemaVersion: UInt64

    /// 0 up to date, 1 pending, 2 drift: the exit code of `check`.
    package var code: Int32 { !problems.isEmpty ? 2 : pending.isEmpty ? 0 : 1 }

    /// Throws `migration_needed` where store and folder do not belong together.
    func requireSound() throws {
        guard problems.isEmpty else {
            throw StoreError(.migrationNeeded, problems.joined(separator: "\n"))
        }
    }

    /// The state for programs.
    package var report: ReportValue {
        .members([
            "schema_version": .int(Int64(clamping: schemaVersion)),
            "applied": .array(
                applied.map { entry in
                    .members([
                        "number": .count(entry.number), "name": .text(entry.name),
                        "applied_at": .text(entry.appliedAt.description),
                        "checksum": .text(entry.checksum),
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
            "code": .int(Int64(code)),
        ])
    }

    /// The state for people.
    package var lines: [String] {
        var lines: [String] = []
        for entry in applied {
            lines.append(
                "\(Self.number(entry.number)) \(entry.name)  applied \(entry.appliedAt)"
                    + (entry.backup.map { ", backup \($0)" } ?? ""))
        }
        for (place, file) in pending.enumerated() {
            let state =
                place > 0
                ? ""
                : resumable.map { ", interrupted after \($0.done) of \($0.total) objects" } ?? ""
            lines.append("\(Self.number(file.number)) \(file.name)  pending\(state)")
        }
        lines += problems.map { "problem: \($0)" }
        return lines + [summary]
    }

    /// The state in one line.
    package var summary: String {
        let version = "schema version \(schemaVersion)"
        if !problems.isEmpty { return "store and folder do not belong together, \(version)" }
        return pending.isEmpty
            ? "up to date, \(version)" : "\(pending.count) pending, \(version)"
    }

    static func number(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

extension MigrationRunner {
    /// Compares the store with the folder; changes nothing.
    ///
    /// Throws `invalid_argument` if there is no such store, and what opening it may throw.
    package func state() throws -> MigrationState {
        try withExisting(isReadOnly: true) { try state(of: $0) }
    }

    func state(of handle: StoreHandle) throws -> MigrationState {
        let applied = try handle.store.migrationLog().entries
        let last = applied.last?.number ?? 0
        var problems: [String] = []
        for entry in applied {
            guard let file = directory.file(entry.number) else {
                let isNewer = entry.number > directory.files.last?.number ?? 0
                problems.append(
                    "migration \(entry.number) (\(entry.name)) was applied, but is not in "
                        + "'\(directory.path)'"
                        + (isNewer ? ": the store is newer than the folder" : ""))
                continue
            }
            if file.checksum != entry.checksum {
                problems.append(
                    "'\(file.path)' was edited, in more than comments, after it was applied; take "
                        + "the edit back and write another migration")
            }
        }
        let done = Set(applied.map(\.number))
        let pending = directory.files.filter { !done.contains($0.number) }
        for file in pending where file.number < last {
            problems.append(
                "'\(file.path)' was never applied, but migration \(last) was; give it the next free "
                    + "number")
        }
        // A migration that goes on has added to the schema already.
        let next = pending.first { $0.number > last }
        let interrupted = try handle.store.interruptedMigration()
        let resumable = interrupted.flatMap {
            $0.key == next?.resumeKey ? ($0.done, $0.total) : nil
        }
        if problems.isEmpty, interrupted == nil { problems += try drift(handle, last) }
        return MigrationState(
            applied: applied, pending: pending.filter { $0.number > last },
            resumable: resumable, problems: problems,
            schemaVersion: handle.store.schema.version)
    }

    /// What differs between the store's schema and that of the migration applied last.
    private func drift(_ handle: StoreHandle, _ last: Int) throws -> [String] {
        guard let file = directory.file(last) else { return [] }
        let schema = handle.store.schema
        var problems: [String] = []
        if schema.version != UInt64(last) {
            problems.append(
                "the store has schema version \(schema.version), '\(file.fileName)' left it at "
                    + "\(last): something else has migrated it")
        }
        let differences = try SchemaLint.differences(
            from: schema, to: try file.load(module).schema)
        if !differences.isEmpty {
            problems.append(
                "the schema was changed by hand; to be what '\(file.fileName)' says, "
                    + differences.map(\.description).joined(separator: ", "))
        }
        return problems
    }
}
