import LMDBStorage

// Verification of indexes: every row has its entries, and there are no other entries.
extension TableVerifier {
    func verifyIndexes() throws(StorageError) {
        var known: Set<Int> = []
        for column in definition.columns where !column.isDropped {
            if column.usesIntIndex || column.usesBytesIndex { known.insert(column.id.rawValue) }
            if column.kind == .list {
                try verifyListColumn(column)
            } else if column.isMixed {
                try verifyMixed(column)
            } else if column.usesIntIndex {
                try verifyInts(column)
            } else if column.usesBytesIndex {
                try verifyBytes(column)
            }
        }
        for index in definition.rowIndexes {
            known.insert(index.storedColumn.rawValue)
            try verifyRowIndex(index)
        }
        for level in IndexLevel.allCases { try verifyOwners(of: known, level) }
    }

    private func intIndex(_ column: ColumnID) -> IntIndex {
        IntIndex(table: definition.id, column: column, tables: reader.indexTables)
    }

    private func bytesIndex(_ column: ColumnID) -> BytesIndex {
        BytesIndex(table: definition.id, column: column, tables: reader.indexTables)
    }

    /// Runs a check of an index; invalid blocks are reported as an error in the file and not thrown.
    private func look(
        _ column: ColumnID?, _ what: String, _ body: () throws(StorageError) -> Void
    ) throws(StorageError) {
        do throws(StorageError) { try body() } catch {
            guard error.isOfIndex else { throw error }
            fault("\(what) has a block that is not valid", column)
        }
    }

    private func verifyInts(_ column: ColumnDefinition) throws(StorageError) {
        let index = intIndex(column.id)
        var expected = EntrySum()
        try forEachRow { key throws(StorageError) in
            if let value = try reader.indexedInt(column, key) {
                expected.add(UInt64(bitPattern: value), key.rawValue)
            }
        }
        try look(column.id, "the index") { () throws(StorageError) in
            let stored = try verifyEntries(index, column) { (value, key) throws(StorageError) in
                guard try reader.isPresent(key) else { return false }
                return try reader.indexedInt(column, key) == value
            }
            guard stored != expected else { return }
            try forEachRow { key throws(StorageError) in
                guard let value = try reader.indexedInt(column, key) else { return }
                if try !index.keys(equalTo: value, in: transaction).contains(key) {
                    fault("its value \(value) is missing in the index", column.id, key)
                }
            }
            if !faults.isFull {
                fault(
                    "the index has \(stored.count) entries instead of \(expected.count)", column.id)
            }
        }
    }

    /// Verifies the entries of an index of integers, each of which must be in order and belong to a row.
    private func verifyEntries(
        _ index: IntIndex, _ column: ColumnDefinition,
        _ belongs: (Int64, ObjectKey) throws(StorageError) -> Bool
    ) throws(StorageError) -> EntrySum {
        var stored = EntrySum()
        var last: IntEntry?
        try index.forEach(in: transaction) { (value, key) throws(StorageError) in
            let entry = IntEntry(value: value, key: key.rawValue)
            if let last, entry < last || entry == last && column.kind != .list && !column.isMixed {
                fault("the index is out of order at \(value)", column.id, key)
            } else if column.index == .unique, last?.value == value {
                fault("the value \(value) is in the unique index twice", column.id, key)
            } else if try !belongs(value, key) {
                fault("the index has an entry for \(value), which is not its value", column.id, key)
            }
            last = entry
            stored.add(UInt64(bitPattern: value), key.rawValue)
            return !faults.isFull
        }
        return stored
    }

    /// Verifies the index of links inside mixed values.
    private func verifyMixed(_ column: ColumnDefinition) throws(StorageError) {
        var expected = EntrySum()
        try forEachRow { key throws(StorageError) in
            guard let bytes = try reader.borrowedBytes(column.id, key) else { return }
            for code in MixedLinks.codes(in: bytes) {
                expected.add(UInt64(bitPattern: code), key.rawValue)
            }
        }
        try verifyLinkIndex(column, expected)
    }

    private func verifyListColumn(_ column: ColumnDefinition) throws(StorageError) {
        var expected = EntrySum()
        try verifyList(column) { target, owner in
            expected.add(UInt64(bitPattern: target), owner)
        }
        if column.usesIntIndex { try verifyLinkIndex(column, expected) }
    }

    private func verifyLinkIndex(
        _ column: ColumnDefinition, _ expected: EntrySum
    ) throws(StorageError) {
        guard !faults.isFull else { return }
        try look(column.id, "the backlink index") { () throws(StorageError) in
            let stored = try verifyEntries(intIndex(column.id), column) {
                (_, key) throws(StorageError) in
                try reader.isPresent(key)
            }
            if stored != expected, !faults.isFull {
                fault(
                    "the backlink index has \(stored.count) entries, and the values have "
                        + "\(expected.count) links; the entries do not match the links", column.id)
            }
        }
    }

    private func verifyBytes(_ column: ColumnDefinition) throws(StorageError) {
        try verify(
            bytesIndex(column.id), of: column.id, named: "the index",
            isUnique: column.index == .unique
        ) {
            (key, body) throws(StorageError) in
            if let bytes = try reader.borrowedBytes(column.id, key) { try body(bytes) }
        }
    }

    private func verifyRowIndex(_ index: RowIndexDefinition) throws(StorageError) {
        var entries = RowEntries()
        defer { entries.deallocate() }
        let column: ColumnID?
        let name: String
        switch index {
        case .terms(let own): (column, name) = (own, "the full-text index")
        case .columns(let composite):
            (column, name) = (composite.columns.first, "the index over several columns")
        }
        try verify(bytesIndex(index.storedColumn), of: column, named: name, isUnique: false) {
            (key, body) throws(StorageError) in
            try entries.collect(index, of: key, from: reader)
            try entries.forEach(body)
        }
    }

    /// Verifies an index of bytes; `entriesOf` returns the entries that a row must have.
    private func verify(
        _ index: BytesIndex, of column: ColumnID?, named name: String, isUnique: Bool,
        _ entriesOf: (
            ObjectKey, (UnsafeRawBufferPointer) throws(StorageError) -> Void
        ) throws(StorageError) -> Void
    ) throws(StorageError) {
        var expected = EntrySum()
        try forEachRow { key throws(StorageError) in
            try entriesOf(key) { bytes in expected.add(BytesView(bytes).hash, key.rawValue) }
        }
        try look(column, name) { () throws(StorageError) in
            var stored = EntrySum()
            var last: (bytes: [UInt8], key: Int64)?
            try index.forEach(in: transaction) { (bytes, key) throws(StorageError) in
                if let known = last {
                    let order = known.bytes.withUnsafeBytes {
                        BytesView($0).compare(BytesView(bytes))
                    }
                    if order > 0 || order == 0 && known.key >= key.rawValue {
                        fault("\(name) is out of order", column, key)
                    } else if order == 0, isUnique {
                        fault("its value is in the unique index twice", column, key)
                    }
                }
                if try !reader.isPresent(key) {
                    fault("\(name) contains a row that does not exist", column, key)
                }
                last = ([UInt8](bytes), key.rawValue)
                stored.add(BytesView(bytes).hash, key.rawValue)
                return !faults.isFull
            }
            guard stored != expected else { return }
            try forEachRow { key throws(StorageError) in
                try entriesOf(key) { bytes throws(StorageError) in
                    if try !index.keys(equalTo: bytes, in: transaction).contains(key) {
                        let shown = String(decoding: bytes.prefix(40), as: UTF8.self)
                        fault("\(name) has no entry for '\(shown)'", column, key)
                    }
                }
            }
            if !faults.isFull {
                fault("\(name) has \(stored.count) entries instead of \(expected.count)", column)
            }
        }
    }

    /// Reports blocks of indexes that the table does not have.
    private func verifyOwners(
        of known: Set<Int>, _ level: IndexLevel
    ) throws(StorageError) {
        let cursor = try transaction.cursor(tables.indexes(of: definition.id, level))
        var next = IndexKey.prefix(definition.id, ColumnID(0))
        while !faults.isFull {
            let found = try withUnsafeBytes(of: &next) { bytes throws(StorageError) in
                try cursor.setRange(bytes)
            }
            guard let found, found.key.count >= IndexKey.prefixBytes else { return }
            let prefix = UInt32(bigEndian: found.key.loadUnaligned(as: UInt32.self))
            guard prefix >> 16 == definition.id.rawValue else { return }
            let column = Int(prefix & 0xFFFF)
            if level != .base, !reader.indexTables.hasRuns {
                return fault("the head does not include the runs of indexes")
            }
            if !known.contains(column) {
                fault("there are blocks of an index that does not exist (\(column))")
            }
            guard column < 0xFFFF else { return }
            next = IndexKey.prefix(definition.id, ColumnID(column + 1))
        }
    }
}
