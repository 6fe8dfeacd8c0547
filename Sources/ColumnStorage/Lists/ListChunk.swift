/// A stored run of list elements.
///
///     0  u16  number of elements
///     2  u8   1: words, 2: bytes;  3  u8  1 if there is a null bitmap
///     4  u8   width of a word, 5...7 zero
///     8  i64  smallest word (zero for bytes)
///     16 ...  the null bitmap; then words as distances from the smallest one and 8 bytes of zeros,
///             or the end of each element as u32 and then the bytes
///
/// Doubles and floats are stored as words with their bit patterns.
struct ListChunk {
    static let headerBytes = 16
    static let slackBytes = 8
    /// The maximum number of elements: as many doubles with a null bitmap fit into one LMDB page.
    static let maximumElements = 496
    /// The maximum bytes of a chunk of byte elements; a larger element has its own chunk.
    static let maximumBytes = 4000

    let count: Int
    private let nulls: UnsafeRawPointer?
    private let payload: UnsafeRawPointer
    private let smallest: Int64
    private let width: Int
    private let mask: UInt64
    let payloadBytes: Int

    /// Creates a view of stored bytes; nil if they are not a valid chunk of the kind.
    ///
    /// Reads of a valid chunk are always within its bytes.
    @inline(__always)
    init?(_ bytes: UnsafeRawBufferPointer, words: Bool) {
        guard let base = bytes.baseAddress, bytes.count >= Self.headerBytes else { return nil }
        count = Int(base.loadUnaligned(as: UInt16.self))
        let kind = base.load(fromByteOffset: 2, as: UInt8.self)
        let hasNulls = base.load(fromByteOffset: 3, as: UInt8.self)
        width = Int(base.load(fromByteOffset: 4, as: UInt8.self))
        smallest = base.loadUnaligned(fromByteOffset: 8, as: Int64.self)
        guard count > 0, kind == (words ? 1 : 2), hasNulls <= 1, width <= 8 else { return nil }
        let bitmap = hasNulls == 1 ? (count &+ 7) / 8 : 0
        let offset = Self.headerBytes &+ bitmap
        nulls = hasNulls == 1 ? base + Self.headerBytes : nil
        payload = base + offset
        mask = IntBlock.mask(width)
        payloadBytes = bytes.count &- offset
        if words {
            guard payloadBytes == count &* width &+ Self.slackBytes else { return nil }
        } else {
            guard payloadBytes >= count &* 4 else { return nil }
        }
    }

    @inline(__always)
    func isNull(_ index: Int) -> Bool {
        guard let nulls else { return false }
        return nulls.load(fromByteOffset: index &>> 3, as: UInt8.self)
            &>> UInt8(truncatingIfNeeded: index & 7) & 1 != 0
    }

    var hasNulls: Bool { nulls != nil }

    @inline(__always)
    func word(_ index: Int) -> Int64 {
        let stored = (payload + index &* width).loadUnaligned(as: UInt64.self) & mask
        return smallest &+ Int64(bitPattern: stored)
    }

    /// Returns the bytes of an element; nil if the offsets are damaged.
    func bytes(_ index: Int) -> UnsafeRawBufferPointer? {
        let from = index == 0 ? 0 : end(index &- 1)
        let through = end(index)
        let first = count &* 4
        guard from <= through, first &+ through <= payloadBytes else { return nil }
        return UnsafeRawBufferPointer(start: payload + (first &+ from), count: through &- from)
    }

    private func end(_ index: Int) -> Int {
        Int((payload + index &* 4).loadUnaligned(as: UInt32.self))
    }
}
