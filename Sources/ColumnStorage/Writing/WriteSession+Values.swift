import LMDBStorage

// Setters for single values of rows.
extension WriteSession {
    @inline(__always)
    func position(of key: ObjectKey) -> (cluster: Int, row: Int) {
        let cluster = Int(key.rawValue) / Cluster.rows
        return (cluster, Int(key.rawValue) - cluster * Cluster.rows)
    }

    /// Returns the unpacked leaf and row for a value, marked as set.
    ///
    /// If the head of the table is damaged, makes the write fail and returns nil.
    @inline(__always)
    private func target(
        _ table: TableID, _ column: ColumnID, _ key: ObjectKey, kind: ColumnKind,
        indexed: Int64? = nil, isNew: Bool = false
    ) -> (leaf: UnpackedLeaf, row: Int)? {
        let overlay = overlay(table)
        guard
            overlay.reader.kind(of: column) == kind && key.rawValue >= 0
                && (isNew || key.rawValue < overlay.reader.keyBound)
        else {
            // The presence and the head of the table do not agree.
            fail(overlay.reader.source.damaged("row \(key.rawValue) of table \(table.rawValue)"))
            return nil
        }
        if !overlay.reader.rowIndexes.isEmpty { recordChange(overlay, column, key) }
        let (cluster, row) = position(of: key)
        let leaf = overlay.unpackedLeaf(column.rawValue + 1, cluster)
        // The caller that sets the bytes of a mixed column updates its index.
        if kind != .data, let index = overlay.reader.intIndexes[column.rawValue] {
            // A new row has no entry before the column is set for the first time.
            let hadValue = leaf.marks.contains(row) || overlay.wasPresent(cluster, row)
            var old: Int64?
            if hadValue && !leaf.isNull(row) {
                let word = leaf.word(row)
                old = kind == .link ? (word == 0 ? nil : word - 1) : word
            }
            reindex(index, key, from: old, to: indexed)
        }
        leaf.mark(row)
        return (leaf, row)
    }

    /// Sets an integer.
    package func set(_ table: TableID, _ column: ColumnID, _ key: ObjectKey, int value: Int64) {
        guard let (leaf, row) = target(table, column, key, kind: .int, indexed: value) else {
            return
        }
        leaf.setNull(row, false)
        leaf.setWord(row, UInt64(bitPattern: value))
    }

    /// Sets a Boolean value.
    package func set(_ table: TableID, _ column: ColumnID, _ key: ObjectKey, bool value: Bool) {
        guard let (leaf, row) = target(table, column, key, kind: .bool, indexed: value ? 1 : 0)
        else { return }
        leaf.setNull(row, false)
        leaf.setWord(row, value ? 1 : 0)
    }

    /// Sets a double.
    package func set(_ table: TableID, _ column: ColumnID, _ key: ObjectKey, double value: Double) {
        guard let (leaf, row) = target(table, column, key, kind: .double) else { return }
        leaf.setNull(row, false)
        leaf.setWord(row, value.bitPattern)
    }

    /// Sets a float.
    package func set(_ table: TableID, _ column: ColumnID, _ key: ObjectKey, float value: Float) {
        guard let (leaf, row) = target(table, column, key, kind: .float) else { return }
        leaf.setNull(row, false)
        leaf.setFloat(row, value)
    }

    /// Sets a link; nil removes it.
    package func set(
        _ table: TableID, _ column: ColumnID, _ key: ObjectKey, link value: ObjectKey?
    ) {
        guard let (leaf, row) = target(table, column, key, kind: .link, indexed: value?.rawValue)
        else { return }
        leaf.setNull(row, false)
        leaf.setWord(row, value.map { UInt64(bitPattern: $0.rawValue + 1) } ?? 0)
    }

    /// Sets a string, data or a fixed-size value.
    package func set(_ table: TableID, _ column: ColumnID, _ key: ObjectKey, bytes value: RawSpan) {
        set(table, column, key, bytes: value, isNew: false)
    }

    /// Sets a mixed value; `keepsLinks` is true if it has the links of the present value.
    package func set(
        _ table: TableID, _ column: ColumnID, _ key: ObjectKey, mixed value: [UInt8],
        keepsLinks: Bool
    ) {
        set(table, column, key, bytes: value.span.bytes, isNew: false, keepsLinks: keepsLinks)
    }

    /// Sets a string, data or a fixed-size value; `isNew` is true if the row is about to be added.
    func set(
        _ table: TableID, _ column: ColumnID, _ key: ObjectKey, bytes value: RawSpan, isNew: Bool,
        keepsLinks: Bool = false
    ) {
        if value.byteCount > Self.largeText, !isNew { makeSpaceForText() }
        let overlay = overlay(table)
        let kind = overlay.reader.kind(of: column) ?? .data
        if overlay.reader.bytesIndex(column) != nil {
            value.withUnsafeBytes {
                reindexBytes(overlay, column, key, to: $0, isNew: isNew)
            }
        }
        if kind == .data, !keepsLinks {
            value.withUnsafeBytes { reindexMixed(overlay, column, key, to: $0, isNew: isNew) }
        }
        guard let (leaf, row) = target(table, column, key, kind: kind, isNew: isNew) else { return }
        leaf.setNull(row, false)
        value.withUnsafeBytes { bytes in
            switch kind {
            case .string, .data:
                let cluster = Int(key.rawValue) / Cluster.rows
                leaf.setPointer(row, overlay.arena(cluster).copy(bytes))
            case .bytes12, .bytes16:
                let width = UnpackedLeaf.width(of: kind)
                precondition(bytes.count == width, "wrong number of bytes")
                if let source = bytes.baseAddress {
                    (leaf.payload + width * row).copyMemory(from: source, byteCount: width)
                }
            default: preconditionFailure("not a column of bytes")
            }
        }
    }

    /// Sets a string, data or a fixed-size value.
    package func set(_ table: TableID, _ column: ColumnID, _ key: ObjectKey, bytes value: [UInt8]) {
        set(table, column, key, bytes: value.span.bytes)
    }

    /// Sets a string.
    package func set(_ table: TableID, _ column: ColumnID, _ key: ObjectKey, string value: String) {
        set(table, column, key, bytes: value.utf8Span.span.bytes)
    }

    /// Sets null; for a link, removes the link.
    package func setNull(_ table: TableID, _ column: ColumnID, _ key: ObjectKey) {
        let overlay = overlay(table)
        let kind = overlay.reader.kind(of: column) ?? .int
        reindexBytes(overlay, column, key, to: nil, isNew: false)
        if kind == .data { reindexMixed(overlay, column, key, to: nil, isNew: false) }
        guard let (leaf, row) = target(table, column, key, kind: kind) else { return }
        precondition(kind != .list, "a list is never null")
        leaf.clear(row, kind)
    }
}

extension WriteSession {
    /// Adds a row with a given key, whose columns are zero, null or empty until they are set.
    ///
    /// Keys between the newest row and this one are never used. The key of a deleted row restores that row. Returns
    /// false, without adding a row, if a row has the key.
    package func insert(_ table: TableID, at key: ObjectKey) throws(StorageError) -> Bool {
        let overlay = overlay(table)
        guard key.rawValue < overlay.reader.keyBound else {
            reserveKeys(table, below: key)
            _ = insert(table)
            return true
        }
        guard key.rawValue >= 0, try !overlay.reader.isPresent(key) else { return false }
        try revive(table, key)
        return true
    }

    /// Skips the keys below a bound, so that the next row has at least this key.
    package func reserveKeys(_ table: TableID, below bound: ObjectKey) {
        let overlay = overlay(table)
        let state = overlay.reader.state
        var key = state.pointee.keyBound
        while key < bound.rawValue {
            let cluster = Int(key) / Cluster.rows
            if Int(key) % Cluster.rows == 0, state.pointee.clusterCount <= cluster {
                beginCluster(overlay, cluster)
            }
            // A cluster without rows still has a presence leaf.
            let leaf = overlay.unpackedLeaf(0, cluster)
            leaf.presence = leaf.presence
            key = min(bound.rawValue, Int64(cluster + 1) * Int64(Cluster.rows))
            state.pointee.keyBound = key
        }
    }
}

// Links inside mixed values, with an index from targets to the rows that contain the links.
extension WriteSession {
    /// Moves the entries of a row in the index of a mixed column from its current links to the links in other bytes.
    ///
    /// Call it before the row is changed.
    func reindexMixed(
        _ overlay: TableOverlay, _ column: ColumnID, _ key: ObjectKey,
        to new: UnsafeRawBufferPointer?, isNew: Bool
    ) {
        guard let index = overlay.reader.intIndex(column) else { return }
        let (cluster, row) = position(of: key)
        let hadValue = !isNew && overlay.hadValue(column.rawValue + 1, cluster, row)
        let old = reading(or: nil) { () throws(StorageError) in
            hadValue ? try overlay.reader.borrowedBytes(column, key) : nil
        }
        let oldCodes = old.map(MixedLinks.codes) ?? []
        let newCodes = new.map(MixedLinks.codes) ?? []
        if oldCodes == newCodes { return }
        do throws(StorageError) {
            for code in oldCodes { try index.remove(code, key, in: transaction.handle) }
            for code in newCodes { try index.insert(code, key, in: transaction.handle) }
        } catch { fail(error) }
    }

    /// Returns the mixed columns of all tables; each may have a link to any row.
    func mixedColumns() -> [(table: TableID, column: ColumnDefinition)] {
        if let knownMixedColumns { return knownMixedColumns }
        var found: [(table: TableID, column: ColumnDefinition)] = []
        for definition in snapshot.source.definitions.values {
            for column in definition.columns where column.isMixed && !column.isDropped {
                found.append((definition.id, column))
            }
        }
        knownMixedColumns = found
        return found
    }

    /// Sets every link to a row in mixed values to nil.
    func unlinkMixed(
        _ table: TableID, _ key: ObjectKey, _ didUnlink: LinkObserver?
    ) throws(StorageError) {
        let code = MixedLinks.code(table, key)
        for (source, column) in mixedColumns() {
            let reader = overlay(source).reader
            var last: ObjectKey?
            for owner in try reader.holders(of: key, in: table, through: column.id)
            where owner != last {
                last = owner
                didUnlink?(source, column.id, owner)
                if column.kind == .list {
                    try list(source, column.id, owner).cutLinks(code)
                    continue
                }
                guard let bytes = try reader.borrowedBytes(column.id, owner) else { continue }
                if let left = MixedLinks.cutting(code, in: [UInt8](bytes)) {
                    set(source, column.id, owner, bytes: left)
                } else {
                    setNull(source, column.id, owner)
                }
            }
        }
    }
}

extension TableReader {
    /// Returns the rows whose mixed values in `column` have a link to a row of `table`, ascending; a row occurs once
    /// for each link.
    package func holders(
        of target: ObjectKey, in table: TableID, through column: ColumnID
    ) throws(StorageError) -> [ObjectKey] {
        guard let index = intIndex(column) else { return [] }
        let code = MixedLinks.code(table, target)
        return try read { (transaction) throws(StorageError) in
            try index.keys(equalTo: code, in: transaction)
        } ?? []
    }

    /// Returns the rows of `table` to which the mixed values of a row link, in the order of the links.
    package func mixedTargets(
        _ row: ObjectKey, in table: TableID, through column: ColumnID
    ) throws(StorageError) -> [ObjectKey] {
        var codes: [Int64] = []
        if kind(of: column) == .list {
            for case .bytes(let bytes) in try listElements(column, row) {
                codes += bytes.withUnsafeBytes { MixedLinks.codes(in: $0) }
            }
        } else if let bytes = try borrowedBytes(column, row) {
            codes = MixedLinks.codes(in: bytes)
        }
        return codes.compactMap { MixedLinks.key(of: $0, in: table) }
    }
}

// The effects of row changes on indexes, lists and the links of other rows.
extension WriteSession {
    /// Returns an editor of a row's list or set; the caller keeps a set in order.
    package func list(
        _ table: TableID, _ column: ColumnID, _ key: ObjectKey
    ) throws(StorageError) -> ListEditor {
        let overlay = overlay(table)
        guard let lists = overlay.reader.list(column) else {
            preconditionFailure("not a list column")
        }
        return ListEditor(
            session: self, overlay: overlay,
            column: overlay.reader.definition.columns[column.rawValue], key: key,
            writer: lists.writer(key, count: try overlay.reader.listCount(column, key)))
    }

    /// Returns an editor of a row's map.
    package func map(
        _ table: TableID, _ column: ColumnID, _ key: ObjectKey
    ) throws(StorageError) -> MapEditor {
        let values = try list(table, column, key)
        guard let keys = values.writer.column.keys else {
            preconditionFailure("not a map column")
        }
        return MapEditor(values, keys: keys.writer(key, count: try values.count))
    }

    func setListCount(
        _ overlay: TableOverlay, _ column: ColumnID, _ key: ObjectKey, to count: Int
    ) {
        let (cluster, row) = position(of: key)
        let leaf = overlay.unpackedLeaf(column.rawValue + 1, cluster)
        leaf.mark(row)
        leaf.setWord(row, UInt64(max(count, 0)))
    }

    /// Moves the entry of a row from one integer to another; nil means no entry.
    func reindex(_ index: IntIndex, _ key: ObjectKey, from old: Int64?, to new: Int64?) {
        if old == new { return }
        do throws(StorageError) {
            if let old { try index.remove(old, key, in: transaction.handle) }
            if let new { try index.insert(new, key, in: transaction.handle) }
        } catch { fail(error) }
    }

    /// Returns the columns whose links point to a table.
    func incoming(_ table: TableID) -> [(table: TableID, column: ColumnDefinition)] {
        if let known = incomingColumns[table] { return known }
        var found: [(table: TableID, column: ColumnDefinition)] = []
        for definition in snapshot.source.definitions.values {
            for column in definition.columns where !column.isDropped && column.target == table {
                if column.kind == .link || column.elementKind == .link {
                    found.append((definition.id, column))
                }
            }
        }
        incomingColumns[table] = found
        return found
    }

    /// Builds the index of a column for existing rows.
    func build(_ reader: TableReader, _ column: ColumnDefinition) throws(StorageError) {
        if let index = reader.intIndex(column.id), column.kind == .int || column.kind == .bool {
            try fill(index, reader) { key throws(StorageError) in try reader.indexedInt(column, key)
            }
        }
        if let index = reader.bytesIndex(column.id) {
            try fill(index, reader) { key throws(StorageError) in
                try reader.borrowedBytes(column.id, key).map { BytesView($0) }
            }
        }
    }

    private func fill<Value>(
        _ index: SortedIndex<Value>, _ reader: TableReader,
        _ value: (ObjectKey) throws(StorageError) -> Value?
    ) throws(StorageError) {
        for cluster in 0..<reader.clusterCount {
            try Interruption.step(Cluster.rows)
            let base = Int64(cluster * Cluster.rows)
            try reader.presence(cluster).forEachRow { row throws(StorageError) in
                let key = ObjectKey(base + Int64(row))
                if let value = try value(key) {
                    try index.insert(value, key, in: transaction.handle)
                }
            }
        }
    }
}

// Index updates for columns of bytes.
extension WriteSession {
    /// Moves the entry of a row in an index of bytes from its current bytes to others; nil means no entry.
    ///
    /// Call it before the row is changed.
    func reindexBytes(
        _ overlay: TableOverlay, _ column: ColumnID, _ key: ObjectKey,
        to new: UnsafeRawBufferPointer?, isNew: Bool
    ) {
        guard let index = overlay.reader.bytesIndex(column) else { return }
        let (cluster, row) = position(of: key)
        let hadValue = !isNew && overlay.hadValue(column.rawValue + 1, cluster, row)
        let old = reading(or: nil) { () throws(StorageError) in
            hadValue ? try overlay.reader.borrowedBytes(column, key) : nil
        }
        if let old, let new, BytesTest.isEqual(old, new) { return }
        do throws(StorageError) {
            if let old { try index.remove(old, key, in: transaction.handle) }
            if let new { try index.insert(new, key, in: transaction.handle) }
        } catch { fail(error) }
    }

    /// Removes the data of a deleted row from the index and from the table of long values.
    func clearBytes(
        _ overlay: TableOverlay, _ column: ColumnDefinition, _ key: ObjectKey, cluster: Int,
        row: Int
    ) throws(StorageError) {
        if column.usesBytesIndex {
            reindexBytes(overlay, column.id, key, to: nil, isNew: false)
        }
        if column.isMixed { reindexMixed(overlay, column.id, key, to: nil, isNew: false) }
        if column.kind == .string || column.kind == .data {
            try deleteLong(overlay, column.id, cluster: cluster, row: row, key)
        }
    }
}

// Updates of indexes whose entries are computed from rows.
extension WriteSession {
    /// Removes the index entries of a row before one of its values changes.
    @inline(never)
    func recordChange(_ overlay: TableOverlay, _ column: ColumnID, _ key: ObjectKey) {
        do throws(StorageError) {
            for index in overlay.reader.rowIndexes where index.definition.depends(on: column) {
                try index.willChange(key, overlay.reader, in: transaction.handle)
            }
        } catch { fail(error) }
    }

    /// Adds the index entries of changed and new rows.
    func addPendingEntries(_ reader: TableReader) throws(StorageError) {
        for index in reader.rowIndexes { try index.addPending(reader, in: transaction.handle) }
    }

    /// Removes the indexes that the next definition does not have.
    func clearRowIndexes(
        _ reader: TableReader, _ next: TableDefinition
    ) throws(StorageError) {
        let wanted = next.rowIndexes
        for index in reader.rowIndexes where !wanted.contains(index.definition) {
            try index.index.removeAll(in: transaction.handle)
        }
    }
}
