import ColumnStorage

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
        return parts
    }
}
