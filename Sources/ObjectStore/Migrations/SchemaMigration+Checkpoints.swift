import ColumnStorage

// Migrations that commit in batches, and continue from the last batch after the process was killed.
//
// Until the migration ends, the file has one schema for all processes: the old one, with the added properties and
// classes of the new one. Therefore, no process misreads rows. Objects that other processes write between two batches
// are visited again at the end.
extension SchemaMigration {
    /// The reason why batches cannot be committed; nil if they can.
    private var obstacle: String? {
        if store.notifications.needsPresentVersion { return "the store has observers" }
        for difference in differences {
            switch difference {
            case .propertyChanged(let name, .index(false), _, let new):
                return "'\(name).\(new.name)' loses its index"
            case .keyAdded(let name, _), .keyRemoved(let name, _):
                return "the primary key of '\(name)' changes"
            case .embedding(let name, _):
                return "'\(name)' starts or stops being embedded"
            default: break
            }
        }
        for classSchema in change.schema.classes {
            let stored = before.find(table: classSchema.table)
            if let stored, stored.indexes.map(\.properties) != classSchema.indexes.map(\.properties)
            {
                return "the indexes of '\(classSchema.name)' over several properties change"
            }
        }
        return nil
    }

    /// Begins a resumable loop over a class.
    ///
    /// Returns the checkpoint from which the loop continues, or nil if an earlier run has finished the loop.
    ///
    /// Throws `invalid_argument` if the migration cannot commit in batches or has changed objects before.
    func beginLoop(_ className: String) throws -> (number: Int, resumed: MigrationCheckpoint?)? {
        guard resumeKey != nil else {
            throw StoreError(
                .invalidArgument,
                "m:each can only be resumable in a migration with its own version")
        }
        if let obstacle {
            throw StoreError(
                .invalidArgument,
                "m:each over '\(className)' cannot be resumable because \(obstacle); run the loop in a separate "
                    + "migration")
        }
        guard store.view.generation == cleanGeneration else {
            throw StoreError(
                .invalidArgument,
                "m:each over '\(className)' is resumable and must precede other changes to objects, "
                    + "because an interrupted run would repeat those changes")
        }
        try buildIndexes()
        let number = loopCount
        loopCount += 1
        guard let resumed, resumed.loop >= number else { return (number, nil) }
        return resumed.loop > number ? nil : (number, resumed)
    }

    /// Commits the changes of a loop so far and begins the next transaction.
    func commitBatch(loop: Int, position: Int64, done: Int, total: Int) throws {
        guard let key = resumeKey else { return }
        let interim = interimSchema
        for classSchema in interim.classes {
            let present = store.view.snapshot.definition(of: classSchema.table)
            guard interim.tableDefinition(of: classSchema) == present else {
                throw StoreError(
                    .invalidArgument,
                    "m:each cannot be resumable with this change of '\(classSchema.name)'")
            }
        }
        if resumed == nil, !hasCommitted { try willCommitFirstBatch?() }
        let catalog = SchemaCatalog.encode(interim)
        let committed = store.view.version + 1
        try MigrationCheckpoint(
            key: key, original: SchemaCatalog.encode(before),
            interim: SchemaCatalog.encode(change.schema), catalog: catalog, loop: loop,
            position: position, done: done, total: total, version: committed
        ).write(session)
        do {
            try StoreError.wrapping(session.setMetadata(SchemaCatalog.name, catalog))
            try store.commitSnapshot()
            hasCommitted = true
            let ticket = try store.awaitWriteLock()
            try StoreError.wrapping { () throws(StorageError) in
                _ = try store.view.snapshot.beginWrite(ticket, by: store.lockUser)
            }
        } catch {
            // because: the caller needs the reason why the migration failed, not the failure to read the file
            // afterward.
            try? store.didRollBack()
            throw error
        }
        session = try store.writer(changing: "the schema").session
        guard try SchemaCatalog.bytes(store.view.snapshot) == catalog else {
            throw StoreError(
                .migrationNeeded,
                "another process has changed the schema of '\(store.name)'; check the migration "
                    + "status, and migrate again")
        }
        try noteForeignChanges(since: committed)
        cleanGeneration = store.view.generation
    }

    /// Records the objects that other writers changed after the loops visited them.
    func noteForeignChanges(since version: UInt64) throws {
        let present = store.view.version
        guard present > version else { return }
        let changes = try StoreError.wrapping(
            store.view.snapshot.changes(from: version, to: present))
        guard let changes else {
            throw StoreError(
                .migrationNeeded,
                "the migration cannot continue: other processes have made more changes to '\(store.name)' than its "
                    + "history contains; return to the backup with moonpool migrate undo"
            )
        }
        for (table, change) in changes.tables {
            foreignChanges[table, default: KeySet()]
                .formUnion(change.inserted.union(change.modifiedRows))
        }
    }

    /// The schema for all processes until the migration ends: the old one, with the new properties and classes.
    private var interimSchema: Schema {
        func name(of target: String?) -> String? {
            target.map { name in
                change.schema.find(name).flatMap { before.find(table: $0.table)?.name } ?? name
            }
        }
        var classes: [ClassSchema] = []
        for planned in change.schema.classes {
            let stored = before.find(table: planned.table)
            var added: [Property] = []
            var kept: [ColumnID: Property] = [:]
            for var property in planned.properties where !property.isBacklinks {
                property.target = name(of: property.target)
                if let old = stored?.property(in: property.column) {
                    property.name = old.name
                    property.storedName = old.storedName
                    property.defaultValue = old.defaultValue
                    kept[property.column] = property
                    continue
                }
                if stored?.property(named: property.name) != nil { property.name += " (new)" }
                property.storedName = property.name
                // Other processes that create objects in the meantime do not set the property, so it needs a default.
                if property.isSingle, !property.isOptional, property.defaultValue == nil {
                    property.defaultValue = property.type.zero
                }
                added.append(property)
            }
            guard let stored else {
                classes.append(
                    ClassSchema(
                        planned.name, added, table: planned.table,
                        columnCount: planned.columnCount, isEmbedded: planned.isEmbedded,
                        indexes: planned.indexes))
                continue
            }
            let properties = stored.properties.map { old in
                old.isBacklinks ? old : kept[old.column] ?? old
            }
            classes.append(
                ClassSchema(
                    stored.name, properties + added, table: stored.table,
                    columnCount: planned.columnCount, isEmbedded: stored.isEmbedded,
                    indexes: stored.indexes))
        }
        classes += before.classes.filter { change.schema.find(table: $0.table) == nil }
        return Schema(
            classes: classes, version: before.version, nextTable: change.schema.nextTable)
    }
}
