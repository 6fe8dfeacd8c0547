import ColumnStorage

/// The list that a list property of an object holds: a handle that reads and changes it in place.
///
/// Indices are 0-based. Confined to the store's thread.
public struct LiveList {
    /// The store, or the frozen view, that the list is read from.
    public let source: ObjectSource
    /// The class of the object that owns the list.
    public let classSchema: ClassSchema
    /// The list property.
    public let property: Property
    /// The object that owns the list.
    public let owner: ObjectKey

    init(
        _ source: ObjectSource, _ classSchema: ClassSchema, _ property: Property, _ owner: ObjectKey
    ) {
        self.source = source
        self.classSchema = classSchema
        self.property = property
        self.owner = owner
    }

    /// Whether the owner exists in the version that the handle reads.
    public var isValid: Bool {
        source.isOpen && source.view.table(classSchema).isPresent(owner)
    }

    /// The number of elements.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    public func count() throws -> Int {
        try reader().count
    }

    /// The element at an index, nil past the end.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    public func element(at index: Int) throws -> Value? {
        let list = try reader()
        guard index >= 0, index < list.count else { return nil }
        return source.view.listElement(property, list, index)
    }

    /// All elements.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    public func values() throws -> [Value] {
        let list = try reader()
        return (0..<list.count).map { source.view.listElement(property, list, $0) }
    }

    /// The first index of a value, or nil.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    public func firstIndex(of value: Value) throws -> Int? {
        let list = try reader()
        return (0..<list.count).first { source.view.listElement(property, list, $0) == value }
    }

    private func reader() throws -> ListReader {
        let rows = try source.openView().table(classSchema)
        guard rows.isPresent(owner) else { throw StoreView.deleted(classSchema, owner) }
        return rows.list(property.column, owner)
    }
}

extension LiveList {
    /// Adds values at the end.
    ///
    /// Throws `not_in_write`, `type_mismatch`, `missing_value`, `invalid_object`, `frozen`.
    public func append(_ values: [Value]) throws {
        try change { list, resolve in
            for value in try values.map(resolve) { ListElement.append(value, to: list) }
        }
    }

    /// Inserts a value so that it stands at an index; the count is a valid index.
    ///
    /// Throws as ``append(_:)``, and `out_of_range`.
    public func insert(_ value: Value, at index: Int) throws {
        try change { list, resolve in
            try checkRange(index, list.count + 1, list.count)
            ListElement.insert(try resolve(value), at: index, in: list)
        }
    }

    /// Replaces the element at an index. Setting an equal value counts as a change.
    ///
    /// Throws as ``append(_:)``, and `out_of_range`.
    public func set(_ value: Value, at index: Int) throws {
        try change { list, resolve in
            try checkRange(index, list.count, list.count)
            ListElement.set(try resolve(value), at: index, in: list)
        }
    }

    /// Removes the element at an index; a linked object stays.
    ///
    /// Throws as ``append(_:)``, and `out_of_range`.
    public func remove(at index: Int) throws {
        try change { list, _ in
            try checkRange(index, list.count, list.count)
            list.remove(at: index)
        }
    }

    /// Moves an element so that it stands at another index afterwards.
    ///
    /// Throws as ``append(_:)``, and `out_of_range`.
    public func move(from: Int, to destination: Int) throws {
        try change { list, _ in
            try checkRange(from, list.count, list.count)
            try checkRange(destination, list.count, list.count)
            if from != destination { list.move(from: from, to: destination) }
        }
    }

    /// Exchanges two elements.
    ///
    /// Throws as ``append(_:)``, and `out_of_range`.
    public func swap(_ first: Int, _ second: Int) throws {
        try change { list, _ in
            try checkRange(first, list.count, list.count)
            try checkRange(second, list.count, list.count)
            if first != second { list.swap(first, second) }
        }
    }

    /// Removes all elements; linked objects stay.
    ///
    /// Throws as ``append(_:)``.
    public func removeAll() throws {
        try change { list, _ in list.removeAll() }
    }

    private func change(
        _ body: (ListWriter, _ resolve: (Value) throws -> Value) throws -> Void
    ) throws {
        let writer = try ObjectWriter(
            source.writableStore(), changing: "list '\(property.name)'")
        guard source.view.table(classSchema).isPresent(owner) else {
            throw StoreView.deleted(classSchema, owner)
        }
        let creation = ObjectCreation(writer)
        try body(writer.session.list(classSchema.table, property.column, owner)) { value in
            let converted = try ValueConversion.single(value, property, classSchema)
            let element = try creation.resolveLinks(.list([converted]), property, classSchema)
            guard case .list(let resolved) = element, let first = resolved.first else {
                return .null
            }
            return first
        }
    }

    private func checkRange(_ index: Int, _ limit: Int, _ count: Int) throws {
        guard (0..<limit).contains(index) else {
            throw StoreError(
                .outOfRange,
                "index \(index + 1) is outside the list '\(property.name)' of \(count) elements")
        }
    }
}
