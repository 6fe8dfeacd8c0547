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
