import ColumnStorage

/// The rows of an observed collection as its observer last saw them, updated step by step.
protocol ObservedRows {
    /// The number of rows.
    var count: Int { get }

    /// Updates the rows for a step and returns the changes.
    ///
    /// `modified` are the rows whose changes the observer receives.
    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet

    /// The plain values that the last step removed or moved, in the order of its deletions.
    ///
    /// Empty if these values can be read at their positions in the collection itself.
    var lostDetails: [ElementDetail] { get }

    /// Returns the plain values at some positions; nil if these are positions in the collection itself.
    func values(at positions: [Int]) throws -> [Value]?

    /// Returns the keys of the map entries at some positions; nil if these are positions in the collection itself.
    func mapKeys(at positions: [Int]) throws -> [String]?

    /// Whether the last step removed the collection, although its owner still exists.
    var isRemoved: Bool { get }
}

extension ObservedRows {
    var lostDetails: [ElementDetail] { [] }
    func values(at positions: [Int]) throws -> [Value]? { nil }
    func mapKeys(at positions: [Int]) throws -> [String]? { nil }
    var isRemoved: Bool { false }
}

/// Rows that can be read by position.
protocol OrderedRows: ObservedRows {
    /// Returns the row at a position below `count`.
    func key(at position: Int) -> ObjectKey
}
