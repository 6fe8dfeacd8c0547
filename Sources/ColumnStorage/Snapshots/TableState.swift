import LMDBStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The data that reads of a table access, behind one pointer.
///
/// Class properties cost an exclusivity check for each access; this costs a load.
///
/// The directory holds one word per slot and cluster: the address of a leaf in the lower 48 bits, and the epoch at
/// which it was found in the upper 16. An entry of another epoch is not valid.
@usableFromInline
struct TableState {
    /// The directory, indexed by `slot * capacity + cluster`; slot 0 is presence, slot `c + 1` is column `c`.
    @usableFromInline var directory: UnsafeMutablePointer<UInt64>
    /// The number of clusters for which each slot has space.
    @usableFromInline var capacity: Int
    /// The number of columns including holes; there is one more slot.
    @usableFromInline var columnCount: Int
    /// The kind of each column; 0 for a hole.
    @usableFromInline var kinds: UnsafeMutablePointer<UInt8>
    /// The current epoch in the upper 16 bits; never 0.
    @usableFromInline var epoch: UInt64
    @usableFromInline var clusterCount: Int
    @usableFromInline var keyBound: Int64
    @usableFromInline var count: Int

    static let firstEpoch: UInt64 = 1 << 48
    @usableFromInline static var addressMask: UInt64 {
        @inlinable @inline(__always) get { (1 << 48) - 1 }
    }

    /// Creates a table without columns or rows.
    static func make() -> UnsafeMutablePointer<TableState> {
        let state = UnsafeMutablePointer<TableState>.allocate(capacity: 1)
        state.initialize(
            to: TableState(
                directory: DirectoryMemory.none, capacity: 0, columnCount: 0,
                kinds: .allocate(capacity: 1), epoch: firstEpoch, clusterCount: 0, keyBound: 0,
                count: 0))
        return state
    }

    static func destroy(_ state: UnsafeMutablePointer<TableState>) {
        DirectoryMemory.free(state.pointee.directory, state.pointee.words)
        state.pointee.kinds.deallocate()
        state.deallocate()
    }

    var words: Int { capacity * (columnCount + 1) }

    /// Invalidates every address.
    mutating func advanceEpoch() {
        epoch &+= 1 << 48
        if epoch == 0 {
            // Entries of the first epochs would count as valid again.
            epoch = Self.firstEpoch
            for index in 0..<words { directory[index] = 0 }
        }
        assert(epoch != 0 && epoch & Self.addressMask == 0, "an epoch has only the upper bits")
    }

    /// Reserves space for `clusters` clusters of `columns` columns, and keeps the addresses.
    ///
    /// Returns false if there is not enough memory.
    mutating func resize(columns: Int, clusters: Int) -> Bool {
        if columns == columnCount && clusters <= capacity { return true }
        let wanted = clusters <= capacity ? capacity : max(clusters, 2 * capacity, 4)
        let (words, overflow) = wanted.multipliedReportingOverflow(by: columns + 1)
        guard !overflow, let fresh = DirectoryMemory.allocate(words) else { return false }
        for slot in 0..<min(columns, columnCount) + 1 where capacity > 0 {
            (fresh + slot * wanted).update(from: directory + slot * capacity, count: capacity)
        }
        DirectoryMemory.free(directory, self.words)
        directory = fresh
        capacity = wanted
        columnCount = columns
        return true
    }
}

/// Zeroed memory that takes no physical pages until it is written.
enum DirectoryMemory {
    /// The directory of a table without clusters; never read or freed.
    // because: this is only an address that all tables share, and it is never dereferenced.
    nonisolated(unsafe) static let none = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)

    private static let mapFrom = 16 * 1024

    static func allocate(_ words: Int) -> UnsafeMutablePointer<UInt64>? {
        if words == 0 { return none }
        if words < mapFrom {
            return calloc(words, 8)?.bindMemory(to: UInt64.self, capacity: words)
        }
        let (bytes, overflow) = words.multipliedReportingOverflow(by: 8)
        guard !overflow else { return nil }
        let mapped = mmap(
            nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let mapped, mapped != MAP_FAILED else { return nil }
        return mapped.bindMemory(to: UInt64.self, capacity: words)
    }

    static func free(_ memory: UnsafeMutablePointer<UInt64>, _ words: Int) {
        if words == 0 { return }
        if words < mapFrom {
            deallocate(memory)
        } else {
            munmap(memory, words * 8)
        }
    }
}

/// Calls the system's `free`; no method hides this name.
private func deallocate(_ memory: UnsafeMutableRawPointer) { free(memory) }

/// The unpacked columns of the newest cluster: its leaves in the file, overwritten by the rows in the tail.
///
/// A live snapshot keeps them from version to version: rows that were added since are copied one by one, and a write
/// changes them in place for the version that it creates. They are dropped after any other change of the cluster.
final class TailLeaves {
    let cluster: Int
    let layout: RowLayout
    /// The text of all rows.
    let arena = TextArena()
    // because: the reader owns this object.
    unowned(unsafe) private let reader: TableReader
    /// The leaves by slot, with the key below which rows have been copied.
    @exclusivity(unchecked) private var slots: [(leaf: UnpackedLeaf, bound: Int64)?]

    init(_ reader: TableReader, cluster: Int) {
        self.reader = reader
        self.cluster = cluster
        layout = RowLayout(reader.definition)
        slots = Array(repeating: nil, count: reader.definition.columns.count + 1)
    }

    deinit {
        for slot in slots { if let slot { (slot.leaf.address - UnpackedLeaf.notes).deallocate() } }
    }

    /// Returns the leaf of a slot at the reader's version.
    func leaf(_ slot: Int) throws(StorageError) -> UnpackedLeaf {
        if let known = slots[slot] {
            if known.bound < reader.tailBound {
                try takeOver(slot, into: known.leaf, from: known.bound)
                slots[slot]?.bound = reader.tailBound
            }
            return known.leaf
        }
        let leaf = try unpack(slot)
        do throws(StorageError) {
            try takeOver(slot, into: leaf, from: Int64(cluster * Cluster.rows))
        } catch {
            (leaf.address - UnpackedLeaf.notes).deallocate()
            throw error
        }
        slots[slot] = (leaf, reader.tailBound)
        return leaf
    }

    /// Records that a write has set the rows below `bound` in all existing leaves.
    func didSetRows(below bound: Int64) {
        for slot in slots.indices { slots[slot]?.bound = bound }
    }

    private func unpack(_ slot: Int) throws(StorageError) -> UnpackedLeaf {
        let stored = try reader.stored(slot, cluster)
        let kind = slot == 0 ? nil : layout.kinds[slot - 1]
        let block = UnsafeMutableRawPointer.allocate(
            byteCount: LeafPool.size(kind.map(UnpackedLeaf.width(of:)) ?? 0), alignment: 16)
        let leaf = UnpackedLeaf(address: block + UnpackedLeaf.notes)
        if let kind {
            leaf.unpack(Leaf(stored), kind) { self.arena.copy($0) }
        } else {
            leaf.presence = stored.loadUnaligned(as: ClusterBits.self)
        }
        return leaf
    }

    private func takeOver(
        _ slot: Int, into leaf: UnpackedLeaf, from first: Int64
    ) throws(StorageError) {
        guard reader.hasTailRows, let transaction = reader.source.reader else { return }
        if reader.tailBound - first <= 2 {
            for key in first..<max(first, reader.tailBound) {
                if let node = try reader.source.tailNode(TableHead.key(reader.id, key)) {
                    try takeOver(slot, into: leaf, key: key, from: node)
                }
            }
            return
        }
        let start = TableHead.key(reader.id, 0)
        let keys = TableHead.key(reader.id, first)..<TableHead.key(reader.id, reader.tailBound)
        let cursor = try transaction.handle.cursor(reader.source.file.tables.tail)
        var entry = try cursor.setRange(keys.lowerBound)
        while let found = entry, found.integerKey < keys.upperBound {
            try takeOver(slot, into: leaf, key: Int64(found.integerKey - start), from: found.value)
            entry = try cursor.next()
        }
        try reader.source.recent.forEach { home, key, node throws(StorageError) in
            if home == .tail && keys.contains(key) {
                try takeOver(slot, into: leaf, key: Int64(key - start), from: node)
            }
        }
    }

    private func takeOver(
        _ slot: Int, into leaf: UnpackedLeaf, key: Int64, from node: UnsafeRawBufferPointer
    ) throws(StorageError) {
        guard layout.isWhole(node) else {
            throw reader.source.damaged(
                "row \(key) in the tail of table \(reader.id.rawValue)")
        }
        let row = Int(key) - cluster * Cluster.rows
        let isRow = node[0] == RowLayout.row
        if slot == 0 {
            var bits = leaf.presence
            if isRow { bits.insert(row) } else { bits.remove(row) }
            leaf.presence = bits
        } else if isRow {
            layout.read(slot - 1, of: node, into: leaf, row: row, arena: arena)
        }
    }
}

/// The metadata record of a table, in the file's tail table.
///
/// The tail table contains, for each table, the rows of its newest cluster that are not packed into leaves yet, one
/// node each under `table << 48 | key`, and after them the head. The newest nodes are in the ``DeltaBuffer``.
struct TableHead: Equatable {
    /// The upper bound of all keys that were ever used, exclusive.
    var keyBound: Int64 = 0
    /// The number of existing rows.
    var count: Int64 = 0
    /// The last version that changed the table in other ways than adding rows to the newest cluster.
    var tailStamp: UInt64 = 0
    /// Whether there are rows in the tail.
    var hasTailRows = false
    /// Whether an index may have a run; see ``IndexLevels``.
    var hasIndexRuns = false

    static let size = 25
    private static let keys: UInt64 = 1 << 48

    /// Returns the key of the head.
    static func key(_ table: TableID) -> UInt64 { (UInt64(table.rawValue) + 1) * keys - 1 }

    /// Returns the key of a row.
    static func key(_ table: TableID, _ row: Int64) -> UInt64 {
        UInt64(table.rawValue) * keys + UInt64(row)
    }

    /// The number of clusters of the keys below the bound.
    var clusterCount: Int { (Int(keyBound) + Cluster.rows - 1) / Cluster.rows }

    /// Decodes a head; nil if the bytes are not valid.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.size else { return nil }
        keyBound = bytes.loadUnaligned(as: Int64.self)
        count = bytes.loadUnaligned(fromByteOffset: 8, as: Int64.self)
        tailStamp = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        hasTailRows = bytes[24] & 1 != 0
        hasIndexRuns = bytes[24] & 2 != 0
        // The key of a leaf has 32 bits for the cluster.
        guard keyBound >= 0, keyBound < Int64(Cluster.rows) << 32, count >= 0, count <= keyBound
        else { return nil }
    }

    init() {}

    func write(to bytes: UnsafeMutableRawBufferPointer) {
        bytes.storeBytes(of: keyBound, as: Int64.self)
        bytes.storeBytes(of: count, toByteOffset: 8, as: Int64.self)
        bytes.storeBytes(of: tailStamp, toByteOffset: 16, as: UInt64.self)
        bytes[24] = (hasTailRows ? 1 : 0) | (hasIndexRuns ? 2 : 0)
    }
}
