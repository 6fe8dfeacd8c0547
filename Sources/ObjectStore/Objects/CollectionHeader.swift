/// The location of a list, a set or a map: its property, the object that owns it, and the version that is read.
package struct CollectionHeader {
    /// The store, or the frozen view, from which the collection is read.
    package let source: ObjectSource
    /// The class of the object that owns the collection.
    package let classSchema: ClassSchema
    /// The property that contains the collection.
    package let property: Property
    /// The object that owns the collection.
    package let owner: ObjectKey

    /// The object that owns the collection, in the version that is read.
    package var object: LiveObject { LiveObject(source, classSchema, owner) }

    /// Returns the header of the same collection in another version, such as a frozen one.
    func moved(to source: ObjectSource) -> CollectionHeader {
        CollectionHeader(
            source: source, classSchema: classSchema, property: property, owner: owner)
    }
}

extension LiveObject {
    /// Returns the header of the collection in a property.
    func header(of property: Property) -> CollectionHeader {
        CollectionHeader(source: source, classSchema: classSchema, property: property, owner: key)
    }
}
