import LMDBStorage

// Reads of single values. A row's cluster is found with a division by a constant, its presence and its value with one
// directory entry each. Nil means null, a missing row, an unknown column or another kind; the caller distinguishes them
// outside of the fast path.
extension TableReader {
    @usableFromInline
    struct Cell {
        @usableFromInline let leaf: Leaf
        @usableFromInline let row: Int

        @inlinable @inline(__always)
        init(leaf: Leaf, row: Int) {
            self.leaf = leaf
            self.row = row
        }
    }

    /// Returns whether the row exists.
    @inlinable
    package func isPresent(_ key: ObjectKey) throws(StorageError) -> Bool {
        let cluster = UInt(bitPattern: Int(key.rawValue)) / UInt(Cluster.rows)
        guard cluster < UInt(bitPattern: state.pointee.clusterCount) else { return false }
        let row = Int(key.rawValue) &- Int(bitPattern: cluster) &* Cluster.rows
        return try isPresent(Int(bitPattern: cluster), row)
    }

    @inlinable @inline(__always)
    func isPresent(_ cluster: Int, _ row: Int) throws(StorageError) -> Bool {
        try leaf(0, cluster).load(fromByteOffset: row &>> 3, as: UInt8.self)
            &>> UInt8(truncatingIfNeeded: row & 7) & 1 != 0
    }

    @inlinable @inline(__always)
    func cell(_ column: ColumnID, _ key: ObjectKey, _ kind: ColumnKind) throws(StorageError)
        -> Cell?
    {
        let cluster = UInt(bitPattern: Int(key.rawValue)) / UInt(Cluster.rows)
        guard UInt(bitPattern: column.rawValue) < UInt(bitPattern: state.pointee.columnCount),
            cluster < UInt(bitPattern: state.pointee.clusterCount),
            state.pointee.kinds[column.rawValue] == kind.rawValue
        else { return nil }
        let row = Int(key.rawValue) &- Int(bitPattern: cluster) &* Cluster.rows
        guard try isPresent(Int(bitPattern: cluster), row) else { return nil }
        return try Cell(
            leaf: Leaf(leaf(column.rawValue &+ 1, Int(bitPattern: cluster))), row: row)
    }

    /// Returns the kind of a column; nil for a hole or an unknown column.
    @inlinable
    package func kind(of column: ColumnID) -> ColumnKind? {
        guard UInt(bitPattern: column.rawValue) < UInt(bitPattern: state.pointee.columnCount)
        else { return nil }
        return ColumnKind(rawValue: state.pointee.kinds[column.rawValue])
    }

    /// Returns whether the value is null.
    ///
    /// Returns false for a missing row and an unknown column.
    @inlinable
    package func isNull(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> Bool {
        guard let kind = kind(of: column), let cell = try cell(column, key, kind) else {
            return false
        }
        return kind == .link ? cell.leaf.int(cell.row) == 0 : cell.leaf.isNull(cell.row)
    }

    /// Returns an integer, or nil.
    @inlinable
    package func int(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> Int64? {
        guard let cell = try cell(column, key, .int), !cell.leaf.isNull(cell.row) else {
            return nil
        }
        return cell.leaf.int(cell.row)
    }

    /// Returns a Boolean value, or nil.
    @inlinable
    package func bool(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> Bool? {
        guard let cell = try cell(column, key, .bool), !cell.leaf.isNull(cell.row) else {
            return nil
        }
        return cell.leaf.int(cell.row) != 0
    }

    /// Returns a double, or nil.
    @inlinable
    package func double(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> Double? {
        guard let cell = try cell(column, key, .double), !cell.leaf.isNull(cell.row) else {
            return nil
        }
        return cell.leaf.double(cell.row)
    }

    /// Returns a float, or nil.
    @inlinable
    package func float(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> Float? {
        guard let cell = try cell(column, key, .float), !cell.leaf.isNull(cell.row) else {
            return nil
        }
        return cell.leaf.float(cell.row)
    }

    /// Returns the key of a link's target, or nil.
    ///
    /// The target exists, because links become nil when their target is deleted.
    @inlinable
    package func link(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> ObjectKey? {
        guard let cell = try cell(column, key, .link) else { return nil }
        let stored = cell.leaf.int(cell.row)
        return stored > 0 ? ObjectKey(rawValue: stored &- 1) : nil
    }

    /// Returns the number of elements of a list; 0 for a missing row and an unknown column.
    @inlinable
    package func listCount(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> Int {
        guard let cell = try cell(column, key, .list) else { return 0 }
        return Int(max(cell.leaf.int(cell.row), 0))
    }

    /// Calls `body` with the bytes of a string, of data or of a fixed-size value; nil as for ``int(_:_:)``.
    ///
    /// The bytes are in the map or in the open write, so `body` must not write.
    @inlinable
    package func withBytes<R>(
        _ column: ColumnID, _ key: ObjectKey, _ body: (RawSpan) throws(StorageError) -> R
    ) throws(StorageError) -> R? {
        guard let kind = kind(of: column),
            kind == .string || kind == .data || kind == .bytes12 || kind == .bytes16,
            let cell = try cell(column, key, kind), !cell.leaf.isNull(cell.row)
        else { return nil }
        return try body(bytes(column, key, cell).bytes)
    }

    /// Returns the bytes of a value, inside or outside of the leaf.
    @inlinable @inline(__always)
    func bytes(_ column: ColumnID, _ key: ObjectKey, _ cell: Cell) throws(StorageError)
        -> UnsafeRawBufferPointer
    {
        if cell.leaf.encoding == LeafEncoding.constant {
            return constantBytes(cell.leaf, kind(of: column))
        }
        if cell.leaf.encoding == LeafEncoding.pointers || cell.leaf.hasLong {
            return try distantBytes(column, key, cell)
        }
        return cell.leaf.bytes(cell.row)
    }

    /// Returns the bytes in a missing leaf: empty text, and zeros for fixed-size values.
    @usableFromInline @inline(never)
    func constantBytes(_ leaf: Leaf, _ kind: ColumnKind?) -> UnsafeRawBufferPointer {
        switch kind {
        case .bytes12: UnsafeRawBufferPointer(start: LeafDefaults.absent, count: 12)
        case .bytes16: UnsafeRawBufferPointer(start: LeafDefaults.absent, count: 16)
        default: UnsafeRawBufferPointer(start: LeafDefaults.absent, count: 0)
        }
    }

    /// Returns the bytes of an unpacked leaf, or of a long value in its own table.
    @usableFromInline @inline(never)
    func distantBytes(
        _ column: ColumnID, _ key: ObjectKey, _ cell: Cell
    ) throws(StorageError) -> UnsafeRawBufferPointer {
        if cell.leaf.encoding == LeafEncoding.pointers {
            let entry = cell.leaf.payload + 16 * cell.row
            if entry.loadUnaligned(as: UInt.self) != 0
                || entry.loadUnaligned(fromByteOffset: 8, as: Int.self) == 0
            {
                return cell.leaf.bytes(cell.row)
            }
        } else if !cell.leaf.isLong(cell.row) {
            return cell.leaf.bytes(cell.row)
        }
        return try longBytes(column, key)
    }

    func longBytes(
        _ column: ColumnID, _ key: ObjectKey
    ) throws(StorageError) -> UnsafeRawBufferPointer {
        let empty = UnsafeRawBufferPointer(start: LeafDefaults.absent, count: 0)
        let longKey = LongValueKey(id, column, key)
        if let write = source.write, overlay?.hasFlushed == true {
            return try longKey.get(write.transaction.handle, source.file.tables.values) ?? empty
        }
        guard let reader = source.reader else { return empty }
        if let found = try longKey.get(reader.handle, source.file.tables.values) { return found }
        throw source.damaged("a long value is missing")
    }
}

/// The key of a long value: table, column and row, in this order.
struct LongValueKey {
    private let table: UInt32
    private let column: UInt32
    private let key: UInt64

    init(_ table: TableID, _ column: ColumnID, _ key: ObjectKey) {
        self.table = table.rawValue.bigEndian
        self.column = UInt32(truncatingIfNeeded: column.rawValue).bigEndian
        self.key = UInt64(bitPattern: key.rawValue).bigEndian
    }

    private func withKey<R>(
        _ body: (UnsafeRawBufferPointer) throws(StorageError) -> R
    ) throws(StorageError) -> R {
        try withUnsafeBytes(of: (table, column, key), body)
    }

    func get(
        _ transaction: TransactionHandle, _ table: Table
    ) throws(StorageError) -> UnsafeRawBufferPointer? {
        try withKey { key throws(StorageError) in try transaction.get(table, key) }
    }

    func put(
        _ value: UnsafeRawBufferPointer, _ transaction: TransactionHandle, _ table: Table
    ) throws(StorageError) {
        try withKey { key throws(StorageError) in try transaction.put(table, key, value) }
    }

    func delete(_ transaction: TransactionHandle, _ table: Table) throws(StorageError) {
        try withKey { key throws(StorageError) in _ = try transaction.delete(table, key) }
    }

    /// Moves a cursor to the first entry that is not less than the key.
    func seek(_ cursor: borrowing Cursor) throws(StorageError) -> Entry? {
        try withKey { key throws(StorageError) in try cursor.setRange(key) }
    }

    /// Returns whether a stored key belongs to the same column.
    func hasSameColumn(_ stored: UnsafeRawBufferPointer) -> Bool {
        guard stored.count >= 8 else { return false }
        return stored.loadUnaligned(as: UInt32.self) == table
            && stored.loadUnaligned(fromByteOffset: 4, as: UInt32.self) == column
    }
}
