import ColumnStorage

/// The rows of an observed collection as its observer last saw them, and how they move with a step.
protocol ObservedRows {
    /// How many rows there are.
    var count: Int { get }

    /// What a commit that touches the collection costs, in words.
    var cost: String { get }

    /// Moves along a step. `modified` are the rows whose changes the observer wants to hear of.
    mutating func advance(along step: VersionStep, modified: KeySet) -> PositionChanges
}

/// Rows that can be asked for by their position.
protocol OrderedRows: ObservedRows {
    /// The row at a position below `count`.
    func key(at position: Int) -> ObjectKey
}
