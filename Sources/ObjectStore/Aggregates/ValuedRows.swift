import ColumnStorage

/// The rows of a query whose values are aggregated: finds the objects that leave and join with a step.
///
/// An object whose value changed leaves with its old value and joins with its new one.
struct ValuedRows {
    /// The changes of a step.
    struct Change {
        /// Objects with the values that they had before the step.
        var left: [ObjectKey] = []
        /// Objects with the values that they have after it.
        var joined: [ObjectKey] = []

        var isEmpty: Bool { left.isEmpty && joined.isEmpty }
    }

    private(set) var query: Query
    private var rows: any ObservedRows

    init(_ query: Query, in view: StoreView) {
        self.query = query
        rows = RowsFactory.rows(of: query, in: view)
    }

    /// How many rows there are.
    var count: Int { rows.count }

    /// The cost of a commit that changes the rows, in words.
    var cost: String { rows.cost }

    /// Moves along a step; `touched` are the objects whose values may have changed.
    mutating func advance(along step: VersionStep, touched: KeySet) -> Change {
        let changes = rows.advance(along: step, modified: touched)
        return Change(
            left: changes.deletedKeys + keysBefore(changes, step),
            joined: changes.insertedKeys + changes.modifiedKeys)
    }

    /// The objects of modified rows before the step: an element of a list that was replaced was another object.
    private func keysBefore(_ changes: CollectionChangeSet, _ step: VersionStep) -> [ObjectKey] {
        guard !changes.modifications.isEmpty, query.steps.isEmpty,
            case .list(let table, let column, let owner) = query.base,
            step.isChanged(table, column, owner),
            let list = step.old.table(table).list(column, owner)
        else { return changes.modifiedKeys }
        let kind = step.old.schema.find(table: table)?.property(in: column)?.collection
        guard kind != .map else { return changes.modifiedKeys }
        return zip(changes.modifications, changes.modifiedKeys).map { position, key in
            ((try? list.key(at: position)) ?? nil) ?? key
        }
    }

    /// Follows the query to another schema; true if the rows had to be found again, in `view`.
    mutating func follow(_ step: VersionStep) throws {
        query = try query.followed(to: step.new.schema)
        if query.dependsOnMixed { rows = RowsFactory.rows(of: query, in: step.old) }
    }
}
