import MemoryAccounts

/// The ranges of values in which an index is built for existing rows, one range after the other.
///
/// If a script does not have memory for all entries at once, they are merged into the blocks several times, and each
/// merge of random values rewrites all blocks. If the entries of one range are added after those of the other, a merge
/// rewrites only the blocks of its range; in exchange, all rows are read for each range. The total time is lowest for
/// about as many ranges as the square root of twice the number of merges.
struct IndexBuildRanges<Value: IndexedValue> {
    /// The ends of all ranges except the last one, ascending.
    private var ends: [Value] = []
    private var arena = BytesArena()
    /// The index of the current range.
    private var current = 0

    /// The maximum number of rows whose values are read to choose the ranges.
    private static var sampleSize: Int { 1024 }
    /// The maximum number of bytes of a value that is the end of a range.
    private static var longestEnd: Int { 256 }

    /// Chooses the ranges for the values of a table; a single one if there is enough memory for all entries.
    init(
        _ reader: TableReader, _ account: MemoryAccount?,
        _ value: (ObjectKey) throws(StorageError) -> Value?
    ) throws(StorageError) {
        guard let account else { return }
        let (values, descents, bytes) = try Self.sample(reader, &arena, value)
        guard values.count > 1, descents > values.count / 16 else { return }
        let record = 2 * MemoryLayout<IndexChange<Value>>.stride + bytes / values.count
        let merges = reader.count * record / IndexMemory.share(of: account)
        guard merges >= 4 else { return }
        let count = min(Int(Double(2 * merges).squareRoot()), values.count)
        let sorted = values.sorted { $0.compare($1) < 0 }
        for index in 1..<count {
            let end = sorted[index * sorted.count / count]
            if ends.last.map({ $0.compare(end) < 0 }) ?? true { ends.append(end) }
        }
    }

    func deallocate() { arena.deallocate() }

    /// Returns whether a value is in the current range.
    @inline(__always)
    func contains(_ value: Value) -> Bool {
        if ends.isEmpty { return true }
        return (current == 0 || value.compare(ends[current - 1]) >= 0)
            && (current == ends.count || value.compare(ends[current]) < 0)
    }

    /// Moves to the next range; returns false after the last one.
    mutating func next() -> Bool {
        current += 1
        return current <= ends.count
    }

    /// Returns values of rows from the whole table, how often one is less than the one before, and their total size.
    private static func sample(
        _ reader: TableReader, _ arena: inout BytesArena,
        _ value: (ObjectKey) throws(StorageError) -> Value?
    ) throws(StorageError) -> (values: [Value], descents: Int, bytes: Int) {
        var (values, descents, bytes): ([Value], Int, Int) = ([], 0, 0)
        let step = max(1, reader.clusterCount / sampleSize)
        let rowsPerCluster = max(1, sampleSize / max(1, reader.clusterCount))
        for cluster in stride(from: 0, to: reader.clusterCount, by: step) {
            let rows = try reader.presence(cluster)
            let distance = max(1, rows.rowCount / rowsPerCluster)
            // Different positions, because the values may repeat with the size of a cluster.
            var skipped = cluster &* 97 % distance
            try rows.forEachRow { row throws(StorageError) in
                skipped -= 1
                guard skipped < 0 else { return }
                skipped = distance - 1
                guard let found = try value(ObjectKey(Int64(cluster * Cluster.rows + row))) else {
                    return
                }
                bytes += found.byteCount
                let kept = found.prefix(longestEnd).copied(to: &arena)
                if let last = values.last, kept.compare(last) < 0 { descents += 1 }
                values.append(kept)
            }
        }
        return (values, descents, bytes)
    }
}
