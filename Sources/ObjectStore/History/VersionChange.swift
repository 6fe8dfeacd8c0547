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

/// The changes between two versions of a store, object by object.
///
/// The difference keeps both versions.
package struct VersionDifference {
    /// The differences of the objects of one class.
    package struct ClassDifference {
        /// The class in the second version.
        package let classSchema: ClassSchema
        /// The objects that only the second version has, in the order of their creation.
        package let inserted: [ObjectReference]
        /// The objects that only the first version has, in the order of their creation.
        package let deleted: [ObjectReference]
        /// The objects that differ, in the order of their creation.
        package let modified: [ObjectDifference]
    }

    /// The differences of one object.
    package struct ObjectDifference {
        /// The object.
        package let object: ObjectReference
        /// The properties that differ, in schema order; at least one.
        ///
        /// ``PropertyDifference/old`` and ``PropertyDifference/new`` have the complete values of collections.
        package let properties: [PropertyDifference]
    }

    /// A property that differs.
    package struct PropertyDifference {
        /// The property.
        package let property: Property
        /// The value in the first version.
        package let old: Value
        /// The value in the second version.
        package let new: Value
    }

    /// The first version.
    package let first: StoreView
    /// The second version, which may be older.
    package let second: StoreView
    /// The classes with differences, in alphabetical order.
    package let classes: [ClassDifference]

    fileprivate init(first: StoreView, second: StoreView, classes: [ClassDifference]) {
        self.first = first
        self.second = second
        self.classes = classes
    }
}

extension Store {
    /// Returns the objects that were created, deleted and modified between two versions, with their values.
    ///
    /// Compares only objects that the writes between the two versions touched; objects with equal values are not
    /// included. The first version may be the newer one. Each version other than the current one costs as much as
    /// ``at(_:for:)``. Throws the errors of ``at(_:for:)``.
    package func difference(
        from first: UInt64, to second: UInt64, for holder: VersionHolder = VersionHolder()
    ) throws -> VersionDifference {
        let (old, new) = (try at(first, for: holder), try at(second, for: holder))
        let recorded = try StoreError.wrapping(
            view.snapshot.changes(from: min(first, second), to: max(first, second)))
        let changes = try recorded ?? VersionComparison.changes(from: old, to: new)
        let classes = try new.schema.classes.compactMap { classSchema in
            try changes.tables[classSchema.table].flatMap {
                try Self.difference(of: classSchema, $0, old, new)
            }
        }
        return VersionDifference(
            first: old, second: new,
            classes: classes.sorted { $0.classSchema.name < $1.classSchema.name })
    }

    private static func difference(
        of classSchema: ClassSchema, _ changes: TableChanges, _ old: StoreView, _ new: StoreView
    ) throws -> VersionDifference.ClassDifference? {
        let table = classSchema.table
        let modified = changes.modifiedRows
        var inserted: [ObjectReference] = []
        var deleted: [ObjectReference] = []
        var differing: [VersionDifference.ObjectDifference] = []
        for key in changes.inserted.union(changes.deleted).union(modified) {
            try StoreError.step(64)
            let object = ObjectReference(table: table, key: key)
            switch try (old.isPresent(object), new.isPresent(object)) {
            case (false, true):
                inserted.append(object)
            case (true, false):
                deleted.append(object)
            case (false, false): break
            case (true, true):
                let properties = try classSchema.properties.compactMap { property in
                    try changes.modified[property.column]?.contains(key) == true
                        ? Self.difference(property, of: key, classSchema, from: old, to: new) : nil
                }
                if properties.isEmpty { continue }
                let difference = VersionDifference.ObjectDifference(
                    object: object, properties: properties)
                differing.append(difference)
            }
        }
        if inserted.isEmpty && deleted.isEmpty && differing.isEmpty { return nil }
        return .init(
            classSchema: classSchema, inserted: inserted, deleted: deleted, modified: differing)
    }

    private static func difference(
        _ property: Property, of key: ObjectKey, _ classSchema: ClassSchema, from old: StoreView,
        to new: StoreView
    ) throws -> VersionDifference.PropertyDifference? {
        guard !property.isBacklinks else { return nil }
        let before = try old.value(property, of: key, in: classSchema)
        let after = try new.value(property, of: key, in: classSchema)
        return before == after ? nil : .init(property: property, old: before, new: after)
    }
}
