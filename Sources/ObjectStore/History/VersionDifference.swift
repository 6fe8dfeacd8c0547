import ColumnStorage

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
