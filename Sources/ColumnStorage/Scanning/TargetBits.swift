/// A set of rows in which links are looked up: one bit for each key without the gaps between clusters, so a link is
/// found with a shift.
///
/// The set is immutable and takes one bit for each key.
package struct TargetBits: Sendable {
    /// The bits: bit `key % 64` of word `key / 64`; the last word is 0, for keys outside.
    let words: [UInt64]

    /// Creates the bits of some rows.
    package init(_ rows: RowSet) {
        // There are two more words: the last cluster may reach into one, and one must remain 0.
        var words = [UInt64](repeating: 0, count: rows.clusterCount * Cluster.rows / 64 + 3)
        for cluster in 0..<rows.clusterCount {
            let bits = rows[cluster]
            if bits.isEmpty { continue }
            let shift = UInt64(cluster * Cluster.rows % 64)
            let first = cluster * Cluster.rows / 64
            for word in 0..<Cluster.words {
                words[first + word] |= bits[word] << shift
                // because: a shift by 64 gives 0.
                let rest = bits[word] >> (64 - shift)
                if rest != 0 { words[first + word + 1] |= rest }
            }
        }
        self.words = words
    }
}

/// Tests the links of a leaf.
///
/// A link is stored as key + 1; 0 means null.
enum LinkKernels {
    /// The number of rows from which testing all rows of a cluster costs less.
    private static let denseFrom = 124

    /// Returns the bit of a key; 0 for keys outside of the words, including the one that represents a null link.
    @inline(__always)
    private static func bit(_ key: Int64, _ words: UnsafeBufferPointer<UInt64>) -> UInt64 {
        // because: there are three words or more.
        let base = words.baseAddress.unsafelyUnwrapped
        let index = min(UInt64(bitPattern: key), UInt64(words.count &- 1) &<< 6)
        return base[Int(truncatingIfNeeded: index &>> 6)] &>> (index & 63) & 1
    }

    @inline(__always)
    static func rows<T: FixedWidthInteger & UnsignedInteger>(
        of leaf: Leaf, _: T.Type, _ words: UnsafeBufferPointer<UInt64>, _ among: ClusterBits
    ) -> ClusterBits {
        let payload = leaf.payload
        let least = leaf.minimum &- 1
        @inline(__always)
        func bit(_ row: Int) -> UInt64 {
            let offset = payload.loadUnaligned(
                fromByteOffset: row &* MemoryLayout<T>.size, as: T.self)
            return Self.bit(least &+ Int64(truncatingIfNeeded: offset), words)
        }
        if among.rowCount < denseFrom { return among.keeping(bit) }
        return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { flags in
            // because: the allocation is not empty.
            let out = flags.baseAddress.unsafelyUnwrapped
            var row = 0
            while row < Cluster.rows {
                out.storeBytes(
                    of: UInt8(truncatingIfNeeded: bit(row)), toByteOffset: row, as: UInt8.self)
                row &+= 1
            }
            return IntKernels.bits(UnsafeRawPointer(out)) & among
        }
    }

    static func anyRows(
        of leaf: Leaf, _ words: UnsafeBufferPointer<UInt64>, _ among: ClusterBits
    ) -> ClusterBits {
        among.keeping { bit(leaf.int($0) &- 1, words) }
    }
}
