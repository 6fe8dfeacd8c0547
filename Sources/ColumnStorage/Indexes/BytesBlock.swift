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
struct BytesBlock {
    static let headerBytes = 24
    static let slackBytes = 8
    /// The maximum size of a block, as for ``IntBlock``; a larger entry has its own block.
    static let maximumBytes = IntBlock.maximumBytes
    static let maximumEntries = IntBlock.maximumEntries

    let count: Int
    let common: BytesView
    /// Whether all entries have the same bytes.
    let isUniform: Bool
    private let ends: UnsafeRawPointer
    private let own: UnsafeRawPointer
    private let ownBytes: Int
    private let keys: UnsafeRawPointer
    private let keyWidth: Int
    private let keyMask: UInt64
    private let smallestKey: Int64

    /// Creates a view of stored bytes; nil if they are not a valid block.
    ///
    /// Reads of a valid block are always within its bytes.
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
    func ownPart(_ index: Int) -> (start: UnsafeRawPointer, count: Int) {
        let from = index == 0 ? 0 : Swift.min(end(index &- 1), ownBytes)
        let through = Swift.min(end(index), ownBytes)
        return (own + from, Swift.max(0, through &- from))
    }

    @inline(__always)
    private func end(_ index: Int) -> Int {
        isUniform ? 0 : Int((ends + index &* 4).loadUnaligned(as: UInt32.self))
    }

    func byteCount(_ index: Int) -> Int { common.count + ownPart(index).count }

    /// Returns the first entry whose bytes are at least `target`, and whether they are equal.
    func lowerBound(_ target: BytesView) -> (index: Int, isEqual: Bool) {
        let shared = Swift.min(target.count, common.count)
        let order = BytesView.compare(target.start, shared, common.start, shared)
        if order < 0 || (order == 0 && target.count < common.count) { return (0, false) }
        if order > 0 { return (count, false) }
        let rest = target.start + shared
        let restCount = target.count - shared
        var low = 0
        var high = count
        while low < high {
            let middle = (low &+ high) &>> 1
            let part = ownPart(middle)
            if BytesView.compare(part.start, part.count, rest, restCount) < 0 {
                low = middle &+ 1
            } else {
                high = middle
            }
        }
        guard low < count else { return (count, false) }
        let part = ownPart(low)
        return (low, BytesView.compare(part.start, part.count, rest, restCount) == 0)
    }

    /// Unpacks all entries; their bytes are copied to the arena.
    ///
    /// Returns false if they are not in order, which only damage can cause; writers must not rely on the order.
    func unpack(
        into target: inout GrowableBuffer<BytesEntry>, _ arena: inout BytesArena
    ) -> Bool {
        for index in 0..<count {
            let part = ownPart(index)
            let place = arena.allocate(common.count + part.count)
            place.copyMemory(from: common.start, byteCount: common.count)
            (place + common.count).copyMemory(from: part.start, byteCount: part.count)
            let entry = BytesEntry(
                bytes: BytesView(start: place, count: common.count + part.count), key: key(index))
            if let last = target.last, last.compare(entry) > 0 { return false }
            target.append(entry)
        }
        return true
    }

    /// Packs sorted entries.
    static func pack(
        _ entries: UnsafeBufferPointer<BytesEntry>, into buffer: inout GrowableBuffer<UInt8>
    ) {
        let count = entries.count
        let commonCount = entries[0].bytes.commonPrefix(entries[count - 1].bytes)
        var smallest = Int64.max
        var largest = Int64.min
        var own = 0
        for entry in entries {
            smallest = Swift.min(smallest, entry.key)
            largest = Swift.max(largest, entry.key)
            own += entry.bytes.count - commonCount
        }
        let width = keyWidth(smallest, largest)
        let isUniform = own == 0
        let endBytes = isUniform ? 0 : count * 4
        buffer.truncate(to: 0)
        let start = UnsafeMutableRawPointer(
            buffer.extend(
                by: headerBytes + slackBytes + endBytes + count * width + commonCount + own))
        start.storeBytes(of: UInt32(count), as: UInt32.self)
        start.storeBytes(of: UInt32(commonCount), toByteOffset: 4, as: UInt32.self)
        start.storeBytes(
            of: UInt64(width) | (isUniform ? 1 << 8 : 0), toByteOffset: 8, as: UInt64.self)
        start.storeBytes(of: smallest, toByteOffset: 16, as: Int64.self)
        var ends = start + headerBytes
        var place = ends + endBytes
        place.copyMemory(from: entries[0].bytes.start, byteCount: commonCount)
        place += commonCount
        var end: UInt32 = 0
        for entry in entries where !isUniform {
            let length = entry.bytes.count - commonCount
            place.copyMemory(from: entry.bytes.start + commonCount, byteCount: length)
            place += length
            end += UInt32(length)
            ends.storeBytes(of: end, as: UInt32.self)
            ends += 4
        }
        for entry in entries {
            place.storeBytes(of: entry.key &- smallest, as: Int64.self)
            place += width
        }
        place.storeBytes(of: 0, as: UInt64.self)
    }

    static func keyWidth(_ smallest: Int64, _ largest: Int64) -> Int {
        (71 - UInt64(bitPattern: largest &- smallest).leadingZeroBitCount) / 8
    }

    /// Returns the number of first `entries`, up to `limit`, that fit into one block and can be separated from the rest
    /// by a key.
    ///
    /// If no shorter prefix of the entries can be separated, the result is longer than what fits.
    static func longestFit(
        _ entries: UnsafeBufferPointer<BytesEntry>, limit: Int, _ separators: BytesIndexKey
    ) -> Int {
        var smallest = entries[0].key
        var largest = smallest
        var bytes = entries[0].bytes.count
        var count = 1
        while count < Swift.min(entries.count, limit) {
            let entry = entries[count]
            smallest = Swift.min(smallest, entry.key)
            largest = Swift.max(largest, entry.key)
            bytes += entry.bytes.count
            let common = entries[0].bytes.commonPrefix(entry.bytes)
            let own = bytes - common * (count + 1)
            let size =
                headerBytes + slackBytes + common + own
                + (count + 1) * ((own == 0 ? 0 : 4) + keyWidth(smallest, largest))
            if size > maximumBytes { break }
            count += 1
        }
        var cut = count
        while cut > 0, cut < entries.count,
            separators.separator(entries[cut - 1], entries[cut]) == nil
        {
            cut -= 1
        }
        if cut > 0 { return cut }
        count += 1
        while count < entries.count,
            separators.separator(entries[count - 1], entries[count]) == nil
        {
            count += 1
        }
        return Swift.min(count, entries.count)
    }
}
