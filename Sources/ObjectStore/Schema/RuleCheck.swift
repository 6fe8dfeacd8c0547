import ColumnStorage

/// Checks the rules of properties and the unique indexes at the end of a write.
///
/// The check runs at the end and not in each assignment, because a write may break a rule in between, and the
/// properties of an index change one after the other. An object with nil in a unique property is exempt, as in SQL.
struct RuleCheck {
    /// The objects with invalid values of one property.
    struct Broken {
        let subject: String
        let property: Property
        var count = 0
        /// The first objects, with their names, values and broken rules.
        var first: [(key: ObjectKey, name: String, fault: (value: Value, rule: String))] = []
        static let nameLimit = 5

        /// A message with the objects and the rules.
        var message: String {
            guard let one = first.first else { return "'\(subject)' has valid values" }
            guard count > 1 else {
                return "'\(subject)' \(property.isSingle ? "is" : "contains") "
                    + "\(one.fault.value.summary) (\(one.name)); \(one.fault.rule)"
            }
            let objects = first.map { "\($0.fault.value.summary) (\($0.name))" }
                .joined(separator: ", ")
            return "'\(subject)' breaks its rules in \(count) objects: \(objects)"
                + "\(count > first.count ? ", …" : ""); \(one.fault.rule)"
        }
    }

    /// Properties of a class whose values no two objects may share.
    private struct Unique {
        let properties: [Property]
        let isIndex: Bool

        /// Whether finding a value takes an index or the backlinks of an object, and not a comparison with all values.
        var hasLookup: Bool {
            isIndex || properties.allSatisfy { $0.hasIndex || $0.type == .object }
        }
    }

    private let store: Store
    private let session: WriteSession

    init(_ store: Store, _ session: WriteSession) {
        self.store = store
        self.session = session
    }

    /// Checks the touched objects; a unique value takes a lookup, or a comparison with all values without an index.
    ///
    /// Throws `invalid_value` and `duplicate_key`, with the objects in the message.
    func check() throws {
        for classSchema in store.view.schema.classesWithRules
        where session.hasTouched(classSchema.table) {
            for property in classSchema.properties {
                guard let rules = try RuleTest(property) else { continue }
                let touched = try touched(classSchema, [property])
                try throwIfBroken(
                    Self.broken(
                        rules, property, classSchema, in: store.view,
                        forEachKey: { for key in touched { try $0(key) } }))
            }
            for unique in uniques(of: classSchema) {
                let touched = try touched(classSchema, unique.properties)
                guard !touched.isEmpty else { continue }
                // Above this fraction, comparing all objects takes less time than a lookup for each touched one.
                let isMany =
                    try touched.count > 1000
                    && touched.count > store.view.table(classSchema).count / 10
                if isMany || (touched.count > 8 && !unique.hasLookup) {
                    try checkAll(classSchema, unique)
                } else {
                    try check(touched, of: classSchema, unique)
                }
            }
        }
    }

    /// Checks all objects of a class for the rules and unique indexes that an earlier schema of the class did not have.
    func checkAll(_ classSchema: ClassSchema, since old: ClassSchema?) throws {
        for property in classSchema.properties {
            let before = old?.property(in: property.column)?.rules ?? PropertyRules()
            guard property.rules != before, let rules = try RuleTest(property) else { continue }
            try throwIfBroken(Self.broken(rules, property, classSchema, in: store.view))
        }
        for unique in uniques(of: classSchema) {
            let isKnown =
                unique.isIndex
                ? old?.indexes.contains {
                    $0.isUnique && $0.properties == unique.properties.map(\.name)
                } == true
                : old?.property(in: unique.properties[0].column)?.rules.isUnique == true
            if !isKnown { try checkAll(classSchema, unique) }
        }
    }

    private func touched(_ classSchema: ClassSchema, _ properties: [Property]) throws -> KeySet {
        try StoreError.wrapping(session.touchedKeys(classSchema.table, properties.map(\.column)))
    }

    private func throwIfBroken(_ broken: Broken) throws {
        if broken.count > 0 { throw StoreError(.invalidValue, broken.message) }
    }

    /// Finds the objects whose values break the rules of a property.
    ///
    /// `forEachKey` visits the keys, by default all. `value` returns the value of an object, by default the stored one.
    static func broken(
        _ rules: RuleTest, _ property: Property, _ classSchema: ClassSchema, in view: StoreView,
        value: ((ObjectKey) throws -> Value?)? = nil,
        forEachKey: ((_ body: (ObjectKey) throws -> Void) throws -> Void)? = nil
    ) throws -> Broken {
        var broken = Broken(
            subject: "\(classSchema.name).\(property.name)", property: property)
        let rows = try view.table(classSchema)
        let value = value ?? { try view.value(property, of: $0, in: classSchema) }
        func check(_ key: ObjectKey) throws {
            try StoreError.step()
            guard try rows.isPresent(key), let value = try value(key),
                let fault = try rules.fault(of: value)
            else { return }
            broken.count += 1
            guard broken.first.count < Broken.nameLimit else { return }
            let reference = ObjectReference(table: classSchema.table, key: key)
            broken.first.append((key, view.name(of: reference), fault))
        }
        if let forEachKey {
            try forEachKey(check)
        } else {
            try view.forEachKey(of: classSchema, check)
        }
        return broken
    }

    private func uniques(of classSchema: ClassSchema) -> [Unique] {
        classSchema.properties.filter(\.rules.isUnique).map {
            Unique(properties: [$0], isIndex: false)
        }
            + classSchema.indexes.filter(\.isUnique).map {
                Unique(
                    properties: $0.properties.compactMap(classSchema.property(named:)),
                    isIndex: true)
            }
    }

    private func check(
        _ touched: KeySet, of classSchema: ClassSchema, _ unique: Unique
    ) throws {
        let all = try store.objects(classSchema.name)
        for key in touched where try store.view.table(classSchema).isPresent(key) {
            guard let values = try values(of: key, classSchema, unique) else { continue }
            let same = try all.filtered(equal: zip(unique.properties, values).map { ($0.name, $1) })
            guard try same.count() > 1 else { continue }
            let keys = try (0..<2).map { try same.object(at: $0).key }
            throw duplicate(keys, of: classSchema, unique, values: values)
        }
    }

    /// Compares all objects of a class: for values that have become unique, and for large writes.
    private func checkAll(_ classSchema: ClassSchema, _ unique: Unique) throws {
        var owners: [[Value]: ObjectKey] = [:]
        try store.view.forEachKey(of: classSchema) { key in
            guard let values = try values(of: key, classSchema, unique) else { return }
            if let owner = owners.updateValue(key, forKey: values) {
                throw duplicate([owner, key], of: classSchema, unique, values: values)
            }
        }
    }

    /// Returns the values of an object that must be unique; nil if one of them is nil.
    private func values(
        of key: ObjectKey, _ classSchema: ClassSchema, _ unique: Unique
    ) throws -> [Value]? {
        let values = try unique.properties.map {
            try store.view.value($0, of: key, in: classSchema)
        }
        return values.contains(.null) ? nil : values
    }

    private func duplicate(
        _ keys: [ObjectKey], of classSchema: ClassSchema, _ unique: Unique, values: [Value]
    ) -> StoreError {
        let names = unique.properties.map(\.name)
        let what = zip(names, values).map { "\($0) = \($1.summary)" }.joined(separator: ", ")
        let objects = keys.map {
            store.view.name(of: ObjectReference(table: classSchema.table, key: $0))
        }.joined(separator: " and ")
        let rule =
            unique.isIndex
            ? "its index (\(names.joined(separator: ", "))) is unique"
            : "'\(classSchema.name).\(names[0])' is unique"
        return StoreError(
            .duplicateKey,
            "two objects of '\(classSchema.name)' have \(what) (\(objects)), and \(rule)")
    }
}

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
