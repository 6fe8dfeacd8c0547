import ColumnStorage

/// The rows of an observed collection as its observer last saw them, and how they move with a step.
protocol ObservedRows {
    /// How many rows there are.
    var count: Int { get }

    /// What a commit that touches the collection costs, in words.
    var cost: String { get }

    /// Moves along a step. `modified` are the rows whose changes the observer wants to hear of.
    mutating func advance(along step: VersionStep, modified: KeySet) -> CollectionChangeSet

    /// The plain values that the last step took away or moved, as its deletions list them; empty where they can be
    /// read at their positions in the collection itself.
    var lost: [Value] { get }

    /// The plain values at some positions; nil where these are positions in the collection itself.
    func values(at positions: [Int]) -> [Value]?
}

extension ObservedRows {
    var lost: [Value] { [] }
    func values(at positions: [Int]) -> [Value]? { nil }
}

/// Rows that can be asked for by their position.
protocol OrderedRows: ObservedRows {
    /// The row at a position below `count`.
    func key(at position: Int) -> ObjectKey
}
