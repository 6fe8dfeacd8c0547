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

// Values that a set cannot contain, such as those of another type, are not part of an intersection or a difference;
// unions throw for them.
extension LiveSet {
    /// Returns the values that are in the set or among the given values, in order and without
    /// duplicates.
    ///
    /// Throws `type_mismatch` for a value that the set cannot contain, `invalid_object` if the owner was deleted.
    package func union(_ others: [Value]) throws -> [Value] {
        order.normalized(try elements() + accepted(others)).map(value)
    }

    /// Returns the values of the set that are among the given values, in order.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    package func intersection(_ others: [Value]) throws -> [Value] {
        try partition(others).inBoth.map(value)
    }

    /// Returns the values of the set that are not among the given values, in order.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    package func subtracting(_ others: [Value]) throws -> [Value] {
        try partition(others).onlyHere.map(value)
    }

    /// Returns the values that are in the set or among the given values, but not both, in order.
    ///
    /// Throws the errors of ``union(_:)``.
    package func symmetricDifference(_ others: [Value]) throws -> [Value] {
        _ = try accepted(others)
        let (onlyHere, _, onlyThere) = try partition(others)
        return order.normalized(onlyHere + onlyThere).map(value)
    }

    /// Returns whether all values of the set are among the given values.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    package func isSubset(of others: [Value]) throws -> Bool {
        try partition(others).onlyHere.isEmpty
    }

    /// Returns whether all of the given values are in the set.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    package func isSuperset(of others: [Value]) throws -> Bool {
        try others.allSatisfy { try contains($0) }
    }

    /// Returns whether any of the given values is in the set.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    package func intersects(_ others: [Value]) throws -> Bool {
        try others.contains { try contains($0) }
    }

    /// Adds the given values; returns false if the set contained all of them.
    ///
    /// The set is unchanged if it cannot contain one of the values. Throws the errors of
    /// ``insert(_:)``.
    @discardableResult  // because: most callers only need the values to be present afterward
    package func formUnion(_ others: [Value]) throws -> Bool {
        let writer = try objectWriter()
        let set = try editor(writer)
        var isChanged = false
        for element in try elements(others, writer) {
            isChanged = try insert(element, set) || isChanged
        }
        return isChanged
    }

    /// Keeps only the values that are among the given values.
    ///
    /// Throws the errors of ``insert(_:)``.
    package func formIntersection(_ others: [Value]) throws {
        let set = try editor(objectWriter())
        for element in try partition(others).onlyHere { _ = try remove(element, set) }
    }

    /// Removes the others.
    ///
    /// Throws the errors of ``insert(_:)``.
    package func subtract(_ others: [Value]) throws {
        let set = try editor(objectWriter())
        for element in others.compactMap(elementToFind) { _ = try remove(element, set) }
    }

    /// Removes those of the given values that the set contains, and inserts the rest.
    ///
    /// The set is unchanged if one of the values cannot be added. Throws the errors of
    /// ``insert(_:)``.
    package func formSymmetricDifference(_ others: [Value]) throws {
        let writer = try objectWriter()
        let set = try editor(writer)
        let added = order.normalized(try elements(others, writer))
        for element in added where try !insert(element, set) {
            _ = try remove(element, set)
        }
    }

    private func elements(_ values: [Value], _ writer: ObjectWriter) throws -> [ListElement] {
        guard property.type == .object else { return try values.map { try element($0, writer) } }
        return try writer.atomically { try values.map { try element($0, writer) } }
    }

    /// Converts the given values to elements of this set.
    ///
    /// Throws `type_mismatch` with the first value that the set cannot contain.
    private func accepted(_ others: [Value]) throws -> [ListElement] {
        try others.map { other in
            if let element = elementToFind(other) { return element }
            _ = try ValueConversion.single(other, property, classSchema)
            throw ValueConversion.mismatch(other, property, classSchema)
        }
    }

    /// Divides the elements into those of the set alone, those of both, and the given values alone; each part is in
    /// order.
    private func partition(
        _ others: [Value]
    ) throws -> (onlyHere: [ListElement], inBoth: [ListElement], onlyThere: [ListElement]) {
        let order = order
        let here = try elements()
        let there = order.normalized(others.compactMap(elementToFind))
        var parts = (onlyHere: [ListElement](), inBoth: [ListElement](), onlyThere: [ListElement]())
        var next = 0
        for element in here {
            while next < there.count, order.compare(there[next], element) < 0 {
                parts.onlyThere.append(there[next])
                next += 1
            }
            if next < there.count, order.compare(there[next], element) == 0 {
                parts.inBoth.append(element)
                next += 1
            } else {
                parts.onlyHere.append(element)
            }
        }
        parts.onlyThere += there[next...]
        assert(
            parts.inBoth.count + parts.onlyThere.count == there.count,
            "each given value is in one part")
        return parts
    }
}
