import LMDBStorage

/// Verifies all data of one table.
struct TableVerifier {
    let reader: TableReader
    let definition: TableDefinition
    let transaction: TransactionHandle
    let faults: FaultList
    /// Returns whether a row of a table exists.
    let isPresent: (TableID, ObjectKey) throws(StorageError) -> Bool

    var tables: FileTables { reader.source.file.tables }

    init(
        _ reader: TableReader, _ transaction: TransactionHandle, _ faults: FaultList,
        isPresent: @escaping (TableID, ObjectKey) throws(StorageError) -> Bool
    ) {
        self.reader = reader
        definition = reader.definition
        self.transaction = transaction
        self.faults = faults
        self.isPresent = isPresent
    }

    func run() throws(StorageError) {
        try faults.collect(verifyHead)
        try faults.collect(verifyLeaves)
        try faults.collect(verifyTail)
        try faults.collect(verifyCount)
        try faults.collect(verifyLongValues)
        for column in definition.columns where !column.isDropped && column.kind == .link {
            try faults.collect { () throws(StorageError) in try verifyLinks(column) }
        }
        try verifyIndexes()
    }

    func fault(_ what: String, _ column: ColumnID? = nil, _ key: ObjectKey? = nil) {
        let owner = definition.columns.first { $0.contentsColumns.contains { $0.id == column } }
        faults.add(FileFault(what, table: definition.id, column: owner?.id ?? column, key: key))
    }

    /// Calls `body` with every row, ascending, until the maximum number of errors is found.
    ///
    /// A row that cannot be read does not end the check of the others.
    func forEachRow(
        _ body: (ObjectKey) throws(StorageError) -> Void
    ) throws(StorageError) {
        for cluster in 0..<reader.clusterCount where !faults.isFull {
            let base = Int64(cluster * Cluster.rows)
            try reader.presence(cluster).forEachRow { row throws(StorageError) in
                try faults.collect { () throws(StorageError) in
                    try body(ObjectKey(base + Int64(row)))
                }
            }
        }
    }

    private func verifyHead() throws(StorageError) {
        guard let bytes = try reader.source.tailNode(TableHead.key(definition.id)),
            TableHead(bytes) == nil
        else { return }
        fault("the head of the table is not valid")
    }

    private func verifyCount() throws(StorageError) {
        var count = 0
        for cluster in 0..<reader.clusterCount { count += try reader.presence(cluster).rowCount }
        if count != reader.count {
            fault("the table declares \(reader.count) rows, but has \(count)")
        }
        let last = Int(reader.keyBound) / Cluster.rows
        guard last < reader.clusterCount else { return }
        for row in Int(reader.keyBound) % Cluster.rows..<Cluster.rows
        where try reader.presence(last).contains(row) {
            fault("a row is beyond the last key", nil, ObjectKey(Int64(last * Cluster.rows + row)))
        }
    }

    private func verifyLeaves() throws(StorageError) {
        let cursor = try transaction.cursor(reader.leaves)
        var entry = try cursor.setRange(LeafKey(definition.id, cluster: 0, slot: 0).rawValue)
        while let found = entry, !faults.isFull {
            let key = LeafKey(rawValue: found.integerKey)
            guard key.rawValue >> 48 == UInt64(definition.id.rawValue) else { break }
            verifyLeaf(key, found.value)
            entry = try cursor.next()
        }
    }

    private func verifyLeaf(_ key: LeafKey, _ bytes: UnsafeRawBufferPointer) {
        let location = "cluster \(key.cluster)"
        guard key.cluster < reader.clusterCount else {
            return fault("a leaf of \(location) is after the last cluster")
        }
        if key.slot == 0 {
            if bytes.count != 64 || bytes.loadUnaligned(fromByteOffset: 62, as: UInt16.self) != 0 {
                fault("the presence bitmap of \(location) is not valid")
            }
            return
        }
        guard key.slot <= definition.columns.count else {
            return fault("a leaf of \(location) belongs to no column")
        }
        let column = definition.columns[key.slot - 1]
        if column.isDropped { return }
        guard LeafCheck.isWhole(bytes, column.kind), let address = bytes.baseAddress else {
            return fault("the leaf of \(location) is not valid", column.id)
        }
        if let what = LeafVerifier(Leaf(address), column.kind).fault {
            fault("the leaf of \(location): \(what)", column.id)
        }
    }

    private func verifyTail() throws(StorageError) {
        let layout = RowLayout(definition)
        let keys = TableHead.key(definition.id, 0)..<TableHead.key(definition.id)
        let cursor = try transaction.cursor(tables.tail)
        var entry = try cursor.setRange(keys.lowerBound)
        while let found = entry, found.integerKey < keys.upperBound, !faults.isFull {
            verifyWaiting(found.integerKey - keys.lowerBound, found.value, layout)
            entry = try cursor.next()
        }
        try reader.source.recent.forEach { home, key, node in
            if home == .tail && keys.contains(key) {
                verifyWaiting(key - keys.lowerBound, node, layout)
            }
        }
    }

    private func verifyWaiting(
        _ number: UInt64, _ node: UnsafeRawBufferPointer, _ layout: RowLayout
    ) {
        let key = ObjectKey(Int64(number))
        let first = Int64(reader.tailCluster * Cluster.rows)
        if !reader.hasTailRows {
            fault("the head does not include a row in the delta buffer", nil, key)
        } else if key.rawValue < first || key.rawValue >= reader.keyBound {
            fault("a row of the inline tail is outside the newest cluster", nil, key)
        } else if !layout.isWhole(node) {
            fault("a row in the delta buffer is not valid", nil, key)
        }
    }

    private func verifyLinks(_ column: ColumnDefinition) throws(StorageError) {
        guard let target = column.target else { return }
        for cluster in 0..<reader.clusterCount where !faults.isFull {
            let base = Int64(cluster * Cluster.rows)
            try reader.presence(cluster).forEachRow { row throws(StorageError) in
                let key = ObjectKey(base + Int64(row))
                if let linked = try reader.link(column.id, key), try !isPresent(target, linked) {
                    fault(
                        "it links to row \(linked.rawValue), which does not exist", column.id, key)
                }
            }
        }
    }
}

/// Finds errors inside a leaf whose size is correct.
struct LeafVerifier {
    private let leaf: Leaf
    private let kind: ColumnKind

    init(_ leaf: Leaf, _ kind: ColumnKind) {
        self.leaf = leaf
        self.kind = kind
    }

    /// The first error; nil if there is none.
    var fault: String? {
        switch kind {
        case .bool, .int, .link, .list:
            for row in 0..<Cluster.rows {
                let value = leaf.int(row)
                if value < leaf.minimum || value > leaf.maximum {
                    return "row \(row) contains a value outside the bounds of the leaf"
                }
            }
        case .string, .data:
            return text
        default: break
        }
        return nil
    }

    private var text: String? {
        let data = leaf.payload
        switch leaf.encoding {
        case LeafEncoding.text16:
            return ascending(Cluster.rows) {
                Int(data.loadUnaligned(fromByteOffset: 2 * $0, as: UInt16.self))
            }
        case LeafEncoding.text32:
            return ascending(Cluster.rows) {
                Int(data.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self))
            }
        case LeafEncoding.dictionary:
            let ends = data + Cluster.rows
            return ascending(leaf.entryCount) {
                Int(ends.loadUnaligned(fromByteOffset: 2 * $0, as: UInt16.self))
            }
        default: return nil
        }
    }

    private func ascending(_ count: Int, _ end: (Int) -> Int) -> String? {
        var last = 0
        for index in 0..<count {
            let next = end(index)
            if next < last || next > leaf.textSize {
                return "the end of text \(index) is out of order"
            }
            last = next
        }
        return nil
    }
}

extension Snapshot {
    /// Verifies all data of the version, and returns at most `limit` errors with their locations.
    ///
    /// This checks every leaf, presence bitmap, tail row, count, list chunk, long value, link, index entry, full-text
    /// posting and change set. The array is empty for a valid file. The whole file is read once, and rows are compared
    /// with index entries by sums, so it takes about as long as reading every value. Only tables passed to
    /// ``configure(_:)`` are checked. It must not be called inside a write.
    ///
    /// Throws the errors of LMDB for pages that cannot be read, and `closed`.
    package func verify(atMost limit: Int = 100) throws(StorageError) -> [FileFault] {
        precondition(write == nil, "a version with an open write cannot be verified")
        guard let reader = source.reader else {
            throw StorageError(.closed, call: "verify", file: file.path)
        }
        let faults = FaultList(limit)
        let definitions = source.definitions.values.sorted { $0.id < $1.id }
        for definition in definitions {
            try faults.collect { () throws(StorageError) in
                let table = try table(definition.id)
                let verifier = TableVerifier(table, reader.handle, faults) {
                    (target, key) throws(StorageError) in
                    try self.table(target).isPresent(key)
                }
                try verifier.run()
            }
        }
        try verifyHistory(reader.handle, faults)
        return faults.faults
    }

    private func verifyHistory(
        _ transaction: TransactionHandle, _ faults: FaultList
    ) throws(StorageError) {
        let history = file.tables.history
        var versions: [UInt64] = []
        do {
            let cursor = try transaction.cursor(history)
            var entry = try cursor.first()
            while let found = entry {
                versions.append(found.integerKey)
                entry = try cursor.next()
            }
        }
        try source.recent.forEach { home, version, _ in
            if home == .history { versions.append(version) }
        }
        for (index, number) in versions.enumerated() {
            if index > 0, number != versions[index - 1] + 1 {
                faults.add(FileFault("the history does not contain the versions before \(number)"))
            }
            do throws(StorageError) {
                _ = try HistoryLog.changes(
                    after: number - 1, through: number, in: history, source.recent, transaction)
            } catch {
                guard error.code == .damaged else { throw error }
                faults.add(FileFault("the change set of version \(number) is not valid"))
            }
        }
        guard let last = versions.last else { return }
        if last > version {
            faults.add(FileFault("the history continues after version \(version)"))
        } else if last < version {
            faults.add(FileFault("the history ends before version \(version)"))
        }
    }
}

extension ColumnFile {
    /// Verifies the pages of a file that this process does not have open, and returns at most `limit` errors.
    ///
    /// Call it before ``open(path:options:)`` of a file that may be damaged, because LMDB itself does not check
    /// references between pages. Throws `notAStore`, `newerFormat`, `damaged`, `notFound`, `permission`.
    package static func verifyPages(
        path: String, atMost limit: Int = 100
    ) throws(StorageError) -> [FileFault] {
        try PageVerifier.faults(path: path, atMost: limit, tables: FileTables.names)
            .map { FileFault($0) }
    }
}

/// An error in a file, with its location.
package struct FileFault: Hashable, Sendable {
    /// The table; nil if the error concerns the whole file.
    package let table: TableID?
    /// The column; nil if the error concerns whole rows.
    package let column: ColumnID?
    /// The row; nil if the error does not concern a single row.
    package let key: ObjectKey?
    /// The description of the error.
    package let what: String

    init(_ what: String, table: TableID? = nil, column: ColumnID? = nil, key: ObjectKey? = nil) {
        self.table = table
        self.column = column
        self.key = key
        self.what = what
    }
}

/// The errors found so far, up to a limit.
final class FaultList {
    private(set) var faults: [FileFault] = []
    private let limit: Int

    init(_ limit: Int) { self.limit = limit }

    var isFull: Bool { faults.count >= limit }

    func add(_ fault: FileFault) { if !isFull { faults.append(fault) } }

    /// Runs a check, which ends at the first part of the file that it cannot read.
    ///
    /// That part is an error of its own, unless another check has found errors.
    func collect(_ check: () throws(StorageError) -> Void) throws(StorageError) {
        do throws(StorageError) { try check() } catch {
            guard error.code == .damaged, !error.isOfIndex else { throw error }
            if faults.isEmpty { add(FileFault(error.call)) }
        }
    }
}

/// The sum of a multiset of entries: equal multisets have equal sums, and different ones almost never do.
struct EntrySum: Equatable {
    private(set) var count = 0
    private var sum: UInt64 = 0

    mutating func add(_ value: UInt64, _ key: Int64) {
        count += 1
        var mixed = value &+ UInt64(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        sum &+= mixed ^ (mixed >> 31)
    }
}
