import ObjectStore

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

/// A property that has changed.
public struct PropertyChange: Hashable, Sendable {
    /// The property's name.
    public let name: String
    /// The value before the change; null for collections, which report only that they have changed.
    public let old: Mixed
    /// The value after the change; null for collections.
    public let new: Mixed
}

/// A report to an observer of an object.
public enum ObjectChange<M: ObjectModel>: Sendable {
    /// Properties have changed; the object has the version after the change.
    case change(Frozen<M>, [PropertyChange])
    /// The object was deleted; it has its last values. This is the last change.
    case deleted(Frozen<M>)

    /// The values of a property before and after; nil if it has not changed.
    public subscript<V: StoredValue>(path: KeyPath<M, V>) -> (old: V, new: V)? {
        guard case .change(_, let properties) = self,
            let name = try? ModelRegistry.description(of: M.self).field(of: path).name,
            let change = properties.first(where: { $0.name == name }),
            let old = try? V(stored: change.old), let new = try? V(stored: change.new)
        else { return nil }
        return (old, new)
    }
}

extension ObjectChange {
    /// The change of the engine, which is read while its versions are open; nil for a change without the last values.
    init?(_ change: ObjectStore.ObjectChange, in context: ModelContext) throws {
        switch change.kind {
        case .change:
            let version = try FrozenVersion.of(context)
            self = try .change(
                Frozen(version, change.object.key),
                change.properties.map {
                    try PropertyChange(
                        name: $0.name, old: context.mixed($0.old), new: context.mixed($0.new))
                })
        case .deleted:
            guard let view = change.viewBefore else { return nil }
            self = .deleted(
                Frozen(try FrozenVersion.of(view, leftBy: context), change.object.key))
        case .error(let error): throw error
        }
    }
}
