import LMDBStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A reader of one table in a snapshot.
///
/// The reader of a live snapshot follows it and includes the changes of its write.
///
/// It belongs to the snapshot's thread. After the snapshot is closed, it reads an empty table.
@usableFromInline
package final class TableReader {
    /// The number of the table.
    package let id: TableID
    /// The definitions of the columns.
    @exclusivity(unchecked) package internal(set) var definition: TableDefinition
    @usableFromInline let state: UnsafeMutablePointer<TableState>
    package let source: SnapshotSource
    let leaves: Table
    /// The changes of the open write to this table.
    @exclusivity(unchecked) private(set) var overlay: TableOverlay?
    /// The newest cluster with the rows of the tail, once it was used.
    @exclusivity(unchecked) private(set) var tail: TailLeaves?
    /// The bound of keys of the version for reads; a write of this snapshot may have a higher bound.
    @exclusivity(unchecked) private(set) var tailBound: Int64 = 0
    @exclusivity(unchecked) private(set) var hasTailRows = false
    @exclusivity(unchecked) private(set) var tailStamp: UInt64 = 0
    /// The memory that the next write of this table can reuse.
    @exclusivity(unchecked) private var spareOverlay: TableOverlay?
    /// The indexes by column; nil for columns without one.
    @exclusivity(unchecked) var intIndexes: [IntIndex?] = []
    /// The blocks of all indexes.
    let indexTables: IndexTables
    @exclusivity(unchecked) var lists: [ListColumn?] = []
    @exclusivity(unchecked) var bytesIndexes: [BytesIndex?] = []
    /// The indexes whose entries are computed from whole rows.
    @exclusivity(unchecked) var rowIndexes: [RowIndex] = []

    /// Creates a closed reader.
    init(_ id: TableID, _ source: SnapshotSource) {
        self.id = id
        self.source = source
        leaves = source.file.tables.leaves(of: id)
        indexTables = IndexTables(minPages: source.file.options.minRunPages) {
            source.indexPages(of: id, $0)
        }
        definition = TableDefinition(id: id, columns: [])
        state = TableState.make()
    }

    deinit { TableState.destroy(state) }

    /// Whether the reader reads an empty table, because its head was not read or its snapshot was closed.
    @exclusivity(unchecked) package private(set) var isClosed = true

    /// The number of existing rows.
    @inlinable package var count: Int { state.pointee.count }

    /// The upper bound of all keys, exclusive.
    @inlinable package var keyBound: Int64 { state.pointee.keyBound }

    /// The number of clusters that contain keys.
    @inlinable package var clusterCount: Int { state.pointee.clusterCount }

    /// Adopts new column definitions.
    ///
    /// Addresses remain valid, except those of changed columns.
    func configure(_ next: TableDefinition) throws(StorageError) {
        let columns = next.columns.count
        guard state.pointee.resize(columns: columns, clusters: state.pointee.capacity) else {
            throw source.damaged("no memory for the directory of a table")
        }
        state.pointee.kinds.deallocate()
        state.pointee.kinds = .allocate(capacity: max(columns, 1))
        for (index, column) in next.columns.enumerated() {
            state.pointee.kinds[index] = column.isDropped ? 0 : column.kind.rawValue
        }
        if definition != next {
            if overlay == nil { dropTail() }
            let old = definition
            definition = next
            configureIndexes(from: old)
            state.pointee.advanceEpoch()
            overlay?.restoreAddresses()
        }
    }

    /// Reads the definition and the head of the table in the version of its source.
    func open() throws(StorageError) {
        let next = source.definitions[id] ?? TableDefinition(id: id, columns: [])
        if next != definition { try configure(next) }
        var head = TableHead()
        if let bytes = try source.tailNode(TableHead.key(id)) {
            guard let known = TableHead(bytes) else { throw source.damaged("head of a table") }
            head = known
        }
        state.pointee.advanceEpoch()
        try setBounds(head)
        isClosed = false
    }

    /// Reads the head again and invalidates every address.
    ///
    /// If that fails, the reader closes, and ``Snapshot/table(_:)`` throws the error.
    func refresh() {
        do throws(StorageError) { try open() } catch { close() }
    }

    func setBounds(_ head: TableHead) throws(StorageError) {
        guard state.pointee.resize(columns: state.pointee.columnCount, clusters: head.clusterCount)
        else { throw source.damaged("no memory for the directory of a table") }
        setTail(head)
        indexTables.follow(head)
        state.pointee.keyBound = head.keyBound
        state.pointee.count = Int(head.count)
        state.pointee.clusterCount = head.clusterCount
    }

    /// Returns to an earlier state of the open write, and invalidates every address.
    func restore(
        _ definition: TableDefinition, keyBound: Int64, count: Int, clusterCount: Int
    ) throws(StorageError) {
        if definition != self.definition { try configure(definition) }
        guard state.pointee.resize(columns: state.pointee.columnCount, clusters: clusterCount)
        else { throw source.damaged("no memory for the directory of a table") }
        state.pointee.keyBound = keyBound
        state.pointee.count = count
        state.pointee.clusterCount = clusterCount
        state.pointee.advanceEpoch()
    }

    /// Makes the reader read an empty table from now on.
    func close() {
        isClosed = true
        clear()
    }

    /// Makes the reader read an empty table until its head is read again.
    func clear() {
        setTail(TableHead())
        state.pointee.advanceEpoch()
        state.pointee.keyBound = 0
        state.pointee.count = 0
        state.pointee.clusterCount = 0
    }

    // MARK: Writing

    /// Begins the changes of a write, which all reads of this table include until ``endWrite()``.
    func beginWrite(_ session: WriteSession) -> TableOverlay {
        assert(overlay == nil, "a table has one open write")
        assert(keyBound == tailBound, "a write begins on the version for reads")
        let begun: TableOverlay
        if let spareOverlay {
            begun = spareOverlay
            begun.begin(session)
        } else {
            begun = TableOverlay(self, session)
        }
        overlay = begun
        return begun
    }

    /// Releases the memory of the changes, which were committed or are rolled back.
    func endWrite() {
        overlay?.discard()
        spareOverlay = overlay
        for index in intIndexes { index?.cancel() }
        for index in bytesIndexes { index?.cancel() }
        for index in rowIndexes { index.cancel() }
        for list in lists { list?.cancel() }
        overlay = nil
    }

    // MARK: The newest cluster

    /// The newest cluster of the version for reads, to which the next row is added.
    var tailCluster: Int { Int(tailBound) / Cluster.rows }

    func tailLeaves() -> TailLeaves {
        if let tail { return tail }
        let created = TailLeaves(self, cluster: tailCluster)
        tail = created
        return created
    }

    /// Drops the unpacked newest cluster and its addresses.
    func dropTail() {
        guard let dropped = tail else { return }
        tail = nil
        guard dropped.cluster < state.pointee.capacity else { return }
        for slot in 0...state.pointee.columnCount { forget(slot, dropped.cluster) }
    }

    /// Drops the newest cluster after a write has packed all of its rows into leaves.
    func didPackTail() {
        hasTailRows = false
        dropTail()
    }

    /// Follows the write that has committed this head; its unpacked leaves belong to the new version if `keepsLeaves`.
    func didCommit(_ head: TableHead, keepsLeaves: Bool) {
        if let tail {
            let isSame = tail.cluster == Int(head.keyBound) / Cluster.rows
            if !isSame || !keepsLeaves || tail.arena.size > 1 << 20 { dropTail() }
        }
        followTail(head)
    }

    /// Follows a head that was read, and drops the unpacked newest cluster unless it only has more rows.
    private func setTail(_ head: TableHead) {
        if let tail,
            !head.hasTailRows || head.tailStamp != tailStamp
                || tail.cluster != Int(head.keyBound) / Cluster.rows
        {
            dropTail()
        }
        followTail(head)
    }

    private func followTail(_ head: TableHead) {
        tailBound = head.keyBound
        hasTailRows = head.hasTailRows
        tailStamp = head.tailStamp
        assert(
            tail.map { $0.cluster == tailCluster } ?? true,
            "the unpacked newest cluster is that of the head")
    }

    // MARK: Leaves

    /// Returns the leaf of a slot, from the directory or the file.
    ///
    /// Both numbers must be in bounds.
    @inlinable @inline(__always)
    func leaf(_ slot: Int, _ cluster: Int) throws(StorageError) -> UnsafeRawPointer {
        let entry = state.pointee.directory[slot &* state.pointee.capacity &+ cluster]
        if (entry ^ state.pointee.epoch) &>> 48 == 0 {
            // because: a valid entry is never address 0.
            return UnsafeRawPointer(
                bitPattern: UInt(truncatingIfNeeded: entry & TableState.addressMask)
            )
            .unsafelyUnwrapped
        }
        return try load(slot, cluster)
    }

    /// Finds a leaf in the file, checks it, and adds it to the directory.
    ///
    /// Releases no object that a caller references, so callers on the fast path need not retain their objects.
    @usableFromInline @inline(never) @_effects(releasenone)
    func load(_ slot: Int, _ cluster: Int) throws(StorageError) -> UnsafeRawPointer {
        let address = try find(slot, cluster)
        enter(slot, cluster, address)
        if slot == 0 && address == LeafDefaults.absent && overlay == nil {
            try enterAbsent(after: cluster)
        }
        return address
    }

    /// Adds the run of empty clusters after a missing one to the directory.
    ///
    /// In a range of deleted rows, a scan must not search for each cluster.
    private func enterAbsent(after cluster: Int) throws(StorageError) {
        guard let reader = source.reader else { return }
        let cursor = try reader.handle.cursor(leaves)
        let next = try cursor.setRange(LeafKey(id, cluster: cluster, slot: 0).rawValue)
        var end = hasTailRows ? min(tailCluster, clusterCount) : clusterCount
        if let next {
            let key = LeafKey(rawValue: next.integerKey)
            if key.rawValue >> 48 == UInt64(id.rawValue) { end = min(end, key.cluster) }
        }
        var absent = cluster + 1
        while absent < end {
            enter(0, absent, LeafDefaults.absent)
            absent += 1
        }
    }

    func enter(_ slot: Int, _ cluster: Int, _ address: UnsafeRawPointer) {
        let word = UInt64(UInt(bitPattern: address))
        // An address beyond 48 bits cannot be stored in the directory, so it is looked up each time.
        guard word & ~TableState.addressMask == 0 else { return }
        let index = slot * state.pointee.capacity + cluster
        state.pointee.directory[index] = word | state.pointee.epoch
    }

    func forget(_ slot: Int, _ cluster: Int) {
        state.pointee.directory[slot * state.pointee.capacity + cluster] = 0
    }

    /// Removes a leaf from the directory if the directory still contains this address.
    func forget(_ slot: Int, _ cluster: Int, at address: UnsafeRawPointer) {
        guard slot <= state.pointee.columnCount, cluster < state.pointee.capacity else { return }
        let entry = state.pointee.directory[slot * state.pointee.capacity + cluster]
        if entry & TableState.addressMask == UInt64(UInt(bitPattern: address)) {
            forget(slot, cluster)
        }
    }

    private func find(_ slot: Int, _ cluster: Int) throws(StorageError) -> UnsafeRawPointer {
        if hasTailRows && cluster == tailCluster {
            return UnsafeRawPointer(try tailLeaves().leaf(slot).address)
        }
        return try stored(slot, cluster)
    }

    /// Returns the leaf of a slot in the file, or an empty leaf if there is none.
    func stored(_ slot: Int, _ cluster: Int) throws(StorageError) -> UnsafeRawPointer {
        let key = LeafKey(id, cluster: cluster, slot: slot)
        let bytes: UnsafeRawBufferPointer?
        if let overlay, let copied = try overlay.copyOfFlushed(key) {
            bytes = copied
        } else {
            bytes = try source.get(leaves, key.rawValue)
        }
        guard let bytes, let address = bytes.baseAddress else { return standard(slot) }
        if slot == 0 {
            if bytes.count == 64 && bytes.loadUnaligned(fromByteOffset: 62, as: UInt16.self) == 0 {
                return address
            }
        } else if LeafCheck.isWhole(bytes, definition.columns[slot - 1].kind) {
            return address
        }
        throw source.damaged("leaf \(slot) of cluster \(cluster) in table \(id.rawValue)")
    }

    private func standard(_ slot: Int) -> UnsafeRawPointer {
        slot == 0 ? LeafDefaults.absent : LeafDefaults.leaf(for: definition.columns[slot - 1])
    }
}

/// The key of a leaf in its shard.
struct LeafKey {
    let rawValue: UInt64

    init(_ table: TableID, cluster: Int, slot: Int) {
        rawValue =
            UInt64(table.rawValue) << 48 | UInt64(UInt32(truncatingIfNeeded: cluster)) << 16
            | UInt64(UInt16(truncatingIfNeeded: slot))
    }

    init(rawValue: UInt64) { self.rawValue = rawValue }

    var table: TableID { TableID(UInt32(rawValue >> 48)) }
    var cluster: Int { Int(rawValue >> 16 & 0xFFFF_FFFF) }
    var slot: Int { Int(rawValue & 0xFFFF) }
}

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

// Single elements of lists, and copies of whole ones.
extension TableReader {
    /// Returns an element of a list as an integer, as ``ListReader/int(at:)`` does; nil also for a missing row.
    package func listInt(
        _ column: ColumnID, _ key: ObjectKey, at position: Int
    ) throws(StorageError) -> Int64? {
        try list(column)?.reader(key).int(at: position)
    }

    /// Returns an element of a list as a double, as ``ListReader/double(at:)`` does; nil also for a missing row.
    package func listDouble(
        _ column: ColumnID, _ key: ObjectKey, at position: Int
    ) throws(StorageError) -> Double? {
        try list(column)?.reader(key).double(at: position)
    }

    /// Calls `body` with the bytes of an element of a list, as ``ListReader/withBytes(at:_:)`` does; nil also for a missing
    /// row.
    package func withListBytes<Result>(
        _ column: ColumnID, _ key: ObjectKey, at position: Int,
        _ body: (RawSpan) throws(StorageError) -> Result
    ) throws(StorageError) -> Result? {
        try list(column)?.reader(key).withBytes(at: position, body)
    }

    /// Returns the rows in a list of links, in its order; empty for a missing row and another kind of column.
    ///
    /// Takes linear time in the length of the list.
    package func linkedKeys(_ column: ColumnID, _ key: ObjectKey) throws(StorageError)
        -> [ObjectKey]
    {
        try list(column, key)?.keys() ?? []
    }

    /// Returns the elements of a list or a set in its order, or the values of a map in the order of its keys.
    ///
    /// The result is empty for a missing row and another kind of column. Takes linear time in the length of the list.
    package func listElements(_ column: ColumnID, _ key: ObjectKey) throws(StorageError)
        -> [ListElement]
    {
        try list(column, key)?.elements() ?? []
    }

    /// Returns the entries of a map in byte order of the keys; empty for a missing row and another kind of column.
    ///
    /// Takes linear time in the size of the map.
    package func mapEntries(
        _ column: ColumnID, _ key: ObjectKey
    ) throws(StorageError) -> [(key: String, value: ListElement)] {
        try map(column, key)?.entries().map {
            (String(decoding: $0.key, as: UTF8.self), $0.value)
        } ?? []
    }

}

// Values copied out of the map, for callers that keep them longer.
extension TableReader {
    /// Returns a string, or nil as for ``int(_:_:)``.
    ///
    /// Invalid UTF-8 bytes are replaced by U+FFFD.
    @usableFromInline
    package func string(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> String? {
        try withBytes(column, key) { span in
            span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Returns the bytes of a string, of data or of a fixed-size value, or nil as for ``int(_:_:)``.
    package func bytes(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> [UInt8]? {
        try withBytes(column, key) { span in
            span.withUnsafeBytes { Array($0) }
        }
    }
}
