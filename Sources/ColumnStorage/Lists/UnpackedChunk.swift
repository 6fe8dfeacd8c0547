/// A run of list elements in memory that can be changed.
struct UnpackedChunk {
    /// The elements as words, with zeros for nulls; empty for byte elements.
    private(set) var words: [Int64] = []
    /// The bytes of all byte elements, one after the other.
    private var bytes: [UInt8] = []
    /// The end of each byte element in `bytes`; empty for words.
    private var ends: [Int] = []
    /// Whether each element is null; empty if no element was ever null.
    private var nulls: [Bool] = []
    private(set) var holdsWords: Bool

    init(words: Bool) { holdsWords = words }

    /// Unpacks a stored chunk; nil if it is damaged.
    init?(_ chunk: ListChunk, words: Bool) {
        self.init(words: words)
        guard load(chunk) else { return nil }
    }

    /// Removes all elements, and keeps the memory of a few for others.
    mutating func clear(words: Bool) {
        if count > ListChunk.maximumElements || bytes.count > ListChunk.maximumBytes {
            self = UnpackedChunk(words: words)
            return
        }
        holdsWords = words
        self.words.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        if !nulls.isEmpty { nulls.removeAll(keepingCapacity: true) }
    }

    /// Replaces the elements by those of a stored chunk; returns false if it is damaged.
    mutating func load(_ chunk: ListChunk) -> Bool {
        clear(words: holdsWords)
        if chunk.hasNulls { nulls = (0..<chunk.count).map { chunk.isNull($0) } }
        for index in 0..<chunk.count {
            if holdsWords {
                words.append(chunk.word(index))
            } else {
                guard let element = chunk.bytes(index) else { return false }
                bytes.append(contentsOf: element)
                ends.append(bytes.count)
            }
        }
        assert(count == chunk.count, "all elements of a chunk are loaded")
        return true
    }

    var count: Int { holdsWords ? words.count : ends.count }

    /// Whether the elements have one form, and the parts of the chunk have the same number of them.
    private var isConsistent: Bool {
        guard nulls.isEmpty || nulls.count == count else { return false }
        return holdsWords
            ? ends.isEmpty && bytes.isEmpty : words.isEmpty && (ends.last ?? 0) == bytes.count
    }

    /// Whether the elements, without the last one, fit into one stored chunk.
    var fitsIntoChunk: Bool {
        count <= ListChunk.maximumElements && bytes.count <= ListChunk.maximumBytes
    }

    /// The size in bytes of the elements in memory.
    var pendingBytes: Int { 256 + 8 * (words.count + ends.count) + bytes.count }

    func isNull(_ index: Int) -> Bool { !nulls.isEmpty && nulls[index] }

    func element(_ index: Int, _ kind: ColumnKind) -> ListElement {
        if isNull(index) { return .null }
        return holdsWords ? kind.element(word: words[index]) : .bytes(Array(bytes[range(index)]))
    }

    private func range(_ index: Int) -> Range<Int> { offset(index)..<ends[index] }

    /// Returns the offset of an element in the bytes, or their number for the index after the last element.
    private func offset(_ index: Int) -> Int { index == 0 ? 0 : ends[index - 1] }

    mutating func append(word: Int64) {
        words.append(word)
        if !nulls.isEmpty { nulls.append(false) }
    }

    mutating func append(words more: some Collection<Int64>) {
        words.append(contentsOf: more)
        if !nulls.isEmpty { nulls += repeatElement(false, count: more.count) }
    }

    mutating func append(bytes element: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: element)
        ends.append(bytes.count)
        if !nulls.isEmpty { nulls.append(false) }
    }

    mutating func append(_ element: ListElement) {
        switch element {
        case .bytes(let bytes): bytes.withUnsafeBytes { append(bytes: $0) }
        case .null: insert(.null, at: count)
        case .int, .float, .double: append(word: element.word ?? 0)
        }
    }

    mutating func insert(_ element: ListElement, at index: Int) {
        insertNull(element == .null, at: index)
        if holdsWords {
            words.insert(element.word ?? 0, at: index)
        } else {
            ends.insert(offset(index), at: index)
            replace(index, by: element)
        }
        assert(isConsistent, "an inserted element is in each part of the chunk")
    }

    private mutating func insertNull(_ isNull: Bool, at index: Int) {
        if isNull, nulls.isEmpty { nulls = [Bool](repeating: false, count: count) }
        if isNull || !nulls.isEmpty { nulls.insert(isNull, at: index) }
    }

    mutating func set(_ element: ListElement, at index: Int) {
        let isNull = element == .null
        if isNull, nulls.isEmpty { nulls = [Bool](repeating: false, count: count) }
        if !nulls.isEmpty { nulls[index] = isNull }
        if holdsWords {
            words[index] = element.word ?? 0
        } else {
            replace(index, by: element)
        }
    }

    /// Replaces the bytes of an element; those of null are empty.
    private mutating func replace(_ index: Int, by element: ListElement) {
        var new: [UInt8] = []
        if case .bytes(let bytes) = element { new = bytes }
        let old = range(index)
        bytes.replaceSubrange(old, with: new)
        let growth = new.count - old.count
        if growth != 0 { for later in index..<ends.count { ends[later] += growth } }
    }

    mutating func remove(at index: Int) {
        if !nulls.isEmpty { nulls.remove(at: index) }
        if holdsWords {
            words.remove(at: index)
        } else {
            replace(index, by: .null)
            ends.remove(at: index)
        }
        assert(isConsistent, "a removed element is in no part of the chunk")
    }

    /// Removes all elements from `index` on, and returns them as a chunk.
    mutating func split(at index: Int) -> UnpackedChunk {
        let rest = part(index..<count)
        self = part(0..<index)
        assert(isConsistent && rest.isConsistent, "each element is in one of the two chunks")
        return rest
    }

    /// Returns a copy of some elements, which takes no more memory than these need.
    private func part(_ range: Range<Int>) -> UnpackedChunk {
        var part = UnpackedChunk(words: holdsWords)
        if holdsWords {
            part.words = Array(words[range])
        } else {
            let start = offset(range.lowerBound)
            part.bytes = Array(bytes[start..<offset(range.upperBound)])
            part.ends = ends[range].map { $0 - start }
        }
        if !nulls.isEmpty { part.nulls = Array(nulls[range]) }
        return part
    }

    /// Returns the elements at some positions, in their order.
    func arranged(_ positions: [Int]) -> UnpackedChunk {
        var arranged = UnpackedChunk(words: holdsWords)
        if holdsWords {
            arranged.words = positions.map { words[$0] }
        } else {
            for position in positions {
                arranged.bytes += bytes[range(position)]
                arranged.ends.append(arranged.bytes.count)
            }
        }
        if !nulls.isEmpty { arranged.nulls = positions.map { nulls[$0] } }
        return arranged
    }

    /// Whether each byte element precedes the next one in the order of bytes.
    var isAscending: Bool {
        (0..<max(0, count - 1)).allSatisfy { precedes($0, $0 + 1) }
    }

    /// The positions of the byte elements in the order of bytes.
    var ascendingPositions: [Int] { (0..<count).sorted(by: precedes) }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        bytes[range(left)].lexicographicallyPrecedes(bytes[range(right)])
    }

    /// Returns chunks of which each can be stored; one chunk if all elements fit into it.
    ///
    /// With `fillsChunks`, all except the last one are full.
    func divided(fillsChunks: Bool) -> [UnpackedChunk] {
        var parts: [UnpackedChunk] = []
        var start = 0
        while true {
            let fitting = fittingCount(from: start)
            let rest = count - start
            guard fitting < rest else {
                return parts.isEmpty ? [self] : parts + [part(start..<count)]
            }
            let end = start + (fillsChunks ? fitting : Swift.min(fitting, (rest + 1) / 2))
            assert(end > start, "each part has an element")
            parts.append(part(start..<end))
            start = end
        }
    }

    mutating func append(contentsOf other: UnpackedChunk) {
        assert(holdsWords == other.holdsWords, "both chunks are of the same column")
        if !nulls.isEmpty || !other.nulls.isEmpty {
            if nulls.isEmpty { nulls = [Bool](repeating: false, count: count) }
            nulls +=
                other.nulls.isEmpty ? [Bool](repeating: false, count: other.count) : other.nulls
        }
        words += other.words
        ends += other.ends.map { $0 + bytes.count }
        bytes += other.bytes
        assert(isConsistent, "the elements of both chunks are in each part")
    }

    /// Returns the number of elements, from one on, that fit into one stored chunk.
    private func fittingCount(from start: Int) -> Int {
        let maximum = Swift.min(count - start, ListChunk.maximumElements)
        guard !holdsWords else { return maximum }
        let first = offset(start)
        for number in 0..<maximum {
            let size = ends[start + number] - first + 4 * (number + 1)
            if size > ListChunk.maximumBytes { return Swift.max(1, number) }
        }
        return maximum
    }

    /// The size in bytes of the packed elements.
    var packedSize: Int { sizes.total }

    private var sizes: (bitmap: Int, smallest: Int64, width: Int, total: Int) {
        let bitmap = nulls.contains(true) ? (count + 7) / 8 : 0
        let header = ListChunk.headerBytes + bitmap
        guard holdsWords else { return (bitmap, 0, 0, header + 4 * count + bytes.count) }
        let smallest = words.min() ?? 0
        let distance = UInt64(bitPattern: (words.max() ?? 0) &- smallest)
        let width = (71 - distance.leadingZeroBitCount) / 8
        return (bitmap, smallest, width, header + count * width + ListChunk.slackBytes)
    }

    /// Packs all elements, which must fit; `buffer` is overwritten.
    func pack(into buffer: inout GrowableBuffer<UInt8>) {
        buffer.truncate(to: 0)
        let size = packedSize
        pack(into: UnsafeMutableRawPointer(buffer.extend(by: size)))
    }

    /// Packs all elements into memory of ``packedSize`` bytes.
    func pack(into start: UnsafeMutableRawPointer) {
        assert(isConsistent, "a packed chunk has all parts of each element")
        let (bitmap, smallest, width, _) = sizes
        start.storeBytes(of: UInt16(count), as: UInt16.self)
        start.storeBytes(of: holdsWords ? 1 : 2, toByteOffset: 2, as: UInt8.self)
        start.storeBytes(of: bitmap == 0 ? 0 : 1, toByteOffset: 3, as: UInt8.self)
        start.storeBytes(of: UInt32(width), toByteOffset: 4, as: UInt32.self)
        start.storeBytes(of: smallest, toByteOffset: 8, as: Int64.self)
        var next = start + ListChunk.headerBytes
        for byte in 0..<bitmap {
            var bits: UInt8 = 0
            for index in byte * 8..<Swift.min(count, byte * 8 + 8) where nulls[index] {
                bits |= 1 << UInt8(index % 8)
            }
            (next + byte).storeBytes(of: bits, as: UInt8.self)
        }
        next += bitmap
        if holdsWords {
            for word in words {
                // Each word is stored as eight bytes; the next one, and finally the zeros, overwrite the excess bytes.
                next.storeBytes(of: word &- smallest, as: Int64.self)
                next += width
            }
            next.storeBytes(of: 0, as: UInt64.self)
        } else {
            for end in ends {
                next.storeBytes(of: UInt32(end), as: UInt32.self)
                next += 4
            }
            bytes.withUnsafeBytes {
                if let source = $0.baseAddress {
                    next.copyMemory(from: source, byteCount: $0.count)
                }
            }
        }
        assert(
            next + (holdsWords ? ListChunk.slackBytes : bytes.count) == start + packedSize,
            "the elements take the space that was computed for them")
    }
}

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
