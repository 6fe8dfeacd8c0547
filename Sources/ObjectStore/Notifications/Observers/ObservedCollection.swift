import ColumnStorage

/// The collection that an observer follows.
package enum ObservedCollection {
    /// The objects of a query.
    case objects(Query)
    /// The elements of a collection without a query: plain values, or the values of a map.
    case elements(owner: ObjectReference, Property, target: TableID?)
    /// The plain values of a collection after filtering, sorting, `distinct` or limits.
    case values(owner: ObjectReference, Property, [CollectionValues.Step])
    /// The elements of a list or map inside a mixed value after filtering, sorting, `distinct` or limits.
    case nested(NestedAddress, Property, [CollectionValues.Step])

    /// The table of the objects; for plain values, the table of their owner.
    var table: TableID {
        switch self {
        case .objects(let query): query.table
        case .elements(let owner, _, let target): target ?? owner.table
        case .values(let owner, _, _): owner.table
        case .nested(let address, _, _): address.owner.table
        }
    }

    /// The collection of plain values; nil for objects.
    var values: ChangedCollection? {
        switch self {
        case .objects: nil
        case .elements(let owner, let property, _):
            ChangedCollection(owner: owner, column: property.column, isArranged: false)
        case .values(let owner, let property, _):
            ChangedCollection(owner: owner, column: property.column, isArranged: true)
        case .nested(let address, _, let steps):
            ChangedCollection(
                owner: address.owner, column: address.column, isArranged: !steps.isEmpty,
                nested: address)
        }
    }

    /// Returns the same collection in another schema.
    ///
    /// Throws `unknown_class` or `unknown_property` if a class or property of it was removed.
    func followed(to schema: Schema) throws -> ObservedCollection {
        switch self {
        case .objects(let query): .objects(try query.followed(to: schema))
        case .elements(let owner, let property, let target):
            .elements(
                owner: owner, try property.followed(to: schema, in: owner.table), target: target)
        case .values(let owner, let property, let steps):
            .values(owner: owner, try property.followed(to: schema, in: owner.table), steps)
        case .nested(let address, let property, let steps):
            .nested(address, try property.followed(to: schema, in: address.owner.table), steps)
        }
    }

    /// Returns the object to which the collection belongs; nil for a whole class.
    func owner(in schema: Schema) -> ObjectReference? {
        switch self {
        case .objects(let query): query.owner(in: schema)
        case .elements(let owner, _, _), .values(let owner, _, _): owner
        case .nested(let address, _, _): address.owner
        }
    }

    /// Returns a description of the cost of a commit that changes the collection.
    func cost(in schema: Schema) -> String {
        switch self {
        case .objects(let query): return RowsFactory.cost(of: query, schema: schema)
        case .elements(_, let property, let target):
            let objects = target == nil ? "" : ", and reads the objects that a commit changes"
            return "follows the edits of the \(property.kindInCosts)\(objects)"
        case .values(_, let property, _):
            return
                "follows the edits of the \(property.kindInCosts), and searches for the positions of values "
                + "that a commit changes"
        case .nested:
            return "compares the collection before and after a commit that changes its mixed value"
        }
    }

    /// The property that contains the plain values; nil for objects.
    var property: Property? {
        switch self {
        case .objects: nil
        case .elements(_, let property, _), .values(_, let property, _),
            .nested(_, let property, _):
            property
        }
    }
}

extension Property {
    fileprivate var kindInCosts: String { collection == .map ? "map" : "collection" }

    /// Returns the property under its name in another schema.
    fileprivate func followed(to schema: Schema, in table: TableID) throws -> Property {
        let owner = schema.find(table: table)
        guard let found = owner?.property(in: column) else {
            throw StoreError(
                .unknownProperty,
                "the observed property '\(owner?.name ?? "").\(name)' was removed or has another type"
                    + (owner?.lost.since(name) ?? "")
            )
        }
        return found
    }
}

extension Query {
    /// Returns the object with whose list or backlinks the query starts; nil for a whole class.
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
