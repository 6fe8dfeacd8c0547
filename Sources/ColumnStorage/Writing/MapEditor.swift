import LMDBStorage

/// A map of one row inside a write.
///
/// Every change marks the (row, column) as modified, keeps the number of entries in the row and the
/// index of links backwards.
package struct MapEditor {
    private let entries: ListEditor
    private let keys: ListWriter

    init(_ entries: ListEditor, keys: ListWriter) {
        self.entries = entries
        self.keys = keys
    }

    /// The map as it is now, for reading.
    package var reader: MapReader { MapReader(values: entries.reader, keys: keys.reader) }

    /// The number of entries.
    package var count: Int { entries.count }

    /// Sets the value under a key; returns whether the key is new.
    @discardableResult  // because: most callers only want it set
    package func set(_ element: ListElement, for key: [UInt8]) throws(StorageError) -> Bool {
        let (position, isThere) = try reader.search(key.span.bytes)
        // Both, before one is there without the other.
        try keys.require(ListElement.bytes(key).pendingBytes)
        try entries.writer.require(element.pendingBytes)
        if isThere {
            try entries.set(element, at: position)
        } else {
            try keys.insert(.bytes(key), at: position)
            try entries.insert(element, at: position)
        }
        return !isThere
    }

    /// Removes a key and its value; returns whether it was there.
    @discardableResult  // because: removing what is not there is fine
    package func remove(_ key: [UInt8]) throws(StorageError) -> Bool {
        let (position, isThere) = try reader.search(key.span.bytes)
        guard isThere else { return false }
        try keys.remove(at: position)
        try entries.remove(at: position)
        return true
    }

    /// Sets the values that are equal to `element` to null; their keys stay.
    func removeValues(equalTo element: ListElement) throws(StorageError) {
        let elements = try entries.elements()
        for position in elements.indices where elements[position] == element {
            try entries.set(.null, at: position)
        }
    }

    /// Removes all entries.
    package func removeAll() throws(StorageError) {
        // The keys go with the values.
        try entries.removeAll()
    }
}
