import ColumnStorage

/// The objects of a list, in its order; an object may occur several times.
struct ListRows: ObservedRows {
    private let table: TableID
    private let column: ColumnID
    private let owner: ObjectKey
    private var elements: ListedKeys

    init(_ keys: [ObjectKey], of owner: ObjectKey, in table: TableID, column: ColumnID) {
        self.table = table
        self.column = column
        self.owner = owner
        elements = ListedKeys(keys)
    }

    var count: Int { elements.count }

    static let cost = "follows the edits of the list, and reads the objects that a commit changes"
    var cost: String { Self.cost }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        guard step.isChanged(table, column, owner) else {
            var changes = CollectionChangeSet()
            for occurrence in elements.occurrences(of: modified) {
                changes.modifications.append(occurrence.position)
                changes.modifiedKeys.append(occurrence.key)
            }
            changes.modificationsNew = changes.modifications
            return changes
        }
        if let edits = step.edits(table, column, owner),
            let sequence = EditedSequence(count: elements.count, edits),
            try sequence.count == step.new.table(table).listCount(column, owner),
            let changes = try follow(sequence, along: step, modified: modified)
        {
            return changes
        }
        let before = try step.old.table(table).linkedKeys(column, owner)
        let after = try step.new.table(table).linkedKeys(column, owner)
        elements = ListedKeys(after)
        return SequenceDifference.changes(from: before, to: after, isTouched: modified.contains)
    }

    /// Returns the changes of the list; nil if it cannot be read element by element.
    private mutating func follow(
        _ sequence: EditedSequence, along step: VersionStep, modified: KeySet
    ) throws -> CollectionChangeSet? {
        var changes = sequence.changes()
        changes.deletedKeys = changes.deletions.map { elements[$0] }
        guard let list = try step.new.table(table).list(column, owner) else { return nil }
        let isFollowed = try elements.follow(
            changes, key: { try list.key(at: $0) },
            all: { try step.new.table(table).linkedKeys(column, owner) })
        guard isFollowed else { return nil }
        changes.insertedKeys = changes.insertions.map { elements[$0] }
        addModified(to: &changes, sequence, modified)
        return changes
    }

    /// Adds the kept elements whose objects were modified to the replaced elements.
    private func addModified(
        to changes: inout CollectionChangeSet, _ sequence: EditedSequence, _ modified: KeySet
    ) {
        let kept = KeptPositions(sequence.kept())
        var olds = Dictionary(
            zip(changes.modificationsNew, changes.modifications), uniquingKeysWith: { $1 })
        for occurrence in elements.occurrences(of: modified) {
            if let old = kept.old(ofNew: occurrence.position) { olds[occurrence.position] = old }
        }
        changes.modificationsNew = olds.keys.sorted()
        changes.modifications = changes.modificationsNew.compactMap { olds[$0] }
        changes.modifiedKeys = changes.modificationsNew.map { elements[$0] }
    }
}
