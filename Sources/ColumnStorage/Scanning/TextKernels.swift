/// A quick look at many values of text, before any is compared.
enum TextKernels {
    /// The rows among `rows` of a plain leaf with 16-bit ends that begin with `first` and are no
    /// shorter than `least`.
    ///
    /// No branch depends on a value, so that it does not matter how many pass.
    static func rows(
        of leaf: Leaf, beginningWith first: UInt8, least: Int, among rows: ClusterBits
    ) -> ClusterBits {
        let size = leaf.textSize
        guard size > 0 else { return .zero }
        let ends = leaf.payload
        let text = ends + 2 &* Cluster.rows
        var result = ClusterBits.zero
        var word = 0
        while word < 8 {
            var rest = rows[word]
            var found: UInt64 = 0
            while rest != 0 {
                let bit = rest.trailingZeroBitCount
                rest &= rest &- 1
                let row = word &<< 6 &+ bit
                // Row 0 begins at 0: its own end is read and made nothing of.
                let before = ends.loadUnaligned(
                    fromByteOffset: max(2 &* row &- 2, 0), as: UInt16.self)
                let start = row == 0 ? 0 : Int(before)
                let end = Int(ends.loadUnaligned(fromByteOffset: 2 &* row, as: UInt16.self))
                // Damaged ends must not lead out of the leaf.
                let byte = text.load(fromByteOffset: min(start, size &- 1), as: UInt8.self)
                let passes = (byte == first ? 1 : 0) & (end &- start >= least ? 1 : 0)
                found |= UInt64(truncatingIfNeeded: passes) &<< UInt64(truncatingIfNeeded: bit)
            }
            result[word] = found
            word &+= 1
        }
        return result
    }
}
