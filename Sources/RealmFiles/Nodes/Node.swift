/// A node of a Realm file: a header of 8 bytes and an array of packed elements.
///
/// The payload is inside the file; this was checked when the node was opened.
struct Node {
    /// The encoding of the elements in the payload.
    enum Encoding: UInt8 {
        /// Integers with `width` bits.
        case integers
        /// Elements with `width` bytes.
        case fixed
        /// Single bytes.
        case bytes
    }

    /// The address of the header.
    let address: Int
    /// The number of elements.
    let count: Int
    /// The width of an element, in bits for integers and in bytes otherwise.
    let width: Int
    /// The encoding of the elements in the payload.
    let encoding: Encoding
    /// Whether this is an inner node of a tree.
    let isInner: Bool
    /// Whether elements can be addresses of other nodes.
    let hasReferences: Bool
    /// A flag whose meaning depends on the node.
    let hasContext: Bool
    /// The encoded elements.
    let payload: ByteView

    /// Returns the integer at an index below `count`; the node must contain integers.
    @inline(__always)
    func int(_ index: Int) -> Int64 {
        precondition(index >= 0 && index < count && encoding == .integers)
        switch width {
        case 0: return 0
        case 1, 2, 4:
            let bit = index * width
            return Int64(payload[bit >> 3] >> UInt8(bit & 7)) & ((1 << Int64(width)) - 1)
        case 8: return Int64(Int8(truncatingIfNeeded: payload[index]))
        case 16: return Int64(payload.load(index * 2, as: Int16.self))
        case 32: return Int64(payload.load(index * 4, as: Int32.self))
        default: return payload.load(index * 8, as: Int64.self)
        }
    }

    /// Returns the unsigned integer at an index below `count`.
    func unsigned(_ index: Int) -> Int64 {
        let value = int(index)
        return width >= 8 && width < 64 ? value & ((1 << Int64(width)) - 1) : value
    }

    /// Returns the value of a slot; 0 for slots that older files do not have.
    func slot(_ index: Int) -> Int64 {
        index < count ? int(index) : 0
    }

    /// Returns the tagged integer in a slot; 0 if the slot has no tagged integer.
    func tagged(_ index: Int) -> Int64 {
        let value = slot(index)
        return value & 1 == 1 ? Self.untagged(value) : 0
    }

    /// Returns the integer of a tagged value.
    static func untagged(_ value: Int64) -> Int64 {
        Int64(truncatingIfNeeded: UInt64(bitPattern: value) >> 1)
    }

    /// All integers.
    var integers: [Int64] {
        var values: [Int64] = []
        payload.decodeIntegers(width: width, count: count, into: &values)
        return values
    }
}
