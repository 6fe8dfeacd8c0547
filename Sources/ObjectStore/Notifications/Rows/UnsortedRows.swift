import ColumnStorage

/// The rows of an unsorted query, in the order of their keys.
struct UnsortedRows: OrderedRows {
    private let rules: RowRules
    private var keys: KeyBitmap

    /// Creates the rows from the keys of the query, which ascend.
    init(_ rules: RowRules, _ keys: ResultKeys) {
        self.rules = rules
        self.keys = KeyBitmap(keys)
    }

    var count: Int { keys.count }

    func key(at position: Int) -> ObjectKey { keys.key(at: position) }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        var delta = try rules.delta(along: step) { keys.contains($0) }
        var result = CollectionChangeSet()
        if delta.left.count > 1 { delta.left.sort() }
        result.deletedKeys = delta.left
        for key in delta.left { result.deletions.append(keys.rank(key)) }
        let removed = KeySet(unordered: delta.left)
        for key in modified where keys.contains(key) && !removed.contains(key) {
            result.modifiedKeys.append(key)
            result.modifications.append(keys.rank(key))
        }
        for key in delta.left { keys.remove(key) }
        if delta.entered.count > 1 { delta.entered.sort() }
        for key in delta.entered { keys.insert(key) }
        result.insertedKeys = delta.entered
        for key in delta.entered { result.insertions.append(keys.rank(key)) }
        for key in result.modifiedKeys { result.modificationsNew.append(keys.rank(key)) }
        return result
    }
}
