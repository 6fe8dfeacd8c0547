/// A value that a ``SortedIndex`` maps to rows: an integer, or bytes.
///
/// A conformance defines how values are ordered and how their entries are stored. Everything else is the same for all
/// values.
protocol IndexedValue: BitwiseCopyable {
    associatedtype Block: IndexBlock where Block.Value == Self
    associatedtype BlockKey: IndexBlockKey where BlockKey.Value == Self

    /// The value that precedes all others.
    static var minimum: Self { get }
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
    let minimum: Int
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
    func minimum() -> UnsafeRawBufferPointer

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

/// An entry of an index of integers.
typealias IntEntry = IndexEntry<Int64>

extension IndexEntry: Equatable, Comparable where Value == Int64 {
    @inline(__always)
    static func == (left: IntEntry, right: IntEntry) -> Bool {
        left.value == right.value && left.key == right.key
    }

    @inline(__always)
    static func < (left: IntEntry, right: IntEntry) -> Bool {
        left.value < right.value || (left.value == right.value && left.key < right.key)
    }

    static var minimum: IntEntry { IntEntry(value: .min, key: .min) }
}

extension Int64: IndexedValue {
    typealias Block = IntBlock
    typealias BlockKey = IntIndexKey

    static var minimum: Int64 { .min }

    // Sorting copies the changes, so they can take twice these limits.
    static var pendingLimits: PendingLimits {
        PendingLimits(ascending: 2 << 20, minimum: 16 << 20, greatest: 32 << 20)
    }

    @inline(__always)
    func compare(_ other: Int64) -> Int { self < other ? -1 : (self == other ? 0 : 1) }

    @inline(__always)
    var hash: UInt64 {
        // The upper bits of the product depend on all bits of the value; tables use the lower bits of the hash.
        let product = UInt64(bitPattern: self) &* 0x9E37_79B9_7F4A_7C15
        return product ^ product &>> 32
    }

    @inline(__always)
    func copied(to arena: inout BytesArena) -> Int64 { self }

    static func sort(_ changes: UnsafeMutableBufferPointer<IndexChange<Int64>>) {
        EntrySort.sort(changes)
    }
}

/// One entry of a sorted index: a value and the row that has it.
///
/// Entries are ordered by value, then by key.
struct IndexEntry<Value: IndexedValue>: BitwiseCopyable {
    var value: Value
    var key: Int64

    /// Compares two entries: negative if this one precedes, zero if they are equal, otherwise positive.
    @inline(__always)
    func compare(_ other: IndexEntry) -> Int {
        let order = value.compare(other.value)
        if order != 0 { return order }
        return key < other.key ? -1 : (key == other.key ? 0 : 1)
    }
}

/// A change to an index entry that is not merged into the blocks yet.
struct IndexChange<Value: IndexedValue>: BitwiseCopyable {
    var entry: IndexEntry<Value>
    /// The number of added entries: +1 for an insertion, -1 for a removal; in ``ChangeSums``, a sum of these.
    var change: Int32
}

extension IndexChange {
    /// Writes sorted entries with sorted changes applied, without removed entries.
    ///
    /// Adds the removals of entries that do not exist to `unmatched`. Returns whether the entries differ.
    static func apply(
        _ changes: UnsafeBufferPointer<Self>, to old: GrowableBuffer<IndexEntry<Value>>,
        into new: inout GrowableBuffer<IndexEntry<Value>>, unmatched: inout GrowableBuffer<Self>
    ) -> Bool {
        var index = 0
        var isChanged = false
        for change in changes {
            let from = index
            while index < old.count, old[index].compare(change.entry) < 0 { index &+= 1 }
            new.append(contentsOf: UnsafeBufferPointer(start: old.base + from, count: index - from))
            var count = Int(change.change)
            while index < old.count, old[index].compare(change.entry) == 0 {
                count &+= 1
                index &+= 1
            }
            if count < 0 { unmatched.append(Self(entry: change.entry, change: Int32(count))) }
            if count != Int(change.change) || count > 0 { isChanged = true }
            while count > 0 {
                new.append(change.entry)
                count &-= 1
            }
        }
        new.append(
            contentsOf: UnsafeBufferPointer(start: old.base + index, count: old.count - index))
        return isChanged
    }

    /// Returns whether changes are in the order of their entries, with one change for each entry.
    static func isAscending(_ changes: UnsafeBufferPointer<Self>) -> Bool {
        var index = 1
        while index < changes.count {
            if changes[index - 1].entry.compare(changes[index].entry) >= 0 { return false }
            index += 1
        }
        return true
    }

    /// Returns the first of the sorted changes, from an index on, that is at least a bound, by exponential search.
    static func firstIndex(
        in changes: UnsafeBufferPointer<Self>, from start: Int,
        notBelow isBelow: (IndexEntry<Value>) -> Bool
    ) -> Int {
        var low = start
        var step = 1
        while low + step <= changes.count, isBelow(changes[low + step - 1].entry) {
            low += step
            step *= 2
        }
        var high = Swift.min(low + step, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if isBelow(changes[middle].entry) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// The keys of index blocks: table and column, two bytes each, most significant first, then the value in the order of
/// the index.
enum IndexKey {
    static let prefixBytes = 4
    /// The number of the first full-text index; the column's number is added to it.
    static let terms = ColumnID.limit
    /// The number of the first composite index; the index's own number is added to it.
    static let composites = 2 * ColumnID.limit

    /// Returns the first four bytes of all keys of a column, in memory order.
    static func prefix(_ table: TableID, _ column: ColumnID) -> UInt32 {
        (table.rawValue << 16 | UInt32(truncatingIfNeeded: column.rawValue)).bigEndian
    }

    /// Returns the prefix that follows all keys of a column.
    static func following(_ prefix: UInt32) -> UInt32 {
        (UInt32(bigEndian: prefix) &+ 1).bigEndian
    }

    static func isEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        left.count == right.count
            && BytesView(left).compare(BytesView(right)) == 0
    }

    @inline(__always)
    static func hasPrefix(_ key: UnsafeRawBufferPointer, _ prefix: UInt32) -> Bool {
        key.count >= prefixBytes && key.loadUnaligned(as: UInt32.self) == prefix
    }
}

/// The keys of blocks of an index of integers, and of chunks of lists: two integers in 20 bytes.
///
/// The key of a new block is its first entry.
struct IntIndexKey: IndexBlockKey {
    static let bytes = 20
    private static let sign: UInt64 = 1 << 63
    private let memory: UnsafeMutableRawPointer

    init(prefix: UInt32) {
        memory = UnsafeMutableRawPointer.allocate(byteCount: Self.bytes, alignment: 8)
        memory.storeBytes(of: prefix, as: UInt32.self)
    }

    func deallocate() { memory.deallocate() }

    func minimum() -> UnsafeRawBufferPointer { position(of: .minimum) }

    func first(_ entry: IntEntry) -> UnsafeRawBufferPointer { position(of: entry) }

    @inline(__always)
    func position(before value: Int64) -> UnsafeRawBufferPointer {
        position(of: IntEntry(value: value, key: .min))
    }

    @inline(__always)
    func position(of entry: IntEntry) -> UnsafeRawBufferPointer {
        // With the sign flipped, negative numbers come first in byte order.
        memory.storeBytes(
            of: (UInt64(bitPattern: entry.value) ^ Self.sign).bigEndian, toByteOffset: 4,
            as: UInt64.self)
        memory.storeBytes(
            of: (UInt64(bitPattern: entry.key) ^ Self.sign).bigEndian, toByteOffset: 12,
            as: UInt64.self)
        return UnsafeRawBufferPointer(start: memory, count: Self.bytes)
    }

    func separator(_ lower: IntEntry, _ upper: IntEntry) -> UnsafeRawBufferPointer? {
        lower == upper ? nil : position(of: upper)
    }

    /// Decodes the entry in a stored key; nil if the key does not have this form.
    @inline(__always)
    static func entry(_ key: UnsafeRawBufferPointer) -> IntEntry? {
        guard key.count == bytes else { return nil }
        let value = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
        let row = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 12, as: UInt64.self))
        return IntEntry(
            value: Int64(bitPattern: value ^ sign), key: Int64(bitPattern: row ^ sign))
    }

    static func stored(_ key: UnsafeRawBufferPointer) -> IntEntry? { entry(key) }

    func key(_ stored: IntEntry) -> UnsafeRawBufferPointer { position(of: stored) }

    @inline(__always)
    func isBelow(_ entry: IntEntry, _ key: IntEntry) -> Bool { entry < key }

    static func bound(_ key: UnsafeRawBufferPointer) -> Int64? { entry(key)?.value }

    @inline(__always)
    func target(_ value: Int64) -> Int64 { value }

    @inline(__always)
    static func isAtOrBefore(_ bound: Int64, _ target: Int64) -> Bool { bound < target }
}

/// The keys of blocks of a bytes index: the column's prefix, then a separator.
///
/// A separator is any position that is greater than all entries of the previous block and not greater than any entry of
/// its own block. Between different values, it is the shortest prefix of the greater value that separates them; between
/// equal values, it is the whole value, an end mark and the row's key. Zero bytes are escaped (0 as 0 255, the end mark
/// is 0 1), so that the order of the keys is the order of the positions. LMDB accepts 511 bytes: entries that only a
/// longer key could separate are in one block, and a longer position is truncated for a search, which finds the same
/// block.
struct BytesIndexKey: IndexBlockKey {
    static let maximumBytes = 511
    private let memory: UnsafeMutableRawPointer

    init(prefix: UInt32) {
        memory = .allocate(byteCount: Self.maximumBytes + 16, alignment: 8)
        memory.storeBytes(of: prefix, as: UInt32.self)
    }

    func deallocate() { memory.deallocate() }

    /// Returns the key of the first block, which is below all others.
    func minimum() -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: memory, count: IndexKey.prefixBytes)
    }

    func first(_ entry: BytesEntry) -> UnsafeRawBufferPointer { minimum() }

    /// Returns the position before all entries with some bytes, truncated to the maximum length.
    @inline(__always)
    func position(before bytes: BytesView) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: memory, count: Swift.min(escape(bytes), Self.maximumBytes))
    }

    /// Returns the position of an entry, truncated to the maximum length.
    func position(of entry: BytesEntry) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: memory, count: Swift.min(whole(entry), Self.maximumBytes))
    }

    /// Returns a key between two adjacent entries; nil if none is short enough, or the entries are equal.
    func separator(_ lower: BytesEntry, _ upper: BytesEntry) -> UnsafeRawBufferPointer? {
        let count: Int
        let common = lower.value.commonPrefix(upper.value)
        if common < upper.value.count {
            count = escape(BytesView(start: upper.value.start, count: common + 1))
        } else {
            guard lower.key < upper.key else { return nil }
            count = whole(upper)
        }
        guard count <= Self.maximumBytes else { return nil }
        return UnsafeRawBufferPointer(start: memory, count: count)
    }

    /// Writes the escaped bytes up to slightly more than the maximum length, and returns the length including the
    /// column's prefix.
    @inline(__always)
    private func escape(_ bytes: BytesView) -> Int {
        var count = IndexKey.prefixBytes
        var index = 0
        while index < bytes.count, count <= Self.maximumBytes {
            let byte = bytes.start.load(fromByteOffset: index, as: UInt8.self)
            memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
            count &+= 1
            if byte == 0 {
                memory.storeBytes(of: 255, toByteOffset: count, as: UInt8.self)
                count &+= 1
            }
            index &+= 1
        }
        return count
    }

    private func whole(_ entry: BytesEntry) -> Int {
        let count = escape(entry.value)
        guard count <= Self.maximumBytes else { return count }
        memory.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
        memory.storeBytes(of: 1, toByteOffset: count + 1, as: UInt8.self)
        memory.storeBytes(
            of: (UInt64(bitPattern: entry.key) ^ 1 << 63).bigEndian, toByteOffset: count + 2,
            as: UInt64.self)
        return count + 10
    }

    static func stored(_ key: UnsafeRawBufferPointer) -> [UInt8]? {
        key.count <= maximumBytes ? [UInt8](key) : nil
    }

    func key(_ stored: [UInt8]) -> UnsafeRawBufferPointer {
        stored.withUnsafeBytes {
            // because: every key begins with the prefix.
            memory.copyMemory(from: $0.baseAddress!, byteCount: $0.count)
        }
        return UnsafeRawBufferPointer(start: memory, count: stored.count)
    }

    func isBelow(_ entry: BytesEntry, _ key: [UInt8]) -> Bool {
        key.withUnsafeBytes { BytesView(position(of: entry)).compare(BytesView($0)) < 0 }
    }

    static func bound(_ key: UnsafeRawBufferPointer) -> BytesView? {
        BytesView(UnsafeRawBufferPointer(rebasing: key.dropFirst(IndexKey.prefixBytes)))
    }

    func target(_ bytes: BytesView) -> BytesView {
        BytesView(
            UnsafeRawBufferPointer(
                rebasing: position(before: bytes).dropFirst(IndexKey.prefixBytes)))
    }

    @inline(__always)
    static func isAtOrBefore(_ bound: BytesView, _ target: BytesView) -> Bool {
        bound.compare(target) <= 0
    }
}
