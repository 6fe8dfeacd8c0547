import ColumnStorage

/// The schemas of a file: one, and a second one while a migration is started and not complete.
///
/// Both schemas name the columns of the same tables, so reads need no translation. A store uses one of them for all its
/// life; only the storage knows the columns of both.
struct FileSchema: Sendable {
    /// The schema of programs that do not name the version of the other one.
    let old: Schema
    /// The started migration; nil for a file with one schema.
    let transition: SchemaTransition?

    init(_ schema: Schema, _ transition: SchemaTransition? = nil) {
        old = schema
        self.transition = transition
    }

    /// Returns whether a store with this configuration uses the new schema of a started migration.
    ///
    /// Throws `schema_in_transition` while objects are not converted yet.
    func isNewVersion(for configuration: StoreConfiguration, _ snapshot: Snapshot) throws -> Bool {
        guard let transition, configuration.schemaVersion == transition.new.version else {
            return false
        }
        guard transition.isReady else {
            let done = try MigrationProgress.read(snapshot).converted
            throw StoreError(
                .schemaInTransition,
                "\(transition.title) has converted \(done) of \(transition.total) objects",
                advice:
                    "continue it with moonpool migrate start, and open the store when it has ended")
        }
        return true
    }

    /// Returns the schema of a store.
    func schema(isNew: Bool) -> Schema { isNew ? transition?.new ?? old : old }

    /// The storage's definitions of the tables, with the columns and the indexes of both schemas.
    var tableDefinitions: [TableDefinition] {
        guard let transition else { return old.tableDefinitions }
        var tables = Dictionary(
            old.tableDefinitions.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for definition in transition.new.tableDefinitions {
            tables[definition.id] = tables[definition.id]?.union(definition) ?? definition
        }
        return tables.values.sorted { $0.id < $1.id }
    }
}

/// A migration that is started and not complete: a second schema of the same file.
struct SchemaTransition: Sendable {
    /// The schema after the migration.
    let new: Schema
    /// Whether all objects are converted, so that programs of both versions can use the file.
    var isReady = false
    /// The number of the migration, its name, and the checksum of its file.
    var number: Int
    var name: String
    var checksum: String
    /// The time at which it was started.
    var startedAt: Timestamp
    /// The number of objects to convert when it was started.
    var total = 0
    /// The properties that both schemas have with different types.
    var pairs: [Pair]

    /// A property with a column of its own in each schema.
    struct Pair: Hashable, Sendable {
        let table: TableID
        let old: ColumnID
        let new: ColumnID
    }

    /// The migration in messages.
    var title: String { "migration \(number) (\(name))" }
}

extension Schema {
    /// Returns whether a program sees the same classes, properties and indexes in both schemas.
    func isSame(as other: Schema) -> Bool {
        guard self !== other else { return true }
        return version == other.version && classes.count == other.classes.count
            && zip(classes, other.classes).allSatisfy { $0.isSame(as: $1) }
    }

    /// Returns the same schema with the numbers of columns and tables that another one has given away.
    func counting(_ other: Schema) -> Schema {
        let classes = classes.map { classSchema in
            ClassSchema(
                classSchema.name, classSchema.properties, table: classSchema.table,
                columnCount: max(
                    classSchema.columnCount,
                    other.find(table: classSchema.table)?.columnCount ?? 0),
                isEmbedded: classSchema.isEmbedded, indexes: classSchema.indexes)
        }
        return Schema(
            classes: classes, version: version, nextTable: max(nextTable, other.nextTable))
    }
}

extension ClassSchema {
    fileprivate func isSame(as other: ClassSchema) -> Bool {
        self === other
            || name == other.name && table == other.table && isEmbedded == other.isEmbedded
                && indexes == other.indexes && properties == other.properties
    }
}

extension TableDefinition {
    /// Returns the definition of a table with the columns and the indexes of two schemas.
    fileprivate func union(_ other: TableDefinition) -> TableDefinition {
        var result = self
        for (index, column) in other.columns.enumerated() {
            if index >= result.columns.count {
                result.columns.append(column)
            } else if result.columns[index].isDropped {
                result.columns[index] = column
            } else if !column.isDropped {
                if result.columns[index].index == .none {
                    result.columns[index].index = column.index
                }
                if column.isFullText { result.columns[index].isFullText = true }
            }
        }
        let known = Set(compositeIndexes.map(\.id))
        result.compositeIndexes += other.compositeIndexes.filter { !known.contains($0.id) }
        return result
    }
}
