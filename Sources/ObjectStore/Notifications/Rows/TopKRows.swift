import ColumnStorage

/// The first rows of a sorted query, kept with a reserve of some more rows.
///
/// Rows of the reserve replace rows that leave. When the reserve is empty, the query runs again, at the earliest after
/// as many rows have left as the full reserve contains.
struct TopKRows: OrderedRows {
    private let rules: RowRules
    private let limit: Int
    private let most: Int
    private var ordered: OrderedKeys
    /// Whether the rows and the reserve include all members.
    private var isWhole: Bool

    init(_ rules: RowRules, _ limit: Int, in view: StoreView) throws {
        self.rules = rules
        self.limit = limit
        most = limit + Self.reserve(limit)
        (ordered, isWhole) = try Self.run(rules, most, in: view)
    }

    private static func run(
        _ rules: RowRules, _ most: Int, in view: StoreView
    ) throws -> (OrderedKeys, Bool) {
        let query = rules.members.adding(.sort(rules.order)).adding(.limit(most))
        let keys = try QueryEvaluator.keys(of: query, in: view).array
        let order = try RowReader(view).order(rules.order)
        return try (OrderedKeys(inOrder: keys.map(order.coded)), keys.count < most)
    }

    var count: Int { min(limit, ordered.keys.count) }

    func key(at position: Int) -> ObjectKey { ordered.keys.key(at: position) }

    /// Returns the number of rows that are kept after a limit.
    static func reserve(_ limit: Int) -> Int {
        limit > Int.max / 2 ? Int.max - limit : limit / 2 + 256
    }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        let before = try RowReader(step.old).order(rules.order)
        let after = try RowReader(step.new).order(rules.order)
        let oldCount = ordered.keys.count
        let kept = ordered.keys
        let shown = try rules.delta(along: step) { try kept.position(of: $0, by: before) != nil }
        let delta = try isWhole ? shown : within(shown, after)
        let left = oldCount - delta.left.count + delta.entered.count
        if !isWhole, left < limit { return try runAgain(step, modified) }
        let changes = try ordered.change(delta, modified: modified, before: before, after: after)
            .limited(
                to: limit, oldCount: oldCount, newCount: ordered.keys.count,
                keyAtNew: ordered.keys.key)
        if ordered.keys.count / 2 > most {
            ordered.removeAll(from: most)
            isWhole = false
        }
        return changes
    }

    /// Limits a delta to the touched rows before the last untouched row, because the rows after it are not known
    /// completely.
    private func within(_ delta: RowDelta, _ after: CodedOrder) throws -> RowDelta {
        let touched = KeySet(unordered: delta.left + delta.stayed)
        var last = ordered.keys.count - 1
        while last >= 0, touched.contains(ordered.keys.key(at: last)) { last -= 1 }
        guard last >= 0 else {
            return RowDelta(left: delta.left + delta.stayed)
        }
        let bound = ordered.keys.key(at: last)
        var result = RowDelta(left: delta.left)
        for key in delta.stayed {
            if try after.precedes(key, bound) {
                result.stayed.append(key)
            } else {
                result.left.append(key)
            }
        }
        result.entered = try delta.entered.filter { try after.precedes($0, bound) }
        return result
    }

    private mutating func runAgain(_ step: VersionStep, _ modified: KeySet) throws
        -> CollectionChangeSet
    {
        let before = (0..<count).map(ordered.keys.key)
        (ordered, isWhole) = try Self.run(rules, most, in: step.new)
        let after = (0..<count).map(ordered.keys.key)
        return SequenceDifference.changes(from: before, to: after, isTouched: modified.contains)
    }
}
