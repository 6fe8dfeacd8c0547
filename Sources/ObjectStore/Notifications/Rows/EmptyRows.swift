import ColumnStorage

/// The rows of a query whose class, list or links the schema does not have.
struct EmptyRows: ObservedRows {
    var count: Int { 0 }
    var cost: String { "has nothing to follow" }

    mutating func advance(along step: VersionStep, modified: KeySet) -> CollectionChangeSet {
        CollectionChangeSet()
    }
}
