import LMDBStorage

// Searching in sorted collections: in the elements of a set, and in the keys of a map.
extension ListReader {
    /// Returns the first position whose element is in the second part of a sorted collection; the count if there is
    /// none.
    ///
    /// Elements of the first part must all precede those of the second.
    ///
    /// Takes a binary search over the chunks and one inside a chunk. In a write, an index after the start of the last
    /// chunk is found without reading any other chunk.
    package func partitioningIndex(
        where isInSecondPart: (ListElement) throws(StorageError) -> Bool
    ) throws(StorageError) -> Int {
        if let list = column.edited[owner] {
            return try column.partitioningIndex(list, owner, isInSecondPart)
        }
        let all = try column.chunks(of: owner)
        let chunks = try bisect(all.count) { (index) throws(StorageError) in
            try isInSecondPart(try element(all[index].chunk, 0))
        }
        guard chunks > 0 else { return 0 }
        let stored = all[chunks - 1]
        return stored.first
            + (try bisect(stored.chunk.count) { (offset) throws(StorageError) in
                try isInSecondPart(try element(stored.chunk, offset))
            })
    }

    /// Returns the first position of a text that is at least `bytes` in a collection sorted in byte order, and whether
    /// they are equal.
    func search(bytes: RawSpan) throws(StorageError) -> (position: Int, isThere: Bool) {
        var isThere = false
        let position = try bytes.withUnsafeBytes { wanted throws(StorageError) -> Int in
            try partitioningIndex { element throws(StorageError) in
                guard case .bytes(let text) = element else { return false }
                let order = text.withUnsafeBytes { BytesView($0).compare(BytesView(wanted)) }
                // The last compared text in the second part is the first text of that part.
                if order >= 0 { isThere = order == 0 }
                return order >= 0
            }
        }
        return (position, isThere)
    }
}

extension ListColumn {
    /// Returns the same position inside a write.
    func partitioningIndex(
        _ list: EditedList, _ owner: Int64,
        _ isInSecondPart: (ListElement) throws(StorageError) -> Bool
    ) throws(StorageError) -> Int {
        // An incomplete list has its last chunk.
        if list.prefix > 0, try isInSecondPart(element(list, owner, 0, 0)) {
            try complete(list, owner)
        }
        let chunks = try bisect(list.chunks.count) { (index) throws(StorageError) in
            try isInSecondPart(try element(list, owner, index, 0))
        }
        guard chunks > 0 else { return list.prefix }
        var position = list.prefix
        for index in 0..<chunks - 1 { position += list.chunks[index].count }
        return position
            + (try bisect(list.chunks[chunks - 1].count) { (offset) throws(StorageError) in
                try isInSecondPart(element(list, owner, chunks - 1, offset))
            })
    }
}

/// Returns the first number below `count` for which a test is true; the test must be true for all later numbers.
private func bisect(
    _ count: Int, _ test: (Int) throws(StorageError) -> Bool
) throws(StorageError) -> Int {
    var low = 0
    var high = count
    while low < high {
        let middle = low + (high - low) / 2
        if try test(middle) { high = middle } else { low = middle + 1 }
    }
    return low
}
