import ColumnStorage

/// The rows of an unsorted query, in the order of their keys.
struct UnsortedRows: OrderedRows {
    private let rules: RowRules
    private var keys: KeyBitmap

    /// Takes the keys of the query, which ascend.
    init(_ rules: RowRules, _ keys: ResultKeys) {
        self.rules = rules
        self.keys = KeyBitmap(keys)
    }

    var count: Int { keys.count }

    static let cost = "looks only at objects that a commit touches"
    var cost: String { Self.cost }

    func key(at position: Int) -> ObjectKey { keys.key(at: position) }

    mutating func advance(along step: VersionStep, modified: KeySet) -> PositionChanges {
        let delta = rules.delta(along: step, isMember: keys.contains)
        var result = PositionChanges()
        let left = delta.left.sorted()
        result.deletedKeys = left
        result.deletions = left.map(keys.rank)
        let gone = KeySet(unordered: left)
        for key in modified where keys.contains(key) && !gone.contains(key) {
            result.modifiedKeys.append(key)
            result.modifications.append(keys.rank(key))
        }
        for key in left { keys.remove(key) }
        let entered = delta.entered.sorted()
        for key in entered { keys.insert(key) }
        result.insertedKeys = entered
        result.insertions = entered.map(keys.rank)
        result.modificationsNew = result.modifiedKeys.map(keys.rank)
        return result
    }
}
