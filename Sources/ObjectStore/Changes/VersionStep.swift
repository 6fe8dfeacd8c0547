import ColumnStorage

/// The way from the version an observer has seen to the one it is about to see.
///
/// Both versions can be read, and the changes between them are known by row and column. All observers that take the
/// step share it, and the results that they compute from it.
final class VersionStep {
    let old: StoreView
    let new: StoreView
    let changes: ChangeSet
    /// The shared results of observers with the same key paths.
    var touched: [KeyPathFilter.Scope: KeySet] = [:]
    /// The objects that gained or lost a link, by the links.
    var relinked: [Links: KeySet] = [:]

    /// Links of one column to the objects of one table.
    struct Links: Hashable {
        let backlinks: WatchGraph.Backlinks
        let target: TableID
    }

    init(from old: StoreView, to new: StoreView, changes: ChangeSet) {
        self.old = old
        self.new = new
        self.changes = changes
    }

    func changes(of table: TableID) -> TableChanges? { changes.tables[table] }

    /// Whether the step takes away what a collection lives from: its class, its owner's class or its owner.
    func removes(_ table: TableID, owner: ObjectReference?) -> Bool {
        if changes.schemaChanged {
            let tables = [table, owner?.table].compactMap(\.self)
            if tables.contains(where: { new.schema.find(table: $0) == nil }) { return true }
        }
        guard let owner else { return false }
        return changes(of: owner.table)?.deleted.contains(owner.key) == true
    }

    /// Whether a collection of a row was changed.
    func isChanged(_ table: TableID, _ column: ColumnID, _ key: ObjectKey) -> Bool {
        changes.tables[table]?.modified[column]?.contains(key) == true
    }

    /// The edits of a collection of a row, if they are known.
    func edits(_ table: TableID, _ column: ColumnID, _ key: ObjectKey) -> CollectionEdits? {
        changes.tables[table]?.edits[column]?[key].flatMap { $0.isComplete ? $0 : nil }
    }
}
