/// A fast filter for many text values, before any of them is compared.
enum TextKernels {
    /// The number of rows from which reading all rows of a cluster costs less than selecting the requested ones.
    private static let denseFrom = 124

    /// Returns those `rows` of a plain leaf with 16-bit ends that may begin with `prefix`, which is not empty.
    ///
    /// The result contains all matching rows, and may contain others. No branch depends on a value, so the time is
    /// independent of the number of matches.
    static func rows(
        of leaf: Leaf, beginningWith prefix: UnsafeRawBufferPointer, among rows: ClusterBits
    ) -> ClusterBits {
        let size = leaf.textSize
        guard size > 0, prefix.count > 0 else { return .zero }
        var left = rows
        let isDense = rows.rowCount >= denseFrom
        if isDense { left &= firstBytes(leaf, size, prefix[0]) }
        if size >= 8, prefix.count > 1 || !isDense, !left.isEmpty {
            left = firstWords(leaf, size, prefix, among: left)
        }
        return left
    }

    /// Returns the rows whose first byte is `first`; all of them if the ends are damaged.
    private static func firstBytes(_ leaf: Leaf, _ size: Int, _ first: UInt8) -> ClusterBits {
        let ends = leaf.payload
        let text = ends + 2 &* Cluster.rows
        @inline(__always)
        func start(_ row: Int) -> Int {
            Int(ends.loadUnaligned(fromByteOffset: 2 &* row &- 2, as: UInt16.self))
        }
        // Empty values at the end begin after the last byte.
        var bound = Cluster.rows
        while bound > 1, start(bound &- 1) >= size { bound &-= 1 }
        // All ends are checked at once with vectors, so each row takes two loads.
        var furthest: UInt16 = 0
        var row = 0
        while row < bound &- 1 {
            furthest = max(furthest, ends.loadUnaligned(fromByteOffset: 2 &* row, as: UInt16.self))
            row &+= 1
        }
        guard Int(furthest) < size else { return Cluster.all }
        return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { bytes in
            // because: the allocation is not empty.
            let out = bytes.baseAddress.unsafelyUnwrapped
            out.storeBytes(of: text.load(as: UInt8.self), as: UInt8.self)
            var row = 1
            while row < bound {
                let byte = text.load(fromByteOffset: start(row), as: UInt8.self)
                out.storeBytes(of: byte, toByteOffset: row, as: UInt8.self)
                row &+= 1
            }
            while row < Cluster.rows {
                out.storeBytes(of: ~first, toByteOffset: row, as: UInt8.self)
                row &+= 1
            }
            row = 0
            while row < Cluster.rows {
                let isFirst = out.load(fromByteOffset: row, as: UInt8.self) == first
                out.storeBytes(of: isFirst ? 1 : 0, toByteOffset: row, as: UInt8.self)
                row &+= 1
            }
            return IntKernels.bits(UnsafeRawPointer(out))
        }
    }

    /// Returns those `rows` whose first eight bytes equal the prefix, or its length if it is shorter.
    ///
    /// Rows that begin in the last eight bytes of the leaf's text are also included.
    private static func firstWords(
        _ leaf: Leaf, _ size: Int, _ prefix: UnsafeRawBufferPointer, among rows: ClusterBits
    ) -> ClusterBits {
        let ends = leaf.payload
        let text = ends + 2 &* Cluster.rows
        var wanted: UInt64 = 0
        var mask: UInt64 = 0
        var byte = 0
        while byte < min(prefix.count, 8) {
            wanted |= UInt64(prefix[byte]) &<< UInt64(8 &* byte)
            mask |= 0xff &<< UInt64(8 &* byte)
            byte &+= 1
        }
        let last = size &- 8
        return rows.keeping { row in
            // Row 0 begins at 0: its own end is read but not used.
            let before = ends.loadUnaligned(
                fromByteOffset: max(2 &* row &- 2, 0), as: UInt16.self)
            let start = row == 0 ? 0 : Int(before)
            // Damaged ends must not cause reads outside of the leaf.
            let word = UInt64(
                littleEndian: text.loadUnaligned(
                    fromByteOffset: min(start, last), as: UInt64.self))
            return ((word ^ wanted) & mask == 0 ? 1 : 0) | (start > last ? 1 : 0)
        }
    }
}
