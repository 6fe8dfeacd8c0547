import LMDBStorage

/// The fixed size of a cluster: a run of consecutive keys whose values are stored together.
///
/// 496 eight-byte values, a null bitmap and the header fit into one overflow page of LMDB (4080 bytes); 504 would not.
/// The size is a constant, so the compiler replaces the division by a multiplication.
@usableFromInline package enum Cluster {
    /// The number of rows in a cluster.
    @inlinable package static var rows: Int { 496 }
    /// The number of 64-bit words in a bitmap of a cluster.
    @inlinable package static var words: Int { 8 }
    /// The size in bytes of a bitmap in a leaf.
    @inlinable static var bitmapBytes: Int { 62 }

    /// All rows of a cluster.
    @inlinable package static var all: ClusterBits {
        var bits = ClusterBits(repeating: .max)
        bits[7] = (1 << 48) - 1
        return bits
    }
}

/// A bitmap with one bit for each row of a cluster.
///
/// Bit `i` is bit `i % 64` of word `i / 64`. Bits from 496 on are zero.
@usableFromInline package typealias ClusterBits = SIMD8<UInt64>

extension SIMD8<UInt64> {
    /// Whether no row is in the set.
    @inlinable @inline(__always)
    package var isEmpty: Bool { self == .zero }

    /// The number of rows in the set.
    @inlinable
    package var rowCount: Int {
        var count = 0
        var word = 0
        while word < 8 {
            count &+= self[word].nonzeroBitCount
            word &+= 1
        }
        return count
    }

    /// Returns whether row `index` of the cluster is in the set.
    @inlinable @inline(__always)
    package func contains(_ index: Int) -> Bool {
        self[index &>> 6] &>> UInt64(truncatingIfNeeded: index & 63) & 1 != 0
    }

    /// Adds row `index` of the cluster.
    @inlinable @inline(__always)
    package mutating func insert(_ index: Int) {
        self[index &>> 6] |= 1 &<< UInt64(truncatingIfNeeded: index & 63)
    }

    /// Removes row `index` of the cluster.
    @inlinable @inline(__always)
    package mutating func remove(_ index: Int) {
        self[index &>> 6] &= ~(1 &<< UInt64(truncatingIfNeeded: index & 63))
    }

    /// Returns a set of the words that `body` returns for each word's number and bits.
    ///
    /// The words pass through memory: setting a lane of a vector by a variable index costs a store of the whole vector
    /// and a load that waits for it.
    @inline(__always)
    func mapWords<Failure: Error>(
        _ body: (_ word: Int, _ bits: UInt64) throws(Failure) -> UInt64
    ) throws(Failure) -> ClusterBits {
        try withUnsafeTemporaryAllocation(byteCount: 128, alignment: 16) {
            (memory) throws(Failure) in
            // because: the allocation is not empty.
            let words = memory.baseAddress.unsafelyUnwrapped
            words.storeBytes(of: self, as: ClusterBits.self)
            var word = 0
            while word < 8 {
                let bits = words.load(fromByteOffset: 8 &* word, as: UInt64.self)
                words.storeBytes(
                    of: try body(word, bits), toByteOffset: 64 &+ 8 &* word, as: UInt64.self)
                word &+= 1
            }
            return words.loadUnaligned(fromByteOffset: 64, as: ClusterBits.self)
        }
    }

    /// Returns the rows of the set for which a test returns 1 and not 0.
    @inline(__always)
    func keeping<Failure: Error>(
        _ test: (Int) throws(Failure) -> UInt64
    ) throws(Failure) -> ClusterBits {
        try mapWords { (word, bits) throws(Failure) in
            var rest = bits
            var found: UInt64 = 0
            while rest != 0 {
                let bit = rest.trailingZeroBitCount
                rest &= rest &- 1
                found |= try test(word &<< 6 &+ bit) &<< UInt64(truncatingIfNeeded: bit)
            }
            return found
        }
    }

    /// Calls `body` with every row of the set, ascending.
    @inlinable @inline(__always)
    package func forEachRow<Failure: Error>(
        _ body: (Int) throws(Failure) -> Void
    ) throws(Failure) {
        // `self[word]` is not used, because reading a lane by a variable index stores all lanes.
        try withUnsafeBytes(of: self) { (words) throws(Failure) in
            var word = 0
            while word < 8 {
                var rest = words.loadUnaligned(fromByteOffset: 8 &* word, as: UInt64.self)
                while rest != 0 {
                    try body(word &<< 6 &+ rest.trailingZeroBitCount)
                    rest &= rest &- 1
                }
                word &+= 1
            }
        }
    }
}

/// A set of rows of a table with one bit for each row, cluster by cluster.
///
/// It contains the rows that satisfy a condition, for lookups of millions of links. It is a value of 64 bytes for each
/// cluster of the table.
package struct RowSet: Sendable {
    @usableFromInline var clusters: [ClusterBits]

    /// Creates an empty set for a table with a number of clusters.
    package init(clusterCount: Int) {
        clusters = Array(repeating: .zero, count: max(clusterCount, 0))
    }

    /// The number of clusters; further clusters are empty.
    package var clusterCount: Int { clusters.count }

    /// The rows of one cluster.
    package subscript(cluster: Int) -> ClusterBits {
        get { cluster >= 0 && cluster < clusters.count ? clusters[cluster] : .zero }
        set { if cluster >= 0 && cluster < clusters.count { clusters[cluster] = newValue } }
    }

    /// Returns whether a row is in the set.
    @inlinable
    package func contains(_ key: ObjectKey) -> Bool {
        let cluster = UInt(bitPattern: Int(key.rawValue)) / UInt(Cluster.rows)
        guard cluster < UInt(clusters.count) else { return false }
        let index = Int(bitPattern: cluster)
        return clusters[index].contains(Int(key.rawValue) &- index &* Cluster.rows)
    }

    /// Adds a row of an existing cluster; other keys cannot be in the set.
    @inlinable
    package mutating func insert(_ key: ObjectKey) {
        let cluster = UInt(bitPattern: Int(key.rawValue)) / UInt(Cluster.rows)
        guard cluster < UInt(clusters.count) else { return }
        let index = Int(bitPattern: cluster)
        clusters[index].insert(Int(key.rawValue) &- index &* Cluster.rows)
    }

    /// The number of rows in the set.
    package var count: Int { clusters.reduce(0) { $0 + $1.rowCount } }

    /// Calls `body` with every row, ascending.
    package func forEach<Failure: Error>(
        _ body: (ObjectKey) throws(Failure) -> Void
    ) throws(Failure) {
        for (cluster, bits) in clusters.enumerated() where !bits.isEmpty {
            let first = Int64(cluster * Cluster.rows)
            try bits.forEachRow { row throws(Failure) in
                try body(ObjectKey(rawValue: first + Int64(row)))
            }
        }
    }
}

extension [UInt8] {
    /// Calls `body` with the bytes of the array; unlike `withUnsafeBytes`, with typed errors.
    func withBytes<R>(
        _ body: (UnsafeRawBufferPointer) throws(StorageError) -> R
    ) throws(StorageError) -> R {
        try withUnsafeBufferPointer { buffer throws(StorageError) in
            try body(UnsafeRawBufferPointer(buffer))
        }
    }
}
