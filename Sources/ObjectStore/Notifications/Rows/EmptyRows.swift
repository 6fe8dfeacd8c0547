import ColumnStorage

/// The empty rows of a query whose class, list or links are not in the schema.
struct EmptyRows: ObservedRows {
    var count: Int { 0 }

    mutating func advance(along step: VersionStep, modified: KeySet) -> CollectionChangeSet {
        CollectionChangeSet()
    }
}
