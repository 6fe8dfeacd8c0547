import ColumnStorage
import MemoryAccounts

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
        let interruption = Interruption.current
        for key in try QueryEvaluator.keys(of: query, in: view) {
            try interruption?.step()
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
            func note(_ key: Scalar) {
                if before[key] == nil { before[key] = .some(result(of: key)) }
            }
            for object in change.joined {
                let key = try newSection(object)
                note(key)
                try join(key, newValue(object))
            }
            for object in change.left {
                let key = try oldSection(object)
                note(key)
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
        sections = try sections?.remade(for: schema)
        try sections?.ordered.check(in: schema)
        let type = rule.type
        rule = try AggregateRule(rule.kind, rule.text, class: elements, schema: schema)
        guard rule.type == type else {
            throw StoreError(
                .unknownProperty,
                "the observed property '\(elements.name).\(rule.text ?? "")' has another type")
        }
    }
}
