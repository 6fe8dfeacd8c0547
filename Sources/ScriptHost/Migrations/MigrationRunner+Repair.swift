import EventLoops
import ObjectStore
import Reference
import StoreBindings

extension MigrationRunner {
    /// Plans the changes that reconcile a store's record with the files of the folder, without changing the data.
    ///
    /// Edited files are accepted, renumbered files are recorded under their new numbers, and withdrawn files are
    /// removed from the record. Schema changes of withdrawn migrations, and manual schema changes, are adopted in a new
    /// migration file. Nothing is changed before ``MigrationFolderEdit/apply()``.
    ///
    /// Throws `invalid_argument` if the store does not exist.
    package func repair() throws -> MigrationFolderEdit {
        let borrowed = try borrowExisting(isReadOnly: true)
        defer { borrowed.end() }
        let comparison = try comparison(with: borrowed.store)
        let history = comparison.history
        var steps: [String] = []
        var kept = Set(history.applied.indices)
        for (index, applied) in history.applied.enumerated() {
            guard let file = applied.file else {
                kept.remove(index)
                steps.append(
                    "remove migration \(applied.entry.number) (\(applied.entry.name)), whose file was removed, from the "
                        + "record")
                continue
            }
            if file.number != applied.entry.number, !file.heading.isSquash {
                steps.append(
                    "record migration \(applied.entry.number) (\(applied.entry.name)) as '\(file.fileName)'"
                )
            }
        }
        for problem in comparison.problems {
            switch problem {
            case .edited(_, let file): steps.append("accept the current '\(file.fileName)'")
            case .editedHelper(_, let file, let helper):
                steps.append(
                    "accept '\(helper)', which '\(file.fileName)' loads, in its current form")
            case .squashed, .skipped, .interrupted:
                throw StoreError(
                    .invalidArgument,
                    problem.message(store: store, folder: directory.path)
                        + "; repair cannot do this")
            default: break
            }
        }
        let remaining = history.applied.enumerated().filter { kept.contains($0.offset) }
            .compactMap(\.element.file)
        let last = remaining.max { $0.number < $1.number }
        let present = borrowed.store.schema.classes
        let expected = try scripts.schema(after: last)
        let differences = try SchemaDifference.between(Schema.planned(expected), and: present)
        let adopted: (name: String, text: String)?
        // An interrupted repair can have written the file.
        let isWritten =
            try history.pending.count == 1 && history.pending[0].heading.isAdoption
            && SchemaDifference.between(
                Schema.planned(scripts.schema(after: history.pending[0])), and: present
            ).isEmpty
        if isWritten {
            adopted = nil
            steps.append(
                "record '\(history.pending[0].fileName)', which adopts the schema of the store")
        } else if differences.isEmpty
            || history.pending.contains(where: { $0.number < last?.number ?? 0 })
        {
            adopted = nil
        } else {
            adopted = try adoption(present, after: last, history)
            steps.append(
                "write '\(adopted?.name ?? "")', which adopts the schema of the store: "
                    + differences.map(\.description).joined(separator: ", "))
        }
        let version =
            isWritten
            ? history.pending[0].number
            : adopted.map { _ in (directory.files.last?.number ?? 0) + 1 } ?? last?.number ?? 0
        if steps.isEmpty, comparison.schemaVersion != UInt64(version), !history.applied.isEmpty {
            steps.append("set the schema version of the store to \(version)")
        }
        guard !steps.isEmpty else { return MigrationFolderEdit(steps: [], folder: directory.path) }
        return MigrationFolderEdit(
            steps: steps,
            difference: adopted?.text.split(separator: "\n").map { "+ \($0)" } ?? [],
            folder: directory.path, writing: adopted.map { [($0.name, $0.text)] } ?? []
        ) { [self] in
            try record(kept, isAdopted: isWritten || adopted != nil, version)
        }
    }

    /// Returns the file that adopts the schema of the store, after all other files.
    private func adoption(
        _ present: [ClassSchema], after last: MigrationFile?, _ history: MigrationHistory
    ) throws -> (name: String, text: String) {
        let number = (directory.files.last?.number ?? 0) + 1
        let name = "\(MigrationState.number(number))_adopted.lua"
        // Pending migrations precede the file, so its schema includes their changes.
        let end = try scripts.schema(after: directory.files.last)
        let adopted =
            try history.pending.isEmpty
            ? present.map(\.unplaced)
            : SchemaDelta(from: scripts.schema(after: last), to: present).applied(to: end)
        let plan = try SchemaPlan(from: end, to: adopted, answer: { _ in .unasked })
        let text = plan.script(
            for: store, to: .adoption(parent: directory.identity(before: number)))
        return (name, text)
    }

    private func record(
        _ kept: Set<Int>, isAdopted: Bool, _ version: Int
    ) throws {
        let directory = try MigrationDirectory(directory.path, module)
        let borrowed = try borrowExisting()
        defer { borrowed.end() }
        let transaction = try borrowed.store.beginMigration()
        defer { transaction.end() }
        var log = transaction.log
        let history = MigrationHistory(log, directory)
        guard history.applied.count > kept.max() ?? -1 else { return }
        var entries = history.applied.indices.filter(kept.contains).map {
            history.applied[$0].accepted
        }
        if isAdopted, let file = directory.files.last {
            entries.append(.init(of: file))
        }
        log.replaceEntries(entries)
        let change = try transaction.change(
            to: borrowed.store.schema.classes.map(\.unplaced), version: UInt64(version))
        try change.apply()
        try change.commit(recording: log)
    }
}
