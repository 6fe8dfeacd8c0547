import LMDBStorage

// Lookups in indexes. A column without an index is scanned, with the same result.
extension TableReader {
    /// Returns the row with this integer; if the index is not unique, the first one.
    package func find(_ column: ColumnID, int value: Int64) throws(StorageError) -> ObjectKey? {
        guard let index = intIndex(column), kind(of: column) != .link else {
            return try scan(column, .int(.equal, value), first: true).first
        }
        return try read { (transaction) throws(StorageError) in
            try index.find(value, in: transaction)
        } ?? nil
    }

    /// Returns the rows with this integer, ascending.
    package func keys(_ column: ColumnID, equalTo value: Int64) throws(StorageError) -> [ObjectKey]
    {
        guard let index = intIndex(column), kind(of: column) != .link else {
            return try scan(column, .int(.equal, value), first: false)
        }
        return try read { (transaction) throws(StorageError) in
            try index.keys(equalTo: value, in: transaction)
        } ?? []
    }

    /// Returns the rows with integers in a range, ordered by value, then by key; nil means an open end.
    ///
    /// Without an index, the rows are in the order of keys.
    package func keys(
        _ column: ColumnID, from lower: Int64?, through upper: Int64?
    ) throws(StorageError) -> [ObjectKey] {
        guard let index = intIndex(column), kind(of: column) != .link else {
            return try scan(column, .intBetween(lower ?? .min, upper ?? .max), first: false)
        }
        return try read { (transaction) throws(StorageError) in
            try index.keys(from: lower, through: upper, in: transaction)
        } ?? []
    }

    /// Returns the rows whose link or collection in `column` of this table contains `target`, ascending.
    ///
    /// A row occurs once for each of its links to `target`. The function may stop above `maximum` rows.
    package func sources(
        of target: ObjectKey, through column: ColumnID, atMost maximum: Int = .max
    ) throws(StorageError) -> [ObjectKey] {
        guard let index = intIndex(column) else { return [] }
        return try read { (transaction) throws(StorageError) in
            try index.keys(equalTo: target.rawValue, atMost: maximum, in: transaction)
        } ?? []
    }

    /// Returns the number of links to `target` in `column` of this table.
    package func sourceCount(of target: ObjectKey, through column: ColumnID) throws(StorageError)
        -> Int
    {
        guard let index = intIndex(column) else { return 0 }
        return try read { (transaction) throws(StorageError) in
            try index.count(from: target.rawValue, through: target.rawValue, in: transaction)
        } ?? 0
    }

    /// Returns two rows with the same value in an indexed column; nil if all values differ.
    ///
    /// Reads the index once; nulls are not in an index.
    package func firstDuplicate(
        _ column: ColumnID
    ) throws(StorageError) -> (first: ObjectKey, second: ObjectKey)? {
        guard let transaction = source.handle else { return nil }
        var found: (first: ObjectKey, second: ObjectKey)?
        var lastKey: ObjectKey?
        if let index = intIndex(column) {
            var last: Int64 = 0
            try index.forEach(in: transaction) { value, key in
                if let lastKey, last == value { found = (lastKey, key) }
                last = value
                lastKey = key
                return found == nil
            }
        } else if let index = bytesIndex(column) {
            var last: [UInt8] = []
            try index.forEach(in: transaction) { bytes, key in
                if let lastKey, bytes.elementsEqual(last) { found = (lastKey, key) }
                last.removeAll(keepingCapacity: true)
                last.append(contentsOf: bytes)
                lastKey = key
                return found == nil
            }
        }
        return found
    }

    /// Returns a reader of a row's list, which follows the snapshot.
    ///
    /// The elements of a set are in the order of its owner; those of a map are its values in the order of the keys.
    /// Returns nil for a missing row and another kind of column.
    package func list(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> ListReader? {
        guard try isPresent(key) else { return nil }
        return list(column)?.reader(key)
    }

    /// Returns a reader of a row's map, which follows the snapshot.
    ///
    /// Returns nil for a missing row and another kind of column.
    package func map(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> MapReader? {
        guard try isPresent(key), let values = list(column), let keys = values.keys else {
            return nil
        }
        return MapReader(values: values.reader(key), keys: keys.reader(key))
    }

    func list(_ column: ColumnID) -> ListColumn? {
        lists.indices.contains(column.rawValue) ? lists[column.rawValue] : nil
    }

    /// Returns the row with these bytes; if the index is not unique, the first one.
    package func find(_ column: ColumnID, bytes value: [UInt8]) throws(StorageError) -> ObjectKey? {
        guard let index = bytesIndex(column) else {
            return try scan(column, .bytesEqual(value), first: true).first
        }
        return try BytesView.with(value) { bytes throws(StorageError) in
            try read { (transaction) throws(StorageError) in
                try index.find(bytes, in: transaction)
            }
        } ?? nil
    }

    /// Returns the rows with these bytes, ascending.
    package func keys(_ column: ColumnID, equalTo value: [UInt8]) throws(StorageError)
        -> [ObjectKey]
    {
        try keys(column, equalTo: value, atMost: .max) ?? []
    }

    /// Returns the rows with these bytes, ascending; nil if there are more than `maximum`, without reading all of them.
    package func keys(
        _ column: ColumnID, equalTo value: [UInt8], atMost maximum: Int
    ) throws(StorageError) -> [ObjectKey]? {
        guard let index = bytesIndex(column) else {
            return try scan(column, .bytesEqual(value), first: false)
        }
        let found =
            try BytesView.with(value) { bytes throws(StorageError) in
                try read { (transaction) throws(StorageError) in
                    try index.keys(equalTo: bytes, atMost: maximum, in: transaction)
                }
            } ?? []
        return found.count > maximum ? nil : found
    }

    /// Returns the rows whose bytes begin with these, in the order of the index.
    ///
    /// Returns nil without an index, and if there are more than `maximum` rows, without reading all of them.
    package func keys(
        _ column: ColumnID, withPrefix value: [UInt8], atMost maximum: Int
    ) throws(StorageError) -> [ObjectKey]? {
        guard let index = bytesIndex(column) else { return nil }
        let found = try read { (transaction) throws(StorageError) in
            try index.keys(withPrefix: value, atMost: maximum, in: transaction)
        }
        return found ?? nil
    }

    /// Returns the number of rows with an integer in a range; nil for a column without an index of integers.
    ///
    /// Takes a lookup, and reads the header of each index block in the range.
    package func count(_ column: ColumnID, from lower: Int64, through upper: Int64)
        throws(StorageError) -> Int?
    {
        guard let index = intIndex(column), kind(of: column) != .link else { return nil }
        return try read { (transaction) throws(StorageError) in
            try index.count(from: lower, through: upper, in: transaction)
        }
    }

    /// Returns the rows with bytes from some value on and below another, in the order of the index; nil means an open
    /// end.
    ///
    /// Returns nil without an index.
    package func keys(_ column: ColumnID, from lower: [UInt8], below upper: [UInt8]?)
        throws(StorageError)
        -> [ObjectKey]?
    {
        guard let index = bytesIndex(column) else { return nil }
        return try read { (transaction) throws(StorageError) in
            try index.keys(from: lower, below: upper, in: transaction)
        } ?? []
    }

    /// Returns the number of rows in a range of an index of integers.
    ///
    /// Returns nil without an index, and for more than `maximum` rows.
    ///
    /// This costs much less than reading the rows.
    package func count(
        _ column: ColumnID, from lower: Int64, through upper: Int64, atMost maximum: Int
    ) throws(StorageError) -> Int? {
        guard let index = intIndex(column), kind(of: column) != .link else { return nil }
        let count = try read { (transaction) throws(StorageError) in
            try index.count(from: lower, through: upper, atMost: maximum, in: transaction)
        }
        return count.flatMap { $0 <= maximum ? $0 : nil }
    }

    /// Returns the number of rows with bytes from some value on and below another; nil as for integers.
    package func count(
        _ column: ColumnID, from lower: [UInt8], below upper: [UInt8]?, atMost maximum: Int
    ) throws(StorageError) -> Int? {
        guard let index = bytesIndex(column) else { return nil }
        let count = try read { (transaction) throws(StorageError) in
            try index.count(from: lower, below: upper, atMost: maximum, in: transaction)
        }
        return count.flatMap { $0 <= maximum ? $0 : nil }
    }

    func bytesIndex(_ column: ColumnID) -> BytesIndex? {
        bytesIndexes.indices.contains(column.rawValue) ? bytesIndexes[column.rawValue] : nil
    }

    /// Returns the bytes of a row, valid until the next change.
    func borrowedBytes(_ column: ColumnID, _ key: ObjectKey) throws(StorageError)
        -> UnsafeRawBufferPointer?
    {
        guard let kind = kind(of: column), let cell = try cell(column, key, kind),
            !cell.leaf.isNull(cell.row)
        else { return nil }
        return try bytes(column, key, cell)
    }

    /// Returns the value of a row in the index of integers; nil for a null, and for another kind of column.
    func indexedInt(_ column: ColumnDefinition, _ key: ObjectKey) throws(StorageError) -> Int64? {
        switch column.kind {
        case .int: try int(column.id, key)
        case .bool: try bool(column.id, key).map { $0 ? 1 : 0 }
        case .link: try link(column.id, key)?.rawValue
        default: nil
        }
    }

    func intIndex(_ column: ColumnID) -> IntIndex? {
        intIndexes.indices.contains(column.rawValue) ? intIndexes[column.rawValue] : nil
    }

    /// Calls `body` with the transaction of the open write or the version; nil after closing.
    func read<R>(
        _ body: (TransactionHandle) throws(StorageError) -> R
    ) throws(StorageError) -> R? {
        guard let handle = source.handle else { return nil }
        return try body(handle)
    }

    func scan(_ column: ColumnID, _ test: ColumnTest, first: Bool) throws(StorageError)
        -> [ObjectKey]
    {
        var found: [ObjectKey] = []
        for cluster in 0..<clusterCount {
            let base = Int64(cluster * Cluster.rows)
            try matches(column, cluster, test, among: presence(cluster)).forEachRow {
                found.append(ObjectKey(base + Int64($0)))
            }
            if first && !found.isEmpty { break }
        }
        return found
    }

    private func keyColumn(_ column: ColumnDefinition) -> ListColumn {
        ListColumn(
            table: id, column: column.id, elementKind: .string, pages: source.keyPages,
            inline: inlineLists(column.keyContents), owners: self, length: listLength(column.id))
    }

    private func inlineLists(_ contents: ColumnID?) -> InlineLists? {
        contents.map { InlineLists(rows: self, column: $0) }
    }

    private func listLength(
        _ column: ColumnID
    ) -> (ObjectKey) throws(StorageError) -> Int? {
        // because: the reader has the column that calls this; a weak reference would make each use of the reader slower.
        { [unowned(unsafe) self] owner throws(StorageError) in try listCount(column, owner) }
    }

    /// Creates the indexes and lists of the definition; unchanged ones keep their state.
    func configureIndexes(from old: TableDefinition) {
        configureRowIndexes()
        let count = definition.columns.count
        while intIndexes.count < count { intIndexes.append(nil) }
        while lists.count < count { lists.append(nil) }
        while bytesIndexes.count < count { bytesIndexes.append(nil) }
        for (index, column) in definition.columns.enumerated() {
            let before = old.columns.indices.contains(index) ? old.columns[index] : nil
            if before == column { continue }
            if column.usesIntIndex {
                if intIndexes[index] == nil {
                    intIndexes[index] = IntIndex(
                        table: id, column: column.id, tables: indexTables)
                }
            } else {
                intIndexes[index] = nil
            }
            if column.usesBytesIndex {
                if bytesIndexes[index] == nil {
                    bytesIndexes[index] = BytesIndex(
                        table: id, column: column.id, tables: indexTables)
                }
            } else {
                bytesIndexes[index] = nil
            }
            if !column.isDropped, column.kind == .list, let element = column.elementKind {
                lists[index] = ListColumn(
                    table: id, column: column.id, elementKind: element, pages: source.listPages,
                    keys: column.collection == .map ? keyColumn(column) : nil,
                    inline: inlineLists(column.contents), owners: self,
                    length: listLength(column.id))
            } else {
                lists[index] = nil
            }
        }
    }
}

extension ColumnDefinition {
    /// Whether the values, or the targets of links, are in an index of integers.
    var usesIntIndex: Bool {
        if isDropped { return false }
        switch kind {
        case .link: return true
        case .list: return elementKind == .link || isMixed
        case .data: return isMixed
        case .int, .bool: return index != .none
        default: return false
        }
    }

    /// Whether the values are in an index of bytes.
    var usesBytesIndex: Bool {
        if isDropped || index == .none { return false }
        switch kind {
        case .string, .data, .bytes12, .bytes16: return true
        default: return false
        }
    }
}

// Lookups in indexes whose entries are computed from rows: terms of texts, or several columns at once.
extension TableReader {
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
                ?? RowIndex(next, table: id, tables: indexTables)
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
