import LMDBStorage

/// The stored blocks of one level of an index, as one transaction reads them.
///
/// After several lookups at one version, it keeps the addresses of the blocks. Every call throws `damaged` for invalid
/// stored bytes, and the errors of LMDB.
final class IndexBlocks<Value: IndexedValue> {
    let pages: IndexPages
    let table: Table
    let prefix: UInt32
    /// The memory for keys of blocks.
    let key: Value.BlockKey
    @exclusivity(unchecked) private var directory: IndexDirectory<Value>?
    /// The value of ``IndexPages/generation`` when the directory and the numbers below were computed.
    @exclusivity(unchecked) private var generation: UInt64 = 0
    /// The block of the last lookup in the directory.
    @exclusivity(unchecked) private var hint = 0
    @exclusivity(unchecked) private var lookups = 0
    /// The number of lookups from which a directory is worthwhile; 0 if it is not known yet.
    @exclusivity(unchecked) private var threshold = 0

    /// The minimum number of lookups at one version for which a directory is worthwhile.
    private static var minLookups: Int { 6 }

    convenience init(table: TableID, column: ColumnID, pages: IndexPages) {
        self.init(prefix: IndexKey.prefix(table, column), pages: pages)
    }

    private init(prefix: UInt32, pages: IndexPages) {
        self.pages = pages
        self.table = pages.blocks
        self.prefix = prefix
        key = Value.BlockKey(prefix: prefix)
    }

    /// Returns the blocks of the same index in another table.
    func level(_ pages: IndexPages) -> IndexBlocks { IndexBlocks(prefix: prefix, pages: pages) }

    deinit {
        directory?.deallocate()
        key.deallocate()
    }

    func damaged(_ transaction: TransactionHandle) -> StorageError {
        StorageError(.damaged, call: StorageError.indexBlock, file: transaction.file)
    }

    // MARK: Reading

    func isEmpty(in transaction: TransactionHandle) throws(StorageError) -> Bool {
        let cursor = try transaction.cursor(table)
        guard let first = try cursor.setRange(key.minimum()) else { return true }
        return !IndexKey.hasPrefix(first.key, prefix)
    }

    /// Returns the first row with a value.
    func find(
        _ value: Value, in transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        guard let directory = try directory(transaction) else {
            var found: ObjectKey?
            try forEach(from: value, in: transaction) { block, start in
                if block.compare(start, value) == 0 { found = ObjectKey(block.key(start)) }
                return false
            }
            return found
        }
        guard directory.count > 0 else { return nil }
        let index = directory.index(for: key.target(value), hint: hint)
        hint = index
        guard let block = directory.block(index) else { throw damaged(transaction) }
        let position = block.lowerBound(value)
        if position < block.count {
            guard block.compare(position, value) == 0 else { return nil }
            return ObjectKey(block.key(position))
        }
        guard index + 1 < directory.count else { return nil }
        guard let next = directory.block(index + 1) else { throw damaged(transaction) }
        guard next.compare(0, value) == 0 else { return nil }
        return ObjectKey(next.key(0))
    }

    /// Calls `body` with the blocks until it returns false, beginning with the first entry whose value is at least
    /// `value`.
    func forEach(
        from value: Value, in transaction: TransactionHandle,
        _ body: (_ block: Value.Block, _ start: Int) throws(StorageError) -> Bool
    ) throws(StorageError) {
        if let directory = try directory(transaction) {
            guard directory.count > 0 else { return }
            var index = directory.index(for: key.target(value), hint: hint)
            hint = index
            guard let first = directory.block(index) else { throw damaged(transaction) }
            let start = first.lowerBound(value)
            if start < first.count, !(try body(first, start)) { return }
            index += 1
            while index < directory.count {
                guard let block = directory.block(index) else { throw damaged(transaction) }
                guard try body(block, 0) else { return }
                index += 1
            }
            return
        }
        let cursor = try transaction.cursor(table)
        var entry = try Self.seek(cursor, key.position(before: value), prefix).entry
        var isFirst = true
        while let found = entry, IndexKey.hasPrefix(found.key, prefix) {
            guard let block = Value.Block(found.value) else { throw damaged(transaction) }
            let start = isFirst ? block.lowerBound(value) : 0
            isFirst = false
            if start < block.count, !(try body(block, start)) { return }
            entry = try cursor.next()
        }
    }

    /// Moves to the last block that begins at or before a position, otherwise to the first block of the index.
    ///
    /// Without a block, the returned entry is the one after the index in the table. `isBefore` is true if the position
    /// is before all blocks.
    static func seek(
        _ cursor: borrowing Cursor, _ position: UnsafeRawBufferPointer, _ prefix: UInt32
    ) throws(StorageError) -> (entry: Entry?, isBefore: Bool) {
        let found = try cursor.setRange(position)
        if let found, IndexKey.isEqual(found.key, position) { return (found, false) }
        let before = try cursor.before(found)
        if let before, IndexKey.hasPrefix(before.key, prefix) { return (before, false) }
        return (try cursor.setRange(position), true)
    }

    /// Returns all rows with a value, ascending and with the duplicates; above `maximum`, it may stop.
    func keys(
        equalTo value: Value, atMost maximum: Int = .max, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        var keys: [ObjectKey] = []
        try forEach(from: value, in: transaction) { block, start in
            guard block.compare(start, value) == 0 else { return false }
            let end = block.endOfEqual(from: start)
            for index in start..<end { keys.append(ObjectKey(block.key(index))) }
            return end == block.count && keys.count <= maximum
        }
        return keys
    }

    /// Calls `body` with the entries of values from `lower` on and below `upper` until it returns false.
    func forEachEntry(
        from lower: Value, below upper: Value?, in transaction: TransactionHandle,
        _ body: (_ value: Value, _ key: ObjectKey) throws(StorageError) -> Bool
    ) throws(StorageError) {
        var scratch = GrowableBuffer<UInt8>()
        defer { scratch.deallocate() }
        try forEach(from: lower, in: transaction) { (block, start) throws(StorageError) in
            let end = block.end(below: upper)
            var index = start
            while index < end {
                let value = block.value(index, &scratch)
                if try !body(value, ObjectKey(block.key(index))) { return false }
                index &+= 1
            }
            return end == block.count
        }
    }

    /// Calls `body` with the rows in a range of values until it returns false.
    func forEachKey(
        from lower: Value, below upper: Value?, in transaction: TransactionHandle,
        _ body: (ObjectKey) -> Bool
    ) throws(StorageError) {
        try forEach(from: lower, in: transaction) { block, start in
            let end = block.end(below: upper)
            var index = start
            while index < end {
                if !body(ObjectKey(block.key(index))) { return false }
                index &+= 1
            }
            return end == block.count
        }
    }

    /// Returns the number of entries in a range of values; stops counting above `maximum`.
    func count(
        from lower: Value, below upper: Value?, atMost maximum: Int,
        in transaction: TransactionHandle
    ) throws(StorageError) -> Int {
        var total = 0
        try forEach(from: lower, in: transaction) { block, start in
            let end = block.end(below: upper)
            total += Swift.max(0, end - start)
            return end == block.count && total <= maximum
        }
        return total
    }

    /// Returns the greatest entry, whose bytes are in the pages or in `scratch`; nil if there is none.
    func greatest(
        _ scratch: inout GrowableBuffer<UInt8>, in transaction: TransactionHandle
    ) throws(StorageError) -> IndexEntry<Value>? {
        let cursor = try transaction.cursor(table)
        var following = IndexKey.following(prefix)
        let last = try withUnsafeBytes(of: &following) { bytes throws(StorageError) in
            try cursor.before(cursor.setRange(bytes))
        }
        guard let last, IndexKey.hasPrefix(last.key, prefix) else { return nil }
        guard let block = Value.Block(last.value) else { throw damaged(transaction) }
        let value = block.value(block.count - 1, &scratch)
        return IndexEntry(value: value, key: block.key(block.count - 1))
    }

    /// Returns the number of blocks; reads all of them.
    func blockCount(in transaction: TransactionHandle) throws(StorageError) -> Int {
        let cursor = try transaction.cursor(table)
        var count = 0
        var entry = try cursor.setRange(key.minimum())
        while let found = entry, IndexKey.hasPrefix(found.key, prefix) {
            count += 1
            entry = try cursor.next()
        }
        return count
    }

    /// Returns the key of a block; nil if there are not so many.
    func key(
        ofBlock index: Int, in transaction: TransactionHandle
    ) throws(StorageError) -> Value.BlockKey.Stored? {
        let cursor = try transaction.cursor(table)
        var entry = try cursor.setRange(key.minimum())
        for _ in 0..<index where entry != nil { entry = try cursor.next() }
        guard let found = entry, IndexKey.hasPrefix(found.key, prefix) else { return nil }
        return Value.BlockKey.stored(found.key)
    }

    // MARK: Changing

    /// Invalidates all addresses of blocks; to be called before blocks of this or another index of the table change.
    func invalidate() { pages.invalidate() }

    func removeAll(in transaction: TransactionHandle) throws(StorageError) {
        invalidate()
        let cursor = try transaction.cursor(table)
        var entry = try cursor.setRange(key.minimum())
        while let found = entry, IndexKey.hasPrefix(found.key, prefix) {
            try cursor.delete()
            entry = try cursor.next()
        }
    }

    /// Removes blocks from a key on, or from the first one, and appends their entries; returns the number of blocks.
    func takeBlocks(
        atMost maximum: Int, from start: Value.BlockKey.Stored?,
        into entries: inout GrowableBuffer<IndexEntry<Value>>, _ arena: inout BytesArena,
        in transaction: TransactionHandle
    ) throws(StorageError) -> Int {
        invalidate()
        let cursor = try transaction.cursor(table)
        var taken = 0
        var entry = try cursor.setRange(start.map(key.key) ?? key.minimum())
        while taken < maximum, let found = entry, IndexKey.hasPrefix(found.key, prefix) {
            guard let block = Value.Block(found.value), block.unpack(into: &entries, &arena)
            else { throw damaged(transaction) }
            try cursor.delete()
            taken += 1
            entry = try cursor.next()
        }
        return taken
    }

    // MARK: Directory

    /// Returns the directory; creates one if enough lookups would use it, otherwise returns nil.
    @inline(__always)
    private func directory(
        _ transaction: TransactionHandle
    ) throws(StorageError) -> IndexDirectory<Value>? {
        if generation == pages.generation, let directory { return directory }
        return try considerDirectory(transaction)
    }

    @inline(never)
    private func considerDirectory(
        _ transaction: TransactionHandle
    ) throws(StorageError) -> IndexDirectory<Value>? {
        if generation != pages.generation { forgetDirectory() }
        lookups += 1
        guard lookups > Self.minLookups else { return nil }
        if threshold == 0 {
            // Visiting a block takes about a tenth of the time to find one without the directory.
            let entries = try transaction.statistics(table).entries
            threshold = Swift.max(Self.minLookups, entries / 10)
        }
        guard lookups > threshold else { return nil }
        let cursor = try transaction.cursor(table)
        var entry = try cursor.setRange(key.minimum())
        var created = IndexDirectory<Value>()
        do throws(StorageError) {
            while let found = entry, IndexKey.hasPrefix(found.key, prefix) {
                guard let bound = Value.BlockKey.bound(found.key) else {
                    throw damaged(transaction)
                }
                created.append(bound, found.value)
                entry = try cursor.next()
            }
        } catch {
            created.deallocate()
            throw error
        }
        directory = created
        return created
    }

    private func forgetDirectory() {
        directory?.deallocate()
        directory = nil
        generation = pages.generation
        hint = 0
        lookups = 0
        threshold = 0
    }
}

/// The addresses of the blocks of an index in the map, in order, so that a lookup searches an array instead of a tree.
///
/// They are valid as long as the transaction's pages.
struct IndexDirectory<Value: IndexedValue> {
    private var bounds = GrowableBuffer<Value>()
    private var blocks = GrowableBuffer<UnsafeRawBufferPointer>()

    var count: Int {
        @inline(__always) get { bounds.count }
    }

    func deallocate() {
        bounds.deallocate()
        blocks.deallocate()
    }

    mutating func append(_ bound: Value, _ block: UnsafeRawBufferPointer) {
        bounds.append(bound)
        blocks.append(block)
    }

    /// Returns a block; nil if its bytes are damaged.
    @inline(__always)
    func block(_ index: Int) -> Value.Block? { Value.Block(blocks[index]) }

    /// Returns the last block that begins at or before a target, or the first block: the entries of the value begin in
    /// it or in the next one.
    @inline(__always)
    func index(for target: Value, hint: Int) -> Int {
        // Consecutive lookups mostly use the same block or the next one.
        if hint < count, isAtOrBefore(hint, target) {
            if hint &+ 1 == count || !isAtOrBefore(hint &+ 1, target) { return hint }
            if hint &+ 2 == count || !isAtOrBefore(hint &+ 2, target) { return hint &+ 1 }
        }
        var low = 0
        var length = count
        while length > 1 {
            let half = length &>> 1
            low = isAtOrBefore(low &+ half, target) ? low &+ half : low
            length &-= half
        }
        return low
    }

    @inline(__always)
    private func isAtOrBefore(_ index: Int, _ target: Value) -> Bool {
        Value.BlockKey.isAtOrBefore(bounds[index], target)
    }
}

/// The LMDB table that several indexes of one snapshot share, and whether the addresses of its pages are still valid.
///
/// There is one object for each snapshot and table of index blocks. Any write to the table may move the blocks of its
/// other indexes, so all directories are valid only for a generation number that every write increments.
final class IndexPages {
    let blocks: Table
    private let counter: UnsafeMutablePointer<UInt64>

    /// Creates the pages of a table for one snapshot.
    init(_ blocks: Table) {
        self.blocks = blocks
        counter = .allocate(capacity: 1)
        counter.initialize(to: 1)
    }

    deinit { counter.deallocate() }

    /// Invalidates the addresses of blocks in all indexes of the table.
    ///
    /// Takes constant time.
    ///
    /// Call it after the snapshot has moved to a version in which the table may differ, at the beginning and the end of
    /// a write, and after other writes to the table.
    func invalidate() { counter.pointee &+= 1 }

    @inline(__always) var generation: UInt64 { counter.pointee }
}
