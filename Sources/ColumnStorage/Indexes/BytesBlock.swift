import LMDBStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A stored block of an index of bytes: entries in ascending order, with their common prefix stored once.
///
///     0  u32  number of entries
///     4  u32  length of the common prefix
///     8  u8   bytes per row key
///     9  u8   1: no entry has bytes of its own, and no ends are stored; 10 ... 15 zero
///     16 i64  smallest row key
///     24 ...  the end of each entry's own bytes as u32, the common prefix, the own bytes,
///             the row keys as distances from the smallest, 8 bytes of zeros
///
/// The rows of one value, such as a term of a text, thus take one or two bytes each.
struct BytesBlock: IndexBlock {
    struct Layout: IndexBlockLayout {
        var count: Int
    }

    static let headerBytes = 24
    static let slackBytes = 8
    /// The maximum size of a block, as for ``IntBlock``; a larger entry has its own block.
    static let maximumBytes = IntBlock.maximumBytes
    static let maximumEntries = IntBlock.maximumEntries

    let count: Int
    private let common: BytesView
    /// Whether all entries have the same bytes.
    private let isUniform: Bool
    private let ends: UnsafeRawPointer
    private let own: UnsafeRawPointer
    private let ownBytes: Int
    private let keys: UnsafeRawPointer
    private let keyWidth: Int
    private let keyMask: UInt64
    private let smallestKey: Int64

    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress,
            bytes.count >= Self.headerBytes + Self.slackBytes
        else { return nil }
        count = Int(base.loadUnaligned(as: UInt32.self))
        let commonCount = Int(base.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        keyWidth = Int(base.load(fromByteOffset: 8, as: UInt8.self))
        smallestKey = base.loadUnaligned(fromByteOffset: 16, as: Int64.self)
        let form = base.load(fromByteOffset: 9, as: UInt8.self)
        isUniform = form == 1
        let endWidth = isUniform ? 0 : 4
        ends = base + Self.headerBytes
        // No overflow is possible, because all counts are below 2^32.
        let fixed =
            Self.headerBytes + Self.slackBytes + count * (endWidth + Swift.min(keyWidth, 8))
            + commonCount
        guard count > 0, keyWidth <= 8, form <= 1, fixed <= bytes.count else { return nil }
        keyMask = IntBlock.mask(keyWidth)
        common = BytesView(start: ends + count * endWidth, count: commonCount)
        own = ends + (count * endWidth + commonCount)
        ownBytes = bytes.count - fixed
        keys = own + ownBytes
        guard
            isUniform
                ? ownBytes == 0
                : Int((ends + (count - 1) * 4).loadUnaligned(as: UInt32.self)) == ownBytes
        else { return nil }
    }

    @inline(__always)
    func key(_ index: Int) -> Int64 {
        smallestKey
            &+ Int64(
                bitPattern: (keys + index &* keyWidth).loadUnaligned(as: UInt64.self) & keyMask)
    }

    /// Returns the part of an entry after the common prefix.
    ///
    /// Damaged offsets yield wrong bytes, but only bytes of the block.
    @inline(__always)
    private func ownPart(_ index: Int) -> (start: UnsafeRawPointer, count: Int) {
        let from = index == 0 ? 0 : Swift.min(end(index &- 1), ownBytes)
        let through = Swift.min(end(index), ownBytes)
        return (own + from, Swift.max(0, through &- from))
    }

    @inline(__always)
    private func end(_ index: Int) -> Int {
        isUniform ? 0 : Int((ends + index &* 4).loadUnaligned(as: UInt32.self))
    }

    func value(_ index: Int, _ scratch: inout GrowableBuffer<UInt8>) -> BytesView {
        let part = ownPart(index)
        scratch.truncate(to: 0)
        let target = UnsafeMutableRawPointer(scratch.extend(by: common.count + part.count))
        target.copyMemory(from: common.start, byteCount: common.count)
        (target + common.count).copyMemory(from: part.start, byteCount: part.count)
        return BytesView(start: target, count: scratch.count)
    }

    func compare(_ index: Int, _ value: BytesView) -> Int {
        let shared = Swift.min(value.count, common.count)
        let order = BytesView.compare(common.start, count: shared, with: value.start, count: shared)
        if order != 0 { return order }
        if value.count < common.count { return 1 }
        let part = ownPart(index)
        return BytesView.compare(
            part.start, count: part.count, with: value.start + shared, count: value.count - shared)
    }

    func lowerBound(_ target: BytesView) -> Int {
        let shared = Swift.min(target.count, common.count)
        let order = BytesView.compare(
            target.start, count: shared, with: common.start, count: shared)
        if order < 0 || (order == 0 && target.count < common.count) { return 0 }
        if order > 0 { return count }
        let rest = target.start + shared
        let restCount = target.count - shared
        var low = 0
        var high = count
        while low < high {
            let middle = (low &+ high) &>> 1
            let part = ownPart(middle)
            if BytesView.compare(part.start, count: part.count, with: rest, count: restCount) < 0 {
                low = middle &+ 1
            } else {
                high = middle
            }
        }
        return low
    }

    func endOfEqual(from start: Int) -> Int {
        if isUniform { return count }
        // Equal values are adjacent and have equal own parts.
        let first = ownPart(start)
        var end = start + 1
        while end < count {
            let part = ownPart(end)
            if BytesView.compare(
                part.start, count: part.count, with: first.start, count: first.count) != 0
            {
                break
            }
            end += 1
        }
        return end
    }

    /// Returns false if the entries are not in order, because no key separates them then.
    func unpack(
        into target: inout GrowableBuffer<BytesEntry>, _ arena: inout BytesArena
    ) -> Bool {
        for index in 0..<count {
            let part = ownPart(index)
            let bytes = arena.allocate(common.count + part.count)
            bytes.copyMemory(from: common.start, byteCount: common.count)
            (bytes + common.count).copyMemory(from: part.start, byteCount: part.count)
            let entry = BytesEntry(
                value: BytesView(start: bytes, count: common.count + part.count), key: key(index))
            if let last = target.last, last.compare(entry) > 0 { return false }
            target.append(entry)
        }
        return true
    }

    /// Returns false: the ends of all following entries change anyway.
    func pack(with entry: BytesEntry, into target: inout GrowableBuffer<UInt8>) -> Bool { false }

    static func pack(
        _ entries: UnsafeBufferPointer<BytesEntry>, _ layout: Layout,
        into target: inout GrowableBuffer<UInt8>
    ) {
        let count = layout.count
        let entries = UnsafeBufferPointer(rebasing: entries[..<count])
        let commonCount = entries[0].value.commonPrefix(entries[count - 1].value)
        var smallest = Int64.max
        var largest = Int64.min
        var own = 0
        for entry in entries {
            smallest = Swift.min(smallest, entry.key)
            largest = Swift.max(largest, entry.key)
            own += entry.value.count - commonCount
        }
        let width = keyWidth(smallest, largest)
        let isUniform = own == 0
        let endBytes = isUniform ? 0 : count * 4
        target.truncate(to: 0)
        let start = UnsafeMutableRawPointer(
            target.extend(
                by: headerBytes + slackBytes + endBytes + count * width + commonCount + own))
        start.storeBytes(of: UInt32(count), as: UInt32.self)
        start.storeBytes(of: UInt32(commonCount), toByteOffset: 4, as: UInt32.self)
        start.storeBytes(
            of: UInt64(width) | (isUniform ? 1 << 8 : 0), toByteOffset: 8, as: UInt64.self)
        start.storeBytes(of: smallest, toByteOffset: 16, as: Int64.self)
        var ends = start + headerBytes
        var next = ends + endBytes
        next.copyMemory(from: entries[0].value.start, byteCount: commonCount)
        next += commonCount
        var end: UInt32 = 0
        for entry in entries where !isUniform {
            let length = entry.value.count - commonCount
            next.copyMemory(from: entry.value.start + commonCount, byteCount: length)
            next += length
            end += UInt32(length)
            ends.storeBytes(of: end, as: UInt32.self)
            ends += 4
        }
        for entry in entries {
            next.storeBytes(of: entry.key &- smallest, as: Int64.self)
            next += width
        }
        assert(next - start == target.count - slackBytes, "the block has its calculated size")
        next.storeBytes(of: 0, as: UInt64.self)
    }

    private static func keyWidth(_ smallest: Int64, _ largest: Int64) -> Int {
        (71 - UInt64(bitPattern: largest &- smallest).leadingZeroBitCount) / 8
    }

    static func fit(_ entries: UnsafeBufferPointer<BytesEntry>, limit: Int) -> Layout {
        var smallest = entries[0].key
        var largest = smallest
        var bytes = entries[0].value.count
        var count = 1
        while count < limit {
            let entry = entries[count]
            smallest = Swift.min(smallest, entry.key)
            largest = Swift.max(largest, entry.key)
            bytes += entry.value.count
            let common = entries[0].value.commonPrefix(entry.value)
            let own = bytes - common * (count + 1)
            let size =
                headerBytes + slackBytes + common + own
                + (count + 1) * ((own == 0 ? 0 : 4) + keyWidth(smallest, largest))
            if size > maximumBytes { break }
            count += 1
        }
        return Layout(count: count)
    }

    static func isSmall(_ entries: UnsafeBufferPointer<BytesEntry>) -> Bool {
        entries.count < 16 && entries.reduce(0) { $0 + $1.value.count } < maximumBytes / 4
    }
}

/// A view of bytes in the memory of another owner, in byte order.
///
/// The first eight are stored inline because they usually decide a comparison.
struct BytesView: BitwiseCopyable {
    let start: UnsafeRawPointer
    let count: Int
    /// The first eight bytes as a big-endian number, padded with zeros.
    let head: UInt64

    @inline(__always)
    init(start: UnsafeRawPointer, count: Int) {
        self.start = start
        self.count = count
        head = Self.head(start, count)
    }

    @inline(__always)
    init(_ buffer: UnsafeRawBufferPointer) {
        // An empty buffer may have no address; any address will do because no bytes are read.
        self.init(
            start: buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 8)!,  // because: not 0
            count: buffer.count)
    }

    var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    @inline(__always)
    static func head(_ start: UnsafeRawPointer, _ count: Int) -> UInt64 {
        if count >= 8 { return UInt64(bigEndian: start.loadUnaligned(as: UInt64.self)) }
        var head: UInt64 = 0
        var index = 0
        while index < count {
            head |=
                UInt64(start.load(fromByteOffset: index, as: UInt8.self))
                &<< UInt64(56 &- index &* 8)
            index &+= 1
        }
        return head
    }

    /// Compares two views: negative if this one precedes, zero if they are equal, otherwise positive.
    @inline(__always)
    func compare(_ other: BytesView) -> Int {
        if head != other.head { return head < other.head ? -1 : 1 }
        return Self.compare(start, count: count, with: other.start, count: other.count)
    }

    @inline(__always)
    static func compare(
        _ left: UnsafeRawPointer, count leftCount: Int, with right: UnsafeRawPointer,
        count rightCount: Int
    ) -> Int {
        let order = memcmp(left, right, Swift.min(leftCount, rightCount))
        return order != 0 ? Int(order) : leftCount &- rightCount
    }

    /// Returns the length of the common prefix.
    func commonPrefix(_ other: BytesView) -> Int {
        let maximum = Swift.min(count, other.count)
        var index = 0
        while index < maximum,
            start.load(fromByteOffset: index, as: UInt8.self)
                == other.start.load(fromByteOffset: index, as: UInt8.self)
        {
            index &+= 1
        }
        return index
    }

    var hash: UInt64 {
        var hash = UInt64(truncatingIfNeeded: count) &* 0x9E37_79B9_7F4A_7C15
        var index = 0
        while index &+ 8 <= count {
            hash =
                (hash ^ start.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                &* 0xFF51_AFD7_ED55_8CCD
            hash ^= hash &>> 32
            index &+= 8
        }
        hash = (hash ^ Self.head(start + index, count &- index)) &* 0xC4CE_B9FE_1A85_EC53
        return hash ^ (hash &>> 29)
    }
}

/// An entry of an index of bytes.
typealias BytesEntry = IndexEntry<BytesView>

extension BytesView: IndexedValue {
    typealias Block = BytesBlock
    typealias BlockKey = BytesIndexKey

    static var minimum: BytesView { BytesView(UnsafeRawBufferPointer(start: nil, count: 0)) }

    static var pendingLimits: PendingLimits {
        PendingLimits(ascending: 8 << 20, minimum: 24 << 20, greatest: 64 << 20)
    }

    func copied(to arena: inout BytesArena) -> BytesView {
        BytesView(start: arena.copy(buffer), count: count)
    }

    static func sort(_ changes: UnsafeMutableBufferPointer<IndexChange<BytesView>>) {
        InPlaceSort.sort(changes) { $0.entry.compare($1.entry) < 0 }
    }
}

extension BytesView {
    /// Calls `body` with a view of an array.
    static func with<R>(
        _ bytes: [UInt8], _ body: (BytesView) throws(StorageError) -> R
    ) throws(StorageError) -> R {
        try bytes.withBytes { bytes throws(StorageError) in try body(BytesView(bytes)) }
    }

    /// Calls `body` with views of two arrays, the second of which may be nil.
    static func with<R>(
        _ lower: [UInt8], _ upper: [UInt8]?,
        _ body: (BytesView, BytesView?) throws(StorageError) -> R
    ) throws(StorageError) -> R {
        try with(lower) { lower throws(StorageError) in
            guard let upper else { return try body(lower, nil) }
            return try with(upper) { upper throws(StorageError) in try body(lower, upper) }
        }
    }
}

/// Memory for many byte strings that are freed together; their addresses do not change.
struct BytesArena {
    private var blocks: [UnsafeMutableRawPointer] = []
    private var next = UnsafeMutableRawPointer(bitPattern: 8)!  // because: the number is not 0
    private var capacity = 0
    /// The number of copied bytes.
    private(set) var used = 0

    mutating func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer {
        let address = allocate(bytes.count)
        if let source = bytes.baseAddress {
            address.copyMemory(from: source, byteCount: bytes.count)
        }
        return UnsafeRawPointer(address)
    }

    mutating func allocate(_ count: Int) -> UnsafeMutableRawPointer {
        if count > capacity {
            let size = Swift.max(count, blocks.isEmpty ? 1 << 10 : 1 << 18)
            next = .allocate(byteCount: size, alignment: 8)
            blocks.append(next)
            capacity = size
        }
        let address = next
        next += count
        capacity -= count
        used += count
        return address
    }

    func deallocate() {
        for block in blocks { block.deallocate() }
    }

    mutating func removeAll() {
        deallocate()
        self = BytesArena()
    }
}
