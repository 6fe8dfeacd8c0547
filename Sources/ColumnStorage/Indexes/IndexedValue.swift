/// A value that a ``SortedIndex`` maps to rows: an integer, or bytes.
///
/// A conformance defines how values are ordered and how their entries are stored. Everything else is the same for all
/// values.
protocol IndexedValue: BitwiseCopyable {
    associatedtype Block: IndexBlock where Block.Value == Self
    associatedtype BlockKey: IndexBlockKey where BlockKey.Value == Self

    /// The value that precedes all others.
    static var least: Self { get }
    /// The memory that the pending changes of a write may take.
    static var pendingLimits: PendingLimits { get }

    /// Compares two values: negative if this one precedes, zero if they are equal, otherwise positive.
    func compare(_ other: Self) -> Int

    /// The hash for the tables of one process; the result is not stored.
    var hash: UInt64 { get }

    /// Returns the value with its bytes, if it has any, copied to an arena.
    func copied(to arena: inout BytesArena) -> Self

    /// Sorts changes by their entries.
    static func sort(_ changes: UnsafeMutableBufferPointer<IndexChange<Self>>)
}

/// The memory of pending changes, in bytes, from which a write merges them into the blocks before it ends.
struct PendingLimits {
    /// The limit of ascending entries after all blocks.
    ///
    /// An early merge of these costs no more than a late one, because only the last block is written twice.
    let ascending: Int
    /// The limit of other changes, for an index up to four times as large.
    ///
    /// A merge of random values rewrites all blocks, so there must not be many merges of few values.
    let least: Int
    /// The limit of other changes, however large the index is.
    let greatest: Int
}

/// A stored block of an index: packed entries in ascending order.
///
/// All reads are within the bytes of the block, even if they are damaged.
protocol IndexBlock {
    associatedtype Value: IndexedValue
    /// The form in which entries are packed.
    associatedtype Layout: IndexBlockLayout

    typealias Entry = IndexEntry<Value>

    /// Creates a view of stored bytes; nil if they are not a valid block.
    init?(_ bytes: UnsafeRawBufferPointer)

    /// The number of entries, at least 1.
    var count: Int { get }

    /// Returns the row of an entry.
    func key(_ index: Int) -> Int64

    /// Returns the value of an entry; its bytes are in `scratch`, or in the block.
    func value(_ index: Int, _ scratch: inout GrowableBuffer<UInt8>) -> Value

    /// Compares the value of an entry with another one.
    func compare(_ index: Int, _ value: Value) -> Int

    /// Returns the first entry whose value is at least the given one, or `count`.
    func lowerBound(_ value: Value) -> Int

    /// Returns the end of the entries, from `start` on, that have the same value as the entry at `start`.
    func endOfEqual(from start: Int) -> Int

    /// Appends all entries; their bytes are copied to the arena.
    ///
    /// Returns false if the entries are damaged such that writers cannot use them.
    func unpack(
        into target: inout GrowableBuffer<Entry>, _ arena: inout BytesArena
    ) -> Bool

    /// Writes this block with one more entry to `target`, which is overwritten.
    ///
    /// Returns false if the entries must be packed in another form.
    func pack(with entry: Entry, into target: inout GrowableBuffer<UInt8>) -> Bool

    /// Returns the layout of as many first entries, up to `limit`, as fit into one block.
    static func fit(_ entries: UnsafeBufferPointer<Entry>, limit: Int) -> Layout

    /// Packs the first `layout.count` entries; `target` is overwritten.
    static func pack(
        _ entries: UnsafeBufferPointer<Entry>, _ layout: Layout,
        into target: inout GrowableBuffer<UInt8>)

    /// Returns whether entries are so few that they are joined with the next block.
    static func isSmall(_ entries: UnsafeBufferPointer<Entry>) -> Bool
}

protocol IndexBlockLayout {
    /// The number of entries.
    var count: Int { get set }
}

extension IndexBlock {
    /// Returns the end of the entries whose values are below another one; nil means an open end.
    @inline(__always)
    func end(below upper: Value?) -> Int {
        guard let upper else { return count }
        // Of the blocks in a range, all but the last one end below its end.
        return compare(count - 1, upper) < 0 ? count : lowerBound(upper)
    }

    /// Returns the layout of as many first entries, up to `limit`, as fit into one block and can be separated from the
    /// rest by a key.
    ///
    /// Entries that no key can separate, such as equal ones, are in one block, even if they exceed its size: a lookup
    /// finds all of them there.
    static func longestFit(
        _ entries: UnsafeBufferPointer<Entry>, limit: Int, _ keys: Value.BlockKey
    ) -> Layout {
        var layout = fit(entries, limit: Swift.min(entries.count, limit))
        guard layout.count < entries.count else { return layout }
        var cut = layout.count
        while cut > 0, keys.separator(entries[cut - 1], entries[cut]) == nil { cut -= 1 }
        if cut == layout.count { return layout }
        if cut > 0 { return fit(entries, limit: cut) }
        layout.count += 1
        while layout.count < entries.count,
            keys.separator(entries[layout.count - 1], entries[layout.count]) == nil
        {
            layout.count += 1
        }
        return layout
    }
}

/// The keys of the blocks of one index, in memory that cursor calls can read.
///
/// The key of a block is greater than all entries of the block before, and at most equal to the first of its own. Each
/// returned key is valid until the next call.
protocol IndexBlockKey {
    associatedtype Value: IndexedValue
    /// A stored key that is kept while the blocks change.
    associatedtype Stored

    init(prefix: UInt32)

    func deallocate()

    /// Returns a key that is at most equal to the keys of all blocks.
    func least() -> UnsafeRawBufferPointer

    /// Returns the key of the first block of the index.
    func first(_ entry: IndexEntry<Value>) -> UnsafeRawBufferPointer

    /// Returns the position before all entries with a value.
    func position(before value: Value) -> UnsafeRawBufferPointer

    /// Returns the position of an entry.
    func position(of entry: IndexEntry<Value>) -> UnsafeRawBufferPointer

    /// Returns a key between two adjacent entries; nil if there is none.
    func separator(
        _ lower: IndexEntry<Value>, _ upper: IndexEntry<Value>
    ) -> UnsafeRawBufferPointer?

    /// Returns a copy of a stored key; nil if it does not have the form of a key.
    static func stored(_ key: UnsafeRawBufferPointer) -> Stored?

    /// Returns the key again.
    func key(_ stored: Stored) -> UnsafeRawBufferPointer

    /// Returns whether the position of an entry is below a stored key.
    func isBelow(_ entry: IndexEntry<Value>, _ key: Stored) -> Bool

    // The directory of an index keeps the keys of blocks in the form of values, which are compared faster.

    /// Returns the bound in the directory for a stored key, in the memory of the key; nil if it is not valid.
    static func bound(_ key: UnsafeRawBufferPointer) -> Value?

    /// Returns the bound that ``isAtOrBefore(_:_:)`` compares in searches for a value; valid until the next call.
    func target(_ value: Value) -> Value

    /// Returns whether a block with this bound begins at or before the first entry of a value.
    static func isAtOrBefore(_ bound: Value, _ target: Value) -> Bool
}
