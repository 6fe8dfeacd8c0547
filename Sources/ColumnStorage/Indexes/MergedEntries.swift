/// The values that a write has merged into an index whose blocks were empty before, as hashes.
///
/// A bulk load looks up each new value, which is rarely there. This answers nearly all of these questions with one access
/// to memory; a look into the blocks takes several. Each merge has a part of its own: 16 to 32 bits for each value.
struct MergedEntries {
    private struct Part {
        let words: UnsafeMutableBufferPointer<UInt64>

        init(count: Int) {
            var size = 64
            while size * 4 < count { size *= 2 }
            words = .allocate(capacity: size)
            words.initialize(repeating: 0)
        }

        /// The word of a hash, and its four bits there.
        @inline(__always)
        func place(_ hash: UInt64) -> (index: Int, mask: UInt64) {
            let index = Int(truncatingIfNeeded: hash) & (words.count &- 1)
            let one: UInt64 = 1
            let first = one &<< (hash &>> 40) | one &<< (hash &>> 46)
            let second = one &<< (hash &>> 52) | one &<< (hash &>> 58)
            return (index, first | second)
        }
    }

    /// More parts would cost as much as a look into the blocks.
    static let limit = 8

    private var parts: [Part] = []

    /// Whether there is no space for another part.
    var isFull: Bool { parts.count == Self.limit }

    func deallocate() {
        for part in parts { part.words.deallocate() }
    }

    /// Adds the values of a merge.
    mutating func add(_ changes: UnsafeBufferPointer<BytesDelta.Record>) {
        let part = Part(count: changes.count)
        for change in changes where change.change > 0 {
            let (index, mask) = part.place(change.entry.bytes.hash)
            part.words[index] |= mask
        }
        parts.append(part)
    }

    /// Whether a value may be in the blocks; false is certain.
    func mayContain(_ bytes: BytesView) -> Bool {
        let hash = bytes.hash
        for part in parts {
            let (index, mask) = part.place(hash)
            if part.words[index] & mask == mask { return true }
        }
        return false
    }
}
