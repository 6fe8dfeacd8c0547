import ColumnStorage

/// An aggregate over the objects of a query, kept up to date step by step.
///
/// A step takes time in proportion to the number of touched objects, times the logarithm of the number of rows. All
/// objects are read again only for a minimum or maximum after about a thousand of the best values were removed.
struct AggregateState {
    private(set) var rule: AggregateRule
    private var rows: ValuedRows
    private var running: RunningAggregate
    /// The current value.
    private(set) var value: Value

    init(_ query: Query, _ rule: AggregateRule, in view: StoreView) throws {
        self.rule = rule
        rows = try ValuedRows(query, in: view)
        running = rule.empty
        value = .null
        if rule.text != nil { try fill(in: view) }
        value = current
    }

    var query: Query { rows.query }

    var cost: String { rows.cost }

    private var current: Value {
        rule.text == nil ? .int(Int64(rows.count)) : rule.value(running.result)
    }

    private mutating func fill(in view: StoreView) throws {
        running = rule.empty
        let read = try rule.reader(in: view)
        for key in try QueryEvaluator.keys(of: rows.query, in: view) { try running.add(read(key)) }
    }

    /// Updates the value for a step, and returns the changed objects; nil if the value is the same.
    mutating func advance(along step: VersionStep) throws -> ValuedRows.Change? {
        if step.changes.schemaChanged { try follow(step) }
        let touched = try rule.text == nil ? KeySet() : rule.graph.touchedRows(in: step)
        let change = try rows.advance(along: step, touched: touched)
        guard !change.isEmpty else { return nil }
        if rule.text != nil {
            let before = try rule.reader(in: step.old)
            let after = try rule.reader(in: step.new)
            for key in change.joined { try running.add(after(key)) }
            for key in change.left { try running.remove(before(key)) }
            if running.needsRefill { try fill(in: step.new) }
        }
        let last = value
        value = current
        return value != last ? change : nil
    }

    private mutating func follow(_ step: VersionStep) throws {
        try rows.follow(step)
        guard let elements = step.new.schema.find(table: rows.query.table) else { return }
        let type = rule.type
        rule = try AggregateRule(rule.kind, rule.text, class: elements, schema: step.new.schema)
        guard rule.type == type else {
            throw StoreError(
                .unknownProperty,
                "the observed property '\(elements.name).\(rule.text ?? "")' has another type")
        }
    }

    /// The value after the collection was deleted, which is the value of an empty collection.
    var valueOfNothing: Value { rule.value(rule.empty.result) }
}
