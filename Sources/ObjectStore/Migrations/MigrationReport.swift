import ColumnStorage

/// The changes that a migration made to a file.
package struct MigrationReport {
    /// The changes to the objects of one class.
    package struct ClassReport {
        /// The name of the class after the migration; for a removed class, its old name.
        package let name: String
        /// The number of objects before the migration.
        package let before: Int
        /// The number of objects after the migration.
        package let after: Int
        /// The number of created objects.
        package let created: Int
        /// The number of deleted objects.
        package let deleted: Int
        /// The number of changed objects.
        package let changed: Int
        /// The number of changed values of properties that existed before.
        package let rewrittenValues: Int
        /// A sample of the changed objects.
        package let samples: [Sample]
    }

    /// One object before and after the migration.
    package struct Sample {
        /// The key of the object, such as `id = 17`.
        package let key: String
        /// The properties that differ; a link is shown as the name of its target.
        package let changes: [(property: String, old: String?, new: String?)]
        /// The names and values before the migration in schema order; a link is shown as the name of its target.
        package let before: [(name: String, value: Value)]
        /// The names and values after the migration in schema order; a link is shown as the name of its target.
        package let after: [(name: String, value: Value)]
    }

    /// The differences between the schemas.
    package let differences: [SchemaDifference]
    /// The classes whose objects were touched, ordered by name.
    package let classes: [ClassReport]
    /// The dropped values that were not replaced.
    package let dropped: [AbandonedData]

    private static let sampleLimit = 3

    /// Creates the report after the commit; reads the values that were dropped.
    init(_ migration: SchemaMigration, after: StoreView) throws {
        let before = migration.old
        differences = migration.differences
        let recorded = try StoreError.wrapping(
            after.snapshot.changes(from: before.version, to: after.version))
        let changes = try recorded ?? VersionComparison.changes(from: before, to: after)
        classes = try changes.tables.compactMap { table, change in
            try Self.report(table, change, before: before, after: after)
        }.sorted { $0.name < $1.name }
        dropped = try SchemaLoss.losses(migration.differences, in: before) { className, name in
            guard let classSchema = after.schema.find(className),
                let property = classSchema.property(named: name)
            else { return KeySet() }
            return changes.tables[classSchema.table]?.modified[property.column] ?? KeySet()
        }.map(\.data)
    }

    private static func report(
        _ table: TableID, _ change: TableChanges, before: StoreView, after: StoreView
    ) throws -> ClassReport? {
        let old = before.schema.find(table: table)
        let new = after.schema.find(table: table)
        guard let name = new?.name ?? old?.name else { return nil }
        let changed = change.modifiedRows
        var samples: [Sample] = []
        if let old, let new {
            samples = try changed.prefix(sampleLimit).map { key in
                try Sample(
                    key: after.name(of: ObjectReference(table: table, key: key)),
                    changes: differences(before: before, old, after: after, new, of: key),
                    before: values(before, old, key), after: values(after, new, key))
            }
        }
        return try ClassReport(
            name: name, before: old.map { try before.table($0).count } ?? 0,
            after: new.map { try after.table($0).count } ?? 0, created: change.inserted.count,
            deleted: change.deleted.count, changed: changed.count,
            rewrittenValues: rewrites(change, old, new), samples: samples)
    }

    /// Returns the number of values that a migration changed in properties that existed before, also under other names.
    private static func rewrites(
        _ change: TableChanges, _ old: ClassSchema?, _ new: ClassSchema?
    ) -> Int {
        guard let old, let new else { return 0 }
        return new.properties.filter { property in
            !property.isBacklinks
                && (old.property(in: property.column) != nil
                    || old.property(named: property.name) != nil)
        }.reduce(0) { $0 + (change.modified[$1.column]?.count ?? 0) }
    }

    /// Returns the properties in which an object differs, by their new names.
    private static func differences(
        before: StoreView, _ old: ClassSchema, after: StoreView, _ new: ClassSchema,
        of key: ObjectKey
    ) throws -> [(property: String, old: String?, new: String?)] {
        func text(
            _ view: StoreView, _ property: Property?, _ classSchema: ClassSchema
        ) throws -> String? {
            guard let property, !property.isBacklinks else { return nil }
            let value = try view.value(property, of: key, in: classSchema)
            if value == .null { return nil }
            if case .object(let reference) = value { return view.name(of: reference) }
            return value.summary
        }
        var result: [(property: String, old: String?, new: String?)] = []
        var seen: Set<String> = []
        for property in new.properties where !property.isBacklinks {
            let counterpart =
                old.property(in: property.column) ?? old.property(named: property.name)
            if let counterpart { seen.insert(counterpart.name) }
            let (was, now) = try (text(before, counterpart, old), text(after, property, new))
            if was != now { result.append((property.name, was, now)) }
        }
        for property in old.properties where !seen.contains(property.name) && !property.isBacklinks
        {
            guard let was = try text(before, property, old) else { continue }
            result.append((property.name, was, nil))
        }
        return result
    }

    private static func values(
        _ view: StoreView, _ classSchema: ClassSchema, _ key: ObjectKey
    ) throws -> [(name: String, value: Value)] {
        try classSchema.properties.filter { !$0.isBacklinks }.map { property in
            let value = try view.value(property, of: key, in: classSchema)
            guard case .object(let reference) = value else { return (property.name, value) }
            return (property.name, .string(view.name(of: reference)))
        }
    }
}

/// The progress of a started migration, as recorded in the file.
struct MigrationProgress {
    /// An object that cannot be converted yet.
    struct Failure: Hashable {
        let table: TableID
        let key: ObjectKey
        var message: String
    }

    /// The number of objects that batches have visited.
    var converted = 0
    /// The number of committed batches.
    var batches = 0
    /// The table and the key of the last visited object.
    var table = TableID(rawValue: 0)
    var key = ObjectKey(rawValue: -1)
    /// The objects that cannot be converted, in the order of their tables and keys.
    private(set) var failures: [Failure] = []
    /// Whether the process that started the migration, or that converted objects last, will also complete it.
    var isWhole = false
    /// The time at which the last process began to convert objects, and the number of objects converted before.
    var run: (startedAt: Timestamp, converted: Int)?

    /// Records that an object was converted, or the reason why it was not; returns whether the record has changed.
    mutating func record(_ message: String?, _ key: ObjectKey, in table: TableID) -> Bool {
        let index = failures.firstIndex { ($0.table, $0.key) >= (table, key) } ?? failures.endIndex
        let isKnown =
            index < failures.endIndex
            && (failures[index].table, failures[index].key) == (table, key)
        guard isKnown || message != nil else { return false }
        if isKnown { failures.remove(at: index) }
        if let message {
            failures.insert(Failure(table: table, key: key, message: message), at: index)
        }
        return true
    }

    /// The number of visited objects that are converted.
    var convertedCount: Int { max(converted - failures.count, 0) }

    private static let blob = "migration progress"
    private static let format: UInt64 = 1

    /// Reads the progress of a version.
    static func read(_ snapshot: Snapshot) throws -> MigrationProgress {
        let bytes = try StoreError.wrapping(snapshot.metadata(blob))
        guard let bytes, !bytes.isEmpty else { return MigrationProgress() }
        return try StoreError.decoding(bytes, "progress of a migration", of: snapshot.file, decode)
    }

    private static func decode(_ reader: inout ByteReader) throws -> MigrationProgress {
        guard try reader.number() == format else {
            throw StoreError(
                .fileFormatTooNew,
                "the file contains a migration that a newer Moonpool has started; update to continue it"
            )
        }
        var progress = MigrationProgress()
        progress.converted = try reader.number(as: Int.self)
        progress.table = TableID(rawValue: try reader.number(as: UInt32.self))
        progress.key = ObjectKey(rawValue: Int64(bitPattern: try reader.number()))
        for _ in 0..<(try reader.count()) {
            progress.failures.append(
                Failure(
                    table: TableID(rawValue: try reader.number(as: UInt32.self)),
                    key: ObjectKey(rawValue: Int64(bitPattern: try reader.number())),
                    message: try reader.text()))
        }
        progress.batches = try reader.number(as: Int.self)
        // Earlier builds end here.
        guard !reader.isAtEnd else { return progress }
        progress.isWhole = try reader.number() == 1
        if try reader.number() == 1 {
            progress.run = (
                Timestamp(microseconds: Int64(bitPattern: try reader.number())),
                try reader.number(as: Int.self)
            )
        }
        return progress
    }

    /// Stores the progress in the open write transaction; no observer learns of it.
    func write(_ session: WriteSession) throws {
        var writer = ByteWriter()
        writer.number(Self.format)
        writer.number(UInt64(max(converted, 0)))
        writer.number(UInt64(table.rawValue))
        writer.number(UInt64(bitPattern: key.rawValue))
        writer.number(UInt64(failures.count))
        for failure in failures {
            writer.number(UInt64(failure.table.rawValue))
            writer.number(UInt64(bitPattern: failure.key.rawValue))
            writer.text(failure.message)
        }
        writer.number(UInt64(max(batches, 0)))
        writer.number(isWhole ? 1 : 0)
        writer.number(run == nil ? 0 : 1)
        if let run {
            writer.number(UInt64(bitPattern: run.startedAt.microseconds))
            writer.number(UInt64(max(run.converted, 0)))
        }
        try Self.store(writer.bytes, session)
    }

    /// Removes the progress of a migration that has ended.
    static func remove(_ session: WriteSession) throws { try store([], session) }

    private static func store(_ bytes: [UInt8], _ session: WriteSession) throws {
        try StoreError.wrapping(session.setMetadata(blob, bytes, effect: .none))
    }
}

/// A write transaction that migrates a file to a complete schema and records the migration in the file.
///
///     let transaction = try store.beginMigration()
///     defer { transaction.end() }
///     var log = transaction.log
///     guard isDue(log) else { return nil }
///     let change = try transaction.change(to: classes, version: 2)
///     try change.apply { migration in … }
///     log.apply([entry])
///     return try change.commit(recording: log)
///
/// Use it on the store's thread.
package struct MigrationTransaction {
    /// The record of migrations in the file; no other process can change it before the transaction ends.
    package let log: MigrationLog
    let store: Store

    fileprivate init(_ store: Store) throws {
        self.store = store
        log = try MigrationLog.read(store.view.snapshot)
    }

    /// Computes the change to a schema without applying it.
    ///
    /// Unlike ``Store/redefine(_:migration:)``, the change keeps no classes that are not named: they must be empty, or
    /// the migration must delete or rename them. The version may increase or decrease.
    ///
    /// `dropping` names the data that may be lost, as `Class.property` or as the name of a class; other losses are
    /// refused, even if no data is stored. With `isDeclared`, existing objects also have the defaults of new optional
    /// properties, as in a started migration.
    ///
    /// Throws `invalid_schema`, `migration_needed` for a file with an ``UnfinishedMigration``, and the errors of a write.
    package func change(
        to classes: [ClassSchema], version: UInt64, dropping: Set<String> = [],
        renaming renames: [String: String] = [:], isDeclared: Bool = false
    ) throws -> SchemaMigration {
        try store.requireNoTransition()
        try SchemaValidation.check(classes)
        return try SchemaMigration(
            store, to: classes, version: version, allowing: .newVersion, isWhole: true,
            renaming: renames, losses: .declared(dropping, isStrict: true),
            isDeclared: isDeclared)
    }

    /// Rolls the transaction back unless it was committed.
    package func end() {
        guard !store.isClosed, store.isInWrite else { return }
        // because: the caller needs the reason why the migration failed, not the failure to read the file afterward.
        try? store.cancelWrite()
    }
}

extension Store {
    /// Begins a write transaction that migrates the file.
    ///
    /// Waits while another thread or process writes. Throws `already_in_write`, and the errors of ``beginWrite(timeout:)``.
    package func beginMigration() throws -> MigrationTransaction {
        try check()
        guard !isInWrite else {
            throw alreadyInWrite(
                "a file cannot be migrated inside a write transaction", "commit it first")
        }
        try beginWrite()
        do {
            return try MigrationTransaction(self)
        } catch {
            try cancelWrite()
            throw error
        }
    }
}
