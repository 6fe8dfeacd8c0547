import ColumnStorage
import Decimals

/// The operation of an aggregate.
package enum AggregateKind: String, Sendable, CaseIterable {
    case count, sum, average
    case minimum = "min"
    case maximum = "max"

    /// The name in predicates and in messages about values.
    var word: String { self == .average ? "avg" : rawValue }

    /// The operations on values: all but a count.
    package static let ofValues: [AggregateKind] = [.sum, .minimum, .maximum, .average]

    /// Creates the operation that a predicate names, such as `avg`; nil for other names, and for a count.
    init?(word: String) {
        guard let found = Self.ofValues.first(where: { $0.word == word }) else { return nil }
        self = found
    }

    /// Whether the result is one of the values.
    var isExtreme: Bool { self == .minimum || self == .maximum }

    /// Throws `invalid_query` if values of a type do not have the aggregate; `what` describes the values in the
    /// message.
    func check(_ type: PropertyType, _ what: String) throws {
        guard self == .count || type.isNumeric || type == .mixed || type == .date && isExtreme
        else {
            throw StoreError(
                .invalidQuery,
                "\(what) is \(type.rawValue); \(word) requires a number"
                    + (isExtreme ? " or a date" : ""))
        }
    }

    /// Converts the result for values of a type to a value.
    func value(_ result: Scalar, of type: PropertyType) -> Value {
        switch (self, result) {
        case (.count, _): result.value(of: .int)
        case (.minimum, _), (.maximum, _): result.value(of: type)
        case (_, .decimal(let number)): .decimal(number)
        case (.average, _): result.double.map(Value.double) ?? .null
        case (.sum, _): result.sum(of: type).value
        }
    }
}

/// An aggregate of values that are added one by one, or column by column.
///
/// Nulls do not count. The minimum and the maximum ignore NaN, which would otherwise be the minimum of every column that
/// contains it; sums and averages of NaN are NaN.
struct Aggregate {
    private let kind: AggregateKind
    /// Whether values that are not numbers are ignored, except by a count; true for mixed properties.
    private let numbersOnly: Bool
    private var count = 0
    private var total = NumberTotal()
    private var extreme = Scalar.nothing

    init(_ kind: AggregateKind, numbersOnly: Bool = false) {
        self.kind = kind
        self.numbersOnly = numbersOnly
    }

    mutating func add(_ value: Scalar) { change(value, by: 1) }

    /// Adds a value, or removes one that was added if `sign` is -1; a minimum or a maximum cannot be removed.
    mutating func change(_ value: Scalar, by sign: Int) {
        assert(sign == 1 || !kind.isExtreme, "a minimum or a maximum cannot be removed")
        switch kind {
        case .sum, .average: total.change(value, by: sign)
        case .count: if includes(value) { count += sign }
        case .minimum, .maximum:
            guard includes(value) else { return }
            if case .nothing = extreme { extreme = value }
            if Scalar.order(value, extreme) == (kind == .minimum ? -1 : 1) { extreme = value }
        }
    }

    /// Returns whether a count, a minimum or a maximum includes a value.
    func includes(_ value: Scalar) -> Bool {
        switch value {
        case .null, .nothing: return false
        default: break
        }
        if kind == .count { return true }
        return value.isExtremeCandidate && (!numbersOnly || value.number != nil)
    }

    /// Adds all values of another aggregate of the same operation.
    mutating func add(_ other: Aggregate) {
        assert(kind == other.kind, "both aggregates have the same operation")
        if case .nothing = other.extreme {} else { add(other.extreme) }
        total.add(other.total)
        count += other.count
    }

    /// Adds the values of a column of numbers in some rows of a cluster.
    mutating func add(
        _ source: ColumnSource, of rows: TableReader, _ cluster: Int, _ bits: ClusterBits
    ) throws {
        let column = source.column
        let isWhole = source.type == .int || source.type == .date
        switch kind {
        case .count:
            count += try rows.matches(column, cluster, .notNull, among: bits).rowCount
        case .minimum:
            try add(
                isWhole
                    ? rows.minInt(column, cluster, among: bits).map(Scalar.int) ?? .null
                    : rows.minDouble(column, cluster, among: bits).map(Scalar.double) ?? .null)
        case .maximum:
            try add(
                isWhole
                    ? rows.maxInt(column, cluster, among: bits).map(Scalar.int) ?? .null
                    : rows.maxDouble(column, cluster, among: bits).map(Scalar.double) ?? .null)
        case .sum, .average: try total.add(source, of: rows, cluster, bits)
        }
    }

    /// The aggregate; `.nothing` for the minimum, maximum and average of no values, and 0 for their sum.
    var result: Scalar {
        switch kind {
        case .count: .int(Int64(count))
        case .minimum, .maximum: extreme
        case .sum: total.sum
        case .average: total.average
        }
    }
}

/// An aggregate to which values can be added and from which they can be removed.
///
/// The result equals that of ``Aggregate`` for the current values. If ``needsRefill`` is true, the caller has to add all
/// current values to a new aggregate.
struct RunningAggregate {
    /// The aggregate, except for a minimum or maximum, whose values are in `extremes`.
    private var aggregate: Aggregate
    private var extremes: ExtremeValues?

    init(_ kind: AggregateKind, numbersOnly: Bool) {
        aggregate = Aggregate(kind, numbersOnly: numbersOnly)
        extremes = kind.isExtreme ? ExtremeValues(isMinimum: kind == .minimum) : nil
    }

    /// Whether the result can no longer be computed from this state.
    var needsRefill: Bool { extremes?.isExhausted ?? false }

    /// Adds a value.
    mutating func add(_ value: Scalar) {
        guard extremes != nil else { return aggregate.change(value, by: 1) }
        if aggregate.includes(value) { extremes?.add(value) }
    }

    /// Removes a value that was added.
    mutating func remove(_ value: Scalar) {
        guard extremes != nil else { return aggregate.change(value, by: -1) }
        if aggregate.includes(value) { extremes?.remove(value) }
    }

    /// The result, equal to ``Aggregate/result`` for the present values.
    var result: Scalar { extremes.map { $0.best ?? .nothing } ?? aggregate.result }
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
        assert(entries[position].count > 0, "each value of the reserve occurs")
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
