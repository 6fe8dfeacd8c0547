import ColumnStorage

/// A compiled test of one property's value against constants.
///
/// Whether nil passes is stored separately from the test of other values: `== nil` is "no value, and nil", `!= 5` is
/// "all values but 5, and nil".
struct ValueTest: Sendable {
    /// The condition for values other than nil.
    enum Form: Sendable {
        case never
        case always
        case bool(Bool)
        case int(Comparison, Int64)
        case intBetween(Int64, Int64)
        case intIn(IntSet)
        case double(Comparison, Double)
        case doubleBetween(Double, Double)
        case doubleIn(RealSet)
        case bytes(TextTest)
        /// A comparison of decimals, the only type without a column kernel.
        case compare(Comparison, Scalar)
        case between(Scalar, Scalar)
        case oneOf([Scalar])
        /// A link to an object with one of these keys.
        case links(IntSet)
        case notLink(ObjectKey)
    }

    let form: Form
    let matchesNull: Bool

    static let isNull = ValueTest(form: .never, matchesNull: true)
    static let isNotNull = ValueTest(form: .always, matchesNull: false)

    /// Whether every value other than nil passes.
    var isAlways: Bool {
        if case .always = form { true } else { false }
    }

    /// Returns whether a value passes.
    func matches(_ value: Scalar) throws -> Bool {
        switch (form, value) {
        case (_, .null): return matchesNull
        case (_, .nothing), (.never, _): return false
        case (.always, _): return true
        case (.bool(let wanted), .bool(let flag)): return wanted == flag
        case (.int(let comparison, let bound), .int):
            return Scalar.holds(value, comparison, .int(bound))
        case (.intBetween(let low, let high), .int(let number)):
            return low <= number && number <= high
        case (.intIn(let set), .int(let number)): return set.contains(number)
        case (.double(let comparison, let bound), .double):
            return Scalar.holds(value, comparison, .double(bound))
        case (.doubleBetween(let low, let high), .double(let number)):
            return RealOrder.compare(low, number) <= 0 && RealOrder.compare(number, high) <= 0
        case (.doubleIn(let set), .double(let number)): return set.contains(number)
        case (.compare(let comparison, let bound), _):
            return Scalar.holds(value, comparison, bound)
        case (.between(let low, let high), _):
            return Scalar.holds(value, .greaterOrEqual, low)
                && Scalar.holds(value, .lessOrEqual, high)
        case (.oneOf(let set), _): return set.contains { Scalar.holds(value, .equal, $0) }
        case (.bytes(.folded(_, .compare(.notEqual, _))), .bool),
            (.bytes(.folded(_, .compare(.notEqual, _))), .int),
            (.bytes(.folded(_, .compare(.notEqual, _))), .double),
            (.bytes(.folded(_, .compare(.notEqual, _))), .decimal),
            (.bytes(.folded(_, .compare(.notEqual, _))), .mixed):
            return true  // a mixed value other than a text differs from any
        case (.bytes(let test), .bytes(let bytes)): return try test.matches(bytes.span)
        case (.links(let keys), .link(let key)): return keys.contains(key.rawValue)
        case (.notLink(let other), .link(let key)): return key != other
        default: return false
        }
    }

    /// A description of how a list of constants is stored; nil for other tests.
    var note: String? {
        switch form {
        case .intIn(let set), .links(let set): "\(set.form) of \(set.count.grouped) values"
        case .doubleIn(let set): "hash of \(set.count.grouped) values"
        case .bytes(.oneOf(let set)): "hash of \(set.count.grouped) values"
        default: nil
        }
    }

    /// The cost of one row, as a number of integer comparisons.
    var cost: Int {
        switch form {
        case .never, .always, .bool, .int, .intBetween: 1
        case .double, .doubleBetween, .links, .notLink: 2
        case .intIn, .doubleIn: 6
        case .bytes(.search): 100
        case .compare, .between: 40
        case .bytes(.folded), .bytes(.like), .oneOf: 60
        case .bytes(.contains): 15
        case .bytes: 8
        }
    }
}
