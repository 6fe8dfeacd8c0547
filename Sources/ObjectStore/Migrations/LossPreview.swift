import ColumnStorage

/// Objects before and after a change of the schema that loses data.
package struct LossPreview: Sendable {
    /// An object whose value changes.
    package struct Row: Sendable {
        /// The class and the primary key, or the object key.
        package let object: String
        /// The value before the change.
        package let old: Value
        /// The value after the change; nil if the property is removed.
        package let new: Value?
    }

    /// The difference, such as `'Dog.age' would be removed, with its values`.
    package let difference: String
    /// The number of objects of the class.
    package let objects: Int
    /// The first objects with a value.
    package let rows: [Row]

    /// The maximum number of objects that are searched for values.
    private static let scanned = 10_000

    init(_ difference: SchemaDifference, _ migration: Migration, rows limit: Int) throws {
        self.difference = "\(difference)"
        let name = difference.className
        let (before, after) = difference.properties
        guard let old = before?.name, let walk = try migration.walk(name) else {
            (objects, rows) = (0, [])
            return
        }
        objects = try walk.oldView.table(walk.oldClass).count
        var found: [Row] = []
        var seen = 0
        while found.count < limit, seen < Self.scanned, let key = try walk.next() {
            seen += 1
            let value = try walk.oldObject(key).value(old)
            if case .null = value { continue }
            found.append(
                Row(
                    object: walk.currentName ?? name, old: value,
                    new: try after.map { try walk.newObject(key).value($0.name) }))
        }
        rows = found
    }
}

extension Store {
    /// Returns the losses that ``redefine(_:migration:)`` would cause, with the first objects of each difference.
    ///
    /// Applies the change in a transaction and rolls it back, so the call has the cost and the errors of the change.
    package func previewLoss(of classes: [ClassSchema], rows: Int) throws -> [LossPreview] {
        struct RollBack: Error {}
        var previews: [LossPreview] = []
        do {
            try redefine(classes) { migration in
                for difference in migration.differences where !difference.isAdditive {
                    previews.append(try LossPreview(difference, migration, rows: rows))
                }
                throw RollBack()
            }
        } catch is RollBack {}
        return previews
    }
}
