#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Packs wide leaves into the form that the file stores.
///
/// The packer owns the memory of the packed form.
final class LeafPacker {
    /// The memory is always large enough for a leaf of numbers; text may need more.
    @exclusivity(unchecked) private(set) var buffer: UnsafeMutableRawPointer
    @exclusivity(unchecked) private var capacity: Int
    private let slots: UnsafeMutablePointer<UInt16>
    private let representatives: UnsafeMutablePointer<Int>
    private let codes: UnsafeMutablePointer<UInt8>

    /// The maximum number of entries in a dictionary, which is meant for columns with few distinct values.
    static let dictionaryLimit = 128
    private static let slotCount = 512

    init() {
        capacity = 1 << 16
        buffer = .allocate(byteCount: capacity, alignment: 16)
        slots = .allocate(capacity: Self.slotCount)
        representatives = .allocate(capacity: Self.dictionaryLimit)
        codes = .allocate(capacity: Cluster.rows)
        assert(
            capacity >= LeafFormat.headerSize + Cluster.bitmapBytes + 16 * Cluster.rows,
            "the buffer has space for each leaf of numbers")
        assert(
            Self.slotCount & (Self.slotCount - 1) == 0 && Self.dictionaryLimit < Self.slotCount,
            "a free slot ends each search of a dictionary")
    }

    deinit {
        buffer.deallocate()
        slots.deallocate()
        representatives.deallocate()
        codes.deallocate()
    }

    /// Returns the packed form, which is valid until the next call.
    ///
    /// The values of rows that are not `present` may be dropped.
    func pack(
        _ leaf: UnpackedLeaf, _ kind: ColumnKind, present: ClusterBits, long: ClusterBits
    ) -> UnsafeRawBufferPointer {
        let nulls = Leaf.bitmap(at: leaf.address + LeafFormat.headerSize)
        switch kind {
        case .bool, .int, .link, .list: return packIntegers(leaf, nulls)
        case .double: return packDoubles(leaf, nulls)
        case .float: return packFloats(leaf, nulls)
        case .bytes12:
            return packFixed(leaf, nulls: nulls, width: 12, encoding: LeafEncoding.fixed12)
        case .bytes16:
            return packFixed(leaf, nulls: nulls, width: 16, encoding: LeafEncoding.fixed16)
        case .string, .data: return packText(leaf, nulls: nulls, present: present, long: long)
        }
    }

    /// Writes the header and the bitmaps, and returns the address of the payload.
    private func begin(
        _ encoding: UInt8, _ nulls: ClusterBits, _ long: ClusterBits, payload: Int
    ) -> (start: UnsafeMutableRawPointer, size: Int) {
        let hasNulls = !nulls.isEmpty
        let hasLong = !long.isEmpty
        let bitmaps = (hasNulls ? 1 : 0) + (hasLong ? 1 : 0)
        let head = LeafFormat.headerSize + bitmaps * Cluster.bitmapBytes
        if head + payload > capacity {
            buffer.deallocate()
            capacity = 2 * (head + payload)
            buffer = .allocate(byteCount: capacity, alignment: 16)
        }
        assert(head + payload <= capacity, "the buffer has space for the leaf")
        let flags = (hasNulls ? LeafFormat.hasNulls : 0) | (hasLong ? LeafFormat.hasLong : 0)
        buffer.storeBytes(of: encoding, as: UInt8.self)
        buffer.storeBytes(of: flags, toByteOffset: 1, as: UInt8.self)
        buffer.storeBytes(of: UInt16(Cluster.rows), toByteOffset: 2, as: UInt16.self)
        buffer.storeBytes(of: 0, toByteOffset: 4, as: UInt64.self)
        buffer.storeBytes(of: 0, toByteOffset: 12, as: UInt64.self)
        var next = buffer + LeafFormat.headerSize
        if hasNulls {
            next.copyMemory(from: withUnsafeBytesOf(nulls), byteCount: Cluster.bitmapBytes)
            next += Cluster.bitmapBytes
        }
        if hasLong {
            next.copyMemory(from: withUnsafeBytesOf(long), byteCount: Cluster.bitmapBytes)
            next += Cluster.bitmapBytes
        }
        return (next, head + payload)
    }

    @exclusivity(unchecked) private var bitmapScratch = ClusterBits.zero

    private func withUnsafeBytesOf(_ bits: ClusterBits) -> UnsafeRawPointer {
        // because: the scratch memory belongs to this object, and the copy follows immediately.
        bitmapScratch = bits
        return withUnsafePointer(to: &bitmapScratch) { UnsafeRawPointer($0) }
    }

    private func finish(_ size: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: buffer, count: size)
    }

    func setRange(_ lowest: UInt64, _ greatest: UInt64) {
        buffer.storeBytes(of: lowest, toByteOffset: 4, as: UInt64.self)
        buffer.storeBytes(of: greatest, toByteOffset: 12, as: UInt64.self)
    }

    private func packIntegers(_ leaf: UnpackedLeaf, _ nulls: ClusterBits) -> UnsafeRawBufferPointer
    {
        let source = UnsafeRawPointer(leaf.payload)
        @inline(__always)
        func value(_ row: Int) -> Int64 {
            source.loadUnaligned(fromByteOffset: 8 &* row, as: Int64.self)
        }
        var lowest = value(0)
        var greatest = lowest
        var row = 1
        while row < Cluster.rows {
            let next = value(row)
            lowest = min(lowest, next)
            greatest = max(greatest, next)
            row &+= 1
        }
        let span = UInt64(bitPattern: greatest &- lowest)
        @inline(__always)
        func store<T: FixedWidthInteger & UnsignedInteger>(
            _ encoding: UInt8, _: T.Type
        ) -> UnsafeRawBufferPointer {
            let width = MemoryLayout<T>.size
            let (start, size) = begin(encoding, nulls, .zero, payload: width * Cluster.rows)
            setRange(UInt64(bitPattern: lowest), UInt64(bitPattern: greatest))
            var row = 0
            while row < Cluster.rows {
                let offset = UInt64(bitPattern: value(row) &- lowest)
                start.storeBytes(
                    of: T(truncatingIfNeeded: offset), toByteOffset: width &* row, as: T.self)
                row &+= 1
            }
            return finish(size)
        }
        if span == 0 {
            let (_, size) = begin(LeafEncoding.constant, nulls, .zero, payload: 0)
            setRange(UInt64(bitPattern: lowest), UInt64(bitPattern: greatest))
            return finish(size)
        }
        if span == 1 {
            let (start, size) = begin(
                LeafEncoding.bits1, nulls, .zero, payload: Cluster.bitmapBytes)
            setRange(UInt64(bitPattern: lowest), UInt64(bitPattern: greatest))
            var bits = ClusterBits.zero
            for row in 0..<Cluster.rows where value(row) != lowest { bits.insert(row) }
            start.copyMemory(from: withUnsafeBytesOf(bits), byteCount: Cluster.bitmapBytes)
            return finish(size)
        }
        if span <= UInt64(UInt8.max) { return store(LeafEncoding.bits8, UInt8.self) }
        if span <= UInt64(UInt16.max) { return store(LeafEncoding.bits16, UInt16.self) }
        if span <= UInt64(UInt32.max) { return store(LeafEncoding.bits32, UInt32.self) }
        return store(LeafEncoding.bits64, UInt64.self)
    }

    private func packDoubles(_ leaf: UnpackedLeaf, _ nulls: ClusterBits) -> UnsafeRawBufferPointer {
        let source = UnsafeRawPointer(leaf.payload)
        let first = source.loadUnaligned(as: UInt64.self)
        let firsts = SIMD4<UInt64>(repeating: first)
        var differences = SIMD4<UInt64>.zero
        var leasts = SIMD4<Double>(repeating: .infinity)
        var greatests = SIMD4<Double>(repeating: -.infinity)
        // A sum that includes NaN is NaN. The sum of infinities of both signs is NaN too, which only makes the bounds
        // wider.
        var sums = SIMD4<Double>.zero
        var row = 0
        while row < Cluster.rows {
            let values = source.loadUnaligned(fromByteOffset: 8 &* row, as: SIMD4<Double>.self)
            differences |= firsts ^ unsafeBitCast(values, to: SIMD4<UInt64>.self)
            leasts.replace(with: values, where: values .< leasts)
            greatests.replace(with: values, where: values .> greatests)
            sums += values
            row &+= 4
        }
        let isConstant = differences == .zero
        let hasNaN = sums.sum().isNaN
        let lowest = leasts.min()
        let greatest = greatests.max()
        // A constant is stored bit by bit in both bounds, including NaN.
        if isConstant {
            let (_, size) = begin(LeafEncoding.constant, nulls, .zero, payload: 0)
            setRange(first, first)
            return finish(size)
        }
        let (start, size) = begin(LeafEncoding.double, nulls, .zero, payload: 8 * Cluster.rows)
        setRange(
            (hasNaN ? -Double.infinity : lowest).bitPattern,
            (hasNaN ? Double.infinity : greatest).bitPattern)
        start.copyMemory(from: source, byteCount: 8 * Cluster.rows)
        return finish(size)
    }

    private func packFloats(_ leaf: UnpackedLeaf, _ nulls: ClusterBits) -> UnsafeRawBufferPointer {
        let source = UnsafeRawPointer(leaf.payload)
        let first = source.loadUnaligned(as: UInt32.self)
        var isConstant = Float(bitPattern: first) == Float(bitPattern: first)
        var lowest = Double.infinity
        var greatest = -Double.infinity
        var hasNaN = false
        for row in 0..<Cluster.rows {
            let bits = source.loadUnaligned(fromByteOffset: 4 &* row, as: UInt32.self)
            isConstant = isConstant && bits == first
            let value = Double(Float(bitPattern: bits))
            hasNaN = hasNaN || value != value
            lowest = value < lowest ? value : lowest
            greatest = value > greatest ? value : greatest
        }
        if isConstant {
            let bits = Double(Float(bitPattern: first)).bitPattern
            let (_, size) = begin(LeafEncoding.constant, nulls, .zero, payload: 0)
            setRange(bits, bits)
            return finish(size)
        }
        let (start, size) = begin(LeafEncoding.float, nulls, .zero, payload: 4 * Cluster.rows)
        setRange(
            (hasNaN ? -Double.infinity : lowest).bitPattern,
            (hasNaN ? Double.infinity : greatest).bitPattern)
        start.copyMemory(from: source, byteCount: 4 * Cluster.rows)
        return finish(size)
    }

    private func packFixed(
        _ leaf: UnpackedLeaf, nulls: ClusterBits, width: Int, encoding: UInt8
    ) -> UnsafeRawBufferPointer {
        let (start, size) = begin(encoding, nulls, .zero, payload: width * Cluster.rows)
        start.copyMemory(from: leaf.payload, byteCount: width * Cluster.rows)
        return finish(size)
    }

    private func packText(
        _ leaf: UnpackedLeaf, nulls: ClusterBits, present: ClusterBits, long: ClusterBits
    ) -> UnsafeRawBufferPointer {
        if long.isEmpty, let packed = packDictionary(leaf, nulls, present) { return packed }
        var total = 0
        for row in 0..<Cluster.rows where present.contains(row) {
            total += long.contains(row) ? LeafFormat.longMarkSize : leaf.pointer(row).count
        }
        let width = total <= Int(UInt16.max) ? 2 : 4
        let encoding = width == 2 ? LeafEncoding.text16 : LeafEncoding.text32
        let (start, size) = begin(encoding, nulls, long, payload: width * Cluster.rows + total)
        buffer.storeBytes(of: UInt32(total), toByteOffset: 4, as: UInt32.self)
        let text = start + width * Cluster.rows
        var end = 0
        for row in 0..<Cluster.rows {
            if present.contains(row) {
                let (address, count) = leaf.pointer(row)
                if long.contains(row) {
                    (text + end).storeBytes(of: count, as: Int.self)
                    end += LeafFormat.longMarkSize
                } else if count > 0, let address {
                    (text + end).copyMemory(from: address, byteCount: count)
                    end += count
                }
            }
            if width == 2 {
                start.storeBytes(
                    of: UInt16(truncatingIfNeeded: end), toByteOffset: 2 &* row, as: UInt16.self)
            } else {
                start.storeBytes(
                    of: UInt32(truncatingIfNeeded: end), toByteOffset: 4 &* row, as: UInt32.self)
            }
        }
        assert(end == total, "the text of all rows is packed")
        return finish(size)
    }

    /// Packs values as one-byte codes; nil if there are too many distinct values.
    ///
    /// The function stops early, because most columns with many distinct values have them within the first rows.
    private func packDictionary(
        _ leaf: UnpackedLeaf, _ nulls: ClusterBits, _ present: ClusterBits
    ) -> UnsafeRawBufferPointer? {
        memset(slots, 0xFF, 2 * Self.slotCount)
        var entries = 0
        var total = 0
        for row in 0..<Cluster.rows {
            let (address, count) = present.contains(row) ? leaf.pointer(row) : (nil, 0)
            var slot = Self.hash(address, count) & (Self.slotCount - 1)
            while true {
                let code = Int(slots[slot])
                if code == 0xFFFF {
                    let limit = row < 128 ? 8 + row / 2 : Self.dictionaryLimit
                    if entries >= min(limit, Self.dictionaryLimit) { return nil }
                    slots[slot] = UInt16(entries)
                    representatives[entries] = row
                    codes[row] = UInt8(entries)
                    entries += 1
                    total += count
                    break
                }
                let other = representatives[code]
                let (theirs, length) =
                    present.contains(other) ? leaf.pointer(other) : (nil, 0)
                if length == count && Self.isEqual(theirs, address, count) {
                    codes[row] = UInt8(code)
                    break
                }
                slot = (slot + 1) & (Self.slotCount - 1)
            }
        }
        if total == 0 {
            let (_, size) = begin(LeafEncoding.constant, nulls, .zero, payload: 0)
            return finish(size)
        }
        guard total <= Int(UInt16.max) else { return nil }
        let (start, size) = begin(
            LeafEncoding.dictionary, nulls, .zero, payload: Cluster.rows + 2 * entries + total)
        buffer.storeBytes(of: UInt32(total), toByteOffset: 4, as: UInt32.self)
        buffer.storeBytes(of: UInt32(entries), toByteOffset: 8, as: UInt32.self)
        start.copyMemory(from: codes, byteCount: Cluster.rows)
        let ends = start + Cluster.rows
        let text = ends + 2 * entries
        var end = 0
        for code in 0..<entries {
            let row = representatives[code]
            let (address, count) = present.contains(row) ? leaf.pointer(row) : (nil, 0)
            if count > 0, let address { (text + end).copyMemory(from: address, byteCount: count) }
            end += count
            ends.storeBytes(of: UInt16(end), toByteOffset: 2 * code, as: UInt16.self)
        }
        assert(end == total, "the text of all entries is packed")
        return finish(size)
    }

    private static func isEqual(
        _ left: UnsafeRawPointer?, _ right: UnsafeRawPointer?, _ count: Int
    ) -> Bool {
        if count == 0 { return true }
        guard let left, let right else { return left == right }
        return memcmp(left, right, count) == 0
    }

    private static func hash(_ address: UnsafeRawPointer?, _ count: Int) -> Int {
        guard let address, count > 0 else { return 0 }
        var hash = UInt64(truncatingIfNeeded: count) &* 0x9E37_79B9_7F4A_7C15
        if count >= 8 {
            hash ^= address.loadUnaligned(as: UInt64.self)
            hash = hash &* 0xFF51_AFD7_ED55_8CCD
            hash ^= address.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self) &>> 1
        } else {
            for index in 0..<count {
                hash =
                    (hash ^ UInt64(address.load(fromByteOffset: index, as: UInt8.self)))
                    &* 0x0000_0100_0000_01B3
            }
        }
        hash = hash &* 0xC4CE_B9FE_1A85_EC53
        return Int(truncatingIfNeeded: hash &>> 40)
    }
}

// Packing of a leaf of numbers of which a write has set only a few: the committed leaf is copied, and these values are
// replaced.
extension LeafPacker {
    /// The maximum number of changed values; with more, the leaf is packed again, which takes the same time for any
    /// number.
    private static let patchLimit = 64

    /// Returns the packed form of a leaf that differs from its committed leaf in the marked rows only.
    ///
    /// The result is as compact as that of ``pack(_:_:present:long:)``, and valid until the next call. Returns nil if
    /// packing is necessary, because another encoding may be better, or because the single least or greatest value may
    /// have been replaced.
    func patch(_ leaf: UnpackedLeaf, _ kind: ColumnKind) -> UnsafeRawBufferPointer? {
        let marks = leaf.marks
        guard let address = leaf.origin, marks.rowCount <= Self.patchLimit else { return nil }
        let origin = Leaf(address)
        guard !origin.hasLong,
            origin.nulls == Leaf.bitmap(at: leaf.address + LeafFormat.headerSize)
        else { return nil }
        switch (kind, origin.encoding) {
        case (.double, LeafEncoding.double): return patchDoubles(leaf, marks, origin)
        case (.bool, _), (.int, _), (.link, _), (.list, _):
            return switch origin.encoding {
            case LeafEncoding.bits8: patchIntegers(leaf, marks, from: origin, as: UInt8.self)
            case LeafEncoding.bits16: patchIntegers(leaf, marks, from: origin, as: UInt16.self)
            case LeafEncoding.bits32: patchIntegers(leaf, marks, from: origin, as: UInt32.self)
            default: nil
            }
        default: return nil
        }
    }

    private func patchIntegers<Offset: FixedWidthInteger & UnsignedInteger>(
        _ leaf: UnpackedLeaf, _ marks: ClusterBits, from origin: Leaf, as _: Offset.Type
    ) -> UnsafeRawBufferPointer? {
        let lowest = origin.minimum
        var greatest = origin.maximum
        let (payload, bytes) = copy(origin, width: MemoryLayout<Offset>.size)
        var isPatched = true
        marks.forEachRow { row in
            let old = origin.int(row)
            let new = leaf.word(row)
            guard isPatched, new != old else { return }
            let offset = UInt64(bitPattern: new &- lowest)
            isPatched =
                old != lowest && old != origin.maximum && new >= lowest
                && offset <= UInt64(Offset.max)
            guard isPatched else { return }
            greatest = max(greatest, new)
            payload.storeBytes(
                of: Offset(truncatingIfNeeded: offset),
                toByteOffset: MemoryLayout<Offset>.size &* row, as: Offset.self)
        }
        guard isPatched else { return nil }
        setRange(UInt64(bitPattern: lowest), UInt64(bitPattern: greatest))
        return bytes
    }

    private func patchDoubles(
        _ leaf: UnpackedLeaf, _ marks: ClusterBits, _ origin: Leaf
    ) -> UnsafeRawBufferPointer? {
        var lowest = origin.minimumDouble
        var greatest = origin.maximumDouble
        // The bounds of a leaf with NaN are infinite too.
        guard lowest.isFinite, greatest.isFinite else { return nil }
        let (payload, bytes) = copy(origin, width: 8)
        var isPatched = true
        marks.forEachRow { row in
            let old = origin.double(row)
            let new = Double(bitPattern: UInt64(bitPattern: leaf.word(row)))
            guard isPatched, new.bitPattern != old.bitPattern else { return }
            isPatched =
                old != origin.minimumDouble && old != origin.maximumDouble && new.isFinite
            guard isPatched else { return }
            lowest = min(lowest, new)
            greatest = max(greatest, new)
            payload.storeBytes(of: new, toByteOffset: 8 &* row, as: Double.self)
        }
        guard isPatched else { return nil }
        setRange(lowest.bitPattern, greatest.bitPattern)
        return bytes
    }

    /// Copies a leaf of numbers of a fixed width, and returns the address of the numbers and the whole copy.
    private func copy(
        _ origin: Leaf, width: Int
    ) -> (payload: UnsafeMutableRawPointer, bytes: UnsafeRawBufferPointer) {
        let head = origin.payload - origin.address
        let size = head + width * Cluster.rows
        assert(size <= capacity, "the buffer has space for a leaf of numbers")
        buffer.copyMemory(from: origin.address, byteCount: size)
        return (buffer + head, UnsafeRawBufferPointer(start: buffer, count: size))
    }
}
