import ColumnStorage

/// A handle of the list in a list property of an object, which reads and changes the list in place.
///
/// Indexes start at 0. A handle is confined to the store's thread.
public struct LiveList: LiveCollection {
    package let header: CollectionHeader

    init(_ header: CollectionHeader) { self.header = header }

    /// Returns the element at an index; nil past the end.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    public func element(at index: Int) throws -> Value? {
        let list = try reader()
        guard index >= 0 else { return nil }
        return try source.view.listElement(property, list, index)
    }

    /// Returns all elements.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    public func values() throws -> [Value] {
        _ = try reader()
        let rows = try source.view.table(classSchema)
        return try source.view.listValues(property, of: owner, in: rows)
    }

    /// Returns the first index of a value; nil if the list does not contain the value.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    public func firstIndex(of value: Value) throws -> Int? {
        let list = try reader()
        // Equal values of these types may have different bytes, as 12.30 and 12.3 do.
        if property.type == .mixed || property.type == .decimal {
            return try values().firstIndex { ValueOrder.isEqual($0, value) }
        }
        guard let element = elementToFind(value) else { return nil }
        return try StoreError.wrapping(list.firstIndex(of: element))
    }

    /// Returns the stored bytes of an element; nil for a nil element and past the end.
    func bytes(at index: Int) throws -> [UInt8]? {
        let list = try reader()
        guard index >= 0 else { return nil }
        let element = try StoreError.wrapping(list.element(at: index))
        if case .bytes(let bytes)? = element { return bytes }
        return nil
    }
}

extension LiveList {
    /// Adds values at the end.
    ///
    /// Throws `not_in_write`, `type_mismatch`, `missing_value`, `invalid_object`, `frozen`.
    public func append(_ values: [Value]) throws {
        let writer = try objectWriter()
        let list = try editor(writer)
        let elements = try elements(values, writer)
        try StoreError.wrapping(list.append(contentsOf: elements))
    }

    /// Inserts a value at an index; the count is a valid index.
    ///
    /// Throws the errors of ``append(_:)``, and `out_of_range`.
    public func insert(_ value: Value, at index: Int) throws {
        let writer = try objectWriter()
        let list = try editor(writer)
        try checkRange(index, list.count + 1, list.count)
        let element = try element(value, writer)
        try StoreError.wrapping(list.insert(element, at: index))
    }

    /// Replaces the element at an index.
    ///
    /// Setting an equal value counts as a change.
    ///
    /// Throws the errors of ``append(_:)``, and `out_of_range`.
    public func set(_ value: Value, at index: Int) throws {
        let writer = try objectWriter()
        let list = try editor(writer)
        try checkRange(index, list.count, list.count)
        let old = try embedded(at: index, writer)
        if let old, value == .object(old) { return }
        let element = try element(value, writer)
        try StoreError.wrapping(list.set(element, at: index))
        if let old { try writer.deleteTree(old) }
    }

    /// Replaces the bytes of an element that is a mixed value.
    func set(bytes: [UInt8], at index: Int) throws {
        let list = try editor(objectWriter())
        try checkRange(index, list.count, list.count)
        try StoreError.wrapping(list.set(.bytes(bytes), at: index))
    }

    /// Removes the element at an index; a linked object is kept, an embedded one is deleted.
    ///
    /// Throws the errors of ``append(_:)``, and `out_of_range`.
    public func remove(at index: Int) throws {
        let writer = try objectWriter()
        let list = try editor(writer)
        try checkRange(index, list.count, list.count)
        let old = try embedded(at: index, writer)
        try StoreError.wrapping(list.remove(at: index))
        if let old { try writer.deleteTree(old) }
    }

    /// Moves an element to an index in the list without this element.
    ///
    /// Throws the errors of ``append(_:)``, and `out_of_range`.
    public func move(from: Int, to destination: Int) throws {
        let list = try editor(objectWriter())
        try checkRange(from, list.count, list.count)
        try checkRange(destination, list.count, list.count)
        guard from != destination else { return }
        try StoreError.wrapping(list.move(from: from, to: destination))
    }

    /// Exchanges two elements.
    ///
    /// Throws the errors of ``append(_:)``, and `out_of_range`.
    public func swap(_ first: Int, _ second: Int) throws {
        let list = try editor(objectWriter())
        try checkRange(first, list.count, list.count)
        try checkRange(second, list.count, list.count)
        guard first != second else { return }
        try StoreError.wrapping(list.swap(first, second))
    }

    /// Removes all elements; linked objects are kept, embedded ones are deleted.
    ///
    /// Throws the errors of ``append(_:)``.
    public func removeAll() throws {
        let writer = try objectWriter()
        let list = try editor(writer)
        let children = try EmbeddedWriter(writer, property, classSchema)?.children(of: owner) ?? []
        try StoreError.wrapping(list.removeAll())
        for child in children { try writer.deleteTree(child) }
    }

    private func editor(_ writer: ObjectWriter) throws -> ListEditor {
        try writer.session.list(classSchema.table, property.column, owner)
    }

    private func elements(
        _ values: [Value], _ writer: ObjectWriter
    ) throws -> [ListElement] {
        guard property.type == .object else { return try values.map { try element($0, writer) } }
        return try writer.atomically {
            guard let embedded = try EmbeddedWriter(writer, property, classSchema, of: owner) else {
                return try values.map { try element($0, writer) }
            }
            let converted = try values.map { try ValueConversion.single($0, property, classSchema) }
            return try embedded.make(converted) { _ in throw embedded.owned() }
                .map { .int($0.rawValue) }
        }
    }

    /// Returns the embedded object at an index, which is deleted with its element; nil for other objects.
    private func embedded(at index: Int, _ writer: ObjectWriter) throws -> ObjectReference? {
        guard try EmbeddedWriter(writer, property, classSchema) != nil,
            case .object(let reference)? = try element(at: index)
        else { return nil }
        return reference
    }
}
