import ColumnStorage

/// An aggregate over a property of a class, which can be read in any version.
struct AggregateRule {
    let kind: AggregateKind
    /// The key path of the aggregated property; nil for a count of objects.
    let text: String?
    let type: PropertyType
    /// The rows and columns that the aggregated values depend on.
    let graph: WatchGraph
    let dependencies: [PropertyPath]
    private let path: ValuePath?

    /// Creates the rule of an aggregate.
    ///
    /// Throws `unknown_property`, `invalid_query` for a list or for a type without this aggregate, and
    /// `invalid_argument` if the property is missing.
    init(
        _ kind: AggregateKind, _ text: String?, class classSchema: ClassSchema, schema: Schema
    ) throws {
        self.kind = kind
        self.text = text
        guard let text else {
            guard kind == .count else {
                throw StoreError(
                    .invalidArgument, "'\(kind.rawValue)' needs the name of a property")
            }
            (type, path, dependencies) = (.int, nil, [])
            graph = WatchGraph(nothingOf: classSchema.table)
            return
        }
        let path = try ValuePath(text, class: classSchema, schema: schema)
        try path.requireOne(for: kind.rawValue)
        (type, dependencies) = (path.type, path.dependencies)
        self.path = path
        if let operation = kind.operation {
            try Results.checkAggregate(operation, of: type, "'\(text)'")
        }
        graph = WatchGraph(dependencies, of: classSchema.table)
    }

    /// The aggregate without any values.
    var empty: RunningAggregate {
        RunningAggregate(kind, numbersOnly: type == .mixed)
    }

    /// The value of an empty collection.
    var valueOfNothing: Value { value(empty.result) }

    /// Returns a function that reads the aggregated value of an object in a view.
    ///
    /// The function can be called for any number of objects.
    func reader(in view: StoreView) throws -> (ObjectKey) throws -> Scalar {
        // A count ignores nil, so this value represents each counted object.
        guard let path else { return { _ in .bool(true) } }
        let bound = try path.bound(to: view)
        return { key in try bound.value(key) }
    }

    /// Converts a result to the property's type.
    func value(_ result: Scalar) -> Value {
        switch kind {
        case .count: result.value(of: .int)
        case .sum: Results.sum(result, type)
        case .minimum, .maximum: result.value(of: type)
        case .average: Results.average(result)
        }
    }
}

extension AggregateRule {
    /// Returns a function that creates the reason for a report after a step.
    ///
    /// `rows` is the aggregated query, `change` contains the objects with new values or memberships.
    func reason(
        _ rows: Query, _ change: ValuedRows.Change, in step: VersionStep
    ) throws -> () -> DeliveryReason {
        try RowCauses(rows, values: nil, and: dependencies, schema: step.new.schema).reason(
            moved: Array(Set(change.left + change.joined)), modified: [], in: step)
    }
}

extension ObserverInterests {
    /// Creates the interests in the rows of a query and in the aggregated values.
    init(_ query: Query, _ rule: AggregateRule?, schema: Schema) {
        self.init()
        add(query, nil, schema: schema)
        if let rule, rule.text != nil { add(rule.graph) }
    }
}
