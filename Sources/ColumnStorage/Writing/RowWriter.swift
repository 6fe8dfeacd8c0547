import LMDBStorage

/// Adds many rows to one table as fast as they can be given: `beginRow`, setters, `endRow`.
///
/// Holds the heap leaves of the newest cluster by address, so that a setter is a check and a store. Columns that
/// are not set stay zero, null or empty; each may be set once per row. May be used in turn with the session's
/// other calls, which see the rows that have ended. Over when the write is.
public final class RowWriter {
    private struct Cells {
        var key: Int64 = 0
        var row = 0
        var cluster = -1
        var generation = 0
    }

    private let session: WriteSession
    private let overlay: TableOverlay
    private let state: UnsafeMutablePointer<TableState>
    private let cells: UnsafeMutablePointer<Cells>
    /// The heap leaf of each slot, valid for `cells.cluster` at `cells.generation`.
    private let leaves: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    private let slots: Int
    private let indexes: [IntIndex?]
    private let definition: TableDefinition

    init(_ session: WriteSession, _ overlay: TableOverlay) {
        self.session = session
        self.overlay = overlay
        state = overlay.reader.state
        definition = overlay.reader.definition
        indexes = overlay.reader.intIndexes
        slots = definition.columns.count + 1
        cells = .allocate(capacity: 1)
        cells.initialize(to: Cells())
        leaves = .allocate(capacity: slots)
        leaves.initialize(repeating: nil, count: slots)
    }

    deinit {
        cells.deallocate()
        leaves.deallocate()
    }

    /// Begins a row.
    ///
    /// It exists once ``endRow()`` is called.
    public func beginRow() {
        let key = state.pointee.keyBound
        let cluster = Int(key) / Cluster.rows
        cells.pointee.key = key
        cells.pointee.row = Int(key) - cluster * Cluster.rows
        if cells.pointee.row == 0 && state.pointee.clusterCount <= cluster {
            session.beginCluster(overlay, cluster)
            cells.pointee.cluster = -1
        }
        if cells.pointee.cluster != cluster
            || cells.pointee.generation != session.generation.pointee
        {
            takeLeaves(cluster)
        }
    }

    @inline(never)
    private func takeLeaves(_ cluster: Int) {
        leaves[0] = overlay.heapLeaf(0, cluster).address
        for column in definition.columns where !column.isDropped {
            leaves[column.id.rawValue + 1] =
                overlay.heapLeaf(column.id.rawValue + 1, cluster).address
        }
        // Making room for the last leaf may have put away the first.
        if leaves[0] != overlay.heapLeaf(0, cluster).address { return takeLeaves(cluster) }
        cells.pointee.cluster = cluster
        cells.pointee.generation = session.generation.pointee
    }

    /// Ends the row, which exists from now on.
    ///
    /// Returns its key.
    @discardableResult  // because: bulk loads seldom need the keys
    public func endRow() -> ObjectKey {
        let row = cells.pointee.row
        // because: beginRow has taken the leaves.
        let word = leaves[0]!.assumingMemoryBound(to: UInt64.self) + row >> 6
        word.pointee |= 1 &<< UInt64(truncatingIfNeeded: row & 63)
        let key = cells.pointee.key
        state.pointee.keyBound = key &+ 1
        state.pointee.count &+= 1
        return ObjectKey(key)
    }

    @inline(__always)
    private func leaf(_ column: ColumnID, _ kind: ColumnKind) -> HeapLeaf {
        precondition(
            UInt(bitPattern: column.rawValue) < UInt(bitPattern: slots &- 1)
                && state.pointee.kinds[column.rawValue] == kind.rawValue,
            "no such column, or another kind")
        // because: beginRow has taken the leaves of all columns that are not holes.
        let leaf = HeapLeaf(address: leaves[column.rawValue &+ 1]!)
        leaf.mark(cells.pointee.row)
        return leaf
    }

    @inline(__always)
    private func setWord(
        _ column: ColumnID, _ kind: ColumnKind, _ word: UInt64, indexed: Int64?
    ) {
        let leaf = leaf(column, kind)
        leaf.setNull(cells.pointee.row, false)
        leaf.setWord(cells.pointee.row, word)
        if let index = indexes[column.rawValue], let indexed {
            session.reindex(index, ObjectKey(cells.pointee.key), from: nil, to: indexed)
        }
    }

    /// Sets an integer.
    public func setInt(_ column: ColumnID, _ value: Int64) {
        setWord(column, .int, UInt64(bitPattern: value), indexed: value)
    }

    /// Sets a boolean.
    public func setBool(_ column: ColumnID, _ value: Bool) {
        setWord(column, .bool, value ? 1 : 0, indexed: value ? 1 : 0)
    }

    /// Sets a double.
    public func setDouble(_ column: ColumnID, _ value: Double) {
        setWord(column, .double, value.bitPattern, indexed: nil)
    }

    /// Sets a float.
    public func setFloat(_ column: ColumnID, _ value: Float) {
        let leaf = leaf(column, .float)
        leaf.setNull(cells.pointee.row, false)
        leaf.setFloat(cells.pointee.row, value)
    }

    /// Sets a link, or none.
    public func setLink(_ column: ColumnID, _ target: ObjectKey?) {
        let word = target.map { UInt64(bitPattern: $0.rawValue &+ 1) } ?? 0
        setWord(column, .link, word, indexed: target?.rawValue)
    }

    /// Sets a string.
    public func setString(_ column: ColumnID, _ value: String) {
        setBytes(column, value.utf8Span.span.bytes)
    }

    /// Sets a string, data or a fixed-size value.
    public func setBytes(_ column: ColumnID, _ value: RawSpan) {
        let kind = overlay.reader.kind(of: column)
        guard kind == .string || kind == .data,
            !definition.columns[column.rawValue].usesBytesIndex,
            !definition.columns[column.rawValue].isMixed
        else {
            session.set(overlay.id, column, ObjectKey(cells.pointee.key), bytes: value, isNew: true)
            return
        }
        let leaf = leaf(column, kind ?? .data)
        leaf.setNull(cells.pointee.row, false)
        value.withUnsafeBytes {
            leaf.setPointer(
                cells.pointee.row, overlay.arena(cells.pointee.cluster).copy($0))
        }
    }

    /// Sets data or a fixed-size value.
    public func setBytes(_ column: ColumnID, _ value: [UInt8]) {
        setBytes(column, value.span.bytes)
    }

    /// Sets null; for a link, no link.
    public func setNull(_ column: ColumnID) {
        guard let kind = overlay.reader.kind(of: column) else { return }
        let leaf = leaf(column, kind)
        // A new row's values are zero or empty already.
        if kind != .link && kind != .list { leaf.setNull(cells.pointee.row, true) }
    }
}

extension WriteSession {
    /// Adds many rows to a table, fast.
    public func rowWriter(_ table: TableID) -> RowWriter { RowWriter(self, overlay(table)) }
}
