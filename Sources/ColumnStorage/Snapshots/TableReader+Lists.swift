import LMDBStorage

// Single elements of lists, and copies of whole ones.
extension TableReader {
    /// Returns an element of a list as an integer, as ``ListReader/int(at:)`` does; nil also for a missing row.
    package func listInt(
        _ column: ColumnID, _ key: ObjectKey, at position: Int
    ) throws(StorageError) -> Int64? {
        try list(column)?.reader(key).int(at: position)
    }

    /// Returns an element of a list as a double, as ``ListReader/double(at:)`` does; nil also for a missing row.
    package func listDouble(
        _ column: ColumnID, _ key: ObjectKey, at position: Int
    ) throws(StorageError) -> Double? {
        try list(column)?.reader(key).double(at: position)
    }

    /// Calls `body` with the bytes of an element of a list, as ``ListReader/withBytes(at:_:)`` does; nil also for a missing
    /// row.
    package func withListBytes<Result>(
        _ column: ColumnID, _ key: ObjectKey, at position: Int,
        _ body: (RawSpan) throws(StorageError) -> Result
    ) throws(StorageError) -> Result? {
        try list(column)?.reader(key).withBytes(at: position, body)
    }

    /// Returns the rows in a list of links, in its order; empty for a missing row and another kind of column.
    ///
    /// Takes linear time in the length of the list.
    package func linkedKeys(_ column: ColumnID, _ key: ObjectKey) throws(StorageError)
        -> [ObjectKey]
    {
        try list(column, key)?.keys() ?? []
    }

    /// Returns the elements of a list or a set in its order, or the values of a map in the order of its keys.
    ///
    /// The result is empty for a missing row and another kind of column. Takes linear time in the length of the list.
    package func listElements(_ column: ColumnID, _ key: ObjectKey) throws(StorageError)
        -> [ListElement]
    {
        try list(column, key)?.elements() ?? []
    }

    /// Returns the entries of a map in byte order of the keys; empty for a missing row and another kind of column.
    ///
    /// Takes linear time in the size of the map.
    package func mapEntries(
        _ column: ColumnID, _ key: ObjectKey
    ) throws(StorageError) -> [(key: String, value: ListElement)] {
        try map(column, key)?.entries().map {
            (String(decoding: $0.key, as: UTF8.self), $0.value)
        } ?? []
    }

}
