import ColumnStorage

/// The objects of a query, lazy and live.
///
/// Results are computed on first use, and kept until the store's version changes or its open write transaction changes
/// data that the query reads. After a change, creation or deletion of one object, they are corrected if the query reads
/// only plain values of its class. Counting does not list the keys. Results of a frozen view work in the same way and never change. Results are
/// confined to the store's thread.
///
/// Every member that reads throws `closed` and `wrong_thread`.
public final class Results {
    /// The store, or the frozen view, from which the results are read.
    package let source: ObjectSource
    /// The query of the results.
    package private(set) var query: Query

    /// The schema with which the query was last found to be valid.
    private var checkedSchema: Schema?
    /// The keys that were read last; objects that were created later have keys from `bound` on.
    private var kept: (stamp: ViewStamp, keys: ResultKeys, bound: Int64)?
    private var counted: (stamp: ViewStamp, count: Int)?
    /// When the count or the first object was read without the keys.
    private var glance: ViewStamp?
    /// The properties that the query reads, once they are needed.
    private var known: WatchGraph?
    /// The rules by which the keys are corrected after a change of one object, once they are needed; nil if the query
    /// must run again.
    private var correction: RowRules??
    /// The section whose objects these are, if its size is known.
    private var section: SectionKeys.Section?

    /// Creates the results of a query without running it.
    package init(_ source: ObjectSource, _ query: Query) {
        self.source = source
        self.query = query
    }

    /// Creates the results with the objects of a section.
    init(_ source: ObjectSource, _ query: Query, of section: SectionKeys.Section) {
        self.source = source
        self.query = query
        self.section = section
        counted = (section.stamp, section.count)
    }

    /// Returns the current keys of the objects, in order.
    ///
    /// The keys are a value that does not change with the store, so a loop over them is safe.
    package func keys() throws -> ResultKeys {
        let view = try source.openView()
        try recordRead(of: query)
        return try knownKeys(in: view) ?? readKeys(in: view)
    }

    private func readKeys(in view: StoreView) throws -> ResultKeys {
        try checkQuery(view)
        let keys = try QueryEvaluator.keys(of: query, in: view)
        try view.requireUnchanged()
        kept = (ViewStamp(view), keys, try view.table(query.table).keyBound)
        return keys
    }

    /// Returns the keys if they are current, or are found with those of other sections.
    private func knownKeys(in view: StoreView) throws -> ResultKeys? {
        if let keys = try keptKeys(in: view) { return keys }
        guard let section else { return nil }
        if section.stamp == ViewStamp(view) {
            let keys = try section.keys(in: view)
            if let keys { kept = (section.stamp, keys, try view.table(query.table).keyBound) }
            return keys
        }
        self.section = nil
        return nil
    }

    /// Returns the keys that were read last, if they are current or only one object has changed since then.
    private func keptKeys(in view: StoreView) throws -> ResultKeys? {
        guard let kept else { return nil }
        if isCurrent(kept.stamp, in: view) { return kept.keys }
        guard let row = view.onlyChange(since: kept.stamp, in: query.table, reading: reads),
            let rules = rules(view.schema)
        else { return nil }
        let rows = try view.table(query.table)
        let keys = try StoreError.evaluating {
            let isMember = try rows.isPresent(row) && rules.membership(in: view)(row)
            let order = try RowReader(view).order(rules.order)
            return try kept.keys.replacing(
                row, isMember: isMember, isNew: row.rawValue >= kept.bound
            ) { try order.precedes($0, row) }
        }
        self.kept = (ViewStamp(view), keys, rows.keyBound)
        return keys
    }

    /// Returns the keys if they are known, or if only one object has changed since the count or the first object was
    /// read.
    ///
    /// A loop then changes one object after the other, and correcting the keys costs less than running the query.
    private func keysOfLoop(in view: StoreView) throws -> ResultKeys? {
        if let keys = try knownKeys(in: view) { return keys }
        // All objects of a class are counted at no cost.
        guard let glance, !query.steps.isEmpty,
            view.onlyChange(since: glance, in: query.table, reading: reads) != nil,
            rules(view.schema) != nil
        else { return nil }
        return try readKeys(in: view)
    }

    /// Returns the rules by which the keys are corrected after a change of one object.
    private func rules(_ schema: Schema) -> RowRules? {
        if let correction { return correction }
        let rules = RowRules(query, schema: schema).flatMap { $0.isLocal(in: query) ? $0 : nil }
        correction = .some(rules)
        return rules
    }

    private func isCurrent(_ stamp: ViewStamp, in view: StoreView) -> Bool {
        view.isCurrent(stamp, reading: reads)
    }

    private func reads(_ column: ColumnID?, of table: TableID) -> Bool {
        if query.base.reads(column, of: table) { return true }
        let graph = readGraph()
        return column.map { graph.contains($0, of: table) } ?? graph.tables.contains(table)
    }

    private func readGraph() -> WatchGraph {
        if let known { return known }
        let graph = WatchGraph(query.dependencies, of: query.table)
        known = graph
        return graph
    }

    /// Throws if the query reads a class or property that the schema does not contain.
    private func checkQuery(_ view: StoreView) throws {
        guard checkedSchema !== view.schema else { return }
        query = try query.followed(to: view.schema)
        known = nil
        correction = nil
        checkedSchema = view.schema
    }

    /// Returns the number of objects.
    public func count() throws -> Int {
        let view = try source.openView()
        if case .int(let count)? = try trackedAggregate(.count, nil) { return Int(count) }
        if let counted, isCurrent(counted.stamp, in: view) { return counted.count }
        if let keys = try keysOfLoop(in: view) { return keys.count }
        try checkQuery(view)
        let count = try QueryEvaluator.count(of: query, in: view)
        try view.requireUnchanged()
        counted = (ViewStamp(view), count)
        glance = counted?.stamp
        return count
    }

    /// Records the rows of a query as a dependency of the running reaction, if there is one.
    private func recordRead(of query: Query) throws {
        guard let (store, _) = source.tracked else { return }
        try store.recordRead(of: query)
    }

    /// Returns an aggregate as a dependency of the running reaction; nil if no reaction is running.
    func trackedAggregate(_ kind: AggregateKind, _ path: String?) throws -> Value? {
        guard let (store, _) = source.tracked, isValid else { return nil }
        return try store.trackedAggregate(kind, path, of: query) { try classSchema() }
    }

    /// Returns the class of the objects.
    ///
    /// Throws `unknown_class` if the class was removed.
    package func classSchema() throws -> ClassSchema {
        guard let found = try source.openView().schema.find(table: query.table) else {
            throw StoreError(.unknownClass, "the class of these results was removed")
        }
        return found
    }

    /// Whether the results can be read.
    ///
    /// False after the store was closed, the owner of the list or the target of the backlinks was deleted, or the
    /// list's property was removed.
    public var isValid: Bool {
        guard source.isOpen else { return false }
        let view = source.view
        let owner = query.owner(in: view.schema)
        if let owner, let (store, reader) = source.tracked {
            reader.recordRead(of: store, existenceOf: owner)
        }
        switch query.base {
        case .table(let table): return view.schema.find(table: table) != nil
        case .list(let table, let column, _), .backlinks(let table, let column, _):
            guard view.schema.find(table: table)?.property(in: column) != nil, let owner
            else { return false }
            return (try? view.isPresent(owner)) == true
        }
    }

    /// Returns the object at a position, counted from 0.
    ///
    /// Throws `out_of_range` past the end.
    public func object(at position: Int) throws -> LiveObject {
        let keys = try keys()
        guard position >= 0, position < keys.count else {
            throw StoreError.outside(position, of: "the \(keys.count) results")
        }
        return LiveObject(source, try classSchema(), keys[position])
    }

    /// Returns the first object; nil if there is none.
    ///
    /// The other objects are not computed if the order is that of the class.
    public func first() throws -> LiveObject? {
        let view = try source.openView()
        try recordRead(of: query.adding(.limit(1)))
        if let known = try keysOfLoop(in: view) {
            return known.count == 0 ? nil : LiveObject(source, try classSchema(), known[0])
        }
        try checkQuery(view)
        let keys = try QueryEvaluator.keys(of: query.adding(.limit(1)), in: view)
        glance = ViewStamp(view)
        return keys.count == 0 ? nil : LiveObject(source, try classSchema(), keys[0])
    }

    /// Returns the last object; nil if there is none.
    public func last() throws -> LiveObject? {
        let keys = try keys()
        return keys.count == 0
            ? nil : LiveObject(source, try classSchema(), keys[keys.count - 1])
    }

    /// Returns the first position of an object; nil if it is not among the results.
    ///
    /// Throws `invalid_argument` for an object of another class or store, `invalid_object` for a deleted one.
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

    /// Returns whether an object is among the results.
    ///
    /// Throws the errors of ``index(of:)``.
    package func contains(_ object: LiveObject) throws -> Bool {
        try index(of: object) != nil
    }

    /// Returns the objects that match a predicate (see ``Query``), and applies the clauses in its text.
    ///
    /// Throws `invalid_query` with the text and a caret under the error.
    public func filtered(_ text: String, _ arguments: [Value] = []) throws -> Results {
        let view = try source.openView()
        try checkQuery(view)
        let filtered = Results(source, try query.filtered(text, arguments, schema: view.schema))
        filtered.checkedSchema = view.schema
        return filtered
    }

    /// Returns the objects whose properties have the given values.
    ///
    /// Throws `unknown_property`, and `invalid_query` for a value of another type.
    public func filtered(equal values: [(name: String, value: Value)]) throws -> Results {
        guard !values.isEmpty else { return self }
        return try filtered(QueryText.equality(of: values.map(\.name)), values.map(\.value))
    }

    /// Returns the objects sorted by key paths; the first path is the most significant.
    ///
    /// Throws `invalid_query` for a path that defines no order.
    public func sorted(_ keys: [(path: String, ascending: Bool)]) throws -> Results {
        Results(source, try query.sorted(keys, schema: try source.openView().schema))
    }

    /// Returns the first object of each combination of values of key paths.
    ///
    /// Throws `invalid_query` for a path through a list.
    public func distinct(_ paths: [String]) throws -> Results {
        Results(source, try query.distinct(paths, schema: try source.openView().schema))
    }

    /// Returns at most the first `count` objects.
    ///
    /// Throws `invalid_query` for a negative count.
    public func limited(to count: Int) throws -> Results {
        Results(source, try query.limited(to: count))
    }

    /// Returns whether both have the same query of the same store or frozen version.
    package func isSame(as other: Results) -> Bool {
        source.isSame(as: other.source) && query.isSame(as: other.query)
    }

    /// Returns the results of the same query on another view or store of the file, such as a frozen one.
    package func moved(to source: ObjectSource) -> Results {
        Results(source, query)
    }
}

extension Results {
    /// Creates the results with all objects of a class.
    package convenience init(_ source: ObjectSource, all classSchema: ClassSchema) {
        self.init(source, Query(all: classSchema))
    }

    /// Creates the results with the objects of a list, a set or a map.
    ///
    /// The objects of a list or set keep its order, those of a map have the order of their keys; nil values of a map
    /// are omitted. Throws `type_mismatch` for a collection of plain values.
    package convenience init(_ collection: some LiveCollection) throws {
        let view = try collection.source.openView()
        let property = collection.property
        guard let target = view.schema.target(of: property) else {
            throw StoreError(
                .typeMismatch,
                "'\(collection.classSchema.name).\(property.name)' is \(property.typeName); "
                    + "expected a collection of objects")
        }
        self.init(
            collection.source,
            Query(
                .list(collection.classSchema.table, property.column, collection.owner),
                of: target.table))
    }

    /// Creates the results with the objects that link to an object through a backlinks property.
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

extension Results {
    /// Returns the sum of a property; nil values are ignored, and the sum without values is 0.
    ///
    /// In a mixed property, only numbers count for every aggregate. The sum is rounded once, so it does not depend on
    /// the order of the values. The sum of ints is an int, or the nearest double if it needs more than 64 bits.
    ///
    /// Throws `unknown_property`, and `invalid_query` for a list or a type without a sum.
    public func sum(_ path: String) throws -> Value { try aggregate(.sum, path) }

    /// Returns the smallest value of a property; nil if there is none.
    ///
    /// Throws the errors of ``sum(_:)``.
    public func minimum(_ path: String) throws -> Value { try aggregate(.minimum, path) }

    /// Returns the largest value of a property; nil if there is none.
    ///
    /// Throws the errors of ``sum(_:)``.
    public func maximum(_ path: String) throws -> Value { try aggregate(.maximum, path) }

    /// Returns the average of a property's values that are not nil; nil if there is none.
    ///
    /// Throws the errors of ``sum(_:)``.
    public func average(_ path: String) throws -> Value { try aggregate(.average, path) }

    /// Returns the number of objects with a value that is not nil.
    ///
    /// Throws `unknown_property`, and `invalid_query` for a list.
    public func count(of path: String) throws -> Int {
        guard case .int(let count) = try aggregate(.count, path) else { return 0 }
        return Int(count)
    }

    /// Returns an aggregate of a property's values.
    ///
    /// Throws the errors of ``sum(_:)``.
    package func aggregate(_ kind: AggregateKind, _ path: String) throws -> Value {
        try StoreError.evaluating {
            if let value = try trackedAggregate(kind, path) { return value }
            let (values, compiled) = try read(path, for: kind.word)
            let type = compiled.type
            try kind.check(type, "'\(path)'")
            let keys = try keys()
            var aggregate = Aggregate(kind, numbersOnly: type == .mixed)
            if let column = values.ownColumn, [.int, .date, .float, .double].contains(type) {
                let parts = try keys.scan(query.table, in: source.view) {
                    rows, _ in
                    { clusters in
                        var part = Aggregate(kind)
                        for (cluster, bits) in clusters {
                            try part.add(column, of: rows, cluster, bits)
                        }
                        return part
                    }
                }
                if let parts {
                    for part in parts { aggregate.add(part) }
                    return kind.value(aggregate.result, of: type)
                }
            }
            for key in keys { try aggregate.add(values.value(key)) }
            return kind.value(aggregate.result, of: type)
        }
    }

    /// Compiles a path with one value for each object, and binds it to the current view.
    func read(
        _ text: String, for purpose: String
    ) throws -> (values: BoundPath, path: ValuePath) {
        let view = try source.openView()
        let path = try ValuePath(text, class: try classSchema(), schema: view.schema)
        try path.requireOne(for: purpose)
        return (try path.bound(to: view), path)
    }
}
