import ColumnStorage

extension CollectionChangeSet {
    /// Returns the changes of the first `limit` rows of a sequence.
    ///
    /// Rows that insertions push beyond the limit are deleted, and rows that move from beyond the limit to before it
    /// are inserted. The counts determine how many rows cross the limit. Takes time in proportion to the changes, not
    /// to the rows.
    func limited(
        to limit: Int, oldCount: Int, newCount: Int, keyAtNew: (Int) -> ObjectKey
    ) -> CollectionChangeSet {
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
