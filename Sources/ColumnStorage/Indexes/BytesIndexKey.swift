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
    func least() -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: memory, count: IndexKey.prefixBytes)
    }

    func first(_ entry: BytesEntry) -> UnsafeRawBufferPointer { least() }

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
