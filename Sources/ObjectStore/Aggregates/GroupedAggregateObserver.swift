import ColumnStorage
import MemoryAccounts

/// One group of a grouped aggregate whose value changed.
package struct GroupChange: Sendable, Equatable {
    /// The value that the objects of the group share.
    package let key: Value
    /// The current aggregate; nil if the group lost its last object.
    package let new: Value?
    /// The aggregate before the change; nil if the group is new.
    package let old: Value?
}

/// Calls a handler with the groups whose aggregate changed.
///
/// A step takes time in proportion to the objects that it touches, not to the number of objects and groups.
final class GroupedAggregateObserver: Observer {
    typealias Handler = ([GroupChange]) throws -> Void

    private struct Group {
        var members = 0
        var running: RunningAggregate
    }

    private var rules: SectionRules
    private var rule: AggregateRule
    private var sectionPath: WatchGraph
    private let owner: ObjectReference?
    private let className: String
    private var rows: ValuedRows?
    private var preparedVersion: UInt64?
    private var groups: [Scalar: Group] = [:]
    private var handler: Handler?

    init(
        _ rules: SectionRules, _ rule: AggregateRule, name: String,
        dispatcher: NotificationDispatcher, schema: Schema, handler: @escaping Handler
    ) {
        self.rules = rules
        self.rule = rule
        self.handler = handler
        owner = rules.base.owner(in: schema)
        sectionPath = WatchGraph(rules.dependencies, of: rules.base.table)
        className = schema.find(table: rules.base.table)?.name ?? "?"
        super.init(name: name, dispatcher: dispatcher)
    }

    override var subject: String {
        "the \(rule.kind.rawValue)\(rule.text.map { " of '\($0)'" } ?? "") of sections of '\(className)'"
    }

    override var interests: ObserverInterests {
        guard let schema = dispatcher?.store.schema else { return ObserverInterests() }
        var interests = ObserverInterests(rules.base, rule, schema: schema)
        interests.add(sectionPath)
        return interests
    }

    override var cost: String { rows?.cost ?? "" }

    override func release() {
        handler = nil
        rows = nil
        groups = [:]
    }

    /// Reads the groups at the registration, as ``AggregateObserver/prepare(in:)`` does.
    func prepare(in view: StoreView) throws {
        guard try owner.map(view.isPresent) ?? true else { return }
        rows = try makeRows(view)
        preparedVersion = view.version
    }

    override func begin(in view: StoreView) throws -> Call? {
        guard let handler else { return nil }
        guard try owner.map(view.isPresent) ?? true else {
            isFinished = true
            return { try handler([]) }
        }
        if rows == nil || preparedVersion != view.version { rows = try makeRows(view) }
        try Interruption.step(8 * groups.count)
        let changes = sorted(Array(groups.keys)).map { key in
            GroupChange(key: rules.value(key), new: result(of: key), old: nil)
        }
        return { try handler(changes) }
    }

    /// Reads the rows and their groups in a view.
    private func makeRows(_ view: StoreView) throws -> ValuedRows {
        groups = [:]
        let rows = try ValuedRows(rules.base, in: view)
        let (section, value) = try (rules.reader(in: view), rule.reader(in: view))
        let interruption = Interruption.current
        for key in try QueryEvaluator.keys(of: rules.base, in: view) {
            try interruption?.step()
            try groups.requireSpaceToGrow()
            try join(section(key), value(key))
        }
        return rows
    }

    private func sorted(_ keys: [Scalar]) -> [Scalar] {
        keys.sorted { rules.order($0, $1) < 0 }
    }

    private func result(of key: Scalar) -> Value? {
        groups[key].map { rule.value($0.running.result) }
    }

    private func join(_ key: Scalar, _ value: Scalar) {
        groups[key, default: Group(running: rule.empty)].members += 1
        groups[key]?.running.add(value)
    }

    private func leave(_ key: Scalar, _ value: Scalar) {
        groups[key]?.members -= 1
        if groups[key]?.members == 0 {
            groups[key] = nil
        } else {
            groups[key]?.running.remove(value)
        }
    }

    override func advance(along step: VersionStep) throws -> Call? {
        if try step.removes(rules.base.table, owner: owner) { return lastCall(step) }
        // After an error, the groups are read again in the version that the observer has seen.
        var rows = try rows ?? makeRows(step.old)
        self.rows = nil  // makes `rows` the only copy, which is then changed in place
        if step.changes.schemaChanged { try follow(step, &rows) }
        var touched = try sectionPath.touchedRows(in: step)
        if rule.text != nil { try touched.formUnion(rule.graph.touchedRows(in: step)) }
        let change = try rows.advance(along: step, touched: touched)
        guard !change.isEmpty else {
            self.rows = rows
            return nil
        }
        var before: [Scalar: Value?] = [:]
        func note(_ key: Scalar) {
            if before[key] == nil { before[key] = .some(result(of: key)) }
        }
        let (newSection, newValue) = try (rules.reader(in: step.new), rule.reader(in: step.new))
        for key in change.joined {
            let section = try newSection(key)
            note(section)
            try join(section, newValue(key))
        }
        let (oldSection, oldValue) = try (rules.reader(in: step.old), rule.reader(in: step.old))
        for key in change.left {
            let section = try oldSection(key)
            note(section)
            try leave(section, oldValue(key))
        }
        for key in before.keys where groups[key]?.running.needsRefill == true {
            try fill(key, in: step.new)
        }
        self.rows = rows
        let changes = sorted(Array(before.keys)).compactMap { key -> GroupChange? in
            let (old, new) = (before[key] ?? nil, result(of: key))
            return old == new ? nil : GroupChange(key: rules.value(key), new: new, old: old)
        }
        guard !changes.isEmpty, let handler else { return nil }
        makeReason = try rule.reason(rules.ordered, change, in: step)
        return { try handler(changes) }
    }

    private func fill(_ key: Scalar, in view: StoreView) throws {
        let value = try rule.reader(in: view)
        var running = rule.empty
        for object in try QueryEvaluator.keys(of: rules.query(of: key), in: view) {
            try running.add(value(object))
        }
        groups[key]?.running = running
    }

    /// Returns the last call if the owner or the class was deleted: all groups are removed.
    private func lastCall(_ step: VersionStep) -> Call? {
        isFinished = true
        guard let handler, !groups.isEmpty else { return nil }
        let changes = sorted(Array(groups.keys)).map { key in
            GroupChange(key: rules.value(key), new: nil, old: result(of: key))
        }
        let reason = DeliveryReason(ending: owner, in: step)
        makeReason = { reason }
        return { try handler(changes) }
    }

    private func follow(_ step: VersionStep, _ rows: inout ValuedRows) throws {
        try rows.follow(step)
        let schema = step.new.schema
        guard let elements = schema.find(table: rules.base.table) else { return }
        rules = try rules.remade(for: schema)
        try rules.ordered.check(in: schema)
        sectionPath = WatchGraph(rules.dependencies, of: elements.table)
        rule = try AggregateRule(rule.kind, rule.text, class: elements, schema: schema)
    }
}
