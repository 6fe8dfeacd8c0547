import ColumnStorage

/// What an observer of a collection hears.
///
/// Positions start at 0 and ascend. Applied in this order they lead from the collection before to
/// the collection after: `deletions` (positions before), `insertions` (positions after). Rows
/// that moved are deleted and inserted; `modifications` names rows that kept their place, by
/// their position before, and `modificationsNew` the same rows by their position after.
public struct CollectionChange {
    /// Which call it is.
    public enum Kind {
        /// The first call: the collection as it is.
        case initial
        /// Something changed.
        case update
        /// The collection cannot be followed any more. This is the last call.
        case error(StoreError)
    }

    /// Which call it is.
    public let kind: Kind
    /// False once the object whose list or backlinks these are is gone.
    ///
    /// Then this is the last call.
    public let isCollectionValid: Bool

    let positions: PositionChanges
    let table: TableID
    let oldView: StoreView?
    let newView: StoreView?
    let changes: ChangeSet?

    init(
        _ kind: Kind, isCollectionValid: Bool = true, positions: PositionChanges = .init(),
        table: TableID, step: VersionStep? = nil
    ) {
        self.kind = kind
        self.isCollectionValid = isCollectionValid
        self.positions = positions
        self.table = table
        oldView = step?.old
        newView = step?.new
        changes = step?.changes
    }

    /// Where the rows were that left, or moved away.
    public var deletions: [Int] { positions.deletions }
    /// Where the rows are that entered, or moved here.
    public var insertions: [Int] { positions.insertions }
    /// Where the modified rows were.
    public var modifications: [Int] { positions.modifications }
    /// Where the modified rows are.
    public var modificationsNew: [Int] { positions.modificationsNew }

    /// The objects that left or moved, as `deletions` lists them; read them in ``versionBefore``.
    public var deletedObjects: [ObjectReference] { positions.deletedKeys.map(reference) }
    /// The objects that entered or moved, as `insertions` lists them.
    public var insertedObjects: [ObjectReference] { positions.insertedKeys.map(reference) }
    /// The modified objects, as `modifications` lists them.
    public var modifiedObjects: [ObjectReference] { positions.modifiedKeys.map(reference) }

    /// The version before the change, where deleted objects can be read; nil for the first call.
    ///
    /// Holding it, or the change, keeps that version's pages in the file.
    public var versionBefore: StoreView? { oldView }

    /// What changed in a modified row: its own properties in schema order or, if only something
    /// behind its links changed, the links that lead there.
    ///
    /// `index` counts as in `modifications`.
    ///
    /// Throws `out_of_range`.
    public func properties(ofModification index: Int) throws -> [PropertyChange] {
        guard positions.modifiedKeys.indices.contains(index) else {
            throw StoreError(
                .outOfRange,
                "there are \(modifications.count) modified rows, so there is none at \(index)")
        }
        guard let oldView, let newView, let changes,
            let classSchema = newView.schema.find(table: table)
        else { return [] }
        let object = reference(positions.modifiedKeys[index])
        func entry(_ property: Property) -> PropertyChange {
            PropertyChange(
                property: property, object: object, oldView: oldView, newView: newView)
        }
        let own = classSchema.properties.filter { property in
            !property.isBacklinks
                && changes.tables[table]?.modified[property.column]?.contains(object.key) == true
        }
        guard own.isEmpty else { return own.map(entry) }
        let step = VersionStep(from: oldView, to: newView, changes: changes)
        return classSchema.properties.filter { property in
            guard property.leadsToObjects, let target = newView.schema.target(of: property)
            else { return false }
            let graph = WatchGraph(
                through: property, of: classSchema, to: target, schema: newView.schema)
            return graph.touchedRows(in: step).contains(object.key)
        }.map(entry)
    }

    private func reference(_ key: ObjectKey) -> ObjectReference {
        ObjectReference(table: table, key: key)
    }
}
