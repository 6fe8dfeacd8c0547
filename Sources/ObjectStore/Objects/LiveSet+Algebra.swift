import ColumnStorage

// Values that cannot be in a set, such as those of another type, are in none of the others either:
// intersections and differences pass over them, unions refuse them.
extension LiveSet {
    /// The values of the set and the others, ordered, each once.
    ///
    /// Throws `type_mismatch` for a value that the set could not hold, `invalid_object` if the owner was
    /// deleted.
    package func union(_ others: [Value]) throws -> [Value] {
        order.normalized(try elements() + accepted(others)).map(value)
    }

    /// The values of the set that are among the others, ordered.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    package func intersection(_ others: [Value]) throws -> [Value] {
        try partition(others).inBoth.map(value)
    }

    /// The values of the set that are not among the others, ordered.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    package func subtracting(_ others: [Value]) throws -> [Value] {
        try partition(others).onlyHere.map(value)
    }

    /// The values that are in the set or among the others, but not both, ordered.
    ///
    /// Throws as ``union(_:)``.
    package func symmetricDifference(_ others: [Value]) throws -> [Value] {
        _ = try accepted(others)
        let (onlyHere, _, onlyThere) = try partition(others)
        return order.normalized(onlyHere + onlyThere).map(value)
    }

    /// Whether all values of the set are among the others.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    package func isSubset(of others: [Value]) throws -> Bool {
        try partition(others).onlyHere.isEmpty
    }

    /// Whether all of the others are in the set.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    package func isSuperset(of others: [Value]) throws -> Bool {
        try others.allSatisfy { try contains($0) }
    }

    /// Whether any of the others is in the set.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    package func intersects(_ others: [Value]) throws -> Bool {
        try others.contains { try contains($0) }
    }

    /// Adds the others; false if all of them were there.
    ///
    /// Nothing is added if one of them cannot be. Throws as ``insert(_:)``.
    @discardableResult  // because: that they are there afterwards is enough
    package func formUnion(_ others: [Value]) throws -> Bool {
        let writer = try objectWriter()
        let set = editor(writer)
        var isChanged = false
        for element in try elements(others, writer) {
            isChanged = try insert(element, set) || isChanged
        }
        return isChanged
    }

    /// Keeps only values that are among the others.
    ///
    /// Throws as ``insert(_:)``.
    package func formIntersection(_ others: [Value]) throws {
        let set = editor(try objectWriter())
        for element in try partition(others).onlyHere { _ = try remove(element, set) }
    }

    /// Removes the others.
    ///
    /// Throws as ``insert(_:)``.
    package func subtract(_ others: [Value]) throws {
        let set = editor(try objectWriter())
        for element in others.compactMap(elementToFind) { _ = try remove(element, set) }
    }

    /// Removes those of the others that are there, and adds those that are not.
    ///
    /// Nothing changes if one of them cannot be added. Throws as ``insert(_:)``.
    package func formSymmetricDifference(_ others: [Value]) throws {
        let writer = try objectWriter()
        let set = editor(writer)
        let added = order.normalized(try elements(others, writer))
        for element in added where try !insert(element, set) {
            _ = try remove(element, set)
        }
    }

    private func elements(_ values: [Value], _ writer: ObjectWriter) throws -> [ListElement] {
        guard property.type == .object else { return try values.map { try element($0, writer) } }
        return try writer.undoingCreation { writer in try values.map { try element($0, writer) } }
    }

    /// The others as elements of this set.
    ///
    /// Throws `type_mismatch` naming one that cannot be in it.
    private func accepted(_ others: [Value]) throws -> [ListElement] {
        try others.map { other in
            if let element = elementToFind(other) { return element }
            _ = try ValueConversion.single(other, property, classSchema)
            throw ValueConversion.mismatch(other, property, classSchema)
        }
    }

    /// The set's and the others' elements, apart; each part is ordered.
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
