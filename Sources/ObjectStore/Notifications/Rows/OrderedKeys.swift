import ColumnStorage

/// Keys in an order that depends on values; updates return the changed positions.
struct OrderedKeys {
    private(set) var keys: SortedKeys

    init(inOrder keys: [CodedKey]) {
        self.keys = SortedKeys(inOrder: keys)
    }

    /// Updates the keys for a step.
    ///
    /// `delta` is the effect of the step on the rows; keys in `modified` are reported if they are members.
    mutating func change(
        _ delta: RowDelta, modified: KeySet, before: CodedOrder, after: CodedOrder
    ) throws -> CollectionChangeSet {
        let oldCount = keys.count
        var positions = TouchedPositions()
        var taken: [Int] = []
        for key in delta.left {
            guard let old = try keys.position(of: key, by: before) else { continue }
            positions.leaving.append((key, old))
            taken.append(old)
        }
        for key in delta.stayed {
            guard let old = try keys.position(of: key, by: before) else { continue }
            positions.staying.append(
                .init(key: key, old: old, new: 0, isModified: modified.contains(key)))
            taken.append(old)
        }
        let moving = positions.staying.indices
        // Rows whose position cannot have changed keep their order.
        for key in modified.subtracting(delta.rows) {
            guard let old = try keys.position(of: key, by: before) else { continue }
            positions.staying.append(.init(key: key, old: old, new: 0, isModified: true))
        }

        taken.sort(by: >)
        for position in taken { keys.remove(at: position) }
        // Only the last inserted row has its final position; the next insertions may move the others.
        var last: (key: ObjectKey, position: Int)?
        for index in moving {
            let key = positions.staying[index].key
            last = try (key, keys.insert(key, by: after))
        }
        for key in delta.entered { last = try (key, keys.insert(key, by: after)) }
        func newPosition(of key: ObjectKey) throws -> Int? {
            if let last, last.key == key { return last.position }
            return try keys.position(of: key, by: after)
        }
        for index in positions.staying.indices {
            // Every member has a position, unless the order is inconsistent.
            positions.staying[index].new =
                try newPosition(of: positions.staying[index].key) ?? positions.staying[index].old
        }
        positions.entering = try delta.entered.compactMap { key in
            try newPosition(of: key).map { (key, $0) }
        }
        return positions.changes(oldCount: oldCount, keyAtNew: keys.key)
    }

    /// Removes the rows from a position on.
    mutating func removeAll(from position: Int) {
        while keys.count > position { keys.remove(at: keys.count - 1) }
    }
}
