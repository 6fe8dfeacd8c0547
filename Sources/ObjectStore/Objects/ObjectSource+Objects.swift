import ColumnStorage

extension ObjectSource {
    /// Returns a handle of an object by reference, whether or not the object exists; nil if its class does not exist.
    package func object(_ reference: ObjectReference) -> LiveObject? {
        view.schema.find(table: reference.table).map { LiveObject(self, $0, reference.key) }
    }

    /// Returns a handle of an object of a class of this source, whether or not the object exists.
    ///
    /// Reads nothing from the store.
    package func object(_ classSchema: ClassSchema, _ key: ObjectKey) -> LiveObject {
        LiveObject(self, classSchema, key)
    }
}
