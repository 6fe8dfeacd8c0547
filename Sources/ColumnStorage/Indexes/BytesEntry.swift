#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
        return Self.compare(start, count, other.start, other.count)
    }

    @inline(__always)
    static func compare(
        _ left: UnsafeRawPointer, _ leftCount: Int, _ right: UnsafeRawPointer, _ rightCount: Int
    ) -> Int {
        let order = memcmp(left, right, Swift.min(leftCount, rightCount))
        return order != 0 ? Int(order) : leftCount &- rightCount
    }

    /// Returns the length of the common prefix.
    func commonPrefix(_ other: BytesView) -> Int {
        let most = Swift.min(count, other.count)
        var index = 0
        while index < most,
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

/// One entry of an index of bytes, ordered by bytes and then by key.
struct BytesEntry: IndexEntry {
    let bytes: BytesView
    let key: Int64

    @inline(__always)
    func compare(_ other: BytesEntry) -> Int {
        let order = bytes.compare(other.bytes)
        if order != 0 { return order }
        return key < other.key ? -1 : (key == other.key ? 0 : 1)
    }

    static func sort(_ records: UnsafeMutableBufferPointer<IndexChange<BytesEntry>>) {
        InPlaceSort.sort(records) { $0.entry.compare($1.entry) < 0 }
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
        let place = allocate(bytes.count)
        if let source = bytes.baseAddress { place.copyMemory(from: source, byteCount: bytes.count) }
        return UnsafeRawPointer(place)
    }

    mutating func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes.withUnsafeBytes { copy($0) }, count: bytes.count)
    }

    mutating func allocate(_ count: Int) -> UnsafeMutableRawPointer {
        if count > capacity {
            let size = Swift.max(count, blocks.isEmpty ? 1 << 10 : 1 << 18)
            next = .allocate(byteCount: size, alignment: 8)
            blocks.append(next)
            capacity = size
        }
        let place = next
        next += count
        capacity -= count
        used += count
        return place
    }

    func deallocate() {
        for block in blocks { block.deallocate() }
    }

    mutating func removeAll() {
        deallocate()
        self = BytesArena()
    }
}
