import LMDBStorage

/// An index from bytes to rows in byte order, for columns of strings, data and fixed-size bytes, and for the entries of
/// a ``RowIndex``.
///
/// Values may have any length; all values that share a prefix of more than 500 bytes are in one block.
typealias BytesIndex = SortedIndex<BytesView>

extension SortedIndex where Value == BytesView {
    /// Returns the first row with a value; in a unique index, the only one.
    func find(
        _ bytes: UnsafeRawBufferPointer, in transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        try find(BytesView(bytes), in: transaction)
    }

    /// Returns all rows with a value, ascending and with the duplicates in the index.
    func keys(
        equalTo bytes: UnsafeRawBufferPointer, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        try keys(equalTo: BytesView(bytes), in: transaction)
    }

    /// Adds an entry with a copy of the bytes.
    func insert(
        _ bytes: UnsafeRawBufferPointer, _ key: ObjectKey, in transaction: TransactionHandle
    ) throws(StorageError) {
        try insert(BytesView(bytes), key, in: transaction)
    }

    /// Removes one entry, which must exist.
    func remove(
        _ bytes: UnsafeRawBufferPointer, _ key: ObjectKey, in transaction: TransactionHandle
    ) throws(StorageError) {
        try remove(BytesView(bytes), key, in: transaction)
    }

    /// Calls `body` with all entries until it returns false; the bytes are valid only during the call.
    func forEach(
        in transaction: TransactionHandle,
        _ body: (_ bytes: UnsafeRawBufferPointer, _ key: ObjectKey) throws(StorageError) -> Bool
    ) throws(StorageError) {
        try forEachEntry(from: .least, below: nil, in: transaction) {
            (value, key) throws(StorageError) in
            try body(value.buffer, key)
        }
    }

    /// Returns the rows with values from some bytes on and below others, ordered by value, then by key.
    ///
    /// A nil `upper` means an open end.
    func keys(
        from lower: [UInt8], below upper: [UInt8]?, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        try keys(from: lower, below: upper, atMost: .max, in: transaction) ?? []
    }

    /// Returns the rows whose values begin with some bytes, in the order of the index.
    ///
    /// Returns nil if there are more than `most`, without reading all of them.
    func keys(
        withPrefix beginning: [UInt8], atMost most: Int, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey]? {
        try keys(
            from: beginning, below: Self.end(ofPrefix: beginning), atMost: most, in: transaction)
    }

    private func keys(
        from lower: [UInt8], below upper: [UInt8]?, atMost most: Int,
        in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey]? {
        var result: [ObjectKey] = []
        try BytesView.with(lower, upper) { lower, upper throws(StorageError) in
            try forEachKey(from: lower, below: upper, in: transaction) { key in
                result.append(key)
                return result.count <= most
            }
        }
        return result.count <= most ? result : nil
    }

    /// Calls `body` with the rows whose values begin with some bytes, once for each such value of a row.
    func forEachKey(
        withPrefix beginning: [UInt8], in transaction: TransactionHandle,
        _ body: (ObjectKey) -> Void
    ) throws(StorageError) {
        let end = Self.end(ofPrefix: beginning)
        try BytesView.with(beginning, end) { lower, upper throws(StorageError) in
            try forEachKey(from: lower, below: upper, in: transaction) { key in
                body(key)
                return true
            }
        }
    }

    /// Returns the number of entries from some bytes on and below others; may stop counting above `most`.
    func count(
        from lower: [UInt8], below upper: [UInt8]?, atMost most: Int,
        in transaction: TransactionHandle
    ) throws(StorageError) -> Int {
        try BytesView.with(lower, upper) { lower, upper throws(StorageError) in
            try count(from: lower, below: upper, atMost: most, in: transaction)
        }
    }

    /// Returns the least bytes that are above all values with a prefix; nil if there are none.
    private static func end(ofPrefix beginning: [UInt8]) -> [UInt8]? {
        var end = beginning
        while let last = end.popLast() {
            if last < 255 { return end + [last + 1] }
        }
        return nil
    }
}
