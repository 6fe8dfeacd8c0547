import ColumnStorage

/// The changes of one step of a store: one commit, or several commits that the store has received together.
///
/// The change keeps both versions; use it only while the handler runs.
package struct VersionChange {
    /// The changes of the objects of one class.
    package struct ClassChange {
        /// The class in the newer version or, if the class was removed, in the older version.
        package let classSchema: ClassSchema
        /// The created objects, in the order of their creation.
        package let inserted: [ObjectReference]
        /// The deleted objects, in the order of their creation.
        package let deleted: [ObjectReference]
        /// The objects with properties that were set, possibly to equal values.
        package let modified: [Modification]
    }

    /// An object with properties that were set.
    package struct Modification {
        /// The object.
        package let object: ObjectReference
        /// The properties, in schema order.
        ///
        /// A property with embedded objects is included if these were modified.
        package let properties: [Property]
    }

    /// The version before the change, for reading.
    package let older: StoreView
    /// The version after the change, for reading.
    package let newer: StoreView
    /// Whether the schema was changed.
    package var changesSchema: Bool { changes.schemaChanged }

    private let changes: ChangeSet

    init(_ step: VersionStep) {
        older = step.old
        newer = step.new
        changes = step.changes
    }

    /// The changes of the objects of each class, in alphabetical order.
    ///
    /// A change of an embedded object counts as a change of its owner. The cost is proportional to the changes.
    package var classes: [ClassChange] {
        let owners = EmbeddedOwners(newer)
        var embedded: [TableID: [ObjectKey: Set<ColumnID>]] = [:]
        for classSchema in newer.schema.classes where classSchema.isEmbedded {
            guard let changed = changes.tables[classSchema.table] else { continue }
            for key in changed.modifiedRows {
                owners.forEach(of: ObjectReference(table: classSchema.table, key: key)) {
                    embedded[$0.table, default: [:]][$0.key, default: []].insert($1)
                }
            }
        }
        var known = newer.schema.classes
        known += older.schema.classes.filter { newer.schema.find(table: $0.table) == nil }
        return known.filter { !$0.isEmbedded }.sorted { $0.name < $1.name }.compactMap {
            change(of: $0, embedded[$0.table] ?? [:])
        }
    }

    private func change(
        of classSchema: ClassSchema, _ embedded: [ObjectKey: Set<ColumnID>]
    ) -> ClassChange? {
        let table = classSchema.table
        let changed = changes.tables[table] ?? TableChanges()
        var columns = embedded.filter { !changed.inserted.contains($0.key) }
        for (column, keys) in changed.modified {
            for key in keys { columns[key, default: []].insert(column) }
        }
        if changed.inserted.isEmpty && changed.deleted.isEmpty && columns.isEmpty { return nil }
        func reference(_ key: ObjectKey) -> ObjectReference {
            ObjectReference(table: table, key: key)
        }
        let modified = columns.sorted { $0.key < $1.key }.map { key, columns in
            Modification(
                object: reference(key),
                properties: classSchema.properties.filter {
                    !$0.isBacklinks && columns.contains($0.column)
                })
        }.filter { !$0.properties.isEmpty }
        return ClassChange(
            classSchema: classSchema, inserted: changed.inserted.map(reference),
            deleted: changed.deleted.map(reference), modified: modified)
    }
}

/// Finds the owners of embedded objects, at any depth.
private struct EmbeddedOwners {
    private let view: StoreView
    /// The classes and properties that can hold embedded objects, by the table of these objects.
    private var holders: [TableID: [(classSchema: ClassSchema, property: Property)]] = [:]

    init(_ view: StoreView) {
        self.view = view
        for classSchema in view.schema.classes {
            for property in classSchema.properties where property.type == .object {
                guard let target = view.schema.target(of: property), target.isEmbedded else {
                    continue
                }
                holders[target.table, default: []].append((classSchema, property))
            }
        }
    }

    /// Calls `body` with the outermost owner of an embedded object, and with the column that leads to that object.
    func forEach(of embedded: ObjectReference, _ body: (ObjectReference, ColumnID) -> Void) {
        // The loop has a limit because owners may form a cycle in a damaged file.
        var current = embedded
        for _ in 0..<10_000 {
            guard let (owner, column, isEmbedded) = holder(of: current) else { return }
            if !isEmbedded { return body(owner, column) }
            current = owner
        }
    }

    private func holder(
        of embedded: ObjectReference
    ) -> (ObjectReference, ColumnID, isEmbedded: Bool)? {
        for (classSchema, property) in holders[embedded.table] ?? [] {
            let found = view.table(classSchema).sources(of: embedded.key, through: property.column)
            if let key = found.first {
                return (
                    ObjectReference(table: classSchema.table, key: key), property.column,
                    classSchema.isEmbedded
                )
            }
        }
        return nil
    }
}
