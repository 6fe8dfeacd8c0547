/// The rules for the values of a property, and whether its links own their objects.
///
/// A write transaction may break rules in between: they are checked when it commits. In a list, set or map, they apply
/// to each element. Nil passes every rule.
public struct PropertyRules: Hashable, Sendable {
    /// The least value of a number or a date.
    public var minimum: Value?
    /// The greatest value of a number or a date.
    public var maximum: Value?
    /// The only allowed values; empty if all are allowed.
    public var allowed: [Value] = []
    /// The Lua pattern that a text matches; `^` and `$` are its ends.
    public var pattern: String?
    /// Whether no two objects of the class may have the same value.
    ///
    /// The values are indexed, except for floats, doubles, decimals and data, which are compared with all others when
    /// they change. Links are compared with the links to the same object.
    public var isUnique = false
    /// Whether deleting an object also deletes the objects to which only this property links.
    public var ownsObjects = false

    /// Creates rules that every value passes.
    public init() {}

    /// Whether there are no rules.
    public var isEmpty: Bool { self == PropertyRules() }

    /// Whether single values have rules, regardless of other objects.
    var hasValueRules: Bool {
        minimum != nil || maximum != nil || !allowed.isEmpty || pattern != nil
    }
}

// The options of the long form of a property.
extension PropertyRules {
    /// The names of the options, in the order of ``options``.
    package static let optionNames = ["min", "max", "enum", "pattern", "unique", "owns"]

    /// The rules as options with their values.
    package var options: [(name: String, value: Value)] {
        let values: [Value?] = [
            minimum, maximum, allowed.isEmpty ? nil : .list(allowed), pattern.map(Value.string),
            isUnique ? .bool(true) : nil, ownsObjects ? .bool(true) : nil,
        ]
        return zip(Self.optionNames, values).compactMap { name, value in value.map { (name, $0) } }
    }

    /// Sets the rule of an option.
    ///
    /// Throws `invalid_schema` for a value of another kind; `subject` is the property in the message.
    package mutating func set(_ option: String, to value: Value, of subject: String) throws {
        switch (option, value) {
        case ("min", _): minimum = value
        case ("max", _): maximum = value
        case ("enum", .list(let values)) where !values.isEmpty: allowed = values
        case ("pattern", .string(let text)): pattern = text
        case ("unique", .bool(let flag)): isUnique = flag
        case ("owns", .bool(let flag)): ownsObjects = flag
        default:
            let expected =
                option == "enum"
                ? "an array of values" : option == "pattern" ? "a Lua pattern" : "true or false"
            throw StoreError(.invalidSchema, "\(subject): '\(option)' must be \(expected)")
        }
    }

    /// The rules in messages: `min = 0, max = 150`, or `none`.
    package var summary: String {
        if isEmpty { return "none" }
        return options.map { name, value in
            guard case .list(let values) = value else { return "\(name) = \(value.summary)" }
            return "\(name) = { \(Self.list(values)) }"
        }.joined(separator: ", ")
    }

    fileprivate static func list(_ values: [Value]) -> String {
        values.prefix(10).map(\.summary).joined(separator: ", ") + (values.count > 10 ? ", …" : "")
    }
}

/// The rules of one property, prepared for the check of many values.
struct RuleTest {
    private let rules: PropertyRules
    private let pattern: TextPattern?

    /// Creates the check; nil for a property without rules for single values.
    ///
    /// Throws `invalid_schema` for an invalid pattern.
    init?(_ property: Property) throws {
        guard property.rules.hasValueRules else { return nil }
        var rules = property.rules
        if property.type == .float {
            rules.minimum = rules.minimum.map(Self.single)
            rules.maximum = rules.maximum.map(Self.single)
            rules.allowed = rules.allowed.map(Self.single)
        }
        self.rules = rules
        pattern = try rules.pattern.map(TextPattern.init)
    }

    /// Returns a number as a float property stores it, so that 0.1 in a rule is the 0.1 of a value.
    private static func single(_ value: Value) -> Value {
        if case .double(let number) = value { .float(Float(number)) } else { value }
    }

    /// Returns the fault of a value, or of an element of a collection; nil for a valid one.
    func fault(of value: Value) throws -> (value: Value, rule: String)? {
        switch value {
        case .null: return nil
        case .list(let elements): return try fault(among: elements)
        case .dictionary(let entries): return try fault(among: entries.values)
        default: return try rule(brokenBy: value).map { (value, $0) }
        }
    }

    private func fault(among values: some Sequence<Value>) throws -> (value: Value, rule: String)? {
        for value in values where value != .null {
            if let rule = try rule(brokenBy: value) { return (value, rule) }
        }
        return nil
    }

    private func rule(brokenBy value: Value) throws -> String? {
        // NaN is below every number in the order of values, but no minimum allows it.
        if let minimum = rules.minimum, ValueOrder.order(value, minimum) < 0 {
            return "the minimum is \(minimum.summary)"
        }
        if let maximum = rules.maximum, ValueOrder.order(value, maximum) > 0 || value.isNaN {
            return "the maximum is \(maximum.summary)"
        }
        if !rules.allowed.isEmpty, !rules.allowed.contains(where: { ValueOrder.isEqual($0, value) })
        {
            return "the allowed values are \(PropertyRules.list(rules.allowed))"
        }
        if let pattern, case .string(let text) = value, try !pattern.matches(text) {
            return "the pattern is \(Value.string(pattern.text).summary)"
        }
        return nil
    }
}

extension Value {
    fileprivate var isNaN: Bool {
        switch self {
        case .float(let number): number.isNaN
        case .double(let number): number.isNaN
        case .decimal(let number): number.isNotANumber
        default: false
        }
    }
}
