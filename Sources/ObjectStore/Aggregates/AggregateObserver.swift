import ColumnStorage
import MemoryAccounts

/// Calls a handler with the aggregates of a query, or of its sections, that changed.
final class AggregateObserver: ReportingObserver<[GroupChange]> {
    private var query: Query
    private var rule: AggregateRule
    private var sections: SectionRules?
    private let owner: ObjectReference?
    private let className: String
    private var state: AggregateState?
    private var preparedVersion: UInt64?

    init(
        _ query: Query, _ rule: AggregateRule, by sections: SectionRules?, name: String,
        dispatcher: NotificationDispatcher, schema: Schema, handler: @escaping Handler
    ) {
        self.query = query
        self.rule = rule
        self.sections = sections
        owner = query.owner(in: schema)
        className = schema.find(table: query.table)?.name ?? "?"
        super.init(name: name, dispatcher: dispatcher, handler: handler)
    }

    override var subject: String {
        let rows = sections == nil ? "" : "sections of "
        return
            "the \(rule.kind.rawValue)\(rule.text.map { " of '\($0)'" } ?? "") of \(rows)'\(className)'"
    }

    override var interests: ObserverInterests {
        guard let schema = dispatcher?.store.schema else { return ObserverInterests() }
        var interests = ObserverInterests(query, rule, schema: schema)
        if let sections { interests.add(sections.graph) }
        return interests
    }

    override func cost(in schema: Schema) -> String { RowsFactory.cost(of: query, schema: schema) }

    override func release() {
        super.release()
        state = nil
    }

    private func read(_ view: StoreView) throws -> AggregateState {
        try AggregateState(query, rule, by: sections, in: view)
    }

    /// Reads the aggregates at the registration, whose caller receives the errors.
    ///
    /// The first call uses them, unless it reports another version.
    fileprivate func prepare(in view: StoreView) throws {
        guard try owner.map(view.isPresent) ?? true else { return }
        state = try read(view)
        preparedVersion = view.version
    }

    override func begin(in view: StoreView) throws -> Call? {
        guard try owner.map(view.isPresent) ?? true else {
            isFinished = true
            return call([])
        }
        let state = try (preparedVersion == view.version ? state : nil) ?? read(view)
        self.state = state
        let values = state.values
        try Interruption.step(8 * values.count)
        return call(values)
    }

    override func advance(along step: VersionStep) throws -> Call? {
        // After an error, the state is read again in the version that the observer has seen.
        var state = try state ?? read(step.old)
        if try step.removes(query.table, owner: owner) {
            isFinished = true
            let changes = state.changesAtEnd()
            guard !changes.isEmpty else { return nil }
            let reason = DeliveryReason(ending: owner, in: step)
            makeReason = { reason }
            return call(changes)
        }
        self.state = nil  // makes `state` the only copy, which is then changed in place
        let change = try state.advance(along: step)
        (query, rule, sections) = (state.query, state.rule, state.sections)
        // After an error in the reason, the state is read again.
        if let change {
            makeReason = try rule.reason(sections?.ordered ?? query, change.rows, in: step)
        }
        self.state = state
        return change.flatMap { call($0.groups) }
    }
}

extension Results {
    /// Calls a handler with an aggregate at the next delivery, and again whenever the aggregate changes.
    ///
    /// `path` names the property; a count needs none. A commit takes time in proportion to the objects that it touches.
    /// The token keeps the observation alive. When the owner of the collection is deleted, the last call of the handler
    /// receives the value of an empty collection.
    ///
    /// Reads the values, and throws the errors of ``Results/count()``, `invalid_query` for an unknown property or one
    /// without this aggregate, `invalid_argument` for a missing property, `frozen` for a frozen version, and the errors
    /// of `Store.observe`.
    package func observeAggregate(
        _ kind: AggregateKind, _ path: String? = nil, name: String = "",
        _ handler: @escaping (_ new: Value, _ old: Value?) throws -> Void
    ) throws -> NotificationToken {
        try observeAggregate(kind, path, by: nil, name: name) { rule, changes in
            try handler(changes.first?.new ?? rule.valueOfNothing, changes.first?.old)
        }
    }

    fileprivate func observeAggregate(
        _ kind: AggregateKind, _ path: String?, by sections: SectionRules?, name: String,
        _ handler: @escaping (AggregateRule, [GroupChange]) throws -> Void
    ) throws -> NotificationToken {
        let store = try source.observableStore()
        try store.checkObservable()
        let schema = store.view.schema
        let rule = try AggregateRule(kind, path, class: try classSchema(), schema: schema)
        let sections = try sections?.remade(for: schema)
        let observer = AggregateObserver(
            try sections?.base ?? query.followed(to: schema), rule, by: sections, name: name,
            dispatcher: store.notifications, schema: schema
        ) { try handler(rule, $0) }
        try StoreError.evaluating { try observer.prepare(in: store.view) }
        return store.notifications.add(observer, seen: nil)
    }
}

extension SectionedResults {
    /// Calls a handler with the aggregate of each section at the next delivery, and then with the sections whose
    /// aggregate changed.
    ///
    /// Costs and errors: as for ``Results/observeAggregate(_:_:name:_:)``.
    package func observeAggregate(
        _ kind: AggregateKind, _ path: String? = nil, name: String = "",
        _ handler: @escaping ([GroupChange]) throws -> Void
    ) throws -> NotificationToken {
        try results.observeAggregate(kind, path, by: rules, name: name) { try handler($1) }
    }
}

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
        try kind.check(type, "'\(text)'")
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
    func value(_ result: Scalar) -> Value { kind.value(result, of: type) }
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

/// An aggregate whose value changed: that of all objects, or of one group.
package struct GroupChange: Sendable, Equatable {
    /// The value that the objects of the group share; nil for an aggregate of all objects.
    package let key: Value
    /// The current aggregate; nil if the group lost its last object.
    package let new: Value?
    /// The aggregate before the change; nil if the group is new.
    package let old: Value?
}

/// An aggregate over the objects of a query, or over those of each section, kept up to date step by step.
///
/// A step takes time in proportion to the number of touched objects, times the logarithm of the number of rows. All
/// objects of a group are read again only for a minimum or maximum after about a thousand of the best values were
/// removed.
struct AggregateState {
    private struct Group {
        var members = 0
        var running: RunningAggregate
    }

    private(set) var rule: AggregateRule
    /// The rules that assign objects to groups; nil for a single group.
    private(set) var sections: SectionRules?
    private var rows: ValuedRows
    /// The groups with objects, by the key of their section.
    private var groups: [Scalar: Group] = [:]

    /// The key of the group of all objects.
    private static let whole = Scalar.nothing

    init(_ query: Query, _ rule: AggregateRule, by sections: SectionRules?, in view: StoreView)
        throws
    {
        self.rule = rule
        self.sections = sections
        rows = try ValuedRows(query, in: view)
        guard sections != nil else {
            if !isCount { try fill(Self.whole, in: view) }
            return
        }
        let (section, value) = try (sectionReader(in: view), rule.reader(in: view))
        for key in try QueryEvaluator.keys(of: query, in: view) {
            try groups.requireSpaceToGrow()
            try join(section(key), value(key))
        }
    }

    var query: Query { rows.query }

    /// Whether the value is the number of rows, so that no object needs to be read.
    private var isCount: Bool { sections == nil && rule.text == nil }

    /// The aggregate of all objects.
    var value: Value { result(of: Self.whole) ?? rule.valueOfNothing }

    /// The aggregates of all groups as new ones, in order.
    var values: [GroupChange] {
        changes(from: Dictionary(uniqueKeysWithValues: keys.map { ($0, nil) }))
    }

    private var keys: [Scalar] { sections == nil ? [Self.whole] : Array(groups.keys) }

    private func result(of key: Scalar) -> Value? {
        if isCount { return .int(Int64(rows.count)) }
        let result = groups[key].map { rule.value($0.running.result) }
        return sections == nil ? result ?? rule.valueOfNothing : result
    }

    /// Returns the groups whose aggregate differs from the given one, in order.
    private func changes(from before: [Scalar: Value?]) -> [GroupChange] {
        before.keys.sorted { sections?.order($0, $1) ?? 0 < 0 }.compactMap { key in
            let (old, new) = (before[key] ?? nil, result(of: key))
            return old == new
                ? nil : GroupChange(key: sections?.value(key) ?? .null, new: new, old: old)
        }
    }

    /// Returns the changes after the collection was deleted: all groups are removed, and the aggregate of all objects is
    /// that of an empty collection.
    func changesAtEnd() -> [GroupChange] {
        values.compactMap { change in
            let new = sections == nil ? rule.valueOfNothing : nil
            return new == change.new ? nil : GroupChange(key: change.key, new: new, old: change.new)
        }
    }

    /// Updates the groups for a step, and returns those whose aggregate changed, with the changed objects.
    mutating func advance(along step: VersionStep) throws -> (
        groups: [GroupChange], rows: ValuedRows.Change
    )? {
        if step.changes.schemaChanged { try follow(step) }
        var touched = try sections?.graph.touchedRows(in: step) ?? KeySet()
        if rule.text != nil { try touched.formUnion(rule.graph.touchedRows(in: step)) }
        var before: [Scalar: Value?] = isCount ? [Self.whole: value] : [:]
        let change = try rows.advance(along: step, touched: touched)
        guard !change.isEmpty else { return nil }
        if !isCount {
            let (newSection, newValue) = try (
                sectionReader(in: step.new), rule.reader(in: step.new)
            )
            let (oldSection, oldValue) = try (
                sectionReader(in: step.old), rule.reader(in: step.old)
            )
            func record(_ key: Scalar) {
                if before[key] == nil { before[key] = .some(result(of: key)) }
            }
            for object in change.joined {
                let key = try newSection(object)
                record(key)
                try join(key, newValue(object))
            }
            for object in change.left {
                let key = try oldSection(object)
                record(key)
                try leave(key, oldValue(object))
            }
            for key in before.keys where groups[key]?.running.needsRefill == true {
                try fill(key, in: step.new)
            }
        }
        let changed = changes(from: before)
        return changed.isEmpty ? nil : (changed, change)
    }

    private func sectionReader(in view: StoreView) throws -> (ObjectKey) throws -> Scalar {
        try sections?.reader(in: view) ?? { _ in Self.whole }
    }

    private mutating func join(_ key: Scalar, _ value: Scalar) {
        groups[key, default: Group(running: rule.empty)].members += 1
        groups[key]?.running.add(value)
    }

    private mutating func leave(_ key: Scalar, _ value: Scalar) {
        groups[key]?.members -= 1
        if groups[key]?.members == 0 {
            groups[key] = nil
        } else {
            groups[key]?.running.remove(value)
        }
    }

    /// Reads the objects of a group in a view.
    private mutating func fill(_ key: Scalar, in view: StoreView) throws {
        let read = try rule.reader(in: view)
        var group = Group(running: rule.empty)
        for object in try QueryEvaluator.keys(of: sections?.query(of: key) ?? query, in: view) {
            group.members += 1
            try group.running.add(read(object))
        }
        groups[key] = group.members > 0 ? group : nil
    }

    /// Adapts the rules to a changed schema.
    private mutating func follow(_ step: VersionStep) throws {
        try rows.follow(step)
        let schema = step.new.schema
        guard let elements = schema.find(table: query.table) else { return }
        try sections?.ordered.check(in: schema)
        sections = try sections?.remade(for: schema)
        for path in rule.dependencies {
            try path.check(in: schema, of: "observer", "the aggregate of '\(rule.text ?? "")'")
        }
        rule = try AggregateRule(rule.kind, rule.text, class: elements, schema: schema)
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
        try query.check(in: step.new.schema)
        query = try query.followed(to: step.new.schema)
        if query.dependsOnMixed { rows = try RowsFactory.rows(of: query, in: step.old) }
    }
}
