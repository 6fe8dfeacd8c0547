import LMDBStorage

// Look-ups through indexes. A column without one is scanned instead: the answer is the same. What cannot be
// read is noted in the snapshot's `damage` and counts as nothing found.
extension TableReader {
    /// The row with this integer; the first one where the index is not unique.
    package func find(_ column: ColumnID, int value: Int64) -> ObjectKey? {
        guard let index = intIndex(column), kind(of: column) != .link else {
            return scan(column, .int(.equal, value), first: true).first
        }
        return read { (transaction) throws(StorageError) in
            try index.find(value, in: transaction)
        } ?? nil
    }

    /// The rows with this integer, ascending.
    package func keys(_ column: ColumnID, equalTo value: Int64) -> [ObjectKey] {
        guard let index = intIndex(column), kind(of: column) != .link else {
            return scan(column, .int(.equal, value), first: false)
        }
        return read { (transaction) throws(StorageError) in
            try index.keys(equalTo: value, in: transaction)
        } ?? []
    }

    /// The rows with integers of a range in the order of the index (by value, then key); an open
    /// end is nil.
    ///
    /// Without an index in the order of keys.
    package func keys(
        _ column: ColumnID, from lower: Int64?, through upper: Int64?
    ) -> [ObjectKey] {
        guard let index = intIndex(column), kind(of: column) != .link else {
            return scan(column, .intBetween(lower ?? .min, upper ?? .max), first: false)
        }
        return read { (transaction) throws(StorageError) in
            try index.keys(from: lower, through: upper, in: transaction)
        } ?? []
    }

    /// The rows whose link or collection in `column`, a column of this table, holds `target`, ascending; a row
    /// that holds it several times is named as often.
    package func sources(of target: ObjectKey, through column: ColumnID) -> [ObjectKey] {
        guard let index = intIndex(column) else { return [] }
        return read { (transaction) throws(StorageError) in
            try index.keys(equalTo: target.rawValue, in: transaction)
        } ?? []
    }

    /// How many times `target` is held by `column`, a column of this table.
    package func sourceCount(of target: ObjectKey, through column: ColumnID) -> Int {
        guard let index = intIndex(column) else { return 0 }
        return read { (transaction) throws(StorageError) in
            try index.count(from: target.rawValue, through: target.rawValue, in: transaction)
        } ?? 0
    }

    /// Two rows with the same value in an indexed column, nil if all values differ.
    ///
    /// Walks the index once; nulls are in no index.
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

    /// Whether look-ups in a column go through an index.
    package func hasIndex(_ column: ColumnID) -> Bool {
        intIndex(column) != nil || bytesIndex(column) != nil
    }

    /// The list of a row, for reading; follows the snapshot.
    ///
    /// The elements of a set are in the order that its owner keeps, those of a map are its values in the
    /// order of the keys. Nil for a dead row and another kind of column.
    package func list(_ column: ColumnID, _ key: ObjectKey) -> ListReader? {
        guard isPresent(key) else { return nil }
        return list(column)?.reader(key)
    }

    /// The map of a row, for reading; follows the snapshot.
    ///
    /// Nil for a dead row and another kind of column.
    package func map(_ column: ColumnID, _ key: ObjectKey) -> MapReader? {
        guard isPresent(key), let values = list(column), let keys = values.keys else { return nil }
        return MapReader(values: values.reader(key), keys: keys.reader(key))
    }

    func list(_ column: ColumnID) -> ListColumn? {
        lists.indices.contains(column.rawValue) ? lists[column.rawValue] : nil
    }

    /// The row with these bytes; the first one where the index is not unique.
    package func find(_ column: ColumnID, bytes value: [UInt8]) -> ObjectKey? {
        guard let index = bytesIndex(column) else {
            return scan(column, .bytesEqual(value), first: true).first
        }
        return value.withUnsafeBytes { bytes in
            read { (transaction) throws(StorageError) in
                try index.find(bytes, in: transaction)
            } ?? nil
        }
    }

    /// The row with these bytes; the first one where the index is not unique.
    package func find(_ column: ColumnID, bytes value: RawSpan) -> ObjectKey? {
        find(column, bytes: value.withUnsafeBytes { [UInt8]($0) })
    }

    /// The rows with these bytes, ascending.
    package func keys(_ column: ColumnID, equalTo value: [UInt8]) -> [ObjectKey] {
        guard let index = bytesIndex(column) else {
            return scan(column, .bytesEqual(value), first: false)
        }
        return value.withUnsafeBytes { bytes in
            read { (transaction) throws(StorageError) in
                try index.keys(equalTo: bytes, in: transaction)
            } ?? []
        }
    }

    /// The rows whose bytes begin with these: in the order of the index (by bytes, then key), or of
    /// keys without one.
    package func keys(_ column: ColumnID, withPrefix value: [UInt8]) -> [ObjectKey] {
        guard bytesIndex(column) != nil else {
            return scan(column, .bytesPrefix(value), first: false)
        }
        return keys(column, withPrefix: value, atMost: .max) ?? []
    }

    /// The rows whose bytes begin with these in the order of the index; nil without an index and
    /// when there are more than `most`, which are not all looked at.
    package func keys(
        _ column: ColumnID, withPrefix value: [UInt8], atMost most: Int
    ) -> [ObjectKey]? {
        guard let index = bytesIndex(column) else { return nil }
        let found = read { (transaction) throws(StorageError) in
            try index.keys(withPrefix: value, atMost: most, in: transaction)
        }
        return found ?? nil
    }

    /// How many rows have an integer of a range; nil for a column without an index of integers.
    ///
    /// Cost: a look-up, and a glance at each block of the index in the range.
    package func count(_ column: ColumnID, from lower: Int64, through upper: Int64) -> Int? {
        guard let index = intIndex(column), kind(of: column) != .link else { return nil }
        return read { (transaction) throws(StorageError) in
            try index.count(from: lower, through: upper, in: transaction)
        }
    }

    /// The rows from some bytes on and below others, in the order of the index; an open end is nil.
    ///
    /// Nil without an index.
    package func keys(_ column: ColumnID, from lower: [UInt8], below upper: [UInt8]?)
        -> [ObjectKey]?
    {
        guard let index = bytesIndex(column) else { return nil }
        return read { (transaction) throws(StorageError) in
            try index.keys(from: lower, below: upper, in: transaction)
        } ?? []
    }

    /// How many rows an index of integers has in a range; nil without an index, and for more than
    /// `most`.
    ///
    /// Much cheaper than reading the rows.
    package func count(
        _ column: ColumnID, from lower: Int64, through upper: Int64, atMost most: Int
    ) -> Int? {
        guard let index = intIndex(column), kind(of: column) != .link else { return nil }
        let count = read { (transaction) throws(StorageError) in
            try index.count(from: lower, through: upper, atMost: most, in: transaction)
        }
        return count.flatMap { $0 <= most ? $0 : nil }
    }

    /// How many rows an index of bytes has from some bytes on and below others, as for integers.
    package func count(
        _ column: ColumnID, from lower: [UInt8], below upper: [UInt8]?, atMost most: Int
    ) -> Int? {
        guard let index = bytesIndex(column) else { return nil }
        let count = read { (transaction) throws(StorageError) in
            try index.count(from: lower, below: upper, atMost: most, in: transaction)
        }
        return count.flatMap { $0 <= most ? $0 : nil }
    }

    func bytesIndex(_ column: ColumnID) -> BytesIndex? {
        bytesIndexes.indices.contains(column.rawValue) ? bytesIndexes[column.rawValue] : nil
    }

    /// The bytes of a row; valid until the next change.
    func borrowedBytes(_ column: ColumnID, _ key: ObjectKey) -> UnsafeRawBufferPointer? {
        guard let kind = kind(of: column), let place = place(column, key, kind),
            !place.leaf.isNull(place.row)
        else { return nil }
        return bytes(column, key, place)
    }

    func intIndex(_ column: ColumnID) -> IntIndex? {
        intIndexes.indices.contains(column.rawValue) ? intIndexes[column.rawValue] : nil
    }

    /// Reads with the open write or the version; nil after an error, or when closed.
    func read<R>(_ body: (TransactionHandle) throws(StorageError) -> R) -> R? {
        guard let handle = source.handle else { return nil }
        do throws(StorageError) {
            return try body(handle)
        } catch {
            source.note(error)
            return nil
        }
    }

    func scan(_ column: ColumnID, _ test: ColumnTest, first: Bool) -> [ObjectKey] {
        var found: [ObjectKey] = []
        for cluster in 0..<clusterCount {
            let base = Int64(cluster * Cluster.rows)
            matches(column, cluster, test, among: presence(cluster)).forEachRow {
                found.append(ObjectKey(base + Int64($0)))
            }
            if first && !found.isEmpty { break }
        }
        return found
    }

    private func keyColumn(_ column: ColumnID) -> ListColumn {
        ListColumn(
            table: id, column: column, elementKind: .string, pages: source.keyPages,
            length: listLength(column))
    }

    private func listLength(_ column: ColumnID) -> (ObjectKey) -> Int? {
        { [weak self] owner in self?.listCount(column, owner) }
    }

    /// Makes the indexes and lists of the definition; those that stay keep what they know.
    func configureIndexes(from old: TableDefinition) {
        configureRowIndexes()
        let count = definition.columns.count
        while intIndexes.count < count { intIndexes.append(nil) }
        while lists.count < count { lists.append(nil) }
        while bytesIndexes.count < count { bytesIndexes.append(nil) }
        for (place, column) in definition.columns.enumerated() {
            let before = old.columns.indices.contains(place) ? old.columns[place] : nil
            if before == column { continue }
            if column.usesIntIndex {
                if intIndexes[place] == nil {
                    intIndexes[place] = IntIndex(
                        table: id, column: column.id, pages: source.indexPages(of: id))
                }
            } else {
                intIndexes[place] = nil
            }
            if column.usesBytesIndex {
                if bytesIndexes[place] == nil {
                    bytesIndexes[place] = BytesIndex(
                        table: id, column: column.id, pages: source.indexPages(of: id))
                }
            } else {
                bytesIndexes[place] = nil
            }
            if !column.isDropped, column.kind == .list, let element = column.elementKind {
                lists[place] = ListColumn(
                    table: id, column: column.id, elementKind: element, pages: source.listPages,
                    keys: column.collection == .map ? keyColumn(column.id) : nil,
                    length: listLength(column.id))
            } else {
                lists[place] = nil
            }
        }
    }
}

extension ColumnDefinition {
    /// Whether the values, or the targets, are kept in an index of integers.
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

    /// Whether the values are kept in an index of bytes.
    var usesBytesIndex: Bool {
        if isDropped || index == .none { return false }
        switch kind {
        case .string, .data, .bytes12, .bytes16: return true
        default: return false
        }
    }
}
