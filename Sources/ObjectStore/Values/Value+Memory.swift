extension Value {
    /// The estimated bytes that the value takes besides its place in an array or a dictionary.
    var memory: Int {
        switch self {
        case .string(let text): text.memory
        case .data(let bytes): 32 + bytes.count
        case .list(let values):
            values.reduce(32 + values.capacity * MemoryLayout<Value>.stride) { $0 + $1.memory }
        case .dictionary(let entries):
            entries.reduce(64 + entries.capacity * Self.memoryOfEntry) {
                $0 + $1.key.memory + $1.value.memory
            }
        default: 0
        }
    }

    /// An entry in a hash table that is three quarters full.
    private static let memoryOfEntry =
        (MemoryLayout<String>.stride + MemoryLayout<Value>.stride) * 4 / 3 + 1
}

extension String {
    /// The estimated bytes that the text takes besides the string itself, which has space for 15 bytes.
    var memory: Int { utf8.count > 15 ? 48 + utf8.count : 0 }
}

extension Scalar {
    /// The bytes that the text of the value takes besides the value itself.
    var textMemory: Int { if case .bytes(let text) = self { 48 + text.count } else { 0 } }
}
