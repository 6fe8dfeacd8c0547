#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A leaf that a write has touched, in the wide form with every value in its full width.
///
/// It is one block of memory: 192 bytes of bookkeeping for the write, then a leaf in the usual layout. The null bitmap
/// always exists, so setting a null moves no data.
///
/// Fixed-size bytes and text have no constant form here: constants are expanded.
struct UnpackedLeaf {
    /// The address of the leaf, which directories contain.
    let address: UnsafeMutableRawPointer

    static let notes = 192
    static let payloadOffset = LeafFormat.headerSize + Cluster.bitmapBytes

    /// The rows that the write has set, for a leaf of a column.
    ///
    /// For a presence leaf, these are the rows before the write.
    var marks: ClusterBits {
        get { (address - Self.notes).loadUnaligned(as: ClusterBits.self) }
        nonmutating set { (address - Self.notes).storeBytes(of: newValue, as: ClusterBits.self) }
    }

    /// The rows whose values were in the table of long values when the leaf was unpacked.
    var longs: ClusterBits {
        get { (address - 128).loadUnaligned(as: ClusterBits.self) }
        nonmutating set { (address - 128).storeBytes(of: newValue, as: ClusterBits.self) }
    }

    /// The committed leaf from which this one was unpacked, valid while the write is open; nil for other leaves.
    var origin: UnsafeRawPointer? {
        get { UnsafeRawPointer(bitPattern: (address - 64).loadUnaligned(as: UInt.self)) }
        nonmutating set {
            (address - 64).storeBytes(of: UInt(bitPattern: newValue), as: UInt.self)
        }
    }

    /// The rows of a presence leaf.
    var presence: ClusterBits {
        get { address.loadUnaligned(as: ClusterBits.self) }
        nonmutating set { address.storeBytes(of: newValue, as: ClusterBits.self) }
    }

    var payload: UnsafeMutableRawPointer { address + Self.payloadOffset }

    /// Returns the size of a block with values of a width, in bytes.
    static func blockSize(width: Int) -> Int { notes + payloadOffset + width * Cluster.rows }

    /// Returns the size of a value in the wide form, in bytes.
    static func width(of kind: ColumnKind) -> Int {
        switch kind {
        case .bool, .int, .link, .list, .double: 8
        case .float: 4
        case .bytes12: 12
        case .bytes16, .string, .data: 16
        }
    }

    static func encoding(of kind: ColumnKind) -> UInt8 {
        switch kind {
        case .bool, .int, .link, .list: LeafEncoding.bits64
        case .float: LeafEncoding.float
        case .double: LeafEncoding.double
        case .string, .data: LeafEncoding.pointers
        case .bytes12: LeafEncoding.fixed12
        case .bytes16: LeafEncoding.fixed16
        }
    }

    @inline(__always)
    func mark(_ row: Int) {
        let word = (address - Self.notes).assumingMemoryBound(to: UInt64.self) + row >> 6
        word.pointee |= 1 &<< UInt64(truncatingIfNeeded: row & 63)
    }

    @inline(__always)
    func isMarked(_ row: Int) -> Bool {
        let word = (address - Self.notes).assumingMemoryBound(to: UInt64.self) + row >> 6
        return word.pointee &>> UInt64(truncatingIfNeeded: row & 63) & 1 != 0
    }

    /// Removes a row from a presence leaf.
    @inline(__always)
    func removePresence(_ row: Int) {
        let word = address.assumingMemoryBound(to: UInt64.self) + row >> 6
        word.pointee &= ~(1 &<< UInt64(truncatingIfNeeded: row & 63))
    }

    @inline(__always)
    func setNull(_ row: Int, _ isNull: Bool) {
        let byte = address + (LeafFormat.headerSize &+ row &>> 3)
        let bit: UInt8 = 1 &<< UInt8(truncatingIfNeeded: row & 7)
        let old = byte.load(as: UInt8.self)
        byte.storeBytes(of: isNull ? old | bit : old & ~bit, as: UInt8.self)
    }

    @inline(__always)
    func setWord(_ row: Int, _ value: UInt64) {
        payload.storeBytes(of: value, toByteOffset: 8 &* row, as: UInt64.self)
    }

    @inline(__always)
    func isNull(_ row: Int) -> Bool {
        address.load(fromByteOffset: LeafFormat.headerSize &+ row &>> 3, as: UInt8.self)
            &>> UInt8(truncatingIfNeeded: row & 7) & 1 != 0
    }

    @inline(__always)
    func word(_ row: Int) -> Int64 {
        payload.loadUnaligned(fromByteOffset: 8 &* row, as: Int64.self)
    }

    @inline(__always)
    func setFloat(_ row: Int, _ value: Float) {
        payload.storeBytes(of: value, toByteOffset: 4 &* row, as: Float.self)
    }

    @inline(__always)
    func setPointer(_ row: Int, _ bytes: UnsafeRawBufferPointer) {
        let entry = payload + 16 &* row
        entry.storeBytes(of: UInt(bitPattern: bytes.baseAddress), as: UInt.self)
        entry.storeBytes(of: bytes.count, toByteOffset: 8, as: Int.self)
    }

    /// Makes a row's value null; a link or the number of elements of a list becomes zero.
    func clear(_ row: Int, _ kind: ColumnKind) {
        switch kind {
        case .bool, .int, .double: setWord(row, 0)
        case .link, .list: return setWord(row, 0)
        case .float: setFloat(row, 0)
        case .string, .data: setPointer(row, UnsafeRawBufferPointer(start: nil, count: 0))
        case .bytes12, .bytes16:
            let width = Self.width(of: kind)
            (payload + width * row).initializeMemory(as: UInt8.self, repeating: 0, count: width)
        }
        setNull(row, true)
    }

    /// Marks a row's value as an unchanged long value: without an address, but with a length.
    @inline(__always)
    func setElsewhere(_ row: Int, count: Int) {
        let entry = payload + 16 &* row
        entry.storeBytes(of: 0, as: UInt.self)
        entry.storeBytes(of: count, toByteOffset: 8, as: Int.self)
    }

    @inline(__always)
    func pointer(_ row: Int) -> (address: UnsafeRawPointer?, count: Int) {
        let entry = payload + 16 &* row
        return (
            UnsafeRawPointer(bitPattern: entry.loadUnaligned(as: UInt.self)),
            entry.loadUnaligned(fromByteOffset: 8, as: Int.self)
        )
    }

    /// Fills the wide form from a leaf.
    ///
    /// `text` copies bytes that may be moved; it is nil if the original leaf is valid longer than the write.
    func unpack(
        _ leaf: Leaf, _ kind: ColumnKind,
        text: ((UnsafeRawBufferPointer) -> UnsafeRawBufferPointer)?
    ) {
        marks = .zero
        longs = .zero
        origin = nil
        address.storeBytes(of: Self.encoding(of: kind), as: UInt8.self)
        address.storeBytes(of: LeafFormat.hasNulls, toByteOffset: 1, as: UInt8.self)
        address.storeBytes(of: UInt16(Cluster.rows), toByteOffset: 2, as: UInt16.self)
        address.storeBytes(of: 0, toByteOffset: 4, as: Int64.self)
        address.storeBytes(of: 0, toByteOffset: 12, as: Int64.self)
        let bitmap = address + LeafFormat.headerSize
        if leaf.hasNulls {
            bitmap.copyMemory(
                from: leaf.address + LeafFormat.headerSize, byteCount: Cluster.bitmapBytes)
        } else {
            memset(bitmap, 0, Cluster.bitmapBytes)
        }
        let size = Self.width(of: kind) * Cluster.rows
        switch kind {
        case .bool, .int, .link, .list:
            unpackIntegers(leaf)
        case .float, .double, .bytes12, .bytes16:
            if leaf.encoding == Self.encoding(of: kind) {
                payload.copyMemory(from: leaf.payload, byteCount: size)
            } else if kind == .double {
                let value = leaf.minimumDouble
                for row in 0..<Cluster.rows { setWord(row, value.bitPattern) }
            } else if kind == .float {
                let value = Float(leaf.minimumDouble)
                for row in 0..<Cluster.rows { setFloat(row, value) }
            } else {
                memset(payload, 0, size)
            }
        case .string, .data:
            unpackText(leaf, text)
        }
    }

    private func unpackIntegers(_ leaf: Leaf) {
        let source = leaf.payload
        let target = payload
        let lowest = UInt64(bitPattern: leaf.minimum)
        @inline(__always)
        func widen<T: FixedWidthInteger & UnsignedInteger>(_: T.Type) {
            var row = 0
            while row < Cluster.rows {
                let offset = UInt64(
                    source.loadUnaligned(fromByteOffset: row &* MemoryLayout<T>.size, as: T.self))
                target.storeBytes(of: lowest &+ offset, toByteOffset: 8 &* row, as: UInt64.self)
                row &+= 1
            }
        }
        switch leaf.encoding {
        case LeafEncoding.bits8: widen(UInt8.self)
        case LeafEncoding.bits16: widen(UInt16.self)
        case LeafEncoding.bits32: widen(UInt32.self)
        case LeafEncoding.bits64: widen(UInt64.self)
        case LeafEncoding.bits1:
            for row in 0..<Cluster.rows { setWord(row, UInt64(bitPattern: leaf.int(row))) }
        default:
            if lowest == 0 {
                memset(target, 0, 8 * Cluster.rows)
            } else {
                for row in 0..<Cluster.rows { setWord(row, lowest) }
            }
        }
    }

    private func unpackText(
        _ leaf: Leaf, _ text: ((UnsafeRawBufferPointer) -> UnsafeRawBufferPointer)?
    ) {
        if leaf.encoding == LeafEncoding.constant {
            memset(payload, 0, 16 * Cluster.rows)
            return
        }
        for row in 0..<Cluster.rows {
            let bytes = leaf.bytes(row)
            if bytes.isEmpty {
                setPointer(row, UnsafeRawBufferPointer(start: nil, count: 0))
            } else {
                setPointer(row, text.map { $0(bytes) } ?? bytes)
            }
        }
        guard leaf.hasLong else { return }
        let long = leaf.longs
        longs = long
        long.forEachRow { row in
            let mark = leaf.bytes(row)
            let count =
                mark.count == LeafFormat.longMarkSize
                ? max(0, mark.loadUnaligned(as: Int.self)) : 0
            setElsewhere(row, count: count)
        }
    }
}
