// A leaf has the values of one column for one cluster, in the stored form.
//
//     0   u8   encoding
//     1   u8   flags: 1 = a null bitmap follows the header, 2 = a bitmap of long values follows that
//     2   u16  rows, always Cluster.rows
//     4   i64  least value (f64 for float and double; for text: u32 bytes of text, u32 entries)
//     12  i64  greatest value
//     20       [62-byte null bitmap] [62-byte long bitmap] payload
//
// Integers (also booleans, links as key + 1, lists as counts) are unsigned offsets from the least value, with 0, 1, 8,
// 16, 32 or 64 bits. Text is end offsets and bytes, or one-byte codes into a dictionary. A value longer than
// `LeafFormat.longValue` is stored in the file's table of long values. A missing leaf is read as zeros, nulls or empty
// values.
//
// In a write, changed leaves are on the heap in a wide form of the same layout (see UnpackedLeaf), so one inlined
// reader serves both. LMDB aligns values to two bytes only, so every load is unaligned. Sizes are checked once, when an
// address is stored (LeafCheck); offsets of text at each read.

/// The layout of a leaf's payload.
@usableFromInline
enum LeafEncoding {
    @inlinable static var constant: UInt8 { 0 }
    @inlinable static var bits1: UInt8 { 1 }
    @inlinable static var bits8: UInt8 { 2 }
    @inlinable static var bits16: UInt8 { 3 }
    @inlinable static var bits32: UInt8 { 4 }
    @inlinable static var bits64: UInt8 { 5 }
    @inlinable static var float: UInt8 { 6 }
    @inlinable static var double: UInt8 { 7 }
    @inlinable static var text16: UInt8 { 8 }
    @inlinable static var text32: UInt8 { 9 }
    @inlinable static var dictionary: UInt8 { 10 }
    @inlinable static var fixed12: UInt8 { 11 }
    @inlinable static var fixed16: UInt8 { 12 }
    /// The address and the length of each value; only for leaves on the heap.
    @inlinable static var pointers: UInt8 { 13 }
}

/// The sizes and offsets of the layout.
@usableFromInline
enum LeafFormat {
    @inlinable static var headerSize: Int { 20 }
    @inlinable static var hasNulls: UInt8 { 1 }
    @inlinable static var hasLong: UInt8 { 2 }
    /// The maximum size in bytes of a value in a leaf; longer values are stored in a separate table.
    @inlinable static var longValue: Int { 1024 }
    /// The size of the part of a leaf that represents a long value: its length.
    @inlinable static var longMarkSize: Int { 8 }
}

/// A checked leaf at its address.
@usableFromInline
struct Leaf {
    @usableFromInline let address: UnsafeRawPointer

    @inlinable @inline(__always)
    init(_ address: UnsafeRawPointer) { self.address = address }

    @inlinable @inline(__always)
    var encoding: UInt8 { address.load(as: UInt8.self) }

    @inlinable @inline(__always)
    var flags: UInt8 { address.load(fromByteOffset: 1, as: UInt8.self) }

    @inlinable @inline(__always)
    var minimum: Int64 { address.loadUnaligned(fromByteOffset: 4, as: Int64.self) }

    @inlinable @inline(__always)
    var maximum: Int64 { address.loadUnaligned(fromByteOffset: 12, as: Int64.self) }

    @inlinable @inline(__always)
    var minimumDouble: Double { address.loadUnaligned(fromByteOffset: 4, as: Double.self) }

    @inlinable @inline(__always)
    var maximumDouble: Double { address.loadUnaligned(fromByteOffset: 12, as: Double.self) }

    @inlinable @inline(__always)
    var textSize: Int { Int(address.loadUnaligned(fromByteOffset: 4, as: UInt32.self)) }

    @inlinable @inline(__always)
    var entryCount: Int { Int(address.loadUnaligned(fromByteOffset: 8, as: UInt32.self)) }

    @inlinable @inline(__always)
    var hasNulls: Bool { flags & LeafFormat.hasNulls != 0 }

    @inlinable @inline(__always)
    var hasLong: Bool { flags & LeafFormat.hasLong != 0 }

    @inlinable @inline(__always)
    var payload: UnsafeRawPointer {
        let bitmaps = Int(truncatingIfNeeded: flags & 1 &+ flags &>> 1 & 1)
        return address + (LeafFormat.headerSize &+ bitmaps &* Cluster.bitmapBytes)
    }

    @inlinable @inline(__always)
    func isNull(_ row: Int) -> Bool {
        hasNulls
            && address.load(
                fromByteOffset: LeafFormat.headerSize &+ row &>> 3, as: UInt8.self)
                &>> UInt8(truncatingIfNeeded: row & 7) & 1 != 0
    }

    @inlinable @inline(__always)
    func isLong(_ row: Int) -> Bool {
        guard hasLong else { return false }
        let offset = LeafFormat.headerSize &+ (hasNulls ? Cluster.bitmapBytes : 0)
        return address.load(fromByteOffset: offset &+ row &>> 3, as: UInt8.self)
            &>> UInt8(truncatingIfNeeded: row & 7) & 1 != 0
    }

    /// Returns an integer of any width.
    @inlinable @inline(__always)
    func int(_ row: Int) -> Int64 {
        let data = payload
        let offset: UInt64
        switch encoding {
        case LeafEncoding.bits8:
            offset = UInt64(data.load(fromByteOffset: row, as: UInt8.self))
        case LeafEncoding.bits16:
            offset = UInt64(data.loadUnaligned(fromByteOffset: 2 &* row, as: UInt16.self))
        case LeafEncoding.bits32:
            offset = UInt64(data.loadUnaligned(fromByteOffset: 4 &* row, as: UInt32.self))
        case LeafEncoding.bits64:
            offset = data.loadUnaligned(fromByteOffset: 8 &* row, as: UInt64.self)
        case LeafEncoding.bits1:
            let byte = data.load(fromByteOffset: row &>> 3, as: UInt8.self)
            offset = UInt64(byte &>> UInt8(truncatingIfNeeded: row & 7) & 1)
        default:
            offset = 0
        }
        return minimum &+ Int64(bitPattern: offset)
    }

    @inlinable @inline(__always)
    func double(_ row: Int) -> Double {
        encoding == LeafEncoding.double
            ? payload.loadUnaligned(fromByteOffset: 8 &* row, as: Double.self) : minimumDouble
    }

    @inlinable @inline(__always)
    func float(_ row: Int) -> Float {
        encoding == LeafEncoding.float
            ? payload.loadUnaligned(fromByteOffset: 4 &* row, as: Float.self)
            : Float(minimumDouble)
    }

    /// Returns the bytes of a value that is not long.
    ///
    /// Offsets are checked here, once for each read.
    @inlinable @inline(__always)
    func bytes(_ row: Int) -> UnsafeRawBufferPointer {
        let data = payload
        switch encoding {
        case LeafEncoding.text16:
            let start =
                row == 0
                ? 0 : Int(data.loadUnaligned(fromByteOffset: 2 &* row &- 2, as: UInt16.self))
            let end = Int(data.loadUnaligned(fromByteOffset: 2 &* row, as: UInt16.self))
            return text(data + 2 &* Cluster.rows, start, end)
        case LeafEncoding.dictionary:
            return entry(Int(data.load(fromByteOffset: row, as: UInt8.self)))
        case LeafEncoding.pointers:
            let address = data.loadUnaligned(fromByteOffset: 16 &* row, as: UInt.self)
            let count = data.loadUnaligned(fromByteOffset: 16 &* row &+ 8, as: Int.self)
            return UnsafeRawBufferPointer(
                start: UnsafeRawPointer(bitPattern: address), count: address == 0 ? 0 : count)
        case LeafEncoding.text32:
            let start =
                row == 0
                ? 0 : Int(data.loadUnaligned(fromByteOffset: 4 &* row &- 4, as: UInt32.self))
            let end = Int(data.loadUnaligned(fromByteOffset: 4 &* row, as: UInt32.self))
            return text(data + 4 &* Cluster.rows, start, end)
        case LeafEncoding.fixed12:
            return UnsafeRawBufferPointer(start: data + 12 &* row, count: 12)
        case LeafEncoding.fixed16:
            return UnsafeRawBufferPointer(start: data + 16 &* row, count: 16)
        default:
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
    }

    /// Returns an entry of a dictionary leaf.
    @inlinable @inline(__always)
    func entry(_ code: Int) -> UnsafeRawBufferPointer {
        guard code < entryCount else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let ends = payload + Cluster.rows
        let start =
            code == 0 ? 0 : Int(ends.loadUnaligned(fromByteOffset: 2 &* code &- 2, as: UInt16.self))
        let end = Int(ends.loadUnaligned(fromByteOffset: 2 &* code, as: UInt16.self))
        return text(ends + 2 &* entryCount, start, end)
    }

    @inlinable @inline(__always)
    func text(_ base: UnsafeRawPointer, _ start: Int, _ end: Int) -> UnsafeRawBufferPointer {
        guard start <= end, end <= textSize else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return UnsafeRawBufferPointer(start: base + start, count: end &- start)
    }

    /// The rows that are null.
    @inlinable @inline(__always)
    var nulls: ClusterBits {
        hasNulls ? Self.bitmap(at: address + LeafFormat.headerSize) : .zero
    }

    /// The rows whose values are in the table of long values.
    @inlinable
    var longs: ClusterBits {
        guard hasLong else { return .zero }
        return Self.bitmap(
            at: address + LeafFormat.headerSize + (hasNulls ? Cluster.bitmapBytes : 0))
    }

    /// Reads the 62 bytes of a bitmap and no more, because it may be at the end of a page.
    @inlinable @inline(__always)
    static func bitmap(at address: UnsafeRawPointer) -> ClusterBits {
        var bits = ClusterBits.zero
        var word = 0
        while word < 7 {
            bits[word] = address.loadUnaligned(fromByteOffset: 8 &* word, as: UInt64.self)
            word &+= 1
        }
        bits[7] = address.loadUnaligned(fromByteOffset: 54, as: UInt64.self) &>> 16
        return bits
    }
}

/// Checks that bytes from the file are a leaf that the inlined readers can read without further checks.
///
/// The check runs once, when an address is added to a directory. Text offsets are checked at each read, against the
/// size that is checked here.
enum LeafCheck {
    static func isWhole(_ bytes: UnsafeRawBufferPointer, _ kind: ColumnKind) -> Bool {
        guard bytes.count >= LeafFormat.headerSize, let address = bytes.baseAddress else {
            return false
        }
        let leaf = Leaf(address)
        let rows = address.loadUnaligned(fromByteOffset: 2, as: UInt16.self)
        guard rows == UInt16(Cluster.rows), leaf.flags & ~3 == 0 else { return false }
        guard let size = payloadSize(leaf, kind, bytes.count) else { return false }
        let bitmaps = (leaf.hasNulls ? 1 : 0) + (leaf.hasLong ? 1 : 0)
        return LeafFormat.headerSize + bitmaps * Cluster.bitmapBytes + size <= bytes.count
    }

    /// Returns the minimum size of the payload; nil if the encoding does not belong to the kind.
    private static func payloadSize(_ leaf: Leaf, _ kind: ColumnKind, _ available: Int) -> Int? {
        let encoding = leaf.encoding
        switch kind {
        case .bool, .int, .link, .list:
            guard !leaf.hasLong else { return nil }
            return switch encoding {
            case LeafEncoding.constant: 0
            case LeafEncoding.bits1: Cluster.bitmapBytes
            case LeafEncoding.bits8: Cluster.rows
            case LeafEncoding.bits16: 2 * Cluster.rows
            case LeafEncoding.bits32: 4 * Cluster.rows
            case LeafEncoding.bits64: 8 * Cluster.rows
            default: nil
            }
        case .float:
            guard !leaf.hasLong else { return nil }
            if encoding == LeafEncoding.constant { return 0 }
            return encoding == LeafEncoding.float ? 4 * Cluster.rows : nil
        case .double:
            guard !leaf.hasLong else { return nil }
            if encoding == LeafEncoding.constant { return 0 }
            return encoding == LeafEncoding.double ? 8 * Cluster.rows : nil
        case .bytes12:
            if encoding == LeafEncoding.constant { return 0 }
            return encoding == LeafEncoding.fixed12 ? 12 * Cluster.rows : nil
        case .bytes16:
            if encoding == LeafEncoding.constant { return 0 }
            return encoding == LeafEncoding.fixed16 ? 16 * Cluster.rows : nil
        case .string, .data:
            return switch encoding {
            case LeafEncoding.constant: 0
            case LeafEncoding.text16: 2 * Cluster.rows + leaf.textSize
            case LeafEncoding.text32: 4 * Cluster.rows + leaf.textSize
            case LeafEncoding.dictionary:
                leaf.entryCount <= 256
                    ? Cluster.rows + 2 * leaf.entryCount + leaf.textSize : nil
            default: nil
            }
        }
    }
}

/// The leaves that are read instead of missing ones.
enum LeafDefaults {
    // because: the leaves are written once here and only read afterward.
    nonisolated(unsafe) static let zeros = make(nulls: false)
    nonisolated(unsafe) static let nulls = make(nulls: true)
    nonisolated(unsafe) static let absent: UnsafeRawPointer = {
        let bits = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 16)
        bits.initializeMemory(as: UInt8.self, repeating: 0, count: 64)
        return UnsafeRawPointer(bits)
    }()

    private static func make(nulls: Bool) -> UnsafeRawPointer {
        let size = LeafFormat.headerSize + Cluster.bitmapBytes
        let leaf = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        leaf.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        leaf.storeBytes(of: UInt16(Cluster.rows), toByteOffset: 2, as: UInt16.self)
        if nulls {
            leaf.storeBytes(of: LeafFormat.hasNulls, toByteOffset: 1, as: UInt8.self)
            (leaf + LeafFormat.headerSize).initializeMemory(
                as: UInt8.self, repeating: 0xFF, count: Cluster.bitmapBytes)
        }
        return UnsafeRawPointer(leaf)
    }

    /// Returns the leaf with the values of a column's rows before they are set.
    static func leaf(for column: ColumnDefinition) -> UnsafeRawPointer {
        column.isOptional && column.kind != .link && column.kind != .list ? nulls : zeros
    }
}
