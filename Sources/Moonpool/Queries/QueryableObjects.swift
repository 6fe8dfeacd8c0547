import ObjectStore

/// Objects that conditions, orders and aggregates refine: results and their frozen copies, projected results, backlinks,
/// and lists, sets and maps of links.
///
/// ```swift
/// let old = store.all(Dog.self).where { $0.age > 10 }.sorted(by: \.name)
/// print(old.sum(of: \.age), rex.siblings.sorted(by: \.age).first?.name ?? "none")
/// ```
///
/// Members without `try` end the program in the cases in which ``Results/fetch()`` throws, such as after the store is
/// closed.
public protocol QueryableObjects<Row> {
    /// The model of the objects.
    associatedtype Row: Model
    /// The type of the refined objects.
    associatedtype Refined
    /// Returns the objects with an additional clause.
    func _refined(_ clause: QueryClause) throws -> Refined
    /// Returns an aggregate of the objects.
    func _value(_ aggregate: QueryAggregate) throws -> Mixed
}

/// A condition, an order or a limit: opaque to programs.
public struct QueryClause {
    let apply: (ObjectStore.Results, ModelContext) throws -> ObjectStore.Results
    let words: (QueryWords) throws -> QueryWords

    /// The clause that changes nothing.
    static var none: QueryClause { QueryClause(apply: { results, _ in results }, words: { $0 }) }

    init(
        apply: @escaping (ObjectStore.Results, ModelContext) throws -> ObjectStore.Results,
        words: @escaping (QueryWords) throws -> QueryWords
    ) {
        self.apply = apply
        self.words = words
    }

    /// A clause whose text is known; `selects` means that it excludes objects.
    init(
        _ text: String, selects: Bool,
        _ apply: @escaping (ObjectStore.Results) throws -> ObjectStore.Results
    ) {
        self.init(
            apply: { results, _ in try apply(results) },
            words: { $0.adding(text, selects: selects) })
    }
}

/// A sum, an average, a minimum or a maximum: opaque to programs.
public struct QueryAggregate {
    let kind: AggregateKind
    let path: String

    func value(_ results: ObjectStore.Results) throws -> Value {
        try results.aggregate(kind, path)
    }
}

extension QueryableObjects {
    private func refined(_ clause: QueryClause) -> Refined {
        do { return try _refined(clause) } catch { ModelContext.trap(error) }
    }

    /// Returns the objects that match a condition.
    public func `where`<C: QueryCondition>(_ body: (Fields<Row>) -> C) -> Refined {
        let expression = body(Fields<Row>()).condition.expression
        return refined(
            QueryClause(
                apply: { results, context in
                    let (text, arguments) = try expression.numbered(in: context)
                    return try results.filtered(text, arguments)
                }, words: { $0.filtered(expression) }))
    }

    /// Returns the objects that match a predicate in the text language; `$1`, `$2` … are the arguments.
    ///
    /// Throws `invalid_query` with the text and the position of the error.
    public func `where`(_ predicate: String, _ arguments: any StoredValue...) throws -> Refined {
        let values = arguments.map(\.stored)
        return try _refined(
            QueryClause(
                apply: { results, context in
                    try results.filtered(predicate, try values.map(context.resolved))
                }, words: { try $0.filtered(by: predicate, values) }))
    }

    /// Returns the objects sorted by a property.
    public func sorted<V: StoredValue>(
        by path: KeyPath<Fields<Row>, Field<V>>, _ order: SortOrder = .ascending
    ) -> Refined where V._Order == _Ordered {
        sorted([SortKey(path: Fields<Row>()[keyPath: path].path, order: order)])
    }

    /// Returns the objects sorted by several properties; the first is the most significant.
    public func sorted(by keys: SortKey<Row>...) -> Refined { sorted(keys) }

    private func sorted(_ keys: [SortKey<Row>]) -> Refined {
        let texts = keys.map { $0.path + ($0.order == .descending ? " desc" : "") }
        return refined(
            QueryClause("sort(" + texts.joined(separator: ", ") + ")", selects: false) {
                try $0.sorted(keys.map { ($0.path, $0.order == .ascending) })
            })
    }

    /// Returns the first object of each combination of values.
    public func distinct(_ paths: FieldPath<Row>...) -> Refined {
        let texts = paths.map { FieldPaths.text($0) }
        return refined(
            QueryClause("distinct(" + texts.joined(separator: ", ") + ")", selects: true) {
                try $0.distinct(texts)
            })
    }

    /// Returns at most this number of objects from the start.
    ///
    /// A negative count ends the program.
    public func limit(_ count: Int) -> Refined {
        refined(QueryClause("limit(\(count))", selects: true) { try $0.limited(to: count) })
    }

    // MARK: Aggregates

    private func value<V, R>(
        _ kind: AggregateKind, of path: KeyPath<Fields<Row>, Field<V>>,
        _ convert: (Mixed) throws -> R
    ) -> R {
        let path = Fields<Row>()[keyPath: path].path
        do {
            return try convert(_value(QueryAggregate(kind: kind, path: path)))
        } catch { ModelContext.trap(error) }
    }

    private func optional<V: StoredValue>(_ value: Mixed) throws -> V? {
        value == .null ? nil : try V(stored: value)
    }

    /// Returns the sum of a property.
    ///
    /// Nil values are ignored, and the sum of no values is 0. The sum of integers is exact; a sum that exceeds `Int`
    /// ends the program, as in Swift.
    public func sum<V: NumericValue>(of path: KeyPath<Fields<Row>, Field<V>>) -> V.Total {
        value(.sum, of: path, V._total)
    }
    /// Returns the average of a property; nil if no object has a value.
    public func average<V: NumericValue>(of path: KeyPath<Fields<Row>, Field<V>>) -> Double? {
        value(.average, of: path, optional)
    }
    /// Returns the smallest value of a property; nil if no object has a value.
    public func min<V: StoredValue>(of path: KeyPath<Fields<Row>, Field<V>>) -> V.Bare?
    where V._Order == _Ordered { value(.minimum, of: path, optional) }
    /// Returns the largest value of a property; nil if no object has a value.
    public func max<V: StoredValue>(of path: KeyPath<Fields<Row>, Field<V>>) -> V.Bare?
    where V._Order == _Ordered { value(.maximum, of: path, optional) }
}

extension QueryableObjects where Refined == Results<Row> {
    /// Returns the objects in groups with the same value of a property.
    public func sectioned<V: StoredValue>(
        by path: KeyPath<Fields<Row>, Field<V>>, _ order: SortOrder = .ascending
    ) -> Sections<V, Row> where V._Order == _Ordered {
        sectioned(by: [(Fields<Row>()[keyPath: path].path, order == .ascending)])
    }

    /// Returns the objects in groups with the same values of several properties.
    ///
    /// The key of a section is the list of its values, in the order of the properties.
    ///
    /// ```swift
    /// for (key, dogs) in store.all(Dog.self).sectioned(by: .ascending(\.breed), .descending(\.age)) {
    ///     print(key.map(\.description), dogs.count)
    /// }
    /// ```
    public func sectioned(
        by first: SortKey<Row>, _ second: SortKey<Row>, _ others: SortKey<Row>...
    ) -> Sections<[Mixed], Row> {
        sectioned(by: ([first, second] + others).map { ($0.path, $0.order == .ascending) })
    }

    private func sectioned<Key: StoredValue>(
        by keys: [(path: String, ascending: Bool)]
    ) -> Sections<Key, Row> {
        do {
            let results = try _refined(.none)
            return Sections(results.table, try SectionedResults(results.engineResults, by: keys))
        } catch { ModelContext.trap(error) }
    }

    /// Returns the objects as projections.
    ///
    /// A map that does not match the model ends the program with the message of `invalid_schema`.
    public func projected<P: Projection>(_ type: P.Type) -> ProjectedResults<P>
    where P.Root == Row {
        do { return ProjectedResults(try _refined(.none)) } catch { ModelContext.trap(error) }
    }

    /// Returns a frozen copy of the objects, for any thread.
    ///
    /// Throws `closed`.
    public func freeze() throws -> FrozenResults<Row> {
        let results = try _refined(.none)
        return FrozenResults(
            try FrozenVersion.of(results.table.context), results.engineResults.query)
    }
}

extension Results: QueryableObjects {
    /// The model of the objects.
    public typealias Row = M

    /// Returns the results with an additional clause.
    public func _refined(_ clause: QueryClause) throws -> Results {
        Results(table, try clause.apply(engineResults, table.context), try clause.words(words))
    }
    /// Returns an aggregate of the objects.
    public func _value(_ aggregate: QueryAggregate) throws -> Mixed {
        Mixed(try aggregate.value(engineResults))
    }
}

extension FrozenResults: QueryableObjects {
    /// The model of the objects.
    public typealias Row = M

    /// Returns the results with an additional clause.
    public func _refined(_ clause: QueryClause) throws -> FrozenResults {
        FrozenResults(version, try evaluated { try clause.apply($0, $1).query })
    }
    /// Returns an aggregate of the objects.
    public func _value(_ aggregate: QueryAggregate) throws -> Mixed {
        Mixed(try evaluated { results, _ in try aggregate.value(results) })
    }
}

extension ProjectedResults: QueryableObjects {
    /// The model of the objects.
    public typealias Row = P.Root

    /// Returns the results with an additional clause.
    public func _refined(_ clause: QueryClause) throws -> ProjectedResults {
        ProjectedResults(try results._refined(clause))
    }
    /// Returns an aggregate of the projected objects.
    public func _value(_ aggregate: QueryAggregate) throws -> Mixed {
        try results._value(aggregate)
    }
}

extension BacklinkResults: QueryableObjects where M: Model {
    /// The model of the objects.
    public typealias Row = M

    /// Returns the objects with an additional clause, as results.
    public func _refined(_ clause: QueryClause) throws -> Results<M> {
        try results._refined(clause)
    }
    /// Returns an aggregate of the objects.
    public func _value(_ aggregate: QueryAggregate) throws -> Mixed {
        try results._value(aggregate)
    }
}

// MARK: Collections of links

extension LiveCollection where Member: LinkElement {
    /// The linked objects as results: of a list in its order, of a map in the order of its keys.
    public var results: Results<Member.Linked> {
        do {
            let collection = try _collection
            return Results(
                try collection.context.table(Member.Linked.self),
                try ObjectStore.Results(collection.engine))
        } catch { ModelContext.trap(error) }
    }

    /// Returns the linked objects with an additional clause, as results.
    public func _refined(_ clause: QueryClause) throws -> Results<Member.Linked> {
        try results._refined(clause)
    }
    /// Returns an aggregate of the linked objects.
    public func _value(_ aggregate: QueryAggregate) throws -> Mixed {
        try results._value(aggregate)
    }
}

extension LiveList: QueryableObjects where Element: LinkElement {
    /// The model of the linked objects.
    public typealias Row = Element.Linked
}
extension LiveSet: QueryableObjects where Element: LinkElement {
    /// The model of the linked objects.
    public typealias Row = Element.Linked
}
extension LiveMap: QueryableObjects where Element: LinkElement {
    /// The model of the linked objects.
    public typealias Row = Element.Linked
}
