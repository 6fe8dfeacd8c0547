import LMDBStorage

/// An index from integers to rows.
///
/// It indexes an int, date or bool column or, with target keys as values, the backlinks of a link or list column.
typealias IntIndex = SortedIndex<Int64>

extension SortedIndex where Value == Int64 {
    /// Calls `body` with the entries in a range of values until it returns false; they are ordered by value, then by
    /// key.
    func forEach(
        from lower: Int64 = .min, through upper: Int64 = .max, in transaction: TransactionHandle,
        _ body: (_ value: Int64, _ key: ObjectKey) throws(StorageError) -> Bool
    ) throws(StorageError) {
        guard lower <= upper else { return }
        try forEachEntry(from: lower, below: Self.end(upper), in: transaction, body)
    }

    /// Returns the rows in a range of values, ordered by value, then by key; nil means an open end.
    func keys(
        from lower: Int64?, through upper: Int64?, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        let (lower, upper) = (lower ?? .min, upper ?? .max)
        guard lower <= upper else { return [] }
        var result: [ObjectKey] = []
        try forEachKey(from: lower, below: Self.end(upper), in: transaction) { key in
            result.append(key)
            return true
        }
        return result
    }

    /// Returns the number of entries in a range of values; may stop counting above `most`.
    func count(
        from lower: Int64 = .min, through upper: Int64 = .max, atMost most: Int = .max,
        in transaction: TransactionHandle
    ) throws(StorageError) -> Int {
        guard lower <= upper else { return 0 }
        return try count(from: lower, below: Self.end(upper), atMost: most, in: transaction)
    }

    private static func end(_ upper: Int64) -> Int64? { upper == .max ? nil : upper + 1 }
}
