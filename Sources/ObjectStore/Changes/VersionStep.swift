import ColumnStorage

/// The way from the version an observer has seen to the one it is about to see.
///
/// Both versions can be read, and what lies between them is known by row and column. One step is
/// shared by all observers that take it, and so is what they compute from it in common.
final class VersionStep {
    let old: StoreView
    let new: StoreView
    let changes: ChangeSet
    /// What observers without key paths have in common, by observed table.
    var deeplyTouched: [TableID: KeySet] = [:]

    init(from old: StoreView, to new: StoreView, changes: ChangeSet) {
        self.old = old
        self.new = new
        self.changes = changes
    }

    func changes(of table: TableID) -> TableChanges? { changes.tables[table] }
}
