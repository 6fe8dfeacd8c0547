import LMDBStorage

/// A reader of a map property of one row.
///
/// It follows its snapshot, and in a write includes the changes of the write. Keys are strings in byte order; keys and
/// values are two sequences of chunks of the same length.
///
/// Throws `damaged` for invalid stored bytes and `closed` after the snapshot has been closed.
package struct MapReader {
    /// The values in the order of their keys.
    package let values: ListReader
    /// The keys, as bytes.
    package let keys: ListReader

    init(values: ListReader, keys: ListReader) {
        self.values = values
        self.keys = keys
    }

    /// The number of entries.
    package var count: Int {
        get throws(StorageError) { try keys.count }
    }

    /// Returns the value of a key; nil if the map does not have the key.
    ///
    /// Takes a binary search.
    package func value(_ key: [UInt8]) throws(StorageError) -> ListElement? {
        let (position, isThere) = try search(key.span.bytes)
        guard isThere else { return nil }
        guard let value = try values.element(at: position) else { throw try damaged() }
        return value
    }

    /// Returns the position or the insertion position of a key, and whether the map has the key.
    package func search(
        _ key: RawSpan
    ) throws(StorageError) -> (position: Int, isThere: Bool) {
        try keys.search(bytes: key)
    }

    /// Returns the key at a position; nil past the end.
    package func key(at position: Int) throws(StorageError) -> [UInt8]? {
        guard case .bytes(let key) = try keys.element(at: position) else { return nil }
        return key
    }

    /// Returns all entries in the order of their keys.
    package func entries() throws(StorageError) -> [(key: [UInt8], value: ListElement)] {
        let (names, elements) = (try keys.elements(), try values.elements())
        guard names.count == elements.count else { throw try damaged() }
        var entries: [(key: [UInt8], value: ListElement)] = []
        entries.reserveCapacity(names.count)
        for (name, element) in zip(names, elements) {
            guard case .bytes(let key) = name else { throw try damaged() }
            entries.append((key, element))
        }
        return entries
    }

    private func damaged() throws(StorageError) -> StorageError {
        values.column.damaged(try values.column.pages.transaction())
    }
}
