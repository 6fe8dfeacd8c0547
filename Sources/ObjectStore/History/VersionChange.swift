import ColumnStorage

/// The changes of one step of a store: one commit, or several commits that the store has received together.
///
/// The change keeps both versions; use it only while the handler runs.
package struct VersionChange {
    /// The changes of the objects of one class.
    ///
    /// The objects are not listed: a step that changes millions of them takes a few bytes for each run of keys.
    package struct ClassChange {
        /// The class in the newer version or, if the class was removed, in the older version.
        package let classSchema: ClassSchema
        /// The created objects, in the order of their creation.
        package let inserted: ObjectReferences
        /// The deleted objects, in the order of their creation.
        package let deleted: ObjectReferences
        /// The objects with properties that were set, possibly to equal values, in the order of their creation.
        package let modified: Modifications
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

    /// The modified objects of a class, computed one by one.
    package struct Modifications: Sequence {
        fileprivate let objects: ObjectReferences
        /// The modified objects of each property, in schema order.
        fileprivate let keys: [(property: Property, keys: KeySet)]

        /// Returns an iterator over the objects in the order of their creation.
        ///
        /// Each step takes logarithmic time in the number of runs of modified objects.
        package func makeIterator() -> some IteratorProtocol<Modification> {
            objects.lazy.map { [keys] object in
                Modification(
                    object: object,
                    properties: keys.compactMap {
                        $0.keys.contains(object.key) ? $0.property : nil
                    })
            }.makeIterator()
        }

        /// The number of objects.
        package var underestimatedCount: Int { objects.count }
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
    /// A change of an embedded object counts as a change of its owner. The cost is proportional to the number of runs
    /// of changed keys, and to the number of changed embedded objects.
    package var classes: [ClassChange] {
        get throws {
            var embedded: [TableID: [ColumnID: [ObjectKey]]] = [:]
            for classSchema in newer.schema.classes where classSchema.isEmbedded {
                guard let changed = changes.tables[classSchema.table] else { continue }
                for key in changed.modifiedRows {
                    let object = ObjectReference(table: classSchema.table, key: key)
                    try newer.forOutermostOwner(of: object) {
                        embedded[$0.table, default: [:]][$1, default: []].append($0.key)
                    }
                }
            }
            var known = newer.schema.classes
            known += older.schema.classes.filter { newer.schema.find(table: $0.table) == nil }
            return known.filter { !$0.isEmbedded }.sorted { $0.name < $1.name }.compactMap {
                change(of: $0, embedded[$0.table] ?? [:])
            }
        }
    }

    private func change(
        of classSchema: ClassSchema, _ embedded: [ColumnID: [ObjectKey]]
    ) -> ClassChange? {
        let table = classSchema.table
        let changed = changes.tables[table] ?? TableChanges()
        var rows = KeySet()
        let modified = classSchema.properties.filter { !$0.isBacklinks }.compactMap { property in
            var keys = changed.modified[property.column] ?? KeySet()
            if let owners = embedded[property.column] {
                keys.formUnion(KeySet(unordered: owners).subtracting(changed.inserted))
            }
            rows.formUnion(keys)
            return keys.isEmpty ? nil : (property: property, keys: keys)
        }
        if changed.inserted.isEmpty && changed.deleted.isEmpty && rows.isEmpty { return nil }
        return ClassChange(
            classSchema: classSchema,
            inserted: ObjectReferences(table: table, keys: changed.inserted),
            deleted: ObjectReferences(table: table, keys: changed.deleted),
            modified: Modifications(
                objects: ObjectReferences(table: table, keys: rows), keys: modified))
    }
}

/// Objects of one class, in the order of their creation.
///
/// A few bytes for each run of keys, however many objects there are.
package struct ObjectReferences: Sequence {
    private let table: TableID
    private let keys: KeySet

    init(table: TableID, keys: KeySet) {
        self.table = table
        self.keys = keys
    }

    /// Whether there are no objects.
    package var isEmpty: Bool { keys.isEmpty }
    /// The number of objects.
    package var count: Int { keys.count }
    /// The number of objects.
    package var underestimatedCount: Int { keys.count }

    /// Returns an iterator over the objects.
    package func makeIterator() -> some IteratorProtocol<ObjectReference> {
        keys.lazy.map { [table] in ObjectReference(table: table, key: $0) }.makeIterator()
    }
}

extension StoreView {
    /// Calls `body` with the outermost owner of an embedded object, and with the column that leads to that object.
    fileprivate func forOutermostOwner(
        of embedded: ObjectReference, _ body: (ObjectReference, ColumnID) -> Void
    ) throws {
        var current = embedded
        // The loop has a limit because owners may form a cycle in a damaged file.
        for _ in 0..<10_000 {
            guard let owner = try owner(of: current) else { return }
            current = owner.object
            if schema.find(table: current.table)?.isEmbedded != true {
                return body(current, owner.column)
            }
        }
    }
}
