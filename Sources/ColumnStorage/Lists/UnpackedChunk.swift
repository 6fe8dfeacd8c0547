/// A run of list elements in memory that can be changed.
struct UnpackedChunk {
    /// The elements as words, with zeros for nulls; empty for byte elements.
    private(set) var words: [Int64] = []
    /// The elements as bytes, empty for nulls; the array is empty for words.
    private(set) var byteElements: [[UInt8]] = []
    /// Whether each element is null; empty if no element was ever null.
    private(set) var nulls: [Bool] = []
    let holdsWords: Bool

    init(words: Bool) { holdsWords = words }

    /// Unpacks a stored chunk; nil if it is damaged.
    init?(_ chunk: ListChunk, words holdsWords: Bool) {
        self.holdsWords = holdsWords
        if chunk.hasNulls { nulls = (0..<chunk.count).map { chunk.isNull($0) } }
        if holdsWords {
            words = (0..<chunk.count).map { chunk.word($0) }
        } else {
            byteElements.reserveCapacity(chunk.count)
            for index in 0..<chunk.count {
                guard let bytes = chunk.bytes(index) else { return nil }
                byteElements.append([UInt8](bytes))
            }
        }
    }

    var count: Int { holdsWords ? words.count : byteElements.count }

    func isNull(_ index: Int) -> Bool { !nulls.isEmpty && nulls[index] }

    func element(_ index: Int, _ kind: ColumnKind) -> ListElement {
        if isNull(index) { return .null }
        return holdsWords ? kind.element(word: words[index]) : .bytes(byteElements[index])
    }

    mutating func append(word: Int64) {
        words.append(word)
        if !nulls.isEmpty { nulls.append(false) }
    }

    mutating func append(words more: some Collection<Int64>) {
        words.append(contentsOf: more)
        if !nulls.isEmpty { nulls += repeatElement(false, count: more.count) }
    }

    mutating func insert(_ element: ListElement, at index: Int) {
        let isNull = element == .null
        if isNull, nulls.isEmpty { nulls = [Bool](repeating: false, count: count) }
        if isNull || !nulls.isEmpty { nulls.insert(isNull, at: index) }
        if holdsWords {
            words.insert(element.word ?? 0, at: index)
        } else if case .bytes(let bytes) = element {
            byteElements.insert(bytes, at: index)
        } else {
            byteElements.insert([], at: index)
        }
    }

    mutating func set(_ element: ListElement, at index: Int) {
        let isNull = element == .null
        if isNull, nulls.isEmpty { nulls = [Bool](repeating: false, count: count) }
        if !nulls.isEmpty { nulls[index] = isNull }
        if holdsWords {
            words[index] = element.word ?? 0
        } else if case .bytes(let bytes) = element {
            byteElements[index] = bytes
        } else {
            byteElements[index] = []
        }
    }

    mutating func remove(at index: Int) {
        if !nulls.isEmpty { nulls.remove(at: index) }
        if holdsWords { words.remove(at: index) } else { byteElements.remove(at: index) }
    }

    /// Removes all elements from `index` on, and returns them as a chunk.
    mutating func split(at index: Int) -> UnpackedChunk {
        var rest = UnpackedChunk(words: holdsWords)
        if holdsWords {
            rest.words = Array(words[index...])
            words.removeSubrange(index...)
        } else {
            rest.byteElements = Array(byteElements[index...])
            byteElements.removeSubrange(index...)
        }
        if !nulls.isEmpty {
            rest.nulls = Array(nulls[index...])
            nulls.removeSubrange(index...)
        }
        return rest
    }

    mutating func append(contentsOf other: UnpackedChunk) {
        if !nulls.isEmpty || !other.nulls.isEmpty {
            if nulls.isEmpty { nulls = [Bool](repeating: false, count: count) }
            nulls +=
                other.nulls.isEmpty ? [Bool](repeating: false, count: other.count) : other.nulls
        }
        words += other.words
        byteElements += other.byteElements
    }

    /// The number of elements, from the first on, that fit into one stored chunk.
    var fittingCount: Int {
        let most = Swift.min(count, ListChunk.maximumElements)
        guard !holdsWords else { return most }
        var bytes = 0
        for index in 0..<most {
            bytes += byteElements[index].count + 4
            if bytes > ListChunk.maximumBytes { return Swift.max(1, index) }
        }
        return most
    }

    /// Packs all elements, which must fit; `buffer` is overwritten.
    func pack(into buffer: inout GrowableBuffer<UInt8>) {
        let bitmap = nulls.contains(true) ? (count + 7) / 8 : 0
        var smallest: Int64 = 0
        var width = 0
        var payload = ListChunk.slackBytes
        if holdsWords {
            smallest = words.min() ?? 0
            let distance = UInt64(bitPattern: (words.max() ?? 0) &- smallest)
            width = (71 - distance.leadingZeroBitCount) / 8
            payload += count * width
        } else {
            payload = byteElements.reduce(count * 4) { $0 + $1.count }
        }
        buffer.truncate(to: 0)
        let start = UnsafeMutableRawPointer(
            buffer.extend(by: ListChunk.headerBytes + bitmap + payload))
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
            var end: UInt32 = 0
            var target = next + count * 4
            for bytes in byteElements {
                end += UInt32(bytes.count)
                next.storeBytes(of: end, as: UInt32.self)
                next += 4
                bytes.withUnsafeBytes {
                    target.copyMemory(
                        from: $0.baseAddress ?? UnsafeRawPointer(target), byteCount: $0.count)
                }
                target += bytes.count
            }
        }
    }
}
