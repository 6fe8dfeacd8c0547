import LMDBStorage

/// Adds many rows to one table as fast as they can be given: `beginRow`, setters, `endRow`.
///
/// Values wait in the writer until `endRow` stores them all, so that a row can be given up before: call `beginRow`
/// again. Columns that are not set stay zero, null or empty. May be used in turn with the session's other calls,
/// which see the rows that have ended. Over when the write is.
public final class RowWriter {
    private struct Cells {
        var cluster = -1
        var generation = 0
        /// The bytes of the row that is being made.
        var text: UnsafeMutableRawPointer
        var textSize = 0
        var textCapacity: Int
    }

    enum Form {
        static let unset: UInt8 = 0
        static let word: UInt8 = 1
        static let float: UInt8 = 2
        static let text: UInt8 = 3
        static let fixed: UInt8 = 4
        static let null: UInt8 = 5
    }

    /// One value of the row that is being made: its bits, or where its bytes lie in the text.
    struct Cell {
        var word: UInt64 = 0
        var count = 0
        var form = Form.unset
    }

    private let session: WriteSession
    private let overlay: TableOverlay
    // Kept for values that are set when the snapshot is gone already.
    let reader: TableReader
    private let state: UnsafeMutablePointer<TableState>
    private let cells: UnsafeMutablePointer<Cells>
    let values: UnsafeMutablePointer<Cell>
    /// The heap leaf of each slot, valid for `cells.cluster` at `cells.generation`.
    private let leaves: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    private let columns: Int
    private let definition: TableDefinition
    private let intIndexes: [(column: Int, kind: ColumnKind, index: IntIndex)]
    private let bytesIndexes: [(column: Int, index: BytesIndex)]
    /// The columns whose links are kept in an index although they hold bytes.
    private let mixedColumns: [Int]

    private static let firstTextCapacity = 256

    init(_ session: WriteSession, _ overlay: TableOverlay) {
        self.session = session
        self.overlay = overlay
        let reader: TableReader = overlay.reader
        self.reader = reader
        state = reader.state
        definition = reader.definition
        columns = definition.columns.count
        intIndexes = definition.columns.compactMap { column in
            reader.intIndex(column.id).map { (column.id.rawValue, column.kind, $0) }
        }
        bytesIndexes = definition.columns.compactMap { column in
            reader.bytesIndex(column.id).map { (column.id.rawValue, $0) }
        }
        mixedColumns = definition.columns.filter(\.isMixed).map(\.id.rawValue)
        cells = .allocate(capacity: 1)
        cells.initialize(
            to: Cells(
                text: .allocate(byteCount: Self.firstTextCapacity, alignment: 16),
                textCapacity: Self.firstTextCapacity))
        values = .allocate(capacity: max(columns, 1))
        values.initialize(repeating: Cell(), count: max(columns, 1))
        leaves = .allocate(capacity: columns + 1)
        leaves.initialize(repeating: nil, count: columns + 1)
    }

    deinit {
        cells.pointee.text.deallocate()
        cells.deallocate()
        values.deallocate()
        leaves.deallocate()
    }

    /// Whether the write is still open.
    public var isUsable: Bool { session.transaction.isOpen }

    /// Begins a row, which exists once ``endRow()`` is called; gives up one that has not ended.
    public func beginRow() {
        cells.pointee.textSize = 0
        var column = 0
        while column < columns {
            values[column].form = Form.unset
            column &+= 1
        }
    }

    /// Whether the column has been set in the row that is being made.
    @inline(__always)
    public func isSet(_ column: ColumnID) -> Bool {
        UInt(bitPattern: column.rawValue) < UInt(bitPattern: columns)
            && values[column.rawValue].form != Form.unset
    }

    /// Ends the row, which exists from now on.
    ///
    /// Returns its key.
    @discardableResult  // because bulk loads seldom need the keys
    public func endRow() -> ObjectKey {
        let key = state.pointee.keyBound
        let cluster = Int(key) / Cluster.rows
        let row = Int(key) &- cluster &* Cluster.rows
        if row == 0 && state.pointee.clusterCount <= cluster {
            session.beginCluster(overlay, cluster)
            cells.pointee.cluster = -1
        }
        if cells.pointee.cluster != cluster
            || cells.pointee.generation != session.generation.pointee
        {
            takeLeaves(cluster)
        }
        var column = 0
        while column < columns {
            if values[column].form != Form.unset { store(values[column], column, row, cluster) }
            column &+= 1
        }
        if !intIndexes.isEmpty { enterIntegers(ObjectKey(key)) }
        if !bytesIndexes.isEmpty { enterBytes(ObjectKey(key)) }
        for column in mixedColumns where values[column].form == Form.text {
            session.set(
                overlay.id, ColumnID(column), ObjectKey(key), bytes: bytes(values[column]).bytes,
                isNew: true)
        }
        // because: takeLeaves has made the leaf of the presence.
        let word = leaves[0]!.assumingMemoryBound(to: UInt64.self) + row >> 6
        word.pointee |= 1 &<< UInt64(truncatingIfNeeded: row & 63)
        state.pointee.keyBound = key &+ 1
        state.pointee.count &+= 1
        return ObjectKey(key)
    }

    @inline(__always)
    private func store(_ cell: Cell, _ column: Int, _ row: Int, _ cluster: Int) {
        // because: takeLeaves has made the leaves of all columns that are not holes.
        let leaf = HeapLeaf(address: leaves[column &+ 1]!)
        leaf.mark(row)
        leaf.setNull(row, cell.form == Form.null)
        switch cell.form {
        case Form.word: leaf.setWord(row, cell.word)
        case Form.float:
            leaf.setFloat(row, Float(bitPattern: UInt32(truncatingIfNeeded: cell.word)))
        case Form.text:
            leaf.setPointer(row, overlay.arena(cluster).copy(bytes(cell)))
        case Form.fixed:
            if let source = bytes(cell).baseAddress {
                (leaf.payload + cell.count &* row).copyMemory(
                    from: source, byteCount: cell.count)
            }
        default: break
        }
    }

    @inline(__always)
    func bytes(_ cell: Cell) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: cells.pointee.text + Int(truncatingIfNeeded: cell.word), count: cell.count)
    }

    private func enterIntegers(_ key: ObjectKey) {
        for (column, kind, index) in intIndexes where values[column].form == Form.word {
            let word = Int64(bitPattern: values[column].word)
            if kind != .link {
                session.reindex(index, key, from: nil, to: word)
            } else if word != 0 {
                session.reindex(index, key, from: nil, to: word &- 1)
            }
        }
    }

    private func enterBytes(_ key: ObjectKey) {
        for (column, index) in bytesIndexes {
            let cell = values[column]
            guard cell.form == Form.text || cell.form == Form.fixed else { continue }
            do throws(StorageError) {
                try index.insert(bytes(cell), key, in: session.transaction.handle)
            } catch { session.fail(error) }
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

    // MARK: Values

    @inline(__always)
    private func check(_ column: ColumnID, _ kind: ColumnKind) {
        precondition(
            UInt(bitPattern: column.rawValue) < UInt(bitPattern: columns)
                && state.pointee.kinds[column.rawValue] == kind.rawValue,
            "no such column, or another kind")
    }

    @inline(__always)
    private func setWord(_ column: ColumnID, _ kind: ColumnKind, _ word: UInt64) {
        check(column, kind)
        values[column.rawValue].word = word
        values[column.rawValue].form = Form.word
    }

    /// Sets an integer.
    public func setInt(_ column: ColumnID, _ value: Int64) {
        setWord(column, .int, UInt64(bitPattern: value))
    }

    /// Sets a boolean.
    public func setBool(_ column: ColumnID, _ value: Bool) {
        setWord(column, .bool, value ? 1 : 0)
    }

    /// Sets a double.
    public func setDouble(_ column: ColumnID, _ value: Double) {
        setWord(column, .double, value.bitPattern)
    }

    /// Sets a float.
    public func setFloat(_ column: ColumnID, _ value: Float) {
        check(column, .float)
        values[column.rawValue].word = UInt64(value.bitPattern)
        values[column.rawValue].form = Form.float
    }

    /// Sets a link, or none.
    public func setLink(_ column: ColumnID, _ target: ObjectKey?) {
        setWord(column, .link, target.map { UInt64(bitPattern: $0.rawValue &+ 1) } ?? 0)
    }

    /// Sets a string.
    public func setString(_ column: ColumnID, _ value: String) {
        setBytes(column, value.utf8Span.span.bytes)
    }

    /// Sets a string; false, without setting it, when the bytes are not UTF-8.
    public func setText(_ column: ColumnID, _ value: RawSpan) -> Bool {
        let isText = value.withUnsafeBytes { bytes in
            var offset = 0
            var high: UInt64 = 0
            while offset &+ 8 <= bytes.count {
                high |= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                offset &+= 8
            }
            while offset < bytes.count {
                high |= UInt64(bytes[offset])
                offset &+= 1
            }
            return high & 0x8080_8080_8080_8080 == 0
                || String(validating: bytes, as: UTF8.self) != nil
        }
        if isText { setBytes(column, value) }
        return isText
    }

    /// Sets a string, data or a fixed-size value.
    public func setBytes(_ column: ColumnID, _ value: RawSpan) {
        guard let kind = reader.kind(of: column) else {
            preconditionFailure("no such column")
        }
        let form: UInt8
        switch kind {
        case .string, .data: form = Form.text
        case .bytes12, .bytes16:
            precondition(value.byteCount == HeapLeaf.width(of: kind), "wrong number of bytes")
            form = Form.fixed
        default: preconditionFailure("not a column of bytes")
        }
        let start = cells.pointee.textSize
        let count = value.byteCount
        if start &+ count > cells.pointee.textCapacity { growText(count) }
        value.withUnsafeBytes {
            if let source = $0.baseAddress {
                (cells.pointee.text + start).copyMemory(from: source, byteCount: count)
            }
        }
        cells.pointee.textSize = start &+ count
        values[column.rawValue] = Cell(word: UInt64(start), count: count, form: form)
    }

    @inline(never)
    private func growText(_ count: Int) {
        let used = cells.pointee.textSize
        let capacity = 2 * (used + count)
        let grown = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        grown.copyMemory(from: cells.pointee.text, byteCount: used)
        cells.pointee.text.deallocate()
        cells.pointee.text = grown
        cells.pointee.textCapacity = capacity
    }

    /// Sets data or a fixed-size value.
    public func setBytes(_ column: ColumnID, _ value: [UInt8]) {
        setBytes(column, value.span.bytes)
    }

    /// Sets null; for a link, no link.
    public func setNull(_ column: ColumnID) {
        guard let kind = reader.kind(of: column), kind != .list else { return }
        values[column.rawValue] =
            kind == .link
            ? Cell(word: 0, count: 0, form: Form.word) : Cell(word: 0, count: 0, form: Form.null)
    }
}

extension WriteSession {
    /// Adds many rows to a table, fast.
    public func rowWriter(_ table: TableID) -> RowWriter { RowWriter(self, overlay(table)) }
}
