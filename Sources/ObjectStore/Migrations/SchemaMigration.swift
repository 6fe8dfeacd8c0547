import ColumnStorage

/// A change of the file's schema in the open write transaction of a store, from its first step to its last.
///
/// Columns and classes that the new schema does not have are kept until the end, because the migration may still rename
/// them. Values that are already set keep their columns when the change is computed again.
package final class SchemaMigration {
    let store: Store
    let session: WriteSession
    let before: Schema
    /// The version before the change, for reading.
    let old: StoreView
    private let wanted: [ClassSchema]
    let version: UInt64
    private let isWhole: Bool
    /// Whether existing objects also have the defaults of new optional properties.
    private let isDeclared: Bool
    /// The allowed losses, and those that the migration has declared so far.
    private(set) var losses: LossPolicy
    private(set) var circumstances = SchemaChange.Circumstances()
    private(set) var change: SchemaChange
    /// Whether objects failed in a dry run, which reports failures and continues.
    private var hasFailedObjects = false
    /// The tables that the migration created, whether or not a class keeps them.
    private var created: Set<TableID> = []

    /// Computes the changes without applying them.
    ///
    /// If the given schema is complete, classes outside of it must not remain at the end: empty ones are removed, and
    /// the migration must delete or rename the others.
    ///
    /// Throws `migration_needed`, also for a file with an ``UnfinishedMigration``, and `not_in_write`.
    init(
        _ store: Store, to wanted: [ClassSchema], version: UInt64,
        allowing: SchemaChange.Allowance, isWhole: Bool = false, renaming: [String: String] = [:],
        losses: LossPolicy = .allowed, isDeclared: Bool = false
    ) throws {
        self.store = store
        self.losses = losses
        self.wanted = wanted
        self.version = version
        self.isWhole = isWhole
        self.isDeclared = isDeclared
        session = try store.writer(changing: "the schema").session
        if let found = try UnfinishedMigration.read(store.view.snapshot) { throw found.refusal }
        before = store.view.schema
        circumstances.renames = try SchemaRenames(renaming, from: before, to: wanted)
        let snapshot = try StoreError.wrapping(store.view.snapshot.frozen())
        try snapshot.configure(before.tableDefinitions)
        old = StoreView(schema: before, snapshot: snapshot, isFrozen: true)
        change = try SchemaChange(
            from: before, to: wanted, version: version, allowing: allowing, circumstances)
    }

    /// Whether the schema or its version differs.
    var isNeeded: Bool { change.isNeeded }

    /// The differences between the schemas, with the renames and removals so far.
    package var differences: [SchemaDifference] { change.differences }

    /// The schemas before and after the change.
    var schemas: (old: Schema, new: Schema) { (before, change.schema) }

    /// The classes that the new schema does not name, as they will be stored.
    var unnamedClasses: [ClassSchema] {
        let names = Set(wanted.map(\.name))
        return change.schema.classes.filter { !names.contains($0.name) }
    }

    /// Changes the schema, and runs a function that sets values and renames properties and classes.
    ///
    /// Before the function runs, existing objects get the defaults of new properties, and properties whose type changes
    /// get the values that convert exactly. Values that the new schema does not declare are dropped if `losses` allow
    /// it.
    ///
    /// Throws `invalid_schema`, `duplicate_key`, `missing_value`, `invalid_object` for problems found at the end, and
    /// the errors of the function and of a write.
    package func apply(running body: ((Migration) throws -> Void)? = nil) throws {
        try store.requireNoTransition()
        guard body != nil || carriesValues else { return try finish() }
        try losses.checkDeclarations(before.classes, wanted)
        try define(keepingOldColumns: true)
        let migration = Migration(self)
        defer { migration.end() }
        try carried.carry(from: old)
        try body?(migration)
        hasFailedObjects = migration.hasFailed
        guard !store.isClosed, store.view.snapshot.write === session else {
            throw StoreError(
                .closed, "the store was closed during its migration; nothing was changed")
        }
        try finish()
    }

    /// The values that existing objects receive without a migration function.
    private lazy var carried = CarriedValues(self)

    /// Whether existing objects receive values without a migration function.
    private var carriesValues: Bool { differences.contains { conversion(for: $0) != nil } }

    /// How existing objects get values of a property of the new schema; nil if they keep them, or have none.
    func conversion(
        for difference: SchemaDifference
    ) -> (to: Property, SchemaDifference.Conversion)? {
        if isDeclared, case .propertyAdded(_, let new) = difference, new.isSingle {
            return new.defaultValue.map { (new, .fill($0)) }
        }
        return difference.conversion
    }

    /// Sets the results of the store's default functions in existing objects.
    func fillComputedDefaults() throws { try carried.fillComputedDefaults(from: old) }

    /// Returns whether values or objects of the version before the change were overwritten or removed, and not only
    /// received additions, other names or another primary key.
    ///
    /// Call it between ``apply(running:)`` and ``commit(recording:)``. Takes time in proportion to the changes.
    package func needsBackup() throws -> Bool {
        guard try SchemaLoss.losses(differences, in: old).isEmpty else { return true }
        for stored in before.classes {
            guard session.hasTouched(stored.table),
                let present = store.view.schema.find(table: stored.table)
            else { continue }
            let (was, now) = (try old.table(stored), try store.view.table(present))
            for cluster in 0..<was.clusterCount {
                let before = try was.presence(cluster)
                let after = cluster < now.clusterCount ? try now.presence(cluster) : .zero
                if !(before & ~after).isEmpty { return true }
            }
            let columns = stored.properties.filter { !$0.isBacklinks }.map(\.column)
            let touched = try StoreError.wrapping(session.touchedKeys(stored.table, columns))
            if try touched.contains(where: { try was.isPresent($0) }) { return true }
        }
        return false
    }

    /// Declares that data is dropped intentionally: `Class.property`, or the name of a class.
    func declareLoss(of qualifiedName: String) { losses.declare(qualifiedName) }

    /// Writes the record of migrations and commits; returns a report of the changes.
    ///
    /// Call it after ``apply(running:)``. Throws the errors of a commit; the file is then unchanged.
    @discardableResult  // because: many callers check the store instead
    package func commit(recording log: MigrationLog) throws -> MigrationReport {
        try log.write(store.writer(changing: "the record of migrations").session)
        try store.commitWrite()
        return try MigrationReport(self, after: store.view)
    }

    // MARK: Requests of migrations

    /// Returns the class in both schemas; nil for a schema that does not have it.
    ///
    /// A name in the new schema takes precedence over one in the old schema.
    func counterparts(_ name: String) throws -> (old: ClassSchema?, new: ClassSchema?) {
        if let new = store.view.schema.find(name) { return (before.find(table: new.table), new) }
        let old = try before.require(name)
        return (old, store.view.schema.find(table: old.table))
    }

    /// Adds renames or removed classes, and computes the change again.
    func update(_ change: (inout SchemaChange.Circumstances) throws -> Void) throws {
        try change(&circumstances)
        circumstances.interim = self.change.schema
        self.change = try SchemaChange(
            from: before, to: wanted, version: version, allowing: .newVersion, circumstances)
        try define(keepingOldColumns: true)
        try carried.carry(from: old)
    }

    /// The wanted class of this name.
    func wantedClass(_ name: String) -> ClassSchema? { wanted.first { $0.name == name } }

    // MARK: Storage

    /// Defines the tables.
    ///
    /// As long as it keeps old columns, they have no new indexes: updating an index costs more than
    /// all other work for a row, so the end builds it from the final values. Until then, queries scan.
    private func define(keepingOldColumns: Bool) throws {
        let schema =
            keepingOldColumns ? change.schema.withoutNewIndexes(since: before) : change.schema
        for classSchema in schema.classes {
            try StoreError.step(1024)
            var definition = schema.tableDefinition(of: classSchema)
            if keepingOldColumns { keepOldColumns(in: &definition) }
            if store.view.snapshot.definition(of: classSchema.table) == definition { continue }
            if before.find(table: classSchema.table) == nil { created.insert(classSchema.table) }
            try StoreError.wrapping(session.define(definition))
        }
        store.adoptInWrite(schema)
    }

    private func keepOldColumns(in definition: inout TableDefinition) {
        guard let old = before.find(table: definition.id) else { return }
        for (index, column) in before.tableDefinition(of: old).columns.enumerated()
        where !column.isDropped && definition.columns[index].isDropped {
            definition.columns[index] = column
        }
    }

    private func finish() throws {
        try checkRenames()
        if isWhole { try removeUnnamed() }
        try UndeclaredLoss.check(losses, differences, before: { old }, in: store)
        if !hasFailedObjects { try carried.checkConverted(except: losses) }
        if circumstances.interim != nil { try SchemaValidation.check(change.schema.classes) }
        try define(keepingOldColumns: false)
        let schema = change.schema
        let removed = (before.classes.map(\.table) + created).filter {
            schema.find(table: $0) == nil
        }
        for table in removed.sorted() {
            try StoreError.wrapping(session.removeTable(table))
        }
        try MigrationCheck(store, session, from: before).check()
        let bytes = SchemaCatalog.encode(schema)
        try store.writeCatalog(bytes, session)
    }

    /// Checks the renames of the migration as a whole: each leads to a name that the schema declares and that no other
    /// property or class of the file keeps.
    private func checkRenames() throws {
        let renames = circumstances.renames
        for (oldClass, names) in renames.properties {
            let className = renames.newClass(of: oldClass)
            for (name, old) in names {
                let subject = "'\(className).\(old)' was renamed to '\(name)'"
                guard let wanted = wantedClass(className) else {
                    throw StoreError(
                        .invalidSchema, "\(subject), but the schema does not declare '\(className)'"
                    )
                }
                guard
                    names.values.contains(name)
                        || before.find(oldClass)?.property(named: name) == nil
                else {
                    throw StoreError(
                        .invalidSchema,
                        "'\(className).\(old)' cannot be renamed to '\(name)': the file has a property "
                            + "'\(name)' whose values would be lost; rename that one too")
                }
                guard names[old] != nil || wanted.property(named: old) == nil else {
                    throw StoreError(
                        .invalidSchema,
                        "\(subject), and the new schema still declares '\(old)'; declare only one of them"
                    )
                }
                guard wanted.property(named: name) != nil else {
                    throw StoreError(
                        .invalidSchema,
                        "\(subject), which the schema does not declare"
                            + NearestName.hint(for: name, among: wanted.properties.map(\.name)))
                }
            }
        }
        for (name, old) in renames.classes {
            let subject = "class '\(old)' cannot be renamed to '\(name)'"
            let isKept = before.find(name) != nil && !circumstances.removed.contains(name)
            guard renames.classes.values.contains(name) || !isKept else {
                throw StoreError(
                    .invalidSchema,
                    "\(subject): the file already has a class '\(name)'; rename that one too")
            }
            guard renames.classes[old] != nil || wantedClass(old) == nil else {
                throw StoreError(
                    .invalidSchema, "\(subject): the new schema still declares '\(old)'")
            }
            guard wantedClass(name) != nil else {
                throw StoreError(
                    .invalidSchema,
                    "class '\(old)' was renamed to '\(name)', which the schema does not declare"
                        + NearestName.hint(for: name, among: wanted.map(\.name)))
            }
        }
    }

    /// Removes the classes that a complete schema does not name.
    private func removeUnnamed() throws {
        let left = unnamedClasses
        guard !left.isEmpty else { return }
        for classSchema in left {
            let isDeclared = losses.covers(className: classSchema.name)
            if isDeclared { try store.deleteAll(classSchema.name) }
            let count = try store.view.table(classSchema).count
            guard isDeclared || (count == 0 && !losses.isStrict) else {
                throw StoreError(
                    .invalidSchema,
                    "the schema does not contain class '\(classSchema.name)', which has "
                        + "\(count) object\(count == 1 ? "" : "s")",
                    program:
                        "delete them with deleteClass, rename the class with rename(_:from:), or add its "
                        + "model to the store",
                    script:
                        "declare the loss with drops = { \"\(classSchema.name)\" }, rename the class with "
                        + "m:rename_class, or add it to the schema")
            }
            if let stored = before.find(table: classSchema.table) {
                circumstances.removed.insert(stored.name)
            }
        }
        circumstances.interim = change.schema
        change = try SchemaChange(
            from: before, to: wanted, version: version, allowing: .newVersion, circumstances)
    }
}

extension Schema {
    /// Returns the schema without indexes over single properties that an earlier schema does not have.
    fileprivate func withoutNewIndexes(since before: Schema) -> Schema {
        var isSame = true
        let classes = classes.map { classSchema in
            let stored = before.find(table: classSchema.table)
            let properties = classSchema.properties.map { property in
                guard property.hasIndex, !property.isPrimary,
                    stored?.property(in: property.column)?.hasIndex != true
                else { return property }
                isSame = false
                var property = property
                property.isIndexed = false
                property.rules.isUnique = false
                return property
            }
            return ClassSchema(
                classSchema.name, properties, table: classSchema.table,
                columnCount: classSchema.columnCount, isEmbedded: classSchema.isEmbedded,
                indexes: classSchema.indexes)
        }
        return isSame ? self : Schema(classes: classes, version: version, nextTable: nextTable)
    }
}
