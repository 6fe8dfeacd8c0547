import ColumnStorage

extension ObjectSource {
    /// A handle for an object known by its place, whether or not it exists; nil if its class does not.
    package func object(_ reference: ObjectReference) -> LiveObject? {
        view.schema.find(table: reference.table).map { LiveObject(self, $0, reference.key) }
    }

    /// A handle for an object of a class of this source, whether or not it exists.
    ///
    /// Costs nothing.
    package func object(_ classSchema: ClassSchema, _ key: ObjectKey) -> LiveObject {
        LiveObject(self, classSchema, key)
    }
}
