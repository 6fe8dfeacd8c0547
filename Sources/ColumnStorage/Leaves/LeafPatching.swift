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
        let least = origin.minimum
        var greatest = origin.maximum
        let (payload, bytes) = copy(origin, width: MemoryLayout<Offset>.size)
        var isPatched = true
        marks.forEachRow { row in
            let old = origin.int(row)
            let new = leaf.word(row)
            guard isPatched, new != old else { return }
            let offset = UInt64(bitPattern: new &- least)
            isPatched =
                old != least && old != origin.maximum && new >= least
                && offset <= UInt64(Offset.max)
            guard isPatched else { return }
            greatest = max(greatest, new)
            payload.storeBytes(
                of: Offset(truncatingIfNeeded: offset),
                toByteOffset: MemoryLayout<Offset>.size &* row, as: Offset.self)
        }
        guard isPatched else { return nil }
        setRange(UInt64(bitPattern: least), UInt64(bitPattern: greatest))
        return bytes
    }

    private func patchDoubles(
        _ leaf: UnpackedLeaf, _ marks: ClusterBits, _ origin: Leaf
    ) -> UnsafeRawBufferPointer? {
        var least = origin.minimumDouble
        var greatest = origin.maximumDouble
        // The bounds of a leaf with NaN are infinite too.
        guard least.isFinite, greatest.isFinite else { return nil }
        let (payload, bytes) = copy(origin, width: 8)
        var isPatched = true
        marks.forEachRow { row in
            let old = origin.double(row)
            let new = Double(bitPattern: UInt64(bitPattern: leaf.word(row)))
            guard isPatched, new.bitPattern != old.bitPattern else { return }
            isPatched =
                old != origin.minimumDouble && old != origin.maximumDouble && new.isFinite
            guard isPatched else { return }
            least = min(least, new)
            greatest = max(greatest, new)
            payload.storeBytes(of: new, toByteOffset: 8 &* row, as: Double.self)
        }
        guard isPatched else { return nil }
        setRange(least.bitPattern, greatest.bitPattern)
        return bytes
    }

    /// Copies a leaf of numbers of a fixed width, and returns the address of the numbers and the whole copy.
    private func copy(
        _ origin: Leaf, width: Int
    ) -> (payload: UnsafeMutableRawPointer, bytes: UnsafeRawBufferPointer) {
        let head = origin.payload - origin.address
        let size = head + width * Cluster.rows
        buffer.copyMemory(from: origin.address, byteCount: size)
        return (buffer + head, UnsafeRawBufferPointer(start: buffer, count: size))
    }
}
