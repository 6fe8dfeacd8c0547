import LMDBStorage

/// A map property of one row, for reading.
///
/// Follows its snapshot, and in a write reads the changes of the write. Keys are texts in byte order; keys and values
/// are two sequences of chunks of the same length.
///
/// Throws `damaged` for stored bytes that cannot be right and `closed` after the snapshot has been
/// closed.
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

    /// The value under a key; nil if the map does not have the key.
    ///
    /// Cost: a bisection.
    package func value(_ key: [UInt8]) throws(StorageError) -> ListElement? {
        let (position, isThere) = try search(key.span.bytes)
        guard isThere else { return nil }
        guard let value = try values.element(at: position) else { throw try damaged() }
        return value
    }

    /// The index at which a key is or would be inserted, and whether the map has it.
    package func search(
        _ key: RawSpan
    ) throws(StorageError) -> (position: Int, isThere: Bool) {
        try keys.search(bytes: key)
    }

    /// The key at a position; nil past the end.
    package func key(at position: Int) throws(StorageError) -> [UInt8]? {
        guard case .bytes(let key) = try keys.element(at: position) else { return nil }
        return key
    }

    /// All entries in the order of their keys.
    package func entries() throws -> [(key: [UInt8], value: ListElement)] {
        let (names, elements) = (try keys.elements(), try values.elements())
        guard names.count == elements.count else { throw try damaged() }
        return try zip(names, elements).map { name, element in
            guard case .bytes(let key) = name else { throw try damaged() }
            return (key, element)
        }
    }

    private func damaged() throws(StorageError) -> StorageError {
        values.column.damaged(try values.column.pages.transaction())
    }
}
