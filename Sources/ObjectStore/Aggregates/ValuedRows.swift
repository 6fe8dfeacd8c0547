import ColumnStorage

/// The rows of a query whose values are aggregated.
///
/// Each step yields the objects that leave and join the rows. An object whose value changed leaves with its old value
/// and joins with its new one.
struct ValuedRows {
    /// The objects that leave and join the rows in a step.
    struct Change {
        /// The objects that leave, to be read with the values before the step.
        var left: [ObjectKey] = []
        /// The objects that join, to be read with the values after the step.
        var joined: [ObjectKey] = []

        var isEmpty: Bool { left.isEmpty && joined.isEmpty }
    }

    private(set) var query: Query
    private var rows: any ObservedRows

    init(_ query: Query, in view: StoreView) throws {
        self.query = query
        rows = try RowsFactory.rows(of: query, in: view)
    }

    /// The number of rows.
    var count: Int { rows.count }

    /// Updates the rows for a step and returns the objects that left and joined.
    ///
    /// `touched` are the objects whose values may have changed.
    mutating func advance(along step: VersionStep, touched: KeySet) throws -> Change {
        let changes = try rows.advance(along: step, modified: touched)
        return try Change(
            left: changes.deletedKeys + keysBefore(changes, step),
            joined: changes.insertedKeys + changes.modifiedKeys)
    }

    /// Returns the objects of modified rows before the step; they differ if a list element was replaced.
    private func keysBefore(_ changes: CollectionChangeSet, _ step: VersionStep) throws
        -> [ObjectKey]
    {
        guard !changes.modifications.isEmpty, query.steps.isEmpty,
            case .list(let table, let column, let owner) = query.base,
            step.isChanged(table, column, owner),
            let list = try step.old.table(table).list(column, owner)
        else { return changes.modifiedKeys }
        let kind = step.old.schema.find(table: table)?.property(in: column)?.collection
        guard kind != .map else { return changes.modifiedKeys }
        return try zip(changes.modifications, changes.modifiedKeys).map { position, key in
            try list.key(at: position) ?? key
        }
    }

    /// Adapts the rows to a changed schema.
    mutating func follow(_ step: VersionStep) throws {
        query = try query.followed(to: step.new.schema)
        if query.dependsOnMixed { rows = try RowsFactory.rows(of: query, in: step.old) }
    }
}
