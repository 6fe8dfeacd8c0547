/// The bytes of a mixed value, and the positions of the elements of the collections that were used last.
///
/// A loop over a collection, or changes of its elements one by one, reach each of them without reading the others.
struct MixedTrail {
    /// A list or map, and the positions of its first elements.
    private struct Level {
        /// The step from the collection that contains it; nil for the outermost one.
        let step: NestedCollection.Step?
        /// The index of its element there.
        let index: Int
        /// The position of its tag.
        let start: Int
        let isMap: Bool
        var count: Int
        /// The positions of the known elements, of a map those of their keys, and the end of the last one.
        var positions: [Int]

        /// The number of elements whose positions are known.
        var known: Int { positions.count - 1 }
    }

    private(set) var bytes: [UInt8]
    private var levels: [Level] = []
    /// Whether the changes since this was set to true have neither added nor removed a link.
    var keepsLinks = true

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns a reader at the end of the path; nil if the value has no such element.
    mutating func follow(_ path: [NestedCollection.Step]) -> MixedReader? {
        guard let last = path.last else { return MixedReader(bytes) }
        guard let level = level(at: path.dropLast()), let index = index(of: last, level) else {
            return nil
        }
        return valueReader(index, level)
    }

    /// Returns the number of elements of the collection at a path; nil if it is not of the kind.
    mutating func count(at path: [NestedCollection.Step], _ kind: NestedCollection.Kind) -> Int? {
        guard let level = level(at: path[...]), levels[level].isMap == (kind == .map) else {
            return nil
        }
        return levels[level].count
    }

    /// Returns the level of the collection at a path; nil if there is none.
    private mutating func level(at path: ArraySlice<NestedCollection.Step>) -> Int? {
        if levels.isEmpty {
            guard let root = Self.level(nil, 0, MixedReader(bytes)) else { return nil }
            levels = [root]
        }
        for (depth, step) in path.enumerated() {
            if depth + 1 < levels.count, levels[depth + 1].step == step { continue }
            guard let index = index(of: step, depth),
                let next = Self.level(step, index, valueReader(index, depth))
            else { return nil }
            levels.removeSubrange((depth + 1)...)
            levels.append(next)
        }
        return path.count
    }

    private static func level(
        _ step: NestedCollection.Step?, _ index: Int, _ reader: MixedReader
    ) -> Level? {
        var reader = reader
        let (start, tag) = (reader.position, reader.tag())
        guard tag == .list || tag == .map, let count = reader.head() else { return nil }
        return Level(
            step: step, index: index, start: start, isMap: tag == .map, count: count,
            positions: [reader.position])
    }

    /// Returns the index of the element to which a step leads.
    private mutating func index(of step: NestedCollection.Step, _ level: Int) -> Int? {
        switch step {
        case .index(let index):
            guard !levels[level].isMap, (0..<levels[level].count).contains(index),
                find(through: index, level)
            else { return nil }
            return index
        case .key(let key):
            guard levels[level].isMap, let (index, isThere) = search(key, level), isThere else {
                return nil
            }
            return index
        }
    }

    /// Finds the positions of the elements up to an index; returns false for damaged bytes.
    private mutating func find(through index: Int, _ level: Int) -> Bool {
        while levels[level].known <= index {
            var reader = MixedReader(bytes, at: levels[level].positions.last ?? 0)
            if levels[level].isMap, reader.nextTag != .key || !reader.skip() { return false }
            guard reader.skip() else { return false }
            levels[level].positions.append(reader.position)
        }
        return true
    }

    /// Returns the index or the insertion index of a key, and whether the map has the key; nil for damaged bytes.
    private mutating func search(
        _ key: TextKey, _ level: Int
    ) -> (index: Int, isThere: Bool)? {
        let wanted = key.text.utf8
        var (low, high) = (0, levels[level].known)
        // Beyond the known keys, each one is compared before the next one is found.
        while low < high || high < levels[level].count {
            let middle = low < high ? (low + high) / 2 : high
            guard find(through: middle, level),
                let bytes = keyBytes(levels[level].positions[middle])
            else { return nil }
            if bytes.lexicographicallyPrecedes(wanted) {
                low = middle + 1
                high = max(high, low)
            } else if bytes.elementsEqual(wanted) {
                return (middle, true)
            } else {
                if low == middle { return (low, false) }
                high = middle
            }
        }
        return (low, false)
    }

    private func keyBytes(_ position: Int) -> ArraySlice<UInt8>? {
        var reader = MixedReader(bytes, at: position)
        return reader.tag() == .key ? reader.sized() : nil
    }

    /// Returns a reader at the value of an element whose position is known.
    private func valueReader(_ index: Int, _ level: Int) -> MixedReader {
        var reader = MixedReader(bytes, at: levels[level].positions[index])
        // because: the key was skipped when the position after it was found.
        if levels[level].isMap { _ = reader.skip() }
        return reader
    }
}

// Changes of the elements of a collection, which must exist. The other elements are not read, and their bytes are
// moved as a whole.
extension MixedTrail {
    /// Replaces elements of the list at a path; returns false for damaged bytes.
    mutating func replace(
        _ range: Range<Int>, at path: [NestedCollection.Step], by elements: [Value]
    ) -> Bool {
        guard let level = level(at: path[...]) else { return false }
        return replace(range, level, by: elements.map { (nil, $0) })
    }

    /// Sets an entry of the map at a path, or removes it; returns false for damaged bytes.
    mutating func set(
        _ key: String, at path: [NestedCollection.Step], to value: Value?
    ) -> Bool {
        guard let level = level(at: path[...]), let (index, isThere) = search(TextKey(key), level)
        else { return false }
        return replace(
            index..<index + (isThere ? 1 : 0), level, by: value.map { [(key, $0)] } ?? [])
    }

    private mutating func replace(
        _ range: Range<Int>, _ level: Int, by elements: [(key: String?, value: Value)]
    ) -> Bool {
        let isAtEnd = range.lowerBound == levels[level].count
        guard isAtEnd || range.upperBound == 0 || find(through: range.upperBound - 1, level) else {
            return false
        }
        for index in range where valueReader(index, level).hasLink { keepsLinks = false }
        var new: [UInt8] = []
        var sizes: [Int] = []
        for (key, value) in elements {
            if value.hasLink(to: { _ in true }) { keepsLinks = false }
            let element = MixedCoding.encode(element: value, forKey: key)
            new += element
            sizes.append(element.count)
        }
        let start = isAtEnd ? end(of: level) : levels[level].positions[range.lowerBound]
        let end = isAtEnd ? start : levels[level].positions[range.upperBound]
        guard end <= bytes.count else { return false }
        bytes.replaceSubrange(start..<end, with: new)
        let growth = new.count - (end - start)
        if !isAtEnd || levels[level].known == levels[level].count {
            var next = start
            let ends = sizes.map { size in
                next += size
                return next
            }
            levels[level].positions.replaceSubrange(
                range.lowerBound + 1..<range.upperBound + 1, with: ends)
            move(level, after: range.lowerBound + ends.count, by: growth)
        }
        levels[level].count += elements.count - range.count
        setWord(at: levels[level].start + 5, to: levels[level].count)
        levels.removeSubrange((level + 1)...)
        for outer in 0...level {
            setWord(at: levels[outer].start + 1, to: length(of: outer) + growth)
            if outer < level { move(outer, after: levels[outer + 1].index, by: growth) }
        }
        return true
    }

    /// Moves the known positions after that of an element.
    private mutating func move(_ level: Int, after index: Int, by growth: Int) {
        if growth == 0 { return }
        for later in index + 1..<max(index + 1, levels[level].positions.count) {
            levels[level].positions[later] += growth
        }
    }

    /// Returns the number of bytes after the length of a collection.
    private func length(of level: Int) -> Int {
        let start = levels[level].start + 1
        return (0..<4).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
    }

    private func end(of level: Int) -> Int { levels[level].start + 5 + length(of: level) }

    private mutating func setWord(at start: Int, to number: Int) {
        for index in 0..<4 {
            bytes[start + index] = UInt8(truncatingIfNeeded: number >> (8 * index))
        }
    }
}

extension MixedReader {
    /// Whether the next value is a link, or has one.
    fileprivate var hasLink: Bool {
        var reader = self
        return reader.value()?.hasLink { _ in true } ?? false
    }
}
