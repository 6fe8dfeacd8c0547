/// The hashes of the values that a write has merged into an index whose blocks were empty before.
///
/// A bulk load looks up each new value, which the index rarely contains. The filter answers nearly all of these lookups
/// with one memory access; a search of the blocks takes several. Each merge adds a part with 16 to 32 bits for each
/// value.
struct ValueFilter<Value: IndexedValue> {
    private struct Part {
        let words: UnsafeMutableBufferPointer<UInt64>

        init(count: Int) {
            var size = 64
            while size * 4 < count { size *= 2 }
            words = .allocate(capacity: size)
            words.initialize(repeating: 0)
        }

        /// Returns the index of the word of a hash, and the four bits of the hash there.
        @inline(__always)
        func bits(_ hash: UInt64) -> (index: Int, mask: UInt64) {
            let index = Int(truncatingIfNeeded: hash) & (words.count &- 1)
            let one: UInt64 = 1
            let first = one &<< (hash &>> 40) | one &<< (hash &>> 46)
            let second = one &<< (hash &>> 52) | one &<< (hash &>> 58)
            return (index, first | second)
        }

        func insert(_ hash: UInt64) {
            let (index, mask) = bits(hash)
            words[index] |= mask
        }

        @inline(__always)
        func mayContain(_ hash: UInt64) -> Bool {
            let (index, mask) = bits(hash)
            return words[index] & mask == mask
        }
    }

    /// The maximum number of parts; more of them would cost as much as a search of the blocks.
    static var limit: Int { 8 }

    private var parts: [Part] = []

    /// Whether there is no space for another part.
    var isFull: Bool { parts.count == Self.limit }

    func deallocate() {
        for part in parts { part.words.deallocate() }
    }

    /// Adds the values of a merge.
    mutating func add(
        _ changes: UnsafeBufferPointer<IndexChange<Value>>,
        _ tail: GrowableBuffer<IndexEntry<Value>>
    ) {
        let part = Part(count: changes.count + tail.count)
        for change in changes where change.change > 0 { part.insert(change.entry.value.hash) }
        for entry in tail.elements { part.insert(entry.value.hash) }
        parts.append(part)
    }

    /// Returns whether a value may be in the blocks; false is certain.
    func mayContain(_ value: Value) -> Bool {
        let hash = value.hash
        return parts.contains { $0.mayContain(hash) }
    }
}
