import ColumnStorage

/// The keys of an unsorted observed query: a set of object keys in ascending order with fast positions.
///
/// Each key is one bit. The groups of bits are as large as the storage's clusters, so the bitmaps of a scan are used
/// without conversion. A tree contains the counts of the groups. Testing membership takes one memory access; rank,
/// insertion and removal take time in proportion to the logarithm of the number of groups. An empty group takes twelve
/// bytes, so a few matches in a large table need little memory.
struct KeyBitmap {
    private var slots: [Int32] = []
    private var groups: [ClusterBits] = []
    private var freeSlots: [Int32] = []
    private var counts = FenwickTree()

    var count: Int { counts.total }

    init() {}

    /// Creates a set from ascending keys.
    init(ascending keys: some Sequence<ObjectKey>) {
        var bucketCounts: [Int] = []
        for key in keys {
            let (cluster, bit) = Self.address(key)
            while slots.count <= cluster {
                slots.append(-1)
                bucketCounts.append(0)
            }
            if slots[cluster] < 0 {
                slots[cluster] = Int32(groups.count)
                groups.append(ClusterBits())
            }
            groups[Int(slots[cluster])][bit >> 6] |= 1 << UInt64(bit & 63)
            bucketCounts[cluster] += 1
        }
        counts = FenwickTree(bucketCounts)
    }

    /// Creates a set from the result of an unsorted query, whose keys ascend; the bitmaps of a scan are used without a
    /// copy.
    init(_ keys: ResultKeys) {
        var bucketCounts: [Int] = []
        let isScan = keys.forEachCluster { cluster, rows in
            while slots.count < cluster {
                slots.append(-1)
                bucketCounts.append(0)
            }
            assert(slots.count == cluster, "the clusters ascend")
            slots.append(Int32(groups.count))
            groups.append(rows)
            bucketCounts.append(rows.rowCount)
        }
        if isScan {
            counts = FenwickTree(bucketCounts)
        } else {
            self = KeyBitmap(ascending: keys)
        }
    }

    func contains(_ key: ObjectKey) -> Bool {
        let (cluster, bit) = Self.address(key)
        guard cluster < slots.count, slots[cluster] >= 0 else { return false }
        return groups[Int(slots[cluster])][bit >> 6] & (1 << UInt64(bit & 63)) != 0
    }

    /// Returns the number of smaller keys, which is the position of the key if it is a member.
    func rank(_ key: ObjectKey) -> Int {
        let (cluster, bit) = Self.address(key)
        guard cluster < slots.count else { return count }
        var rank = counts.sum(before: cluster)
        guard slots[cluster] >= 0 else { return rank }
        let group = groups[Int(slots[cluster])]
        let word = bit >> 6
        for index in 0..<word { rank += group[index].nonzeroBitCount }
        return rank + (group[word] & ((1 << UInt64(bit & 63)) - 1)).nonzeroBitCount
    }

    /// Returns the key at a position below `count`.
    func key(at position: Int) -> ObjectKey {
        var (cluster, rest) = counts.locate(position)
        let group = groups[Int(slots[cluster])]
        var word = 0
        while rest >= group[word].nonzeroBitCount {
            rest -= group[word].nonzeroBitCount
            word += 1
        }
        var bits = group[word]
        while rest > 0 {
            bits &= bits - 1
            rest -= 1
        }
        return ObjectKey(
            rawValue: Int64(cluster * Cluster.rows + word * 64 + bits.trailingZeroBitCount))
    }

    /// Adds a key, and returns false if it was already a member.
    @discardableResult  // most callers have called `contains` before
    mutating func insert(_ key: ObjectKey) -> Bool {
        let (cluster, bit) = Self.address(key)
        while slots.count <= cluster {
            slots.append(-1)
            counts.append(0)
        }
        assert(counts.bucketCount == slots.count, "each cluster has a count")
        if slots[cluster] < 0 {
            if let slot = freeSlots.popLast() {
                slots[cluster] = slot
                assert(groups[Int(slot)] == ClusterBits(), "a free group has no keys")
            } else {
                slots[cluster] = Int32(groups.count)
                groups.append(ClusterBits())
            }
        }
        let slot = Int(slots[cluster])
        let mask: UInt64 = 1 << UInt64(bit & 63)
        guard groups[slot][bit >> 6] & mask == 0 else { return false }
        groups[slot][bit >> 6] |= mask
        counts.add(1, to: cluster)
        return true
    }

    /// Removes a key, and returns false if it was not a member.
    @discardableResult  // most callers have called `contains` before
    mutating func remove(_ key: ObjectKey) -> Bool {
        guard contains(key) else { return false }
        let (cluster, bit) = Self.address(key)
        let slot = Int(slots[cluster])
        groups[slot][bit >> 6] &= ~(1 << UInt64(bit & 63))
        counts.add(-1, to: cluster)
        if groups[slot] == ClusterBits() {
            freeSlots.append(slots[cluster])
            slots[cluster] = -1
        }
        return true
    }

    /// Returns all keys in ascending order.
    func keys() -> [ObjectKey] {
        var keys: [ObjectKey] = []
        keys.reserveCapacity(count)
        for (cluster, slot) in slots.enumerated() where slot >= 0 {
            let group = groups[Int(slot)]
            for word in 0..<group.scalarCount {
                var bits = group[word]
                while bits != 0 {
                    let row = cluster * Cluster.rows + word * 64 + bits.trailingZeroBitCount
                    keys.append(ObjectKey(rawValue: Int64(row)))
                    bits &= bits - 1
                }
            }
        }
        return keys
    }

    private static func address(_ key: ObjectKey) -> (cluster: Int, bit: Int) {
        let row = Int(key.rawValue)
        return (row / Cluster.rows, row % Cluster.rows)
    }
}

/// A Bloom filter for many groups of keys: a matrix of bits with one column for each group.
///
/// The mark of a key selects three rows. Adding the key to a group sets the group's bit in each of them. Rarely, all
/// three bits are set for a group that does not have the key. One step checks 64 groups. With groups of 256 keys, the
/// filter takes two bytes for each key.
struct KeyFilter {
    private static let rows = 4096
    /// The number of 64-bit words in a row.
    private var width = 0
    private var matrix: [UInt64] = []

    /// Creates a filter for a number of groups without keys.
    init(groups: Int) {
        width = max(1, (groups + 63) / 64)
        matrix = [UInt64](repeating: 0, count: Self.rows * width)
    }

    /// The number of groups that fit into the filter.
    var capacity: Int { width * 64 }

    /// Returns the three rows of a key, from three parts of its hash.
    private static func mark(_ key: ObjectKey) -> (Int, Int, Int) {
        let mixed = UInt64(bitPattern: key.rawValue) &* 0x9E37_79B9_7F4A_7C15
        let hash = (mixed ^ mixed >> 32) &* 0xD6E8_FEB8_6659_FD93
        let mask = UInt64(rows - 1)
        return (Int(hash >> 52 & mask), Int(hash >> 40 & mask), Int(hash >> 28 & mask))
    }

    /// Records that a group below `capacity` has a key.
    mutating func add(_ key: ObjectKey, to group: Int) {
        assert(group >= 0 && group < capacity, "the filter has the group")
        let (first, second, third) = Self.mark(key)
        let (word, bit) = (group >> 6, UInt64(1) << UInt64(group & 63))
        matrix[first * width + word] |= bit
        matrix[second * width + word] |= bit
        matrix[third * width + word] |= bit
    }

    /// Removes all keys from a group.
    mutating func clear(_ group: Int) {
        assert(group >= 0 && group < capacity, "the filter has the group")
        let (word, bit) = (group >> 6, UInt64(1) << UInt64(group & 63))
        for row in 0..<Self.rows { matrix[row * width + word] &= ~bit }
    }

    /// Returns the groups that may have a key.
    func groups(of key: ObjectKey) -> [Int] {
        let (first, second, third) = Self.mark(key)
        var groups: [Int] = []
        for word in 0..<width {
            var bits =
                matrix[first * width + word] & matrix[second * width + word]
                & matrix[third * width + word]
            while bits != 0 {
                groups.append(word << 6 + bits.trailingZeroBitCount)
                bits &= bits - 1
            }
        }
        return groups
    }
}
