import LMDBStorage

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

/// An entry of an index of bytes.
typealias BytesEntry = IndexEntry<BytesView>

extension BytesView: IndexedValue {
    typealias Block = BytesBlock
    typealias BlockKey = BytesIndexKey

    static var least: BytesView { BytesView(UnsafeRawBufferPointer(start: nil, count: 0)) }

    static var pendingLimits: PendingLimits {
        PendingLimits(ascending: 8 << 20, least: 24 << 20, greatest: 64 << 20)
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
