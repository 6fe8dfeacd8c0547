import ColumnStorage

/// Brings a file's schema to what a program expects, when a store is opened and by `define`.
struct SchemaOpening {
    private let store: Store

    init(_ store: Store) {
        self.store = store
    }

    /// What opening does: creates what is missing, checks the rest, changes it for a new version.
    func prepare() throws {
        store.catalog = try SchemaCatalog.bytes(store.view.snapshot) ?? []
        guard store.configuration.schema != nil else { return }
        guard try change().isNeeded else { return }
        guard !store.isReadOnly else {
            throw StoreError(
                .readOnly,
                "the file's schema differs from the one given, and the store is read-only")
        }
        try store.transact {
            // Another process may have changed the schema while this one waited to write.
            let latest = try change()
            if latest.isNeeded { try apply(latest) }
        }
    }

    private func change() throws -> SchemaChange {
        let wanted = store.configuration.schema ?? []
        let current = store.view.schema
        let version = store.configuration.schemaVersion
        let isNew = store.catalog.isEmpty
        guard isNew || version >= current.version else {
            throw StoreError(
                .versionTooLow,
                "the file has schema version \(current.version), \(version) was asked for; "
                    + "a file's version cannot go down")
        }
        return try SchemaChange(
            from: current, to: wanted, version: version,
            allowing: isNew || version > current.version ? .newVersion : .sameVersion)
    }

    /// Stores a changed schema in the open write transaction.
    func apply(_ change: SchemaChange) throws {
        guard let session = store.view.snapshot.write else { return }
        for (classSchema, key) in change.newKeys { try checkUnique(key, classSchema) }
        for classSchema in change.changed {
            try StoreError.wrapping { () throws(StorageError) in
                try session.define(change.schema.tableDefinition(of: classSchema))
            }
        }
        let bytes = SchemaCatalog.encode(change.schema)
        try StoreError.wrapping { () throws(StorageError) in
            try session.setMetadata(SchemaCatalog.name, bytes)
        }
        store.catalog = bytes
        store.view.schema = change.schema
        store.view.snapshot.configure(change.schema.tableDefinitions)
    }

    /// A property can only become the primary key if no two objects share a value.
    private func checkUnique(_ key: Property, _ classSchema: ClassSchema) throws {
        guard let stored = store.view.schema.find(classSchema.name) else { return }
        let rows = store.view.table(stored)
        let old = stored.property(storedAs: key.storedName)
        var seen: Set<Value> = []
        for cluster in 0..<rows.clusterCount {
            let bits = rows.presence(cluster)
            for word in 0..<Cluster.words {
                var rest = bits[word]
                while rest != 0 {
                    let row = cluster * Cluster.rows + word * 64 + rest.trailingZeroBitCount
                    rest &= rest - 1
                    let object = ObjectKey(rawValue: Int64(row))
                    let value =
                        try old.map { try store.view.value($0, of: object, in: stored) }
                        ?? key.type.zero
                    guard seen.insert(value).inserted else {
                        throw StoreError(
                            .duplicateKey,
                            "'\(classSchema.name).\(key.name)' cannot become the primary key: "
                                + "several objects have the value \(value.summary)")
                    }
                }
            }
        }
    }
}

extension Store {
    /// Creates classes, or adds properties and indexes to existing ones, in one transaction; live
    /// objects and observers stay as they are.
    ///
    /// Existing objects get nil, zero or empty values.
    ///
    /// Throws `already_in_write` inside a write transaction, `invalid_schema`, `migration_needed` for
    /// a change that would lose data (nothing changes then), and what a write may throw.
    public func define(_ classes: [ClassSchema]) throws {
        try check()
        guard !isInWrite else {
            throw StoreError(
                .alreadyInWrite,
                "classes cannot be defined inside a write transaction; commit it first")
        }
        try write {
            let named = Set(classes.map(\.name))
            try SchemaValidation.check(
                classes + view.schema.classes.filter { !named.contains($0.name) })
            let change = try SchemaChange(
                from: view.schema, to: classes, version: view.schema.version, allowing: .additive)
            if change.isNeeded { try SchemaOpening(self).apply(change) }
        }
    }

    /// A write transaction while the store is being opened, when there are no observers yet.
    func transact(_ body: () throws -> Void) throws {
        let snapshot = view.snapshot
        _ = try StoreError.wrapping { () throws(StorageError) in try snapshot.beginWrite() }
        do {
            catalog = try SchemaCatalog.bytes(snapshot) ?? []
            view.schema = try SchemaCatalog.read(snapshot)
            snapshot.configure(view.schema.tableDefinitions)
            try body()
            _ = try StoreError.wrapping { () throws(StorageError) in try snapshot.commit() }
        } catch {
            if snapshot.write != nil { snapshot.cancelWrite() }
            throw error
        }
    }
}
