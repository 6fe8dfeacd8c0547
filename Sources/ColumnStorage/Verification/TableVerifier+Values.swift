import LMDBStorage

// Verification of values outside of leaves: long values, and lists.
extension TableVerifier {
    /// Verifies the long values: one for every row that refers to one, and no others.
    func verifyLongValues() throws(StorageError) {
        var expected: [ColumnID: Set<Int64>] = [:]
        for column in definition.columns
        where !column.isDropped && (column.kind == .string || column.kind == .data) {
            var rows: Set<Int64> = []
            try forEachRow { key throws(StorageError) in
                guard try isLong(column.id, key) else { return }
                rows.insert(key.rawValue)
                if try LongValueKey(definition.id, column.id, key)
                    .get(transaction, tables.values) == nil
                {
                    fault("its long value is missing", column.id, key)
                }
            }
            expected[column.id] = rows
        }
        let cursor = try transaction.cursor(tables.values)
        var prefix = definition.id.rawValue.bigEndian
        var entry = try withUnsafeBytes(of: &prefix) { bytes throws(StorageError) in
            try cursor.setRange(bytes)
        }
        while let found = entry, found.key.count == 16, !faults.isFull {
            let table = UInt32(bigEndian: found.key.loadUnaligned(as: UInt32.self))
            guard table == definition.id.rawValue else { break }
            let column = ColumnID(
                Int(UInt32(bigEndian: found.key.loadUnaligned(fromByteOffset: 4, as: UInt32.self))))
            let key = ObjectKey(
                Int64(
                    bitPattern: UInt64(
                        bigEndian: found.key.loadUnaligned(fromByteOffset: 8, as: UInt64.self))))
            let isKnown = definition.columns.indices.contains(column.rawValue)
            // The remains of a dropped column take space but are harmless.
            let isDropped = isKnown && definition.columns[column.rawValue].isDropped
            if !isDropped, expected[column]?.contains(key.rawValue) != true {
                fault("a long value belongs to no row", isKnown ? column : nil, key)
            }
            entry = try cursor.next()
        }
    }

    private func isLong(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> Bool {
        let cluster = Int(key.rawValue) / Cluster.rows
        let row = Int(key.rawValue) % Cluster.rows
        let leaf = try Leaf(reader.leaf(column.rawValue + 1, cluster))
        return leaf.encoding == LeafEncoding.pointers
            ? UnpackedLeaf(address: UnsafeMutableRawPointer(mutating: leaf.address))
                .longs.contains(row)
            : leaf.isLong(row)
    }

    /// Verifies the lists of a column, and calls `body` with every link.
    func verifyList(
        _ column: ColumnDefinition, _ body: (_ target: Int64, _ owner: Int64) -> Void
    ) throws(StorageError) {
        guard let element = column.elementKind else { return }
        let prefix = IndexKey.prefix(definition.id, column.id)
        let key = IntIndexKey(prefix: prefix)
        defer { key.deallocate() }
        let cursor = try transaction.cursor(tables.lists)
        var owners: Set<Int64> = []
        var current: (owner: Int64, count: Int)?
        func finish() throws(StorageError) {
            guard let (owner, count) = current else { return }
            let row = ObjectKey(owner)
            if try !reader.isPresent(row) {
                fault("a list belongs to no row", column.id, row)
                return
            }
            let declared = try reader.listCount(column.id, row)
            if declared != count {
                fault(
                    "the list has \(count) elements, but declares \(declared)", column.id, row)
            }
        }
        var entry = try cursor.setRange(key.minimum())
        while let found = entry, IndexKey.hasPrefix(found.key, prefix), !faults.isFull {
            guard let position = IntIndexKey.entry(found.key),
                let chunk = ListChunk(found.value, words: element.isStoredAsWord)
            else {
                fault("a chunk of a list is not valid", column.id)
                entry = try cursor.next()
                continue
            }
            if current?.owner != position.value {
                try finish()
                owners.insert(position.value)
                current = (position.value, 0)
            }
            current?.count += chunk.count
            try verifyChunk(
                chunk, of: ObjectKey(position.value), in: column, element: element, body)
            entry = try cursor.next()
        }
        if faults.isFull { return }
        try finish()
        try forEachRow { row throws(StorageError) in
            try verifyShortList(column, row, isLong: owners.contains(row.rawValue), body)
            try verifyKeys(column, row)
        }
    }

    /// Verifies the list in a row, or that a list with elements elsewhere has these elements.
    private func verifyShortList(
        _ column: ColumnDefinition, _ row: ObjectKey, isLong: Bool,
        _ body: (_ target: Int64, _ owner: Int64) -> Void
    ) throws(StorageError) {
        let count = try reader.listCount(column.id, row)
        guard let list = reader.list(column.id), let element = column.elementKind else { return }
        do throws(StorageError) {
            switch try list.place(row.rawValue) {
            case .row(let chunk):
                if isLong { fault("its list is in two places", column.id, row) }
                if chunk.count != count {
                    fault(
                        "its list has \(chunk.count) elements, but declares \(count)", column.id,
                        row)
                }
                try verifyChunk(chunk, of: row, in: column, element: element, body)
            case .nowhere:
                if count > 0 || isLong { fault("its list is missing", column.id, row) }
            case .chunks:
                if count > 0, !isLong { fault("its list is missing", column.id, row) }
            }
        } catch {
            guard error.code == .damaged else { throw error }
            fault("its list is not valid", column.id, row)
        }
    }

    /// Verifies that a map has as many keys as values.
    private func verifyKeys(
        _ column: ColumnDefinition, _ row: ObjectKey
    ) throws(StorageError) {
        guard column.collection == .map, let keys = reader.list(column.id)?.keys else { return }
        do throws(StorageError) {
            let count = try keys.reader(row).count
            if try count != reader.listCount(column.id, row) {
                fault("its map has \(count) keys, which do not match its values", column.id, row)
            }
        } catch {
            guard error.code == .damaged else { throw error }
            fault("the keys of its map are not valid", column.id, row)
        }
    }

    private func verifyChunk(
        _ chunk: ListChunk, of owner: ObjectKey, in column: ColumnDefinition, element: ColumnKind,
        _ body: (_ target: Int64, _ owner: Int64) -> Void
    ) throws(StorageError) {
        for index in 0..<chunk.count {
            if chunk.isNull(index) {
                // Values of maps may be null, because links of deleted rows become null.
                if !column.elementIsOptional, column.collection != .map {
                    fault("its list contains nil", column.id, owner)
                }
            } else if element == .link {
                let target = chunk.word(index)
                if let table = column.target, try !isPresent(table, ObjectKey(target)) {
                    fault(
                        "its list contains row \(target), which does not exist", column.id, owner)
                }
                body(target, owner.rawValue)
            } else if !element.isStoredAsWord {
                guard let bytes = chunk.bytes(index) else {
                    fault("a chunk of its list is not valid", column.id, owner)
                    continue
                }
                guard column.isMixed else { continue }
                for code in MixedLinks.codes(in: bytes) { body(code, owner.rawValue) }
            }
        }
    }
}
