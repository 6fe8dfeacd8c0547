extension NestedCollection {
    /// Replaces the element at an index of a list.
    ///
    /// Throws `not_in_write`, `out_of_range`, `invalid_object`, `type_mismatch`, `invalid_argument`, `frozen`.
    package func set(_ value: Value, at index: Int) throws {
        try edit { elements in
            try check(index, elements.count, elements.count)
            elements[index] = value
        }
    }

    /// Adds values at the end of a list.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func append(_ values: [Value]) throws {
        try edit { $0 += values }
    }

    /// Inserts a value into a list at an index; the count is a valid index.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func insert(_ value: Value, at index: Int) throws {
        try edit { elements in
            try check(index, elements.count + 1, elements.count)
            elements.insert(value, at: index)
        }
    }

    /// Removes the element at an index of a list.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func remove(at index: Int) throws {
        try edit { elements in
            try check(index, elements.count, elements.count)
            elements.remove(at: index)
        }
    }

    /// Moves an element of a list to an index in the list without this element.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func move(from: Int, to destination: Int) throws {
        try edit { elements in
            try check(from, elements.count, elements.count)
            try check(destination, elements.count, elements.count)
            elements.insert(elements.remove(at: from), at: destination)
        }
    }

    /// Exchanges two elements of a list.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func swap(_ first: Int, _ second: Int) throws {
        try edit { elements in
            try check(first, elements.count, elements.count)
            try check(second, elements.count, elements.count)
            elements.swapAt(first, second)
        }
    }

    /// Sets an entry of a map; a nil value is stored.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func set(_ value: Value, forKey key: String) throws {
        try editMap { $0[key] = value }
    }

    /// Removes an entry of a map; returns false if the map does not have the key.
    ///
    /// Throws the errors of ``set(_:at:)``.
    @discardableResult  // because most callers only need the key to be absent afterward
    package func remove(key: String) throws -> Bool {
        try checkWritable()
        guard try item(forKey: key) != nil else { return false }
        try editMap { $0[key] = nil }
        return true
    }

    /// Removes all elements.
    ///
    /// Throws the errors of ``set(_:at:)``.
    package func removeAll() throws {
        try checkWritable()
        guard try count() > 0 else { return }
        try change { $0 = kind == .list ? .list([]) : .dictionary([:]) }
    }

    private func edit(_ body: (inout [Value]) throws -> Void) throws {
        try change { value in
            guard case .list(var elements) = value else { throw removedError() }
            value = .null  // releases the other reference, so the array is changed in place
            try body(&elements)
            value = .list(elements)
        }
    }

    private func editMap(_ body: (inout ValueMap) throws -> Void) throws {
        try change { value in
            guard case .dictionary(var entries) = value else { throw removedError() }
            value = .null
            try body(&entries)
            value = .dictionary(entries)
        }
    }

    /// Decodes the outermost value, changes the collection in it and stores it again.
    private func change(_ body: (inout Value) throws -> Void) throws {
        try checkWritable()
        guard !isRemoved, let bytes = try Self.bytes(at: location) else { throw removedError() }
        var value = MixedCoding.decode(bytes)
        try descend(&value, path[...], body)
        switch location {
        case .property(let object, let property): try object.set(property.name, value)
        case .element(let list, let index): try list.set(value, at: index)
        case .entry(let map, let key): try map.set(value, forKey: key)
        }
    }

    private func checkWritable() throws {
        _ = try source.writableStore().writer(changing: kind == .list ? "a list" : "a map")
    }

    private func descend(
        _ value: inout Value, _ path: ArraySlice<Step>, _ body: (inout Value) throws -> Void
    ) throws {
        guard let step = path.first else { return try body(&value) }
        switch (value, step) {
        case (.list(var elements), .index(let index)) where elements.indices.contains(index):
            value = .null
            try descend(&elements[index], path.dropFirst(), body)
            value = .list(elements)
        case (.dictionary(var entries), .key(let key)):
            guard var entry = entries[key.text] else { throw removedError() }
            value = .null
            try descend(&entry, path.dropFirst(), body)
            entries[key.text] = entry
            value = .dictionary(entries)
        default: throw removedError()
        }
    }

    private func check(_ index: Int, _ limit: Int, _ count: Int) throws {
        guard (0..<limit).contains(index) else {
            throw StoreError.outside(
                index, of: "the list of \(count) elements inside a mixed value")
        }
    }
}
