import LMDBStorage

/// The space of one column in the file, in bytes of keys and values, without the overhead of pages.
package struct ColumnUsage: Hashable, Sendable {
    /// The packed leaves; for a collection, the number of elements of each row.
    package var values = 0
    /// The values that are too long for a leaf.
    package var longValues = 0
    /// The elements of lists, sets and maps, and the keys of maps.
    package var elements = 0
    /// The index of the values or, for links, of the backlinks.
    package var index = 0
    /// The full-text index.
    package var fullText = 0

    /// Creates a usage of zero bytes.
    package init() {}

    /// The sum of all parts.
    package var total: Int { values + longValues + elements + index + fullText }
}

/// The space of one table in the file, in bytes of keys and values.
package struct TableUsage: Hashable, Sendable {
    /// The table.
    package let id: TableID
    /// The number of existing rows.
    package var rows = 0
    /// The bitmaps of existing rows.
    package var presence = 0
    /// The newest rows in the tail, which are not packed into columns yet.
    package var waitingRows = 0
    /// The usage of each column.
    package var columns: [ColumnUsage] = []
    /// The indexes over several columns, in the order of the definition.
    package var compositeIndexes: [Int] = []

    /// Creates a usage of zero bytes.
    package init(id: TableID) { self.id = id }

    /// The sum of all parts.
    package var total: Int {
        presence + waitingRows + columns.reduce(0) { $0 + $1.total }
            + compositeIndexes.reduce(0, +)
    }
}

/// The space that the parts of a file's version take.
package struct FileUsage: Hashable, Sendable {
    /// The tables that the snapshot knows, ordered by number.
    package var tables: [TableUsage] = []
    /// The size of the kept change sets, in bytes.
    package var history = 0
    /// The versions whose change sets are kept; nil if there are none.
    package var historyVersions: ClosedRange<UInt64>?
    /// The size of the file in bytes.
    package var fileSize = 0
    /// The size in bytes of the pages that the newest version uses.
    package var usedSize = 0
    /// The size of a page in bytes.
    package var pageSize = 0

    /// The number of free pages, which the next writes can use.
    package var freePages: Int { pageSize > 0 ? max(0, fileSize - usedSize) / pageSize : 0 }
}

extension Snapshot {
    /// Returns the space that tables, columns, indexes, history and free pages take in the file.
    ///
    /// The result is for the committed version, even inside a write, and includes only tables passed to
    /// ``configure(_:)``. Only the sizes of leaves, chunks and blocks are read, not their contents, so this takes about
    /// a millisecond for a million values.
    ///
    /// Throws the errors of LMDB for pages that cannot be read, and `closed`.
    package func usage() throws(StorageError) -> FileUsage {
        guard let reader = source.reader else {
            throw StorageError(.closed, call: "usage", file: file.path)
        }
        var usage = FileUsage()
        for definition in source.definitions.values.sorted(by: { $0.id < $1.id }) {
            var table = TableUsageReader(definition, source, reader.handle)
            usage.tables.append(try table.read())
        }
        try addHistory(reader.handle, to: &usage)
        let environment = try file.lease().environment
        (usage.fileSize, usage.usedSize) = try environment.space()
        usage.pageSize = environment.pageSize
        return usage
    }

    private func addHistory(
        _ transaction: TransactionHandle, to usage: inout FileUsage
    ) throws(StorageError) {
        var sizes: [UInt64: Int] = [:]
        let cursor = try transaction.cursor(file.tables.history)
        var entry = try cursor.first()
        while let found = entry {
            sizes[found.integerKey] = found.key.count + found.value.count
            entry = try cursor.next()
        }
        try source.recent.forEach { home, version, node in
            if home == .history { sizes[version] = 8 + node.count }
        }
        usage.history = sizes.values.reduce(0, +)
        if let first = sizes.keys.min(), let last = sizes.keys.max() {
            usage.historyVersions = first...last
        }
    }
}

/// Adds the sizes of the parts of one table.
private struct TableUsageReader {
    private let definition: TableDefinition
    private let source: SnapshotSource
    private let transaction: TransactionHandle
    private var usage: TableUsage
    /// The columns of collections, by the columns with the elements of short ones.
    private var owners: [Int: Int] = [:]

    init(
        _ definition: TableDefinition, _ source: SnapshotSource, _ transaction: TransactionHandle
    ) {
        self.definition = definition
        self.source = source
        self.transaction = transaction
        usage = TableUsage(id: definition.id)
        for column in definition.columns {
            for contents in column.contentsColumns {
                owners[contents.id.rawValue] = column.id.rawValue
            }
        }
        usage.columns = Array(repeating: ColumnUsage(), count: definition.columns.count)
        usage.compositeIndexes = Array(repeating: 0, count: definition.compositeIndexes.count)
    }

    mutating func read() throws(StorageError) -> TableUsage {
        let tables = source.file.tables
        if let bytes = try source.tailNode(TableHead.key(definition.id)),
            let head = TableHead(bytes)
        {
            usage.rows = Int(head.count)
        }
        try addLeaves()
        try addWaitingRows()
        for level in IndexLevel.allCases {
            try add(tables.indexes(of: definition.id, level)) { usage, number, size in
                let column = number % ColumnID.limit
                switch number / ColumnID.limit {
                case 0: usage.add(size, \.index, column)
                case 1: usage.add(size, \.fullText, column)
                default: break
                }
            }
        }
        try add(tables.lists) { $0.add($2, \.elements, $1) }
        try add(tables.mapKeys) { $0.add($2, \.elements, $1) }
        try addLongValues()
        return usage
    }

    private mutating func addLeaves() throws(StorageError) {
        let cursor = try transaction.cursor(source.file.tables.leaves(of: definition.id))
        var entry = try cursor.setRange(LeafKey(definition.id, cluster: 0, slot: 0).rawValue)
        while let found = entry {
            let key = LeafKey(rawValue: found.integerKey)
            guard key.table == definition.id else { break }
            let size = found.key.count + found.value.count
            if key.slot == 0 {
                usage.presence += size
            } else {
                let owner = owners[key.slot - 1]
                usage.add(size, owner == nil ? \.values : \.elements, owner ?? key.slot - 1)
            }
            entry = try cursor.next()
        }
    }

    private mutating func addWaitingRows() throws(StorageError) {
        let keys = TableHead.key(definition.id, 0)...TableHead.key(definition.id)
        var sizes: [UInt64: Int] = [:]
        let cursor = try transaction.cursor(source.file.tables.tail)
        var entry = try cursor.setRange(keys.lowerBound)
        while let found = entry, found.integerKey <= keys.upperBound {
            sizes[found.integerKey] = found.key.count + found.value.count
            entry = try cursor.next()
        }
        try source.recent.forEach { home, key, node in
            if home == .tail, keys.contains(key) { sizes[key] = 8 + node.count }
        }
        usage.waitingRows = sizes.values.reduce(0, +)
    }

    /// Adds the entries whose keys begin with the table and a number of two bytes each.
    private mutating func add(
        _ table: Table, _ body: (inout TableUsage, Int, Int) -> Void
    ) throws(StorageError) {
        let prefix = UInt32(truncatingIfNeeded: definition.id.rawValue) << 16
        let cursor = try transaction.cursor(table)
        var entry = try Self.first(cursor, from: prefix.bigEndian)
        while let found = entry, found.key.count >= IndexKey.prefixBytes {
            let key = UInt32(bigEndian: found.key.loadUnaligned(as: UInt32.self))
            guard key >> 16 == prefix >> 16 else { break }
            let number = Int(key & 0xFFFF)
            let size = found.key.count + found.value.count
            if let index = definition.compositeIndexes.firstIndex(where: {
                IndexKey.composites + $0.id == number
            }) {
                usage.compositeIndexes[index] += size
            } else {
                body(&usage, number, size)
            }
            entry = try cursor.next()
        }
    }

    private mutating func addLongValues() throws(StorageError) {
        let cursor = try transaction.cursor(source.file.tables.values)
        var entry = try Self.first(cursor, from: definition.id.rawValue.bigEndian)
        while let found = entry, found.key.count >= 8 {
            let table = UInt32(bigEndian: found.key.loadUnaligned(as: UInt32.self))
            guard table == definition.id.rawValue else { break }
            let column = UInt32(
                bigEndian: found.key.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
            usage.add(found.key.count + found.value.count, \.longValues, Int(column))
            entry = try cursor.next()
        }
    }

    private static func first(
        _ cursor: borrowing Cursor, from prefix: UInt32
    ) throws(StorageError) -> Entry? {
        var prefix = prefix
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 4, alignment: 4)
        defer { memory.deallocate() }
        memory.copyMemory(from: &prefix, byteCount: 4)
        return try cursor.setRange(UnsafeRawBufferPointer(start: memory, count: 4))
    }
}

extension TableUsage {
    /// Adds a size to a column; ignores columns of a damaged file that the table does not have.
    fileprivate mutating func add(
        _ size: Int, _ part: WritableKeyPath<ColumnUsage, Int>, _ column: Int
    ) {
        if columns.indices.contains(column) { columns[column][keyPath: part] += size }
    }
}
