/// A report to an observer of a collection.
///
/// Indexes start at 0 and ascend. A row that moved is deleted and inserted.
///
/// ```swift
/// for try await change in store.all(Dog.self).changes() {
///     switch change {
///     case .initial(let dogs): print(dogs.count)
///     case .update(let dogs, let deletions, let insertions, let modifications):
///         print(dogs.count, deletions, insertions, modifications)
///     }
/// }
/// ```
public enum CollectionChange<Rows: Sendable>: Sendable {
    /// The first change, with the current collection.
    case initial(Rows)
    /// The content has changed. Deletions are indexes before the change; insertions and modifications are indexes after
    /// it.
    case update(Rows, deletions: [Int], insertions: [Int], modifications: [Int])

    /// The rows in the version after the change.
    public var rows: Rows {
        switch self {
        case .initial(let rows), .update(let rows, _, _, _): rows
        }
    }

    /// The indexes of the modified rows before the change.
    public var modificationsBefore: [Int] {
        guard case .update(_, let deletions, let insertions, let modifications) = self else {
            return []
        }
        // A modified row keeps its order among the rows that were neither deleted nor inserted.
        var result: [Int] = []
        var inserted = 0
        var deleted = 0
        for index in modifications {
            while inserted < insertions.count, insertions[inserted] < index { inserted += 1 }
            var before = index - inserted + deleted
            while deleted < deletions.count, deletions[deleted] <= before {
                deleted += 1
                before += 1
            }
            result.append(before)
        }
        return result
    }
}

/// A report to an observer of a map: keys instead of indexes.
public enum MapChange<Rows: Sendable>: Sendable {
    /// The first change, with the current map.
    case initial(Rows)
    /// The content has changed. Deletions, insertions and modifications are keys.
    case update(Rows, deletions: [String], insertions: [String], modifications: [String])

    /// The entries in the version after the change.
    public var rows: Rows {
        switch self {
        case .initial(let rows), .update(let rows, _, _, _): rows
        }
    }
}
