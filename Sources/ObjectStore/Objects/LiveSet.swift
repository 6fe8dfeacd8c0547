import ColumnStorage

/// A handle of the set in a set property of an object, which reads and changes the set in place.
///
/// Elements are unique and ordered by value: nil first, links by the age of their objects. Indexes start at 0. A handle
/// is confined to the store's thread.
public struct LiveSet: LiveCollection {
    package let header: CollectionHeader

    init(_ header: CollectionHeader) { self.header = header }

    /// Returns the element at an index in the set's order; nil past the end.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    public func element(at index: Int) throws -> Value? {
        let set = try reader()
        guard index >= 0 else { return nil }
        return try source.view.listElement(property, set, index)
    }

    /// Returns all elements, in order.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    public func values() throws -> [Value] {
        try elements().map(value)
    }

    /// Returns the index of a value in the set's order; nil if the set does not contain the value.
    ///
    /// Takes a binary search. Throws `invalid_object` if the owner was deleted.
    public func firstIndex(of value: Value) throws -> Int? {
        let set = try reader()
        guard let element = elementToFind(value) else { return nil }
        let (position, isThere) = try order.search(element, in: set)
        return isThere ? position : nil
    }

    /// Returns whether a value is in the set.
    ///
    /// Takes a binary search. Throws `invalid_object` if the owner was deleted.
    public func contains(_ value: Value) throws -> Bool { try firstIndex(of: value) != nil }

    /// Adds a value; returns false if the set already contains the value.
    ///
    /// Throws `not_in_write`, `type_mismatch`, `missing_value`, `invalid_object`, `frozen`.
    @discardableResult  // because: most callers only need the value to be present afterward
    public func insert(_ value: Value) throws -> Bool {
        let writer = try objectWriter()
        return try insert(try element(value, writer), editor(writer))
    }

    /// Removes a value; returns false if the set does not contain the value.
    ///
    /// A linked object is kept. Throws the errors of ``insert(_:)``.
    @discardableResult  // because: most callers only need the value to be absent afterward
    public func remove(_ value: Value) throws -> Bool {
        let set = try editor(objectWriter())
        guard let element = elementToFind(value) else { return false }
        return try remove(element, set)
    }

    /// Removes all elements; linked objects are kept.
    ///
    /// Throws the errors of ``insert(_:)``.
    public func removeAll() throws {
        let set = try editor(objectWriter())
        try StoreError.wrapping(set.removeAll())
    }

    var order: ElementOrder { ElementOrder(property) }

    func elements() throws -> [ListElement] {
        let rows = try rows()
        return try rows.listElements(property.column, owner)
    }

    func editor(_ writer: ObjectWriter) throws -> ListEditor {
        try writer.session.list(classSchema.table, property.column, owner)
    }

    func insert(_ element: ListElement, _ set: ListEditor) throws -> Bool {
        let (position, isThere) = try order.search(element, in: set.reader)
        guard !isThere else { return false }
        try StoreError.wrapping(set.insert(element, at: position))
        return true
    }

    func remove(_ element: ListElement, _ set: ListEditor) throws -> Bool {
        let (position, isThere) = try order.search(element, in: set.reader)
        guard isThere else { return false }
        try StoreError.wrapping(set.remove(at: position))
        return true
    }
}
