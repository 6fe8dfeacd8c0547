import ColumnStorage

/// Changes a file's schema to the schema of a program, when a store is opened and in `define`.
struct SchemaOpening {
    private let store: Store

    /// The action that opening needs.
    private enum Course {
        case nothing
        case change(SchemaChange.Allowance)
        case migration
        case reset
    }

    init(_ store: Store) {
        self.store = store
    }

    /// Prepares the file: creates missing classes, verifies existing ones, and migrates the file to a new version.
    ///
    /// Errors name the file, because a program may open many.
    func prepare() throws {
        do {
            try open()
        } catch let error as StoreError
            where [
                .migrationNeeded, .duplicateKey, .missingValue, .versionTooLow, .schemaInTransition,
            ].contains(error.code)
        {
            throw error.at("'\(store.name)'")
        }
    }

    private func open() throws {
        try store.readCatalog()
        guard store.configuration.schema != nil else { return try checkVersion() }
        guard !store.isReadOnly else { return try openReadOnly() }
        switch try course() {
        case .nothing: return
        case .change: break
        case .migration, .reset: try checkAlone()
        }
        try store.transact {
            // Another process may have changed the schema while this one waited for the write lock.
            switch try course() {
            case .nothing: break
            case .change(let allowance): try migration(allowance).apply()
            case .migration:
                try migration(.newVersion).apply(running: store.migrationFunction)
            case .reset: try reset()
            }
        }
    }

    /// Throws if a program without a schema names a version that the file does not have.
    private func checkVersion() throws {
        let present = store.view.schema.version
        guard version != 0, version != present else { return }
        throw StoreError(
            version < present ? .versionTooLow : .migrationNeeded,
            "the file has schema version \(present); version \(version) was requested")
    }

    private func openReadOnly() throws {
        if !store.catalog.isEmpty {
            try ReadOnlySchema.check(store.view.schema, wanted, version: version)
        }
        try store.adopt(store.catalog)
    }

    private var wanted: [ClassSchema] { store.configuration.schema ?? [] }
    private var version: UInt64 { store.configuration.schemaVersion }

    private func migration(_ allowance: SchemaChange.Allowance) throws -> SchemaMigration {
        try SchemaMigration(
            store, to: wanted, version: version, allowing: allowance,
            losses: .declared(store.configuration.drops, isStrict: false))
    }

    private func course() throws -> Course {
        let current = store.view.schema
        let isNew = store.catalog.isEmpty
        let deletes = store.configuration.deletesIfMigrationNeeded
        if !isNew, version != current.version {
            if deletes { return .reset }
            guard version > current.version else {
                throw StoreError(
                    .versionTooLow,
                    "the file has schema version \(current.version); version \(version) was requested; "
                        + "a file's version cannot go down")
            }
            try checkUnrecorded(current.version)
            return .migration
        }
        let allowance: SchemaChange.Allowance = isNew ? .newVersion : .sameVersion
        do {
            let change = try SchemaChange(
                from: current, to: wanted, version: version, allowing: allowance)
            return change.isNeeded ? .change(allowance) : .nothing
        } catch let error as StoreError where error.code == .migrationNeeded && deletes {
            return .reset
        }
    }

    /// Throws if numbered migrations brought the file to its version: only further numbered migrations may change its
    /// schema.
    ///
    /// An automatic change would lose the values that the next migration needs, and no command could migrate the file
    /// further.
    private func checkUnrecorded(_ version: UInt64) throws {
        guard let last = try MigrationLog.read(store.view.snapshot).entries.last else { return }
        throw StoreError(
            .migrationNeeded,
            "the file has schema version \(version), from migration \(last.number) (\(last.name)), and version "
                + "\(self.version) was requested",
            program: "run moonpool migrate up \(store.name) --dir DIR first",
            script:
                "run moonpool migrate up \(store.name) --dir DIR first, or open the store with "
                + "migrations = \"DIR\"")
    }

    /// Throws if other stores of the process are open, whose observers would receive a schema that their code does not
    /// expect.
    private func checkAlone() throws {
        guard store.coordinator.hasMembers else { return }
        throw StoreError(
            .invalidArgument,
            "'\(store.name)' cannot be migrated while this process has it open; close it first")
    }

    /// Removes all data and creates the store again.
    private func reset() throws {
        try store.requireNoTransition()
        let session = try store.writer(changing: "the schema").session
        let before = store.view.schema
        for classSchema in before.classes {
            try StoreError.wrapping(session.removeTable(classSchema.table))
        }
        store.adoptInWrite(Schema(classes: [], version: 0, nextTable: before.nextTable))
        try MigrationLog().write(session)
        try UnfinishedMigration.remove(session)
        try migration(.newVersion).apply()
    }
}

extension Store {
    /// Creates classes, or adds properties and indexes to existing ones, in one transaction; live objects and observers
    /// remain valid.
    ///
    /// Existing objects get nil, zero or empty values.
    ///
    /// Throws `already_in_write` inside a write transaction, `invalid_schema`, `migration_needed` for a change that
    /// would lose data (the store is then unchanged), and the errors of a write.
    public func define(_ classes: [ClassSchema]) throws {
        try define(classes, allowing: .additive, nil)
    }

    /// Defines classes that are computed in the transaction, from the newest schema of the store.
    ///
    /// Throws the errors of ``define(_:)`` and of the function.
    package func define(computing classes: () throws -> [ClassSchema]) throws {
        try define(classes(), allowing: .additive, nil)
    }

    /// Creates classes, or adds to existing ones, in the open write transaction, which commits or rolls back the
    /// change.
    ///
    /// `version` becomes the version of the schema; nil keeps the version. Throws the errors of ``define(_:)``, and
    /// `not_in_write`; the schema is then unchanged.
    package func defineInWrite(_ classes: [ClassSchema], version: UInt64? = nil) throws {
        _ = try writer(changing: "the schema")
        let migration = try SchemaMigration(
            self, to: classes, version: version ?? view.schema.version, allowing: .additive)
        try SchemaValidation.check(classes + migration.unnamedClasses)
        if migration.isNeeded { try migration.apply() }
    }

    /// Changes classes in one transaction, even if data is lost.
    ///
    /// The values that a migration function sets or renames are kept. Classes that are not named do not change; live
    /// objects and observers continue with the new schema. The classes are evaluated in the transaction.
    ///
    /// Throws the errors of ``define(_:)`` except `migration_needed`; also `duplicate_key` and `missing_value` for
    /// problems found at the end, and the errors of the migration; the store is then unchanged.
    package func redefine(
        _ classes: @autoclosure () throws -> [ClassSchema],
        migration: ((Migration) throws -> Void)? = nil
    ) throws {
        try define(classes(), allowing: .newVersion, migration)
    }

    private func define(
        _ classes: @autoclosure () throws -> [ClassSchema],
        allowing allowance: SchemaChange.Allowance, _ function: ((Migration) throws -> Void)?
    ) throws {
        try check()
        guard !isInWrite else {
            throw alreadyInWrite(
                "classes cannot be defined inside a write transaction", "commit it first")
        }
        try write {
            let classes = try classes()
            let migration = try SchemaMigration(
                self, to: classes, version: view.schema.version, allowing: allowance)
            try SchemaValidation.check(classes + migration.unnamedClasses)
            if function != nil || migration.isNeeded {
                try migration.apply(running: function)
            } else {
                // An unchanged schema needs no new version.
                try cancelWrite()
            }
        }
    }

    /// Runs a write transaction while the store is being opened, before it has observers.
    func transact(_ body: () throws -> Void) throws {
        try ReadOnlySection.check()
        let snapshot = view.snapshot
        let ticket = try awaitWriteLock()
        _ = try StoreError.wrapping(snapshot.beginWrite(ticket))
        do {
            try adopt(try SchemaCatalog.bytes(snapshot) ?? [])
            try body()
            try commitSnapshot()
            didCommitSchema(after: nil)
        } catch {
            if snapshot.write != nil { snapshot.cancelWrite() }
            throw error
        }
    }

    /// The store's name in errors: its path, or its name in memory.
    var name: String {
        switch configuration.location {
        case .file(let path): path
        case .memory(let name): name
        }
    }
}

/// The schema of a read-only store: that of its file, with the classes and backlinks that only the program declares.
///
/// A class that the file does not have has no objects. Backlinks are computed from the links in the file.
enum ReadOnlySchema {
    /// Throws if the file cannot be read with the classes that a program declares.
    ///
    /// The codes are `migration_needed`, and `version_too_low` or `migration_needed` for another schema version. A file
    /// may have more classes and properties, other indexes, defaults and another order of properties. Classes that the
    /// file does not have are empty.
    static func check(_ current: Schema, _ wanted: [ClassSchema], version: UInt64) throws {
        guard version >= current.version else {
            throw StoreError(
                .versionTooLow,
                "the file has schema version \(current.version); version \(version) was requested; "
                    + "a file's version cannot go down")
        }
        guard version == current.version else {
            throw StoreError(
                .migrationNeeded,
                "the file has schema version \(current.version); version \(version) was requested, and a read-only "
                    + "store cannot be migrated")
        }
        let change = try SchemaChange(
            from: current, to: wanted, version: version, allowing: .newVersion)
        let refused = change.differences.filter { !$0.isReadable }
        guard refused.isEmpty else {
            let list = refused.map { "- \($0)" }.joined(separator: "\n")
            throw StoreError(
                .migrationNeeded,
                "the schema needs a migration, and a read-only store cannot be migrated:\n\(list)")
        }
    }

    /// Returns the schema of a file with the classes and backlinks that only a program declares.
    static func schema(_ current: Schema, with wanted: [ClassSchema]) -> Schema {
        let missing = wanted.filter { current.find($0.name) == nil }
        let classes = current.classes.map { stored in
            guard let declared = wanted.first(where: { $0.name == stored.name }) else {
                return stored
            }
            let backlinks = declared.properties.filter {
                $0.isBacklinks && stored.property(named: $0.name) == nil
            }
            if backlinks.isEmpty { return stored }
            return ClassSchema(
                stored.name, stored.properties + backlinks, table: stored.table,
                columnCount: stored.columnCount, isEmbedded: stored.isEmbedded,
                indexes: stored.indexes)
        }
        // These table numbers are so high that classes added to the file later do not use them.
        let firstTable = TableID.limit - 2 - UInt32(missing.count)
        let known = Schema(
            classes: classes, version: current.version,
            nextTable: missing.isEmpty ? current.nextTable : max(current.nextTable, firstTable))
        if missing.isEmpty { return known }
        // because: without free numbers, the additional classes remain unknown.
        let planned = try? SchemaChange(
            from: known, to: missing, version: current.version, allowing: .newVersion)
        return planned?.schema ?? known
    }
}
