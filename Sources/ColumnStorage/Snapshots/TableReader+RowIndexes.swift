import LMDBStorage

// Lookups in indexes whose entries are computed from rows: terms of texts, or several columns at once.
extension TableReader {
    /// Returns whether a column has a full-text index.
    package func hasTerms(_ column: ColumnID) -> Bool { terms(column) != nil }

    /// Returns the rows whose text matches a search, ascending.
    ///
    /// Returns nil if the column has no index, or the search requires no term. Takes time in proportion to the rows of
    /// the rarest required term and of each prefix and excluded term.
    package func rows(_ column: ColumnID, matching query: TextQuery) throws(StorageError)
        -> [ObjectKey]?
    {
        guard !query.required.isEmpty, let index = terms(column) else { return nil }
        return try read { (transaction) throws(StorageError) in
            try addPending(index, transaction)
            return try TermSearch(index.index, bound: keyBound, transaction).run(query)
        } ?? []
    }

    /// Returns the rows in a range of a composite index, in the order of the index.
    ///
    /// Returns nil if the table does not have the index.
    package func keys(composite id: Int, _ range: CompositeRange) throws(StorageError)
        -> [ObjectKey]?
    {
        guard let index = composite(id), case .columns(let definition) = index.definition,
            let (from, below) = CompositeCoding.bounds(range, definition.columns, self)
        else { return nil }
        return try read { (transaction) throws(StorageError) in
            try addPending(index, transaction)
            return try index.index.keys(from: from, below: below, in: transaction)
        } ?? []
    }

    private func terms(_ column: ColumnID) -> RowIndex? {
        rowIndexes.first { $0.definition == .terms(column) }
    }

    private func composite(_ id: Int) -> RowIndex? {
        rowIndexes.first {
            if case .columns(let definition) = $0.definition { definition.id == id } else { false }
        }
    }

    private func addPending(
        _ index: RowIndex, _ transaction: TransactionHandle
    ) throws(StorageError) {
        if overlay != nil { try index.addPending(self, in: transaction) }
    }

    /// Creates the indexes of the definition; unchanged ones keep their state.
    func configureRowIndexes() {
        let wanted = definition.rowIndexes
        guard rowIndexes.map(\.definition) != wanted else { return }
        let known = rowIndexes
        rowIndexes = wanted.map { next in
            known.first { $0.definition == next }
                ?? RowIndex(next, table: id, pages: source.indexPages(of: id))
        }
    }
}

/// One search in a full-text index.
private struct TermSearch {
    private let index: BytesIndex
    private let words: Int
    private let transaction: TransactionHandle

    init(_ index: BytesIndex, bound: Int64, _ transaction: TransactionHandle) {
        self.index = index
        words = Int(bound / 64) + 1
        self.transaction = transaction
    }

    func run(_ query: TextQuery) throws(StorageError) -> [ObjectKey] {
        var exact: [[ObjectKey]] = []
        for term in query.required where !term.isPrefix {
            let keys = try keys(term)
            if keys.isEmpty { return [] }
            exact.append(keys)
        }
        // The rarest term comes first, and only its rows are looked up in the others.
        exact.sort { $0.count < $1.count }
        var result: [ObjectKey]?
        for keys in exact { result = result.map { Self.common($0, keys) } ?? keys }
        for term in query.required where term.isPrefix {
            if result?.isEmpty == true { return [] }
            let rows = try rows(beginning: term)
            result = result?.filter { rows.contains($0.rawValue) } ?? rows.keys()
        }
        var left = result ?? []
        for group in query.excluded where !left.isEmpty {
            var gone: RowBits?
            for term in group {
                var rows = RowBits(words: words)
                if term.isPrefix {
                    rows = try self.rows(beginning: term)
                } else {
                    for key in try keys(term) { rows.insert(key.rawValue) }
                }
                gone?.formIntersection(rows)
                gone = gone ?? rows
            }
            if let gone { left.removeAll { gone.contains($0.rawValue) } }
        }
        return left
    }

    private func keys(_ term: TextQuery.Term) throws(StorageError) -> [ObjectKey] {
        try BytesView.with(term.bytes) { bytes throws(StorageError) in
            try index.keys(equalTo: bytes, in: transaction)
        }
    }

    private func rows(beginning term: TextQuery.Term) throws(StorageError) -> RowBits {
        var rows = RowBits(words: words)
        try index.forEachKey(withPrefix: term.bytes, in: transaction) { rows.insert($0.rawValue) }
        return rows
    }

    /// Returns the common keys of two ascending lists; skips ahead in the longer one.
    private static func common(_ few: [ObjectKey], _ many: [ObjectKey]) -> [ObjectKey] {
        var result: [ObjectKey] = []
        var index = 0
        for key in few {
            var step = 1
            var low = index
            while low + step < many.count, many[low + step] < key {
                low += step
                step *= 2
            }
            var high = min(low + step + 1, many.count)
            while low < high {
                let middle = (low + high) / 2
                if many[middle] < key { low = middle + 1 } else { high = middle }
            }
            index = low
            if index == many.count { break }
            if many[index] == key { result.append(key) }
        }
        return result
    }
}

/// A set of rows, one bit for each key.
private struct RowBits {
    private var words: [UInt64]

    init(words: Int) { self.words = [UInt64](repeating: 0, count: words) }

    /// Adds a key; keys outside of the table, which only damage can cause, are ignored.
    mutating func insert(_ key: Int64) {
        guard key >= 0, Int(key) >> 6 < words.count else { return }
        words[Int(key) >> 6] |= 1 << UInt64(key & 63)
    }

    func contains(_ key: Int64) -> Bool {
        key >= 0 && Int(key) >> 6 < words.count
            && words[Int(key) >> 6] >> UInt64(key & 63) & 1 != 0
    }

    mutating func formIntersection(_ other: RowBits) {
        for index in words.indices { words[index] &= other.words[index] }
    }

    func keys() -> [ObjectKey] {
        var keys: [ObjectKey] = []
        for (index, word) in words.enumerated() {
            var rest = word
            while rest != 0 {
                keys.append(ObjectKey(Int64(index * 64 + rest.trailingZeroBitCount)))
                rest &= rest &- 1
            }
        }
        return keys
    }
}
