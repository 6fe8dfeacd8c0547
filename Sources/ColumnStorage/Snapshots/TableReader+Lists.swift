import LMDBStorage

// Copies of whole lists.
extension TableReader {
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
