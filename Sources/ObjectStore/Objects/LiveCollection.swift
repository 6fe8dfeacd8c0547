import ColumnStorage

/// The members that handles of lists, sets and maps share.
package protocol LiveCollection: ObservableRows {
    /// The object that owns the collection, and its property.
    var header: CollectionHeader { get }
    /// Returns all elements; those of a map in the order of their keys.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    func values() throws -> [Value]
}

extension LiveCollection {
    /// The store, or the frozen view, from which the collection is read.
    @inlinable package var source: ObjectSource { header.source }
    /// The class of the object that owns the collection.
    @inlinable package var classSchema: ClassSchema { header.classSchema }
    /// The property that contains the collection.
    @inlinable package var property: Property { header.property }
    /// The object that owns the collection.
    @inlinable package var owner: ObjectKey { header.owner }

    /// Whether the owner exists in the version that the handle reads, and still has the property.
    package var isValid: Bool {
        guard source.isOpen else { return false }
        if let (store, reader) = source.tracked {
            reader.recordRead(
                of: store, existenceOf: ObjectReference(table: classSchema.table, key: owner))
        }
        guard let rows = try? source.view.table(classSchema), (try? rows.isPresent(owner)) == true
        else { return false }
        return rows.kind(of: property.column) == .list
    }

    /// Returns the number of elements.
    ///
    /// Throws `invalid_object` if the owner was deleted, `unknown_property` if the property was removed or has another
    /// type now, `closed`, `wrong_thread`.
    package func count() throws -> Int {
        let rows = try rows()
        let count = try rows.listCount(property.column, owner)
        guard count > 0 || rows.kind(of: property.column) == .list else { throw removed }
        return count
    }

    /// Returns whether both handles refer to the same collection of the same store or frozen version.
    package func isSame(as other: some LiveCollection) -> Bool {
        owner == other.owner && property == other.property
            && classSchema.table == other.classSchema.table && source.isSame(as: other.source)
    }

    /// Returns the rows of the owner's class, after checking that the owner exists.
    func rows() throws -> TableReader {
        let rows = try source.openView().table(classSchema)
        source.recordRead(classSchema, owner, property.column)
        guard try rows.isPresent(owner) else { throw StoreError.deleted(classSchema.name) }
        return rows
    }

    /// Returns a reader of the elements; for a map, of its values.
    func reader() throws -> ListReader {
        guard let elements = try rows().list(property.column, owner) else { throw removed }
        return elements
    }

    /// The error for a property that the schema does not have with the type that the handle expects.
    private var removed: StoreError {
        StoreError(
            .unknownProperty,
            "'\(classSchema.name).\(property.name)' was removed or has another type; read it from its object "
                + "again")
    }

    /// Returns a writer for the owner's store.
    ///
    /// Throws `frozen`, `not_in_write`, `closed`, `wrong_thread`, `read_only`, and `invalid_object` if the
    /// owner was deleted.
    func objectWriter() throws -> ObjectWriter {
        let writer = try source.writableStore()
            .writer(changing: property, of: owner, in: classSchema)
        let rows = try source.view.table(classSchema)
        guard try rows.isPresent(owner) else { throw StoreError.deleted(classSchema.name) }
        guard rows.kind(of: property.column) == .list else { throw removed }
        return writer
    }

    /// Converts a value to an element of the collection, and creates linked objects from nested values.
    func element(_ value: Value, _ writer: ObjectWriter) throws -> ListElement {
        let converted = try ValueConversion.single(value, property, classSchema)
        let depth =
            try writer.store.view.embeddingDepth(of: owner, in: classSchema)
        return try ObjectCreation(writer, depth: depth)
            .resolveElement(converted, property, classSchema).listElement(of: property)
    }

    /// Converts a value to the element to search for; nil if the collection cannot contain the value.
    func elementToFind(_ value: Value) -> ListElement? {
        guard let converted = try? ValueConversion.single(value, property, classSchema) else {
            return nil
        }
        guard property.type == .object else { return converted.listElement(of: property) }
        switch converted {
        case .object(let reference)
        where reference.table == source.view.schema.target(of: property)?.table:
            return converted.listElement
        case .null: return .null
        default: return nil
        }
    }

    /// Converts a stored element to a value.
    func value(_ element: ListElement) -> Value {
        Value(element, of: property.type, target: source.view.schema.target(of: property)?.table)
    }

    func checkRange(_ index: Int, _ limit: Int, _ count: Int) throws {
        guard (0..<limit).contains(index) else {
            let kind = property.collection?.name ?? "list"
            throw StoreError.outside(
                index, of: "the \(kind) '\(property.name)' of length \(count)")
        }
    }
}

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

    /// The list, set or map.
    var collection: any LiveCollection {
        switch property.collection {
        case .set: LiveSet(self)
        case .map: LiveMap(self)
        default: LiveList(self)
        }
    }

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
