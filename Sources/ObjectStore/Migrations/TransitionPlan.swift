import ColumnStorage

/// The second schema of a file, for a migration that programs of both versions outlast.
struct TransitionPlan {
    /// The schema, with the tables and columns of the file.
    let new: Schema
    /// The properties with a column of their own in each schema.
    let pairs: [SchemaTransition.Pair]
    /// The differences between the schemas.
    let differences: [SchemaDifference]

    /// Throws `invalid_schema`, and `invalid_argument` for a change that both versions cannot use at once.
    init(
        _ store: Store, _ before: Schema, to wanted: [ClassSchema], version: UInt64,
        renaming renames: [String: String], dropping: Set<String>
    ) throws {
        try Self.check(store)
        var circumstances = SchemaChange.Circumstances()
        circumstances.isTransition = true
        circumstances.renames = try SchemaRenames(renames, from: before, to: wanted)
        let kept = Set(wanted.map(\.name)).union(circumstances.renames.classes.values)
        circumstances.removed = Set(before.classes.map(\.name)).subtracting(kept)
        let change = try SchemaChange(
            from: before, to: wanted, version: version, allowing: .newVersion, circumstances)
        let losses = LossPolicy.declared(dropping, isStrict: true)
        try losses.checkDeclarations(before.classes, wanted)
        try UndeclaredLoss.check(
            losses, change.differences, before: store.committedView, in: store)
        if let name = circumstances.removed.sorted().first(where: { !losses.covers(className: $0) })
        {
            throw StoreError(
                .invalidSchema, "the schema does not contain class '\(name)'",
                advice: "declare the loss with drops = { \"\(name)\" }, or add it to the schema")
        }
        for (old, new) in before.classes.compactMap({ old in
            change.schema.find(table: old.table).map { (old, $0) }
        }) where old.uniqueColumns != new.uniqueColumns {
            throw Self.refusal("a unique index of '\(new.name)' would change")
        }
        // Embedded objects of a class of one version are in tables of their own, which the other version does not show.
        let embedded = Set(
            before.classes.filter(\.isEmbedded).flatMap { old in
                change.schema.find(table: old.table).map { [old.name, $0.name] } ?? []
            })
        for difference in change.differences {
            if let obstacle = Self.obstacle(difference, embedded) {
                throw Self.refusal(obstacle)
            }
        }
        (new, differences) = (change.schema, change.differences)
        pairs = change.differences.compactMap { difference in
            guard case .propertyChanged(let name, .type, let old, let requested) = difference,
                !old.isBacklinks, let present = change.schema.find(name),
                let property = present.property(named: requested.name), !property.isBacklinks
            else { return nil }
            return SchemaTransition.Pair(
                table: present.table, old: old.column, new: property.column)
        }
        assert(pairs.allSatisfy { $0.old != $0.new }, "each schema has a column of its own")
    }

    private static func refusal(_ obstacle: String) -> StoreError {
        StoreError(
            .invalidArgument, "both versions cannot be used at once: \(obstacle)",
            advice: "apply the migration with moonpool migrate up")
    }

    private static func check(_ store: Store) throws {
        guard store.path != nil else {
            throw StoreError(.invalidArgument, "a store in memory has one schema at a time")
        }
        if let found = try UnfinishedMigration.read(store.view.snapshot) { throw found.refusal }
        guard try store.replicationRecord() == nil else {
            throw StoreError(
                .invalidArgument, "\(store.title) is replicated, and has one schema at a time",
                advice: "apply the migration with moonpool migrate up")
        }
    }

    /// Returns what both versions cannot use at once in a difference; nil for nothing.
    private static func obstacle(
        _ difference: SchemaDifference, _ embedded: Set<String>
    ) -> String? {
        switch difference {
        case .keyAdded, .keyRemoved, .embedding: return "\(difference)"
        case .indexAdded(_, let index), .indexRemoved(_, let index):
            return index.isUnique ? "\(difference)" : nil
        case .propertyChanged(_, .rules, _, _): return "\(difference)"
        case .propertyAdded(let name, let property), .propertyRemoved(let name, let property):
            return obstacle(property, of: name, embedded)
        case .propertyChanged(let name, .type, let old, let new):
            if old.isBacklinks && new.isBacklinks { return nil }
            if old.isBacklinks || new.isBacklinks || old.isPrimary { return "\(difference)" }
            return obstacle(old, of: name, embedded) ?? obstacle(new, of: name, embedded)
        default: return nil
        }
    }

    /// Returns the reason why only one schema can have a property; nil if both can be used.
    private static func obstacle(
        _ property: Property, of className: String, _ embedded: Set<String>
    ) -> String? {
        if property.isBacklinks { return nil }
        if property.target.map(embedded.contains) == true {
            return
                "'\(className).\(property.name)' contains embedded objects of a class of both versions"
        }
        return property.rules.isEmpty
            ? nil : "'\(className).\(property.name)' has rules (\(property.rules.summary))"
    }
}

extension ClassSchema {
    /// The columns of each unique index over several properties.
    fileprivate var uniqueColumns: Set<[ColumnID]> {
        let unique = Set(indexes.filter(\.isUnique).map(\.id))
        return Set(
            compositeIndexDefinitions.filter { unique.contains($0.id) }.map(\.columns))
    }
}

extension SchemaRenames {
    /// Creates the renames that a migration declares: the new names of classes and of `Class.property`, by the old ones.
    ///
    /// Throws `invalid_schema` for a name that the old or the new schema does not have.
    init(_ declared: [String: String], from before: Schema, to wanted: [ClassSchema]) throws {
        self.init()
        let stored = Set(before.classes.map(\.name))
        for (name, newName) in declared.sorted(by: { $0.key < $1.key }) where !name.contains(".") {
            _ = try before.require(name)
            guard wanted.contains(where: { $0.name == newName }) else {
                throw StoreError(
                    .invalidSchema,
                    "class '\(name)' would be renamed to '\(newName)', which the schema does not declare"
                )
            }
            renameClass(name, to: newName, among: stored)
        }
        for (name, newName) in declared.sorted(by: { $0.key < $1.key }) {
            let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { continue }
            let old = try before.require(parts[0])
            _ = try old.requireProperty(parts[1])
            let className = newClass(of: old.name)
            guard
                wanted.first(where: { $0.name == className })?.property(named: newName) != nil
            else {
                throw StoreError(
                    .invalidSchema,
                    "'\(name)' would be renamed to '\(newName)', which the schema does not declare")
            }
            renameProperty(parts[1], to: newName, in: old)
        }
    }
}
