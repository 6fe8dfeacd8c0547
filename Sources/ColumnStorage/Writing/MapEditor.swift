import LMDBStorage

/// An editor of a map of one row inside a write.
///
/// Every change marks the row and column as modified, and updates the number of entries in the row and the index of
/// backlinks.
package struct MapEditor {
    private let entries: ListEditor
    private let keys: ListWriter

    init(_ entries: ListEditor, keys: ListWriter) {
        self.entries = entries
        self.keys = keys
    }

    /// A reader of the map in its current state.
    package var reader: MapReader { MapReader(values: entries.reader, keys: keys.reader) }

    /// The number of entries.
    package var count: Int { get throws(StorageError) { try entries.count } }

    /// Sets the value of a key, and returns whether the key is new.
    @discardableResult  // because: most callers only need the value to be set
    package func set(_ element: ListElement, for key: [UInt8]) throws(StorageError) -> Bool {
        let (position, isThere) = try reader.search(key.span.bytes)
        try keys.makeSpace()
        if isThere {
            try entries.set(element, at: position)
        } else {
            try keys.insert(.bytes(key), at: position)
            try entries.insert(element, at: position)
        }
        return !isThere
    }

    /// Removes a key and its value, and returns whether the key existed.
    @discardableResult  // because: most callers only need the key to be absent afterward
    package func remove(_ key: [UInt8]) throws(StorageError) -> Bool {
        let (position, isThere) = try reader.search(key.span.bytes)
        guard isThere else { return false }
        try keys.makeSpace()
        try keys.remove(at: position)
        try entries.remove(at: position)
        return true
    }

    /// Sets all values that equal `element` to null, and keeps their keys.
    func removeValues(equalTo element: ListElement) throws(StorageError) {
        let elements = try entries.elements()
        for position in elements.indices where elements[position] == element {
            try entries.set(.null, at: position)
        }
    }

    /// Removes all entries.
    package func removeAll() throws(StorageError) {
        // The keys are removed together with the values.
        try entries.removeAll()
    }
}
