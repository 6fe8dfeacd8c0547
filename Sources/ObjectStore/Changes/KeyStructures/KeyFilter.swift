import ColumnStorage

/// Roughly which keys are in which of many groups: a matrix of bits with a row for each bit of a key's mark and a column
/// for each group.
///
/// A group that holds a key has the bits of its mark set; so may, rarely, one that does not. Sixty-four groups are asked
/// at once. Two bytes for each key of groups of 256.
struct KeyFilter {
    private static let rows = 4096
    /// The words of a row.
    private var width = 0
    private var matrix: [UInt64] = []

    /// A filter for so many groups, none of which holds anything.
    init(groups: Int) {
        width = max(1, (groups + 63) / 64)
        matrix = [UInt64](repeating: 0, count: Self.rows * width)
    }

    /// The number of groups that fit.
    var capacity: Int { width * 64 }

    /// Three rows, by what a good hash has in three places.
    private static func mark(_ key: ObjectKey) -> (Int, Int, Int) {
        let mixed = UInt64(bitPattern: key.rawValue) &* 0x9E37_79B9_7F4A_7C15
        let hash = (mixed ^ mixed >> 32) &* 0xD6E8_FEB8_6659_FD93
        let mask = UInt64(rows - 1)
        return (Int(hash >> 52 & mask), Int(hash >> 40 & mask), Int(hash >> 28 & mask))
    }

    /// Notes that a group below `capacity` holds a key.
    mutating func add(_ key: ObjectKey, to group: Int) {
        let (first, second, third) = Self.mark(key)
        let (word, bit) = (group >> 6, UInt64(1) << UInt64(group & 63))
        matrix[first * width + word] |= bit
        matrix[second * width + word] |= bit
        matrix[third * width + word] |= bit
    }

    /// Forgets what a group holds.
    mutating func clear(_ group: Int) {
        let (word, bit) = (group >> 6, UInt64(1) << UInt64(group & 63))
        for row in 0..<Self.rows { matrix[row * width + word] &= ~bit }
    }

    /// The groups that may hold a key.
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
