import ColumnStorage

/// What turns a file's schema into a wanted one.
struct SchemaChange {
    /// How much may change.
    enum Allowance {
        /// New classes and indexes; all else needs a new schema version.
        case sameVersion
        /// Also new properties; what would lose data is refused.
        case additive
        /// Everything: what has no counterpart is dropped.
        case newVersion
    }

    /// The schema afterwards.
    let schema: Schema
    /// The classes whose tables are new or changed.
    let changed: [ClassSchema]
    /// Primary keys that existing objects must be able to bear.
    let newKeys: [(ClassSchema, Property)]
    /// Whether anything differs at all, defaults included.
    let isNeeded: Bool

    /// Works out the change.
    ///
    /// Classes of the file that are not wanted stay as they are. Throws `migration_needed` with
    /// every difference that is not allowed.
    init(
        from current: Schema, to wanted: [ClassSchema], version: UInt64, allowing: Allowance
    ) throws {
        var planner = Planner(current: current, allowance: allowing)
        var classes = Dictionary(
            current.classes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var changed: [ClassSchema] = []
        for classSchema in wanted {
            let result = planner.plan(classSchema)
            if result != classes[classSchema.name] { changed.append(result) }
            classes[classSchema.name] = result
        }
        if !planner.obstacles.isEmpty { throw Self.refusal(planner.obstacles, allowing) }
        schema = Schema(
            classes: Array(classes.values), version: version, nextTable: planner.nextTable)
        self.changed = changed
        newKeys = planner.newKeys
        isNeeded = !changed.isEmpty || version != current.version
    }

    private static func refusal(_ obstacles: [String], _ allowance: Allowance) -> StoreError {
        let advice =
            allowance == .additive
            ? "define only adds classes, properties and indexes"
            : "open the store with a higher schema_version to let it change"
        let list = obstacles.map { "- \($0)" }.joined(separator: "\n")
        return StoreError(.migrationNeeded, "the schema needs a migration; \(advice):\n\(list)")
    }
}

/// Gives tables and columns to the classes that are wanted.
private struct Planner {
    let current: Schema
    let allowance: SchemaChange.Allowance
    var nextTable: UInt32
    var obstacles: [String] = []
    var newKeys: [(ClassSchema, Property)] = []

    init(current: Schema, allowance: SchemaChange.Allowance) {
        self.current = current
        self.allowance = allowance
        nextTable = current.nextTable
    }

    mutating func plan(_ wanted: ClassSchema) -> ClassSchema {
        guard let stored = current.find(wanted.name) else { return planNew(wanted) }
        var columnCount = stored.columnCount
        var properties: [Property] = []
        for var property in wanted.properties {
            if property.isBacklinks {
                properties.append(property)
                continue
            }
            let old = stored.property(storedAs: property.storedName)
            if old == nil, allowance == .sameVersion {
                refuse("'\(stored.name).\(property.name)' would be added")
            }
            if let old, canKeep(old, property, stored) {
                property.column = old.column
            } else {
                property.column = ColumnID(rawValue: columnCount)
                columnCount += 1
            }
            properties.append(property)
        }
        for old in stored.properties
        where !old.isBacklinks && wanted.property(storedAs: old.storedName) == nil {
            refuse("'\(stored.name).\(old.name)' would be removed, with its values")
        }
        let result = ClassSchema(
            stored.name, properties, table: stored.table, columnCount: columnCount,
            isEmbedded: wanted.isEmbedded, indexes: wanted.numberedIndexes(after: stored.indexes))
        if stored.isEmbedded != wanted.isEmbedded {
            refuse(
                "'\(stored.name)' would \(wanted.isEmbedded ? "become" : "no longer be") embedded")
        }
        if let key = result.primaryKey, stored.primaryKey?.column != key.column {
            refuse("'\(stored.name).\(key.name)' would become the primary key")
            newKeys.append((result, key))
        } else if let key = stored.primaryKey, result.primaryKey == nil {
            refuse("'\(stored.name).\(key.name)' would no longer be the primary key")
        }
        return result
    }

    private mutating func planNew(_ wanted: ClassSchema) -> ClassSchema {
        var properties = wanted.properties
        var columnCount = 0
        for position in properties.indices where !properties[position].isBacklinks {
            properties[position].column = ColumnID(rawValue: columnCount)
            columnCount += 1
        }
        nextTable += 1
        return ClassSchema(
            wanted.name, properties, table: TableID(rawValue: nextTable - 1),
            columnCount: columnCount, isEmbedded: wanted.isEmbedded,
            indexes: wanted.numberedIndexes(after: []))
    }

    /// Whether a property keeps its column, and with it its values.
    private mutating func canKeep(
        _ old: Property, _ new: Property, _ classSchema: ClassSchema
    ) -> Bool {
        let place = "'\(classSchema.name).\(new.name)'"
        guard old.type == new.type, old.collection == new.collection, old.target == new.target,
            !old.isBacklinks
        else {
            refuse(
                "\(place) would change from \(old.typeName) to \(new.typeName) and lose its values")
            return false
        }
        guard old.isOptional != new.isOptional else { return true }
        guard new.isOptional else {
            refuse("\(place) would become required and lose its values")
            return false
        }
        if allowance == .sameVersion { refuse("\(place) would become optional") }
        return old.collection == nil
    }

    private mutating func refuse(_ difference: String) {
        if allowance != .newVersion { obstacles.append(difference) }
    }
}
