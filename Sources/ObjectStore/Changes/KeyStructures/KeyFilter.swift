import ColumnStorage

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
        let (first, second, third) = Self.mark(key)
        let (word, bit) = (group >> 6, UInt64(1) << UInt64(group & 63))
        matrix[first * width + word] |= bit
        matrix[second * width + word] |= bit
        matrix[third * width + word] |= bit
    }

    /// Removes all keys from a group.
    mutating func clear(_ group: Int) {
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
