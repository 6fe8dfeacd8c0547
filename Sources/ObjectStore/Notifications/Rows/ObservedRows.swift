import ColumnStorage

/// The rows of an observed collection as its observer last saw them, and how they move with a step.
protocol ObservedRows {
    /// How many rows there are.
    var count: Int { get }

    /// The cost of a commit that changes the collection, in words.
    var cost: String { get }

    /// Advances along a step. `modified` are the rows whose changes the observer receives.
    mutating func advance(along step: VersionStep, modified: KeySet) -> CollectionChangeSet

    /// The plain values that the last step removed or moved, as its deletions list them; empty where they can be
    /// read at their positions in the collection itself.
    var lostDetails: [ElementDetail] { get }

    /// The plain values at some positions; nil where these are positions in the collection itself.
    func values(at positions: [Int]) -> [Value]?

    /// The keys of the map entries at some positions; nil where these are positions in the collection itself.
    func mapKeys(at positions: [Int]) -> [String]?

    /// Whether the last step removed the collection, although its owner still exists.
    var isGone: Bool { get }
}

extension ObservedRows {
    var lostDetails: [ElementDetail] { [] }
    func values(at positions: [Int]) -> [Value]? { nil }
    func mapKeys(at positions: [Int]) -> [String]? { nil }
    var isGone: Bool { false }
}

/// Rows that can be found by their position.
protocol OrderedRows: ObservedRows {
    /// The row at a position below `count`.
    func key(at position: Int) -> ObjectKey
}
