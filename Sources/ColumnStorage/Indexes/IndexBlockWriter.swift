import LMDBStorage
import MemoryAccounts

/// Merges sorted changes into the stored blocks of an index; each block is rewritten at most once.
///
/// It finds the block of the next change, applies all changes up to the following block, and stores the result.
struct IndexBlockWriter<Value: IndexedValue> {
    typealias Entry = IndexEntry<Value>
    typealias Changes = UnsafeBufferPointer<IndexChange<Value>>

    private let blocks: IndexBlocks<Value>
    private let key: Value.BlockKey
    private let transaction: TransactionHandle
    /// The bytes of the entries of the region.
    private var arena = BytesArena()
    private var old = GrowableBuffer<Entry>()
    private var new = GrowableBuffer<Entry>()
    private var packed = GrowableBuffer<UInt8>()
    /// The removals of entries that do not exist.
    private var unmatched = GrowableBuffer<IndexChange<Value>>()
    private var region = Region()

    /// A region of the index that is being rewritten.
    private struct Region {
        /// The key of the stored block that the result replaces; nil for a new block.
        var replaced: Value.BlockKey.Stored?
        /// Whether entries may precede that key, so that the result needs the key of a first block.
        var startsIndex = false
        /// The key of the next block; nil if there is none.
        var end: Value.BlockKey.Stored?
        /// Whether the region is the last one of the table, so that new blocks can be appended.
        var isLastOfTable = false
    }

    init(_ blocks: IndexBlocks<Value>, _ transaction: TransactionHandle) {
        self.blocks = blocks
        key = blocks.key
        self.transaction = transaction
        blocks.invalidate()
    }

    func deallocate() {
        arena.deallocate()
        old.deallocate()
        new.deallocate()
        packed.deallocate()
        unmatched.deallocate()
    }

    /// Merges changes; removals of entries that do not exist have no effect.
    mutating func merge(_ changes: Changes) throws(StorageError) {
        if changes.count == 1, changes[0].change == 1, try insertAlone(changes[0].entry) { return }
        try mergeAll(changes)
    }

    /// Removes entries with positive numbers, of which only those remain that the blocks do not have.
    mutating func take(_ changes: inout GrowableBuffer<IndexChange<Value>>) throws(StorageError) {
        assert(
            changes.elements.allSatisfy { $0.change > 0 },
            "the numbers of removed entries are positive")
        IndexChange.negate(changes)
        unmatched.truncate(to: 0)
        try mergeAll(UnsafeBufferPointer(changes.elements))
        swap(&unmatched, &changes)
        IndexChange.negate(changes)
    }

    /// Inserts one entry into its stored block; returns false if the block must be packed in another form.
    ///
    /// This is the usual case of a commit that adds one row.
    private mutating func insertAlone(_ entry: Entry) throws(StorageError) -> Bool {
        let replaced: Value.BlockKey.Stored
        do {
            let cursor = try transaction.cursor(blocks.table)
            let (found, isBefore) = try IndexBlocks<Value>.seek(
                cursor, key.position(of: entry), blocks.prefix)
            guard let found, !isBefore, let block = Value.Block(found.value),
                let stored = Value.BlockKey.stored(found.key),
                block.pack(with: entry, into: &packed)
            else { return false }
            replaced = stored
        }
        try transaction.put(
            blocks.table, key.key(replaced), UnsafeRawBufferPointer(packed.elements))
        return true
    }

    /// Stores entries that are greater than all others, after those of the last block.
    mutating func append(_ tail: UnsafeBufferPointer<Entry>) throws(StorageError) {
        try openRegion(for: tail[0])
        // Only damage can cause another order, in which no key may separate the entries.
        if let last = old.last, last.compare(tail[0]) > 0 { throw blocks.damaged(transaction) }
        new.truncate(to: 0)
        new.append(contentsOf: UnsafeBufferPointer(old.elements))
        new.append(contentsOf: tail)
        try store()
    }

    private mutating func mergeAll(_ changes: Changes) throws(StorageError) {
        var next = 0
        while next < changes.count {
            try openRegion(for: changes[next].entry)
            var isChanged = false
            while true {
                new.truncate(to: 0)
                let due = changesOfRegion(changes, from: next)
                if IndexChange.apply(due, to: old, into: &new, unmatched: &unmatched) {
                    isChanged = true
                }
                next += due.count
                guard isChanged else { break }
                // A block that became small is joined with the next one; otherwise many deletions would leave many
                // small blocks.
                guard let end = region.end, Value.Block.isSmall(UnsafeBufferPointer(new.elements))
                else { break }
                swap(&old, &new)
                try absorbNext(end)
            }
            if isChanged { try store() }
        }
    }

    private func changesOfRegion(_ changes: Changes, from start: Int) -> Changes {
        var end = changes.count
        if let bound = region.end {
            end = IndexChange.firstIndex(in: changes, from: start) { key.isBelow($0, bound) }
        }
        return UnsafeBufferPointer(rebasing: changes[start..<end])
    }

    private mutating func openRegion(for entry: Entry) throws(StorageError) {
        arena.removeAll()
        old.truncate(to: 0)
        let cursor = try transaction.cursor(blocks.table)
        let (found, isBefore) = try IndexBlocks<Value>.seek(
            cursor, key.position(of: entry), blocks.prefix)
        guard let found, IndexKey.hasPrefix(found.key, blocks.prefix) else {
            region = Region(isLastOfTable: found == nil)
            return
        }
        // The first block of the index takes entries that precede all blocks.
        region = Region(replaced: try unpack(found), startsIndex: isBefore)
        try findEnd(try cursor.next())
    }

    private mutating func absorbNext(_ stored: Value.BlockKey.Stored) throws(StorageError) {
        let cursor = try transaction.cursor(blocks.table)
        guard let found = try cursor.set(key.key(stored)) else {
            throw blocks.damaged(transaction)
        }
        _ = try unpack(found)
        try cursor.delete()
        try findEnd(try cursor.next())
    }

    /// Appends the entries of a block to the old ones, and returns its key.
    private mutating func unpack(
        _ found: LMDBStorage.Entry
    ) throws(StorageError) -> Value.BlockKey.Stored {
        guard let stored = Value.BlockKey.stored(found.key), let block = Value.Block(found.value)
        else { throw blocks.damaged(transaction) }
        try requireMemory(block.count)
        guard block.unpack(into: &old, &arena) else { throw blocks.damaged(transaction) }
        return stored
    }

    /// Throws `memoryLimit` if the script does not have enough memory to merge a block of very many equal entries.
    private func requireMemory(_ count: Int) throws(StorageError) {
        guard count > 1 << 14, let account = MemoryAccount.current else { return }
        // The old and the new entries, which are copied while they grow, and the packed ones.
        let bytes = 4 * (old.count + count) * MemoryLayout<Entry>.stride
        guard account.hasSpace(for: bytes) else {
            throw StorageError(.memoryLimit, call: "an index", file: transaction.file)
        }
    }

    /// Ends the region before the next entry of the table.
    private mutating func findEnd(_ next: LMDBStorage.Entry?) throws(StorageError) {
        region.end = nil
        region.isLastOfTable = next == nil
        guard let next, IndexKey.hasPrefix(next.key, blocks.prefix) else { return }
        guard let end = Value.BlockKey.stored(next.key) else { throw blocks.damaged(transaction) }
        region.end = end
    }

    /// Stores the new entries in place of the region's block.
    private mutating func store() throws(StorageError) {
        var replaced = region.replaced
        // The key of a stored block may be less than its first entry, so a block keeps its key unless an entry was
        // inserted before it.
        if let old = replaced, new.isEmpty || region.startsIndex {
            try transaction.delete(blocks.table, key.key(old))
            replaced = nil
        }
        var rest = UnsafeBufferPointer(new.elements)
        var lower: Entry?
        while let first = rest.first {
            var layout = Value.Block.longestFit(rest, limit: IntBlock.maximumEntries, key)
            // A block that overflows in the middle is halved, so both halves have space. At the end, where ascending
            // values are added, blocks are filled.
            if region.end != nil, layout.count < rest.count, rest.count <= layout.count * 2 {
                layout = Value.Block.longestFit(rest, limit: (rest.count + 1) / 2, key)
            }
            assert(layout.count > 0 && layout.count <= rest.count, "a block has entries")
            Value.Block.pack(rest, layout, into: &packed)
            let position: UnsafeRawBufferPointer
            if let lower {
                guard let separator = key.separator(lower, first) else {
                    throw blocks.damaged(transaction)
                }
                position = separator
            } else {
                position = replaced.map(key.key) ?? key.first(first)
            }
            try transaction.put(
                blocks.table, position, UnsafeRawBufferPointer(packed.elements),
                append: region.isLastOfTable && (lower != nil || replaced == nil))
            lower = rest[layout.count - 1]
            rest = UnsafeBufferPointer(rebasing: rest[layout.count...])
        }
    }
}
