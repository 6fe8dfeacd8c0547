import ColumnStorage

/// Keys in an order that reads values, with the positions that a change of them gives.
struct OrderedKeys {
    private(set) var keys: SortedKeys

    init(inOrder keys: [CodedKey]) {
        self.keys = SortedKeys(inOrder: keys)
    }

    /// Advances along a step that did `delta` to the rows; `modified` are reported if they are members.
    mutating func change(
        _ delta: RowDelta, modified: KeySet, before: CodedOrder, after: CodedOrder
    ) -> CollectionChangeSet {
        let oldCount = keys.count
        var positions = TouchedPositions()
        var taken: [Int] = []
        for key in delta.left {
            guard let old = keys.position(of: key, by: before) else { continue }
            positions.leaving.append((key, old))
            taken.append(old)
        }
        for key in delta.stayed {
            guard let old = keys.position(of: key, by: before) else { continue }
            positions.staying.append(
                .init(key: key, old: old, new: 0, isModified: modified.contains(key)))
            taken.append(old)
        }
        let moving = positions.staying.indices
        // Rows that only changed elsewhere keep their place among the others.
        for key in modified.subtracting(delta.rows) {
            guard let old = keys.position(of: key, by: before) else { continue }
            positions.staying.append(.init(key: key, old: old, new: 0, isModified: true))
        }

        taken.sort(by: >)
        for position in taken { keys.remove(at: position) }
        // Where the last one is put it stays; the others may still be moved by those that follow.
        var last: (key: ObjectKey, position: Int)?
        for index in moving {
            let key = positions.staying[index].key
            last = (key, keys.insert(key, by: after))
        }
        for key in delta.entered { last = (key, keys.insert(key, by: after)) }
        func newPosition(of key: ObjectKey) -> Int? {
            if let last, last.key == key { return last.position }
            return keys.position(of: key, by: after)
        }
        for index in positions.staying.indices {
            // The rank of a member is known; a missing one would be an order that contradicts itself.
            positions.staying[index].new =
                newPosition(of: positions.staying[index].key) ?? positions.staying[index].old
        }
        positions.entering = delta.entered.compactMap { key in
            newPosition(of: key).map { (key, $0) }
        }
        return positions.changes(oldCount: oldCount, keyAtNew: keys.key)
    }

    /// Forgets the rows from a position on.
    mutating func removeAll(from position: Int) {
        while keys.count > position { keys.remove(at: keys.count - 1) }
    }
}
