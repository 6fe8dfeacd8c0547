import LMDBStorage

/// Adds many rows to one table with little overhead: `beginRow`, setters, `endRow`.
///
/// The writer keeps the values until `endRow` stores all of them, so a row can be discarded before with another
/// `beginRow`. Columns that are not set are zero, null or empty. Other calls of the session may be made in between;
/// they see the rows that have ended. The writer ends with the write.
package final class RowWriter {
    struct Cells {
        /// The key of the first row of the cluster whose leaves are in use.
        var firstKey = Int64.min
        /// The session's generation when the addresses were stored.
        var generation = 0
        /// The memory for the text of that cluster's rows.
        var arena: Unmanaged<TextArena>?
        /// The number of columns that are set in the current row.
        var setCount = 0
        /// The bytes of the current row.
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

    /// One value of the current row: its bits, or the range of its bytes in the text.
    struct Cell {
        var word: UInt64 = 0
        var count = 0
        var form = Form.unset
    }

    /// An index of integers that the writer updates.
    private struct KeptIndex {
        let column: Int
        let isLink: Bool
        let index: Unmanaged<IntIndex>
    }

    /// A column of short lists, sets or maps.
    struct Collection {
        let column: Int
        let contents: Int
        /// The column with the keys of maps; nil for lists and sets.
        let keys: Int?
        let kind: ColumnKind
        /// The index of the links; nil for other elements.
        let links: IntIndex?
        var words: Bool { kind.isStoredAsWord }
    }

    private let session: WriteSession
    // These are not reference-counted, because the session owns them.
    private let transaction: Unmanaged<WriteTransaction>
    private let overlay: TableOverlay
    // The reader is kept for values that are set after the snapshot was released.
    let reader: TableReader
    let state: UnsafeMutablePointer<TableState>
    let cells: UnsafeMutablePointer<Cells>
    let values: UnsafeMutablePointer<Cell>
    /// The unpacked leaf of each slot, valid for the cluster of `cells.firstKey` at `cells.generation`.
    private let leaves: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    let columns: Int
    private let definition: TableDefinition
    /// The indexes of integers; each entry references its index.
    private let intIndexes: UnsafeMutableBufferPointer<KeptIndex>
    private let bytesIndexes: [(column: Int, index: BytesIndex)]
    /// The columns of bytes whose links are indexed.
    private let mixedColumns: [Int]
    let collections: [Collection]
    private let linkCollections: [Collection]
    /// The elements of the collection that is being set.
    @exclusivity(unchecked) var elements = UnpackedChunk(words: true)
    /// The keys of the map that is being set.
    @exclusivity(unchecked) var keys = UnpackedChunk(words: false)

    private static let firstTextCapacity = 256

    init(_ session: WriteSession, _ overlay: TableOverlay) {
        self.session = session
        transaction = .passUnretained(session.transaction)
        self.overlay = overlay
        let reader: TableReader = overlay.reader
        self.reader = reader
        state = reader.state
        definition = reader.definition
        columns = definition.columns.count
        var collections: [Collection] = []
        var kept: [KeptIndex] = []
        var bytesIndexes: [(column: Int, index: BytesIndex)] = []
        var mixedColumns: [Int] = []
        for index in definition.columns.indices {
            let column = definition.columns[index]
            let position = column.id.rawValue
            if column.kind == .list {
                if let contents = column.contents, let kind = column.elementKind, !column.isMixed {
                    collections.append(
                        Collection(
                            column: position, contents: contents.rawValue,
                            keys: column.keyContents?.rawValue, kind: kind,
                            links: reader.intIndex(column.id)))
                }
            } else if let index = reader.intIndex(column.id) {
                kept.append(
                    KeptIndex(
                        column: position, isLink: column.kind == .link, index: .passRetained(index))
                )
            }
            if let index = reader.bytesIndex(column.id) { bytesIndexes.append((position, index)) }
            if column.isMixed { mixedColumns.append(position) }
        }
        self.collections = collections
        linkCollections = collections.filter { $0.links != nil }
        self.bytesIndexes = bytesIndexes
        self.mixedColumns = mixedColumns
        intIndexes = .allocate(capacity: kept.count)
        _ = intIndexes.initialize(from: kept)
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
        for kept in intIndexes { kept.index.release() }
        intIndexes.deallocate()
        cells.pointee.text.deallocate()
        cells.deallocate()
        values.deallocate()
        leaves.deallocate()
    }

    /// Whether the write is still open and has not failed.
    package var isUsable: Bool {
        transaction._withUnsafeGuaranteedRef { $0.isOpen } && !session.hasFailed
    }

    /// The number of columns that are set in the current row.
    package var setCount: Int { cells.pointee.setCount }

    /// Begins a row, which exists after ``endRow()``; discards a row that has not ended.
    package func beginRow() {
        cells.pointee.textSize = 0
        cells.pointee.setCount = 0
        var column = 0
        while column < columns {
            values[column].form = Form.unset
            column &+= 1
        }
    }

    /// Returns whether a column is set in the current row.
    @inline(__always)
    package func isSet(_ column: ColumnID) -> Bool {
        UInt(bitPattern: column.rawValue) < UInt(bitPattern: columns)
            && values[column.rawValue].form != Form.unset
    }

    /// Ends the row, which now exists.
    ///
    /// Returns its key.
    @discardableResult  // because bulk loads rarely need the keys
    package func endRow() -> ObjectKey {
        if cells.pointee.textSize > WriteSession.largeText { session.makeSpaceForText() }
        let key = state.pointee.keyBound
        var row = Int(key &- cells.pointee.firstKey)
        if UInt(bitPattern: row) >= UInt(Cluster.rows)
            || cells.pointee.generation != session.generation.pointee
        {
            row = enterCluster(of: key)
        }
        var column = 0
        while column < columns {
            if values[column].form != Form.unset { store(values[column], column, row) }
            column &+= 1
        }
        if intIndexes.count > 0 { enterIntegers(ObjectKey(key)) }
        if !bytesIndexes.isEmpty { enterBytes(ObjectKey(key)) }
        if !linkCollections.isEmpty { enterLinks(ObjectKey(key)) }
        for column in mixedColumns where values[column].form == Form.text {
            session.set(
                overlay.id, ColumnID(column), ObjectKey(key), bytes: bytes(values[column]).bytes,
                isNew: true)
        }
        // because: takeLeaves has created the leaf of the presence.
        let word = leaves[0]!.assumingMemoryBound(to: UInt64.self) + row >> 6
        word.pointee |= 1 &<< UInt64(truncatingIfNeeded: row & 63)
        state.pointee.keyBound = key &+ 1
        state.pointee.count &+= 1
        return ObjectKey(key)
    }

    @inline(__always)
    private func store(_ cell: Cell, _ column: Int, _ row: Int) {
        // because: takeLeaves has created the leaves of all columns that are not holes.
        let leaf = UnpackedLeaf(address: leaves[column &+ 1]!)
        leaf.mark(row)
        leaf.setNull(row, cell.form == Form.null)
        switch cell.form {
        case Form.word: leaf.setWord(row, cell.word)
        case Form.float:
            leaf.setFloat(row, Float(bitPattern: UInt32(truncatingIfNeeded: cell.word)))
        case Form.text:
            // because: takeLeaves has looked it up.
            leaf.setPointer(
                row, cells.pointee.arena!._withUnsafeGuaranteedRef { $0.copy(bytes(cell)) })
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

    @inline(__always)
    private func enterIntegers(_ key: ObjectKey) {
        let handle = handle
        for kept in intIndexes where values[kept.column].form == Form.word {
            let word = Int64(bitPattern: values[kept.column].word)
            if kept.isLink && word == 0 { continue }
            let failure = kept.index._withUnsafeGuaranteedRef { index -> StorageError? in
                do throws(StorageError) {
                    try index.insert(kept.isLink ? word &- 1 : word, key, in: handle)
                    return nil
                } catch { return error }
            }
            if let failure { session.fail(failure) }
        }
    }

    /// Returns the index of an integer column other than a link.
    func intIndex(_ column: ColumnID) -> Unmanaged<IntIndex>? {
        for kept in intIndexes where kept.column == column.rawValue && !kept.isLink {
            return kept.index
        }
        return nil
    }

    /// The transaction that reads and changes indexes.
    var handle: TransactionHandle { transaction._withUnsafeGuaranteedRef { $0.handle } }

    private func enterBytes(_ key: ObjectKey) {
        for (column, index) in bytesIndexes {
            let cell = values[column]
            guard cell.form == Form.text || cell.form == Form.fixed else { continue }
            do throws(StorageError) {
                try index.insert(bytes(cell), key, in: session.transaction.handle)
            } catch { session.fail(error) }
        }
    }

    private func enterLinks(_ key: ObjectKey) {
        for collection in linkCollections {
            let cell = values[collection.contents]
            guard cell.form == Form.text, let index = collection.links,
                let chunk = ListChunk(bytes(cell), words: true)
            else { continue }
            do throws(StorageError) {
                for position in 0..<chunk.count {
                    try index.insert(chunk.word(position), key, in: session.transaction.handle)
                }
            } catch { session.fail(error) }
        }
    }

    /// Looks up the leaves of the cluster of a new row, and returns the row's position in the cluster.
    @inline(never)
    private func enterCluster(of key: Int64) -> Int {
        let cluster = Int(key) / Cluster.rows
        let row = Int(key) &- cluster &* Cluster.rows
        if row == 0 && state.pointee.clusterCount <= cluster {
            session.beginCluster(overlay, cluster)
        }
        assert(cluster == state.pointee.clusterCount - 1, "a new row is in the last cluster")
        takeLeaves(cluster)
        return row
    }

    private func findLeaves(_ cluster: Int) {
        leaves[0] = overlay.unpackedLeaf(0, cluster).address
        for column in definition.columns where !column.isDropped {
            leaves[column.id.rawValue + 1] =
                overlay.unpackedLeaf(column.id.rawValue + 1, cluster).address
        }
    }

    private func takeLeaves(_ cluster: Int) {
        let generation = session.generation.pointee
        findLeaves(cluster)
        // Creating the last leaf may have flushed earlier ones. All leaves of a class with thousands of columns may
        // need more than the session's limit, so the second attempt flushes none.
        if session.generation.pointee != generation {
            session.keepingLeaves { findLeaves(cluster) }
        }
        cells.pointee.firstKey = Int64(cluster * Cluster.rows)
        cells.pointee.generation = session.generation.pointee
        cells.pointee.arena = .passUnretained(overlay.arena(cluster))
    }
}

extension WriteSession {
    /// Returns a writer that adds many rows to a table.
    package func rowWriter(_ table: TableID) -> RowWriter { RowWriter(self, overlay(table)) }
}

// Reads of the values that were set in the row that is being created.
extension RowWriter {
    private func word(_ column: ColumnID, _ form: UInt8) -> UInt64? {
        guard isSet(column), values[column.rawValue].form == form else { return nil }
        return values[column.rawValue].word
    }

    /// Returns an integer, or a Boolean as 0 or 1.
    package func int(_ column: ColumnID) -> Int64? {
        word(column, Form.word).map { Int64(bitPattern: $0) }
    }

    /// Returns a double.
    package func double(_ column: ColumnID) -> Double? {
        word(column, Form.word).map { Double(bitPattern: $0) }
    }

    /// Returns a float.
    package func float(_ column: ColumnID) -> Float? {
        word(column, Form.float).map { Float(bitPattern: UInt32(truncatingIfNeeded: $0)) }
    }

    /// Returns the target of a link; nil also for a link that was set to nil.
    package func link(_ column: ColumnID) -> ObjectKey? {
        guard let stored = int(column), stored > 0 else { return nil }
        return ObjectKey(rawValue: stored &- 1)
    }

    /// Returns the bytes of a string, of data or of a fixed-size value.
    package func bytes(_ column: ColumnID) -> [UInt8]? {
        guard isSet(column) else { return nil }
        let cell = values[column.rawValue]
        return cell.form == Form.text || cell.form == Form.fixed ? [UInt8](bytes(cell)) : nil
    }

    /// Returns the elements of a collection; nil if the column is not set.
    package func elements(_ column: ColumnID) -> [ListElement]? {
        guard isSet(column), let collection = collection(column) else { return nil }
        return elements(in: collection.contents, collection.kind)
    }

    /// Returns the keys of a map in the order of its elements; nil if the column is not set.
    package func keys(_ column: ColumnID) -> [ListElement]? {
        guard isSet(column), let keys = collection(column)?.keys else { return nil }
        return elements(in: keys, .data)
    }

    private func elements(in contents: Int, _ kind: ColumnKind) -> [ListElement] {
        let cell = values[contents]
        guard cell.form == Form.text,
            let chunk = ListChunk(bytes(cell), words: kind.isStoredAsWord),
            let content = UnpackedChunk(chunk, words: kind.isStoredAsWord)
        else { return [] }
        return (0..<content.count).map { content.element($0, kind) }
    }

    /// Returns whether no row has the value of an indexed column; false for null and if the value is not set.
    package func isNew(_ column: ColumnID) throws(StorageError) -> Bool {
        guard isSet(column) else { return false }
        let cell = values[column.rawValue]
        switch cell.form {
        case Form.word:
            let value = Int64(bitPattern: cell.word)
            guard isUsable, let index = intIndex(column) else {
                return try reader.find(column, int: value) == nil
            }
            return try index.takeUnretainedValue().find(value, in: handle) == nil
        case Form.text, Form.fixed:
            let bytes = bytes(cell)
            guard let index = reader.bytesIndex(column) else {
                return try reader.find(column, bytes: [UInt8](bytes)) == nil
            }
            let found = try reader.read { (transaction) throws(StorageError) in
                try index.find(bytes, in: transaction)
            }
            return (found ?? nil) == nil
        default: return false
        }
    }
}
