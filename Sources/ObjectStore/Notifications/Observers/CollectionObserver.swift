import ColumnStorage

/// Observes the rows of a query, or the elements of a collection.
///
/// The rows are kept with their positions. A step takes time in proportion to the number of touched rows, times the
/// logarithm of the number of all rows, except for queries that must run again.
final class CollectionObserver: ReportingObserver<CollectionChange> {
    private var collection: ObservedCollection
    private let texts: [String]
    private let table: TableID
    private let owner: ObjectReference?
    /// The key paths; nil for plain values, which have no properties.
    private var filter: KeyPathFilter?
    private var rows: (any ObservedRows)?
    private let className: String

    /// Creates an observer of a collection.
    ///
    /// Throws `invalid_query` for a key path that the class does not have.
    init(
        _ collection: ObservedCollection, keyPaths: [String], name: String,
        dispatcher: NotificationDispatcher, schema: Schema, handler: @escaping Handler
    ) throws {
        guard let elements = schema.find(table: collection.table) else {
            throw StoreError(
                .invalidArgument, "the class of the observed collection no longer exists")
        }
        switch collection {
        case .objects, .elements(_, _, target: .some):
            filter = try KeyPathFilter(keyPaths, class: elements, schema: schema)
        case .elements(_, let property, _), .values(_, let property, _),
            .nested(_, let property, _):
            guard keyPaths.isEmpty else {
                throw StoreError(
                    .invalidQuery,
                    "'\(elements.name).\(property.name)' contains plain values, which have no properties "
                        + "for key paths")
            }
        }
        self.collection = collection
        table = collection.table
        owner = collection.owner(in: schema)
        texts = keyPaths
        className = elements.name
        super.init(name: name, dispatcher: dispatcher, handler: handler)
    }

    override var subject: String {
        switch collection {
        case .elements(_, let property, target: nil): "'\(className).\(property.name)'"
        case .values(_, let property, _): "values of '\(className).\(property.name)'"
        case .nested(let address, let property, _):
            "a \(address.kind == .list ? "list" : "map") inside '\(className).\(property.name)'"
        case .objects, .elements: "a collection of '\(className)'"
        }
    }

    override var interests: ObserverInterests {
        var interests = ObserverInterests()
        if let owner { interests.add(row: owner) }
        if case .objects(let query) = collection, let schema = dispatcher?.store.schema {
            interests.add(query, filter, schema: schema)
        } else if let filter {
            interests.add(filter.watched)
        }
        return interests
    }

    override func cost(in schema: Schema) -> String { collection.cost(in: schema) }

    override func release() {
        super.release()
        rows = nil
    }

    override func begin(in view: StoreView) throws -> Call? {
        let isValid = try owner.map(view.isPresent) ?? true
        if isValid { rows = try makeRows(view) } else { isFinished = true }
        return call(
            CollectionChange(
                .initial, isCollectionValid: isValid, table: table, values: collection.values))
    }

    override func advance(along step: VersionStep) throws -> Call? {
        if try step.removes(table, owner: owner) {
            let call = try lastCall(step)
            let reason = DeliveryReason(ending: owner, in: step)
            makeReason = { reason }
            return call
        }
        let shown = step.changes.schemaChanged ? try follow(step) : nil
        // After an error, the rows are read again in the version that the observer has seen.
        var rows = try rows ?? makeRows(step.old)
        self.rows = nil  // makes `rows` the only copy, which is then changed in place
        let call = try advance(&rows, along: step, shown: shown)
        if !isFinished { self.rows = rows }
        if case .nested(_, let property, let steps) = collection, let nested = rows as? NestedRows {
            collection = .nested(nested.address, property, steps)
        }
        return call
    }

    /// Updates the rows; `shown` are the rows that the handler knows if they differ from the rows before the step.
    private func advance(
        _ rows: inout any ObservedRows, along step: VersionStep, shown: [ObjectKey]?
    ) throws -> Call? {
        var positions = try rows.advance(
            along: step, modified: filter?.touchedRows(in: step) ?? KeySet())
        if let shown, case .objects(let query) = collection {
            let keys = try QueryEvaluator.keys(of: query, in: step.new).array
            let modified = Set(positions.modifiedKeys)
            positions = SequenceDifference.changes(
                from: shown, to: keys, isTouched: modified.contains)
        }
        if rows.isRemoved { return try lastCall(step, positions, rows.lostDetails) }
        var lost = rows.lostDetails
        if let coalesced = delay?.coalescedChanges { (positions, lost) = coalesced.reported() }
        guard !positions.isEmpty else { return nil }
        let mapKeys = try rows.mapKeys(at: positions.insertions).flatMap { inserted in
            try rows.mapKeys(at: positions.modificationsNew).map { (inserted, $0) }
        }
        var values = collection.values
        if let nested = rows as? NestedRows { values?.nested = nested.address }
        let change = CollectionChange(
            .update, positions: positions, lost: lost, table: table, filter: filter,
            values: values,
            inserted: try rows.values(at: positions.insertions),
            modified: try rows.values(at: positions.modificationsNew),
            mapKeys: mapKeys, step: step)
        try explain(positions, step)
        return call(change)
    }

    override func failed(_ error: StoreError) -> Call? {
        call(CollectionChange(.error(error), table: table, values: collection.values))
    }

    override func coverage(of object: ObjectReference, in view: StoreView) throws
        -> ObserverCoverage?
    {
        guard case .objects(let query) = collection else { return nil }
        return try ObserverCoverage(
            commonCoverage(keyPaths: texts), query, of: className, object, in: view)
    }

    /// Follows the collection to a changed schema.
    ///
    /// Links inside mixed values may lead to other properties: returns the rows that the handler knows if the query has
    /// other rows before the step now.
    private func follow(_ step: VersionStep) throws -> [ObjectKey]? {
        let schema = step.new.schema
        guard let elements = schema.find(table: table) else { return nil }
        let before = collection
        collection = try collection.followed(to: schema)
        if filter != nil {
            filter = try KeyPathFilter(texts, class: elements, schema: schema)
        }
        guard rows != nil, case .objects(let old) = before, old.dependsOnMixed,
            case .objects(let query) = collection
        else { return nil }
        rows = try makeRows(step.old)
        let shown = try QueryEvaluator.keys(of: old, in: step.old).array
        if try QueryEvaluator.keys(of: query, in: step.old).array == shown { return nil }
        // Delayed changes, and lists with an object in several places, are not computed again.
        guard delay == nil, case .table = query.base else {
            try old.check(in: schema)
            return nil
        }
        return shown
    }

    /// Returns the last call after the owner or the class was deleted, with all rows as deletions.
    private func lastCall(_ step: VersionStep) throws -> Call? {
        var positions = CollectionChangeSet()
        var lost: [ElementDetail] = []
        switch collection {
        case .objects(let query):
            positions.deletedKeys = try QueryEvaluator.keys(of: query, in: step.old).array
            positions.deletions = Array(positions.deletedKeys.indices)
        case .elements(let owner, let property, _):
            let count = try step.old.table(owner.table).listCount(property.column, owner.key)
            positions.deletions = Array(0..<count)
        case .values(let owner, let property, let steps):
            let values = try step.old.listValues(
                property, of: owner.key, in: step.old.table(owner.table))
            lost = try CollectionValues.arranged(values, by: steps, of: property).map {
                .value($0, mapKey: "")
            }
            positions.deletions = Array(lost.indices)
        case .nested(let address, let property, let steps):
            lost = try NestedRows(address, property, steps, in: step.old).allDetails
            positions.deletions = Array(lost.indices)
        }
        return try lastCall(step, positions, lost)
    }

    /// Returns the last call, with all rows as deletions and an invalid collection.
    private func lastCall(
        _ step: VersionStep, _ positions: CollectionChangeSet, _ lost: [ElementDetail]
    ) throws -> Call? {
        var (positions, lost) = (positions, lost)
        if let coalesced = delay?.coalescedChanges { (positions, lost) = coalesced.reported() }
        let change = CollectionChange(
            .update, isCollectionValid: false, positions: positions, lost: lost, table: table,
            values: collection.values, step: step)
        try explain(positions, step)
        isFinished = true
        return call(change)
    }

    private func makeRows(_ view: StoreView) throws -> any ObservedRows {
        switch collection {
        case .objects(let query):
            try RowsFactory.rows(of: query, in: view)
        case .elements(let owner, let property, _):
            try ElementRows(owner, property, in: view)
        case .values(let owner, let property, let steps):
            try ArrangedValues(owner, property, steps, in: view)
        case .nested(let address, let property, let steps):
            try NestedRows(address, property, steps, in: view)
        }
    }

    private func explain(_ positions: CollectionChangeSet, _ step: VersionStep) throws {
        let (from, to) = (step.old.version, step.new.version)
        let schema = step.new.schema
        guard case .objects(let query) = collection else {
            var causes = ChangeCauses()
            if let owner, let property = collection.property {
                if step.isChanged(owner.table, property.column, owner.key) {
                    causes.add(owner, property.column)
                } else if let filter {
                    let rows = try step.new.table(owner.table).linkedKeys(
                        property.column, owner.key)
                    try filter.watched.addCauses(
                        of: KeySet(unordered: rows), in: step, to: &causes)
                }
            }
            makeReason = {
                DeliveryReason(
                    previousVersion: from, version: to, causes: causes.named(in: schema),
                    rowCount: positions.deletions.count + positions.insertions.count
                        + positions.modifications.count, keyPath: nil)
            }
            return
        }
        let path =
            try texts.count > 1
            ? filter?.matchingPath(for: KeySet(unordered: positions.modifiedKeys), in: step)
            : positions.modifiedKeys.isEmpty ? nil : texts.first
        makeReason = try RowCauses(query, values: filter?.watched, schema: schema).reason(
            moved: positions.deletedKeys + positions.insertedKeys,
            modified: positions.modifiedKeys, keyPath: path, in: step)
    }
}

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
