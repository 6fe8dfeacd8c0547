import ColumnStorage
import MemoryAccounts

/// The objects of a query: lazy and live.
///
/// Nothing is computed before its first use; what was computed is kept until the store's version
/// changes or its open write transaction changes something. Counting alone lists no keys. Results
/// of a frozen view work the same and never change. Confined to the store's thread.
///
/// Every member that reads throws `closed` and `wrong_thread`.
public final class Results {
    /// The store, or the frozen view, that the results come from.
    package let source: ObjectSource
    /// The query of the results.
    package private(set) var query: Query

    private struct Stamp: Equatable {
        let version: UInt64
        let generation: UInt64

        init(_ view: StoreView) {
            version = view.version
            generation = view.generation
        }
    }

    /// The schema that the query was last found to agree with.
    private var checkedSchema: Schema?
    private var kept: (stamp: Stamp, keys: ResultKeys)?
    private var counted: (stamp: Stamp, count: Int)?
    /// The memory of the kept keys.
    private var charge = MemoryCharge()

    /// Makes the results of a query; runs nothing.
    package init(_ source: ObjectSource, _ query: Query) {
        self.source = source
        self.query = query
    }

    /// The present keys of the objects, in order.
    ///
    /// A value: it stays as it is when the store changes, which is what loops want.
    package func keys() throws -> ResultKeys {
        let view = try source.openView()
        try noteRead(of: query)
        let stamp = Stamp(view)
        if let kept, kept.stamp == stamp { return kept.keys }
        try checkQuery(view)
        let keys = QueryEvaluator.keys(of: query, in: view)
        try Interruption.check()
        try view.requireSound()
        kept = nil
        try charge.set(keys.memory)
        kept = (stamp, keys)
        return keys
    }

    /// Throws if what the query reads is no longer in the schema.
    private func checkQuery(_ view: StoreView) throws {
        guard checkedSchema !== view.schema else { return }
        query = try query.followed(to: view.schema)
        checkedSchema = view.schema
    }

    /// How many objects there are.
    public func count() throws -> Int {
        let view = try source.openView()
        if case .int(let count)? = try trackedAggregate(.count, nil) { return Int(count) }
        let stamp = Stamp(view)
        if let kept, kept.stamp == stamp { return kept.keys.count }
        if let counted, counted.stamp == stamp { return counted.count }
        try checkQuery(view)
        let count = QueryEvaluator.count(of: query, in: view)
        try Interruption.check()
        try view.requireSound()
        counted = (stamp, count)
        return count
    }

    /// Records the rows of a query as a dependency of the running reaction, if there is one.
    private func noteRead(of query: Query) throws {
        guard let (store, _) = source.tracked else { return }
        try store.noteRead(of: query)
    }

    /// An aggregate for the running reaction; nil if none is running.
    func trackedAggregate(_ kind: AggregateKind, _ path: String?) throws -> Value? {
        guard let (store, _) = source.tracked, isValid else { return nil }
        return try store.trackedAggregate(kind, path, of: query) { try classSchema() }
    }

    /// The class of the objects.
    ///
    /// Throws `unknown_class` if the class was removed since.
    package func classSchema() throws -> ClassSchema {
        guard let found = try source.openView().schema.find(table: query.table) else {
            throw StoreError(.unknownClass, "the class of these results was removed")
        }
        return found
    }

    /// Whether there is still something to read: false once the store is closed, the owner of the
    /// list or the target of the backlinks was deleted, or the list's property was removed.
    public var isValid: Bool {
        guard source.isOpen else { return false }
        let view = source.view
        if let owner = query.owner(in: view.schema), let (store, reader) = source.tracked {
            reader.noteRead(of: store, existenceOf: owner)
        }
        switch query.base {
        case .table(let table): return view.schema.find(table: table) != nil
        case .list(let table, let column, let owner):
            return view.schema.find(table: table)?.property(in: column) != nil
                && view.isPresent(ObjectReference(table: table, key: owner))
        case .backlinks(_, _, let target):
            return targetTable(view).map {
                view.isPresent(ObjectReference(table: $0, key: target))
            } ?? false
        }
    }

    private func targetTable(_ view: StoreView) -> TableID? {
        guard case .backlinks(let table, let column, _) = query.base,
            let link = view.schema.find(table: table)?.property(in: column)
        else { return nil }
        return view.schema.target(of: link)?.table
    }

    /// The object at a position, counted from 0.
    ///
    /// Throws `out_of_range` past the end.
    public func object(at position: Int) throws -> LiveObject {
        let keys = try keys()
        guard position >= 0, position < keys.count else {
            throw StoreError.outside(position, of: "the \(keys.count) results")
        }
        return LiveObject(source, try classSchema(), keys[position])
    }

    /// The first object, nil if there is none.
    ///
    /// Does not compute the others where the order is that of the class.
    public func first() throws -> LiveObject? {
        let view = try source.openView()
        try noteRead(of: query.adding(.limit(1)))
        if let kept, kept.stamp == Stamp(view) {
            return kept.keys.count == 0
                ? nil : LiveObject(source, try classSchema(), kept.keys[0])
        }
        try checkQuery(view)
        let keys = QueryEvaluator.keys(of: query.adding(.limit(1)), in: view)
        try Interruption.check()
        try view.requireSound()
        return keys.count == 0 ? nil : LiveObject(source, try classSchema(), keys[0])
    }

    /// The last object, nil if there is none.
    public func last() throws -> LiveObject? {
        let keys = try keys()
        return keys.count == 0
            ? nil : LiveObject(source, try classSchema(), keys[keys.count - 1])
    }

    /// The first position of an object, nil if it is not among the results.
    ///
    /// Throws `invalid_argument` for an object of another class or store, `invalid_object` for a
    /// deleted one.
    package func index(of object: LiveObject) throws -> Int? {
        let expected = try classSchema()
        guard object.source.isSame(as: source) else {
            throw StoreError(
                .invalidArgument,
                "this '\(object.classSchema.name)' belongs to another store or version")
        }
        guard object.classSchema.table == query.table else {
            throw StoreError(
                .invalidArgument,
                "these results hold '\(expected.name)', not '\(object.classSchema.name)'")
        }
        guard object.isValid else { throw StoreError.deleted(object.classSchema.name) }
        return try keys().firstIndex(of: object.key)
    }

    /// Whether an object is among the results.
    ///
    /// Throws as ``index(of:)``.
    package func contains(_ object: LiveObject) throws -> Bool {
        try index(of: object) != nil
    }

    /// The objects that match a predicate (see ``Query``), and what its text says after it.
    ///
    /// Throws `invalid_query` with the text and a caret under the fault.
    public func filtered(_ text: String, _ arguments: [Value] = []) throws -> Results {
        let schema = try source.openView().schema
        return Results(source, try query.filtered(text, arguments, schema: schema))
    }

    /// The objects whose properties have the given values.
    ///
    /// Throws `unknown_property`, and `invalid_query` for a value of another type.
    public func filtered(equal values: [(name: String, value: Value)]) throws -> Results {
        guard !values.isEmpty else { return self }
        let schema = try source.openView().schema
        let added = try QueryText.compile(equal: values, class: try classSchema(), schema: schema)
        return Results(source, added.reduce(query) { $0.adding($1) })
    }

    /// The objects ordered by key paths; the first is the most significant.
    ///
    /// Throws `invalid_query` for a path that gives no order.
    public func sorted(_ keys: [(path: String, ascending: Bool)]) throws -> Results {
        Results(source, try query.sorted(keys, schema: try source.openView().schema))
    }

    /// The first object of each combination of values of key paths.
    ///
    /// Throws `invalid_query` for a path through a list.
    public func distinct(_ paths: [String]) throws -> Results {
        Results(source, try query.distinct(paths, schema: try source.openView().schema))
    }

    /// At most the first `count` objects.
    ///
    /// Throws `invalid_query` for a negative count.
    public func limited(to count: Int) throws -> Results {
        Results(source, try query.limited(to: count))
    }

    /// Whether both ask the same, in the same words, of the same store or frozen version.
    package func isSame(as other: Results) -> Bool {
        source.isSame(as: other.source) && query.isSame(as: other.query)
    }

    /// The same query on another view or store of the file, such as a frozen one.
    package func moved(to source: ObjectSource) -> Results {
        Results(source, query)
    }
}

extension Results {
    /// All objects of a class.
    package convenience init(_ source: ObjectSource, all classSchema: ClassSchema) {
        self.init(source, Query(all: classSchema))
    }

    /// The objects of a list or a set, in its order, or those of a map, in the order of their keys; keys
    /// without an object are left out.
    ///
    /// Throws `type_mismatch` for a collection of plain values.
    package convenience init(_ collection: some LiveCollection) throws {
        let view = try collection.source.openView()
        let property = collection.property
        guard let target = view.schema.target(of: property) else {
            throw StoreError(
                .typeMismatch,
                "'\(collection.classSchema.name).\(property.name)' is \(property.typeName); "
                    + "this needs a collection of objects")
        }
        self.init(
            collection.source,
            Query(
                .list(collection.classSchema.table, property.column, collection.owner),
                of: target.table))
    }

    /// The objects that link to an object through a backlinks property.
    ///
    /// Throws `type_mismatch` for another property.
    package convenience init(
        backlinks property: Property, of object: LiveObject
    ) throws {
        let schema = try object.source.openView().schema
        guard let origin = property.origin, let linking = schema.find(origin.className),
            let link = linking.property(named: origin.property)
        else {
            throw StoreError(
                .typeMismatch,
                "'\(object.classSchema.name).\(property.name)' is \(property.typeName), not "
                    + "backlinks")
        }
        self.init(
            object.source,
            Query(.backlinks(linking.table, link.column, object.key), of: linking.table))
    }
}
