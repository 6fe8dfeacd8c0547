import ColumnStorage

/// The changes between two sequences of keys, found by comparing them.
///
/// The comparison is used for observed collections that cannot be updated incrementally. A key may occur several times.
/// A common prefix and a common suffix take one comparison for each row; the rest takes logarithmic time for each
/// distinct key.
package enum SequenceDifference {
    /// Returns the changes from one sequence to another.
    ///
    /// `isTouched` returns whether a key that is in both sequences is reported as modified.
    package static func changes(
        from old: [ObjectKey], to new: [ObjectKey], isTouched: (ObjectKey) -> Bool
    ) -> CollectionChangeSet {
        var prefix = 0
        while prefix < old.count, prefix < new.count, old[prefix] == new[prefix] { prefix += 1 }
        var oldEnd = old.count
        var newEnd = new.count
        while oldEnd > prefix, newEnd > prefix, old[oldEnd - 1] == new[newEnd - 1] {
            oldEnd -= 1
            newEnd -= 1
        }

        var result = CollectionChangeSet()
        func modify(_ oldPosition: Int, _ newPosition: Int) {
            guard isTouched(new[newPosition]) else { return }
            result.modifications.append(oldPosition)
            result.modificationsNew.append(newPosition)
            result.modifiedKeys.append(new[newPosition])
        }
        for position in 0..<prefix { modify(position, position) }

        let pairs = matches(old, in: prefix..<oldEnd, new, in: prefix..<newEnd)
        let runs = pairs.map {
            KeptSubsequence.Run(old: $0.old, length: 1, isTouched: isTouched(new[$0.new]))
        }
        let isKept = KeptSubsequence.choose(runs)
        var oldPosition = prefix
        var newPosition = prefix
        func skip(to oldLimit: Int, _ newLimit: Int) {
            result.deletions.append(contentsOf: oldPosition..<oldLimit)
            result.deletedKeys.append(contentsOf: old[oldPosition..<oldLimit])
            result.insertions.append(contentsOf: newPosition..<newLimit)
            result.insertedKeys.append(contentsOf: new[newPosition..<newLimit])
        }
        for (index, pair) in pairs.enumerated() where isKept[index] {
            skip(to: pair.old, pair.new)
            modify(pair.old, pair.new)
            oldPosition = pair.old + 1
            newPosition = pair.new + 1
        }
        skip(to: oldEnd, newEnd)
        for offset in 0..<(old.count - oldEnd) { modify(oldEnd + offset, newEnd + offset) }
        assert(
            old.count - result.deletions.count == new.count - result.insertions.count,
            "both sequences have the kept rows")
        return result
    }

    /// Pairs the n-th occurrence of a key in one range with its n-th occurrence in the other, ordered by new position.
    private static func matches(
        _ old: [ObjectKey], in oldRange: Range<Int>, _ new: [ObjectKey], in newRange: Range<Int>
    ) -> [(old: Int, new: Int)] {
        guard !oldRange.isEmpty, !newRange.isEmpty else { return [] }
        func ordered(_ keys: [ObjectKey], _ range: Range<Int>) -> [Int] {
            range.sorted { (keys[$0].rawValue, $0) < (keys[$1].rawValue, $1) }
        }
        let oldOrder = ordered(old, oldRange)
        let newOrder = ordered(new, newRange)
        var pairs: [(old: Int, new: Int)] = []
        var left = 0
        var right = 0
        while left < oldOrder.count, right < newOrder.count {
            let oldKey = old[oldOrder[left]]
            let newKey = new[newOrder[right]]
            if oldKey == newKey {
                pairs.append((oldOrder[left], newOrder[right]))
                left += 1
                right += 1
            } else if oldKey < newKey {
                left += 1
            } else {
                right += 1
            }
        }
        return pairs.sorted { $0.new < $1.new }
    }
}

/// A mapping from the elements of a list to the same elements in another version, found by comparison.
///
/// Equal elements are matched in order, as many as possible. A list or map without a match is paired with an equal one at
/// any other position: it was moved. Between two matches, a remaining list is paired with a list, a map with a map, and
/// every other element with one whose value was replaced. All other elements count as removed or inserted. A single
/// change is therefore recognized exactly; only among equal elements, it is unknown which one changed.
struct ElementAlignment {
    /// The new position of the same element for each old position; nil for removed elements.
    let newPositions: [Int?]

    /// The limit of exact comparison.
    ///
    /// If the product of both lengths is larger, elements are matched by their occurrences, which takes less time.
    private static let exactLimit = 1 << 16

    /// Compares two versions of a list.
    init(from old: [Value], to new: [Value]) {
        var found = [Int?](repeating: nil, count: old.count)
        let whole = Gap(old: old.indices, new: new.indices)
        let gaps = Self.match(old, new, in: whole, &found)
        let taken = Self.matchMoved(old, new, &found)
        if !gaps.isEmpty {
            let oldShapes = old.indices.map { found[$0] == nil ? Shape(old[$0]) : .matchedOld }
            let newShapes = new.indices.map { taken.contains($0) ? .matchedNew : Shape(new[$0]) }
            for gap in gaps {
                for rest in Self.match(oldShapes, newShapes, in: gap, &found) {
                    let pairs = zip(
                        rest.old.filter { oldShapes[$0] != .matchedOld },
                        rest.new.filter { newShapes[$0] != .matchedNew })
                    for (old, new) in pairs { found[old] = new }
                }
            }
        }
        assert(
            Set(found.compactMap(\.self)).count == found.count { $0 != nil },
            "no two elements have the same new position")
        newPositions = found
    }

    /// Pairs lists and maps without a match with equal ones; returns all new positions that have a match.
    private static func matchMoved(
        _ old: [Value], _ new: [Value], _ found: inout [Int?]
    ) -> Set<Int> {
        var taken = Set(found.compactMap(\.self))
        guard taken.count < min(old.count, new.count) else { return taken }
        var positions: [Value: [Int]] = [:]
        for position in new.indices.reversed()
        where new[position].isCollection && !taken.contains(position) {
            positions[new[position], default: []].append(position)
        }
        for position in old.indices where found[position] == nil {
            guard let match = positions[old[position]]?.popLast() else { continue }
            found[position] = match
            taken.insert(match)
        }
        return taken
    }

    /// The ranges of positions between two matches in both versions.
    private struct Gap {
        let old: Range<Int>
        let new: Range<Int>
    }

    /// The kind of an element, which stays the same when its content changes.
    private enum Shape: Hashable {
        case list, map, plain
        /// An element that already has a match; the two cases are different, so that they do not match each other.
        case matchedOld, matchedNew

        init(_ value: Value) {
            switch value {
            case .list: self = .list
            case .dictionary: self = .map
            default: self = .plain
            }
        }
    }

    /// Matches equal elements in a gap; returns the gaps between the matches in which both versions have elements.
    private static func match<Element: Hashable>(
        _ old: [Element], _ new: [Element], in gap: Gap, _ found: inout [Int?]
    ) -> [Gap] {
        var (oldStart, newStart) = (gap.old.lowerBound, gap.new.lowerBound)
        var (oldEnd, newEnd) = (gap.old.upperBound, gap.new.upperBound)
        while oldStart < oldEnd, newStart < newEnd, old[oldStart] == new[newStart] {
            found[oldStart] = newStart
            oldStart += 1
            newStart += 1
        }
        while oldStart < oldEnd, newStart < newEnd, old[oldEnd - 1] == new[newEnd - 1] {
            oldEnd -= 1
            newEnd -= 1
            found[oldEnd] = newEnd
        }
        let pairs = matches(old[oldStart..<oldEnd], new[newStart..<newEnd])
        var gaps: [Gap] = []
        for pair in pairs + [(old: oldEnd, new: newEnd)] {
            if oldStart < pair.old, newStart < pair.new {
                gaps.append(Gap(old: oldStart..<pair.old, new: newStart..<pair.new))
            }
            if pair.old < oldEnd { found[pair.old] = pair.new }
            (oldStart, newStart) = (pair.old + 1, pair.new + 1)
        }
        return gaps
    }

    /// Returns pairs of positions of equal elements; both positions ascend.
    private static func matches<Element: Hashable>(
        _ old: ArraySlice<Element>, _ new: ArraySlice<Element>
    ) -> [(old: Int, new: Int)] {
        if old.isEmpty || new.isEmpty { return [] }
        if old.count > exactLimit / new.count { return occurrences(old, new) }
        let difference = new.difference(from: old)
        var isRemoved = [Bool](repeating: false, count: old.count)
        var isInserted = [Bool](repeating: false, count: new.count)
        for change in difference {
            switch change {
            case .remove(let offset, _, _): isRemoved[offset] = true
            case .insert(let offset, _, _): isInserted[offset] = true
            }
        }
        return zip(
            old.indices.filter { !isRemoved[$0 - old.startIndex] },
            new.indices.filter { !isInserted[$0 - new.startIndex] }
        ).map { (old: $0, new: $1) }
    }

    /// Pairs the n-th occurrence of an element with its n-th occurrence in the other version, if the pairs are in the
    /// same order in both.
    private static func occurrences<Element: Hashable>(
        _ old: ArraySlice<Element>, _ new: ArraySlice<Element>
    ) -> [(old: Int, new: Int)] {
        var positions: [Element: [Int]] = [:]
        for position in old.indices.reversed() {
            positions[old[position], default: []].append(position)
        }
        var pairs: [(old: Int, new: Int)] = []
        for position in new.indices {
            guard let match = positions[new[position]]?.popLast() else { continue }
            pairs.append((match, position))
        }
        let runs = pairs.map { KeptSubsequence.Run(old: $0.old, length: 1, isTouched: false) }
        return zip(pairs, KeptSubsequence.choose(runs)).filter(\.1).map(\.0)
    }
}
