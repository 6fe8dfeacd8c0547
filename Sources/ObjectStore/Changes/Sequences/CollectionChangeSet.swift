import ColumnStorage

/// The changes of an observed sequence of rows, in positions and keys.
///
/// Applied to the old sequence in this order - deletions, insertions, modifications - the changes result in the new
/// one. All lists of positions ascend; each list of keys is in the order of its positions.
package struct CollectionChangeSet: Equatable {
    /// The old positions of the rows that left or moved.
    package var deletions: [Int] = []
    /// The keys of the rows at `deletions`.
    package var deletedKeys: [ObjectKey] = []
    /// The new positions of the rows that entered or moved.
    package var insertions: [Int] = []
    /// The keys of the rows at `insertions`.
    package var insertedKeys: [ObjectKey] = []
    /// The old positions of the modified rows that did not move.
    package var modifications: [Int] = []
    /// The new positions of the rows at `modifications`.
    package var modificationsNew: [Int] = []
    /// The keys of the rows at `modifications`.
    package var modifiedKeys: [ObjectKey] = []

    package var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modifications.isEmpty }

    /// Whether each position has a key; false for elements that are not objects.
    var hasAllKeys: Bool {
        deletions.count == deletedKeys.count && insertions.count == insertedKeys.count
            && modifications.count == modifiedKeys.count
    }
}

/// Builds the changes of a sequence from the rows that a commit has touched, without reading the others.
///
/// The untouched rows between touched ones form runs; old and new positions of the touched rows determine the position
/// of each run. For n touched rows this takes O(n log n).
struct TouchedPositions {
    /// A touched row that is in both sequences.
    struct Staying {
        var key: ObjectKey
        var old: Int
        var new: Int
        /// Whether the row is reported as modified.
        var isModified: Bool
    }

    /// The touched rows that left, with their old positions.
    var leaving: [(key: ObjectKey, old: Int)] = []
    /// The rows that entered, with their new positions.
    var entering: [(key: ObjectKey, new: Int)] = []
    /// The touched rows that are in both sequences.
    var staying: [Staying] = []

    /// Returns the changes of the sequence.
    ///
    /// `oldCount` is the length of the old sequence; `keyAtNew` returns the key of an untouched row and is called only
    /// for untouched rows that count as moved.
    func changes(oldCount: Int, keyAtNew: (Int) -> ObjectKey) -> CollectionChangeSet {
        if leaving.count + entering.count + staying.count == 1 { return changesOfOne() }
        var deletions = leaving.map { (position: $0.old, key: $0.key) }
        var insertions = entering.map { (position: $0.new, key: $0.key) }
        var kept: [Staying] = []
        let byNew = staying.sorted { $0.new < $1.new }

        let oldTouched = (leaving.map(\.old) + staying.map(\.old)).sorted()
        let newTouched = (entering.map(\.new) + staying.map(\.new)).sorted()
        let oldGaps = Gaps(touched: oldTouched)
        let newGaps = Gaps(touched: newTouched)
        let gaps = byNew.map { (old: oldGaps.gap(at: $0.old), new: newGaps.gap(at: $0.new)) }

        if Self.keepOrder(byNew, gaps) {
            kept = byNew
        } else {
            let untouchedCount = oldCount - oldTouched.count
            let (runs, members) = Self.runs(byNew, gaps: gaps, untouchedCount: untouchedCount)
            for (isKept, member) in zip(KeptSubsequence.choose(runs), members) {
                switch member {
                case .touched(let index) where isKept:
                    kept.append(byNew[index])
                case .touched(let index):
                    deletions.append((byNew[index].old, byNew[index].key))
                    insertions.append((byNew[index].new, byNew[index].key))
                case .untouched(let range) where !isKept:
                    for untouched in range {
                        let new = newGaps.position(ofUntouched: untouched)
                        let key = keyAtNew(new)
                        deletions.append((oldGaps.position(ofUntouched: untouched), key))
                        insertions.append((new, key))
                    }
                case .untouched:
                    break
                }
            }
        }
        deletions.sort { $0.position < $1.position }
        insertions.sort { $0.position < $1.position }
        let modified = kept.filter(\.isModified)
        return CollectionChangeSet(
            deletions: deletions.map(\.position), deletedKeys: deletions.map(\.key),
            insertions: insertions.map(\.position), insertedKeys: insertions.map(\.key),
            modifications: modified.map(\.old), modificationsNew: modified.map(\.new),
            modifiedKeys: modified.map(\.key))
    }

    /// Returns the changes if only one row was touched.
    private func changesOfOne() -> CollectionChangeSet {
        var changes = CollectionChangeSet()
        // If the row moved, the untouched rows that it passed do not move.
        let moved = staying.first { $0.old != $0.new }
        if let removed = leaving.first ?? moved.map({ ($0.key, $0.old) }) {
            changes.deletions = [removed.old]
            changes.deletedKeys = [removed.key]
        }
        if let come = entering.first ?? moved.map({ ($0.key, $0.new) }) {
            changes.insertions = [come.new]
            changes.insertedKeys = [come.key]
        }
        if moved == nil, let kept = staying.first, kept.isModified {
            changes.modifications = [kept.old]
            changes.modificationsNew = [kept.new]
            changes.modifiedKeys = [kept.key]
        }
        return changes
    }

    /// Returns whether all touched rows stayed between the same untouched rows, in the same order.
    private static func keepOrder(_ rows: [Staying], _ gaps: [(old: Int, new: Int)]) -> Bool {
        !gaps.contains { $0.old != $0.new }
            && !zip(rows, rows.dropFirst()).contains { $0.old > $1.old }
    }

    private enum Member {
        case touched(Int)
        case untouched(Range<Int>)
    }

    /// Splits the untouched rows at the old and new positions of staying rows, and orders the pieces and the staying
    /// rows as the new sequence does.
    private static func runs(
        _ rows: [Staying], gaps: [(old: Int, new: Int)], untouchedCount: Int
    ) -> (runs: [KeptSubsequence.Run], members: [Member]) {
        var cuts = Set(gaps.flatMap { [$0.old, $0.new] })
        cuts.insert(0)
        cuts.insert(untouchedCount)
        let sortedCuts = cuts.sorted()
        let pieces = zip(sortedCuts, sortedCuts.dropFirst()).map { $0..<$1 }

        // Positions in the old order: rows of a gap precede the piece that begins at the gap.
        struct Slot {
            var gap: Int
            var order: Int
            var member: Int
        }
        func slots(_ position: (Int) -> (gap: Int, order: Int)) -> [Slot] {
            let all =
                rows.indices.map {
                    let slot = position($0)
                    return Slot(gap: slot.gap, order: slot.order, member: $0)
                }
                + pieces.indices.map {
                    Slot(gap: pieces[$0].lowerBound, order: .max, member: rows.count + $0)
                }
            return all.sorted { ($0.gap, $0.order) < ($1.gap, $1.order) }
        }
        var oldRank = [Int](repeating: 0, count: rows.count + pieces.count)
        for (rank, slot) in slots({ (gaps[$0].old, rows[$0].old) }).enumerated() {
            oldRank[slot.member] = rank
        }
        var runs: [KeptSubsequence.Run] = []
        var members: [Member] = []
        for slot in slots({ (gaps[$0].new, rows[$0].new) }) {
            let isTouched = slot.member < rows.count
            let piece = isTouched ? 0..<1 : pieces[slot.member - rows.count]
            runs.append(
                KeptSubsequence.Run(
                    old: oldRank[slot.member], length: piece.count, isTouched: isTouched))
            members.append(isTouched ? .touched(slot.member) : .untouched(piece))
        }
        return (runs, members)
    }
}

/// Numbers the untouched rows of a sequence from the positions of its touched rows.
private struct Gaps {
    let touched: [Int]

    /// Returns the number of untouched rows before a touched row's position.
    func gap(at position: Int) -> Int {
        position - touched.indices.partition { touched[$0] < position }
    }

    /// Returns the position of the untouched row with a number.
    func position(ofUntouched number: Int) -> Int {
        number + touched.indices.partition { touched[$0] - $0 <= number }
    }
}

extension CollectionChangeSet {
    /// Returns the changes of the first `limit` rows of a sequence.
    ///
    /// Rows that insertions push beyond the limit are deleted, and rows that move from beyond the limit to before it
    /// are inserted. The counts determine how many rows cross the limit. Takes time in proportion to the changes, not
    /// to the rows.
    func limited(
        to limit: Int, oldCount: Int, newCount: Int, keyAtNew: (Int) -> ObjectKey
    ) -> CollectionChangeSet {
        assert(hasAllKeys, "the changes of rows have keys")
        let oldEnd = min(limit, oldCount)
        let newEnd = min(limit, newCount)
        var result = CollectionChangeSet()
        var removed = zip(deletions, deletedKeys).filter { $0.0 < oldEnd }
        var added = zip(insertions, insertedKeys).filter { $0.0 < newEnd }
        for (index, old) in modifications.enumerated()
        where old < oldEnd && modificationsNew[index] < newEnd {
            result.modifications.append(old)
            result.modificationsNew.append(modificationsNew[index])
            result.modifiedKeys.append(modifiedKeys[index])
        }

        // The remaining rows keep their order, so the rows that cross the limit are the last ones.
        let crossing = (oldEnd - removed.count) - (newEnd - added.count)
        if crossing > 0 {
            let old = Self.positions(crossing, before: oldEnd, skipping: deletions)
            let new = Self.positions(crossing, from: newEnd, skipping: insertions)
            removed += zip(old, new.map(keyAtNew))
            removed.sort { $0.0 < $1.0 }
        } else if crossing < 0 {
            let new = Self.positions(-crossing, before: newEnd, skipping: insertions)
            added += new.map { ($0, keyAtNew($0)) }
            added.sort { $0.0 < $1.0 }
        }
        result.deletions = removed.map(\.0)
        result.deletedKeys = removed.map(\.1)
        result.insertions = added.map(\.0)
        result.insertedKeys = added.map(\.1)
        return result
    }

    /// Returns the last `count` positions before a limit that are not skipped, ascending.
    private static func positions(
        _ count: Int, before limit: Int, skipping skipped: [Int]
    ) -> [Int] {
        let skipped = Set(skipped.filter { $0 < limit })
        var found: [Int] = []
        var position = limit - 1
        while found.count < count, position >= 0 {
            if !skipped.contains(position) { found.append(position) }
            position -= 1
        }
        return found.reversed()
    }

    /// Returns the first `count` positions from a limit on that are not skipped, ascending.
    private static func positions(_ count: Int, from limit: Int, skipping skipped: [Int]) -> [Int] {
        let skipped = Set(skipped.filter { $0 >= limit })
        var found: [Int] = []
        var position = limit
        while found.count < count {
            if !skipped.contains(position) { found.append(position) }
            position += 1
        }
        return found
    }
}
