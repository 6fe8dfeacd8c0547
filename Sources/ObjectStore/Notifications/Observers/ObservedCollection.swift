import ColumnStorage

/// What an observer of a collection follows.
enum ObservedCollection {
    /// The objects of a query.
    case objects(Query)
    /// The elements of a collection that no query describes: plain values, and what a map holds.
    case elements(owner: ObjectReference, Property, target: TableID?)
    /// The plain values of a collection, filtered, ordered, each once, or cut.
    case values(owner: ObjectReference, Property, [CollectionValues.Step])

    /// The table of the objects; of plain values, that of their owner.
    var table: TableID {
        switch self {
        case .objects(let query): query.table
        case .elements(let owner, _, let target): target ?? owner.table
        case .values(let owner, _, _): owner.table
        }
    }

    /// Where the elements are; nil for objects.
    var values: ChangedCollection? {
        switch self {
        case .objects: nil
        case .elements(let owner, let property, _):
            ChangedCollection(owner: owner, column: property.column, isArranged: false)
        case .values(let owner, let property, _):
            ChangedCollection(owner: owner, column: property.column, isArranged: true)
        }
    }

    /// The object that the collection belongs to; nil for a whole class.
    func owner(in schema: Schema) -> ObjectReference? {
        switch self {
        case .objects(let query): query.owner(in: schema)
        case .elements(let owner, _, _), .values(let owner, _, _): owner
        }
    }
}

extension Query {
    /// The object whose list or backlinks the query starts from; nil for a whole class.
    func owner(in schema: Schema) -> ObjectReference? {
        switch base {
        case .table: return nil
        case .list(let table, _, let key): return ObjectReference(table: table, key: key)
        case .backlinks(let source, let column, let key):
            let property = schema.find(table: source)?.property(in: column)
            let target = property.flatMap(schema.target)
            return target.map { ObjectReference(table: $0.table, key: key) }
        }
    }
}
