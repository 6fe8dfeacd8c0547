import ColumnStorage
import Decimals
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

/// The least or the greatest values of a collection, and how often each occurs.
///
/// The reserve contains at most ``limit`` distinct values; when it is full, worse values are dropped. If removals empty
/// the reserve, ``isExhausted`` is true, and the owner must add all values again. Adding or removing a value takes a
/// binary search in the reserve.
struct ExtremeValues {
    private struct Entry {
        let value: Scalar
        var count: Int
    }

    private var entries: [Entry] = []
    /// Whether the reserve has every value of the collection.
    private var isComplete = true
    private let isMinimum: Bool

    /// The maximum number of distinct values in the reserve.
    static let limit = 1_024

    init(isMinimum: Bool) { self.isMinimum = isMinimum }

    /// The best value; nil if there is none or the reserve is exhausted.
    var best: Scalar? { entries.first?.value }

    /// Whether there are values, but none in the reserve.
    var isExhausted: Bool { entries.isEmpty && !isComplete }

    private func precedes(_ left: Scalar, _ right: Scalar) -> Bool {
        let order = Scalar.order(left, right) ?? 0
        return isMinimum ? order < 0 : order > 0
    }

    /// Returns the first position in the reserve whose value is not better than the given value.
    private func position(of value: Scalar) -> Int {
        entries.indices.partition { precedes(entries[$0].value, value) }
    }

    /// Adds a value.
    mutating func add(_ value: Scalar) {
        if !isComplete, let last = entries.last, precedes(last.value, value) { return }
        let position = position(of: value)
        if position < entries.count, !precedes(value, entries[position].value) {
            entries[position].count += 1
            return
        }
        guard position < entries.count || isComplete else { return }
        entries.insert(Entry(value: value, count: 1), at: position)
        if entries.count > Self.limit {
            entries.removeLast()
            isComplete = false
        }
    }

    /// Removes a value that was added.
    mutating func remove(_ value: Scalar) {
        let position = position(of: value)
        guard position < entries.count, !precedes(value, entries[position].value) else { return }
        entries[position].count -= 1
        if entries[position].count == 0 { entries.remove(at: position) }
    }
}

/// The total of numbers of all types.
///
/// All sums and averages are computed by this type: of scans, lists, groups, predicates and observed aggregates. The
/// numbers are added without rounding, so that the result depends neither on their order nor on removed numbers.
struct NumberTotal {
    /// The number of values.
    private var count = 0
    /// The total of the ints.
    ///
    /// 128 bits are enough for the sum of more ints than a store can contain.
    private var whole: Int128 = 0
    /// The total of the floats and doubles, and of decimals that are not finite.
    private var reals = ExactSum()
    private var realCount = 0
    private var decimals = DecimalSum()
    private var decimalCount = 0

    /// Adds a number, or removes one that was added if `sign` is -1.
    mutating func change(_ value: Scalar, by sign: Int) {
        switch value {
        case .int(let number): whole += Int128(sign) * Int128(number)
        case .double(let number):
            realCount += sign
            reals.change(number, by: sign)
        case .decimal(let number):
            decimalCount += sign
            if number.isFinite {
                decimals.change(number, by: sign)
            } else {
                reals.change(number.double, by: sign)
            }
        default: return
        }
        count += sign
    }

    /// Adds all numbers of another total.
    mutating func add(_ other: NumberTotal) {
        count += other.count
        whole += other.whole
        reals.add(other.reals)
        realCount += other.realCount
        decimals.add(other.decimals)
        decimalCount += other.decimalCount
    }

    /// Adds the numbers of a column in some rows of a cluster.
    mutating func add(
        _ source: ColumnSource, of rows: TableReader, _ cluster: Int, _ bits: ClusterBits
    ) throws {
        if source.type == .int {
            let (sum, added) = try rows.sumInt(source.column, cluster, among: bits)
            whole += sum
            count += added
        } else {
            let added = try rows.addDoubles(source.column, cluster, among: bits, to: &reals)
            realCount += added
            count += added
        }
    }

    /// The sum of all numbers.
    ///
    /// The sum is a decimal if there are decimals, and otherwise a double if there are floats or doubles. The sum of
    /// ints is an int if it fits into 64 bits, and otherwise the nearest double.
    var sum: Scalar {
        let real = reals.value
        if decimalCount > 0 {
            let exact = decimals.value + DecimalValue(wide: whole)
            return .decimal(real == 0 ? exact : exact + DecimalValue(real))
        }
        if realCount > 0 { return .double(Double(whole) + real) }
        return Int64(exactly: whole).map(Scalar.int) ?? .double(Double(whole))
    }

    /// The average of the values; `.nothing` for none.
    var average: Scalar {
        guard count > 0 else { return .nothing }
        if case .decimal(let total) = sum {
            return .decimal(total / DecimalValue(Int64(count)))
        }
        return .double((Double(whole) + reals.value) / Double(count))
    }
}

/// An aggregate to which values can be added and from which they can be removed.
///
/// The result equals that of ``Aggregate`` for the current values. If ``needsRefill`` is true, the caller has to add all
/// current values to a new aggregate.
struct RunningAggregate {
    private let kind: AggregateKind
    /// Whether values that are not numbers are ignored; true for mixed properties.
    private let numbersOnly: Bool
    /// The number of values that are not nil.
    private var count = 0
    private var total = NumberTotal()
    private var extremes: ExtremeValues

    init(_ kind: AggregateKind, numbersOnly: Bool) {
        self.kind = kind
        self.numbersOnly = numbersOnly
        extremes = ExtremeValues(isMinimum: kind == .minimum)
    }

    /// Whether the result can no longer be computed from this state.
    var needsRefill: Bool { extremes.isExhausted }

    /// Adds a value.
    mutating func add(_ value: Scalar) { change(value, by: 1) }

    /// Removes a value that was added.
    mutating func remove(_ value: Scalar) { change(value, by: -1) }

    private mutating func change(_ value: Scalar, by sign: Int) {
        switch value {
        case .null, .nothing: return
        default: break
        }
        if numbersOnly, kind != .count, value.number == nil { return }
        switch kind {
        case .count: count += sign
        case .minimum, .maximum:
            guard value.isExtremeCandidate else { return }
            if sign > 0 { extremes.add(value) } else { extremes.remove(value) }
        case .sum, .average: total.change(value, by: sign)
        }
    }

    /// The result, equal to ``Aggregate/result`` for the present values.
    var result: Scalar {
        switch kind {
        case .count: .int(Int64(count))
        case .minimum, .maximum: extremes.best ?? .nothing
        case .sum: total.sum
        case .average: total.average
        }
    }
}

/// The operation of an observed aggregate.
package enum AggregateKind: String, Sendable, CaseIterable {
    case count, sum, average
    case minimum = "min"
    case maximum = "max"

    /// The operation on values; nil for a count.
    var operation: AggregateOperation? {
        switch self {
        case .count: nil
        case .sum: .sum
        case .average: .average
        case .minimum: .minimum
        case .maximum: .maximum
        }
    }
}
