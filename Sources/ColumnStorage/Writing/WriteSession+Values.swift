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
        if !overlay.reader.rowIndexes.isEmpty { noteChange(overlay, column, key) }
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

    /// Sets a string, data or a fixed-size value; `isNew` is true if the row is about to be added.
    func set(
        _ table: TableID, _ column: ColumnID, _ key: ObjectKey, bytes value: RawSpan, isNew: Bool
    ) {
        if value.byteCount > Self.largeText, !isNew { makeSpaceForText() }
        let overlay = overlay(table)
        let kind = overlay.reader.kind(of: column) ?? .data
        if overlay.reader.bytesIndex(column) != nil {
            value.withUnsafeBytes {
                reindexBytes(overlay, column, key, to: $0, isNew: isNew)
            }
        }
        if kind == .data {
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
        switch kind {
        case .bool, .int, .double: leaf.setWord(row, 0)
        case .link:
            leaf.setWord(row, 0)
            return
        case .list: preconditionFailure("a list is never null")
        case .float: leaf.setFloat(row, 0)
        case .string, .data:
            leaf.setPointer(row, UnsafeRawBufferPointer(start: nil, count: 0))
        case .bytes12, .bytes16:
            let width = UnpackedLeaf.width(of: kind)
            (leaf.payload + width * row).initializeMemory(
                as: UInt8.self, repeating: 0, count: width)
        }
        leaf.setNull(row, true)
    }
}
