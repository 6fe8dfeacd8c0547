import ColumnStorage

/// The losses and errors that a change of a file's schema would cause with the current data.
///
/// The lint compares the schemas without running the migration, which has to handle each finding.
package struct SchemaLint {
    /// One loss or error that the change would cause.
    package struct Finding: Hashable, Sendable {
        /// The kinds of findings.
        package enum Rule: String, Sendable, CaseIterable {
            /// Values that the new schema does not declare.
            case lostValues = "lost_values"
            /// Objects of a class that the new schema does not have.
            case lostObjects = "lost_objects"
            /// Values of a property whose type changes.
            case changedType = "changed_type"
            /// Values that the new type of their property cannot represent.
            case narrowedType = "narrowed_type"
            /// Objects without a value for a property that becomes required.
            case missingValues = "missing_values"
            /// Objects that would share a primary key.
            case duplicateKeys = "duplicate_keys"
            /// Objects with values that break a new rule.
            case brokenRules = "broken_rules"
            /// Objects of a class that becomes embedded, without exactly one parent.
            case parents
        }

        /// The kind of finding.
        package let rule: Rule
        /// The qualified name of the finding: `Class.property`, or the name of a class.
        package let qualifiedName: String
        /// What is wrong.
        package let problem: String
        /// What to do about it.
        package let advice: String
        /// The problem and the advice.
        package var message: String { "\(problem); \(advice)" }
        /// The number of affected objects.
        package let count: Int
        /// The names of the first affected objects; empty if all objects are affected.
        package let objects: [String]
    }

    let view: StoreView
    private(set) var findings: [Finding] = []

    static let nameLimit = 5

    /// Returns the problems of an automatic migration of a store to a complete schema.
    ///
    /// Reads every object of the classes that change. Throws `invalid_schema`, `closed`.
    package static func findings(in store: Store, for classes: [ClassSchema]) throws -> [Finding] {
        try store.check()
        try SchemaValidation.check(classes)
        var lint = SchemaLint(view: store.view)
        let differences = try SchemaDifference.between(store.schema, and: classes)
        for difference in differences { try lint.look(at: difference) }
        for classSchema in classes {
            try lint.lookAtValues(
                of: classSchema, differences.filter { $0.className == classSchema.name })
        }
        return lint.findings
    }

    private mutating func look(at difference: SchemaDifference) throws {
        switch difference {
        case .classRemoved(let name):
            for loss in try SchemaLoss.losses([difference], in: view) {
                add(
                    .lostObjects, to: name, loss.found,
                    problem: "\(objects(loss.count)) of class '\(name)' would be lost",
                    advice:
                        "keep them with m:rename_class, or delete them with m:delete_class(\"\(name)\")"
                )
            }
        case .propertyRemoved:
            for loss in try SchemaLoss.losses([difference], in: view) {
                add(
                    .lostValues, to: loss.qualifiedName, loss.found,
                    problem:
                        "\(objects(loss.count)) would lose the value of '\(loss.qualifiedName)'",
                    advice:
                        "keep it with m:rename_property, or declare the loss with drops = "
                        + "{ \"\(loss.qualifiedName)\" }")
            }
        case .propertyChanged(let name, .required, _, let new): try lookAtRequired(new, name)
        case .propertyChanged(let name, .type, let old, let new): try lookAtType(old, new, name)
        case .propertyAdded(let name, let property): try lookAtAdded(property, name)
        case .embedding(let name, true): try lookAtParents(name)
        default: break
        }
    }

    func objects(_ count: Int) -> String { count == 1 ? "1 object" : "\(count) objects" }

    mutating func add(
        _ rule: Finding.Rule, to qualifiedName: String, _ found: FoundObjects, problem: String,
        advice: String
    ) {
        add(
            rule, to: qualifiedName, count: found.count, objects: found.first, problem: problem,
            advice: advice)
    }

    mutating func add(
        _ rule: Finding.Rule, to qualifiedName: String, count: Int, objects: [ObjectReference],
        problem: String, advice: String
    ) {
        findings.append(
            Finding(
                rule: rule, qualifiedName: qualifiedName, problem: problem, advice: advice,
                count: count,
                objects: objects.prefix(Self.nameLimit).map(view.name)))
    }
}

/// A property of the new schema, with the values that the objects of the file have after the change.
private struct ChangedProperty {
    let new: Property
    /// The property in the file; nil for a new one.
    let old: Property?
    private let conversion: SchemaDifference.Conversion?

    init(_ new: Property, _ stored: ClassSchema, _ differences: [SchemaDifference]) {
        self.new = new
        old = stored.property(storedAs: new.storedName)
        conversion = differences.lazy.compactMap(\.conversion).first { $0.to.name == new.name }?.1
    }

    /// Whether all objects keep their values.
    var isKept: Bool { old != nil && conversion == nil }

    /// Returns the value of an object after the change; nil if another finding reports that it has none.
    func value(of key: ObjectKey, in stored: ClassSchema, _ view: StoreView) throws -> Value? {
        if case .fill(let value)? = conversion { return value }
        guard let old else {
            return new.isSingle && new.isOptional ? .null : new.unsetValue
        }
        let value = try view.value(old, of: key, in: stored)
        switch conversion {
        case .complete(let initial)?: return value == .null ? initial : value
        case .exact?: return ExactConversion.convert(value, to: new)
        default: return value == .null && new.isSingle && !new.isOptional ? nil : value
        }
    }
}

// The findings that require reading values.
extension SchemaLint {
    /// Finds values that do not convert exactly to the new type.
    mutating func lookAtType(_ old: Property, _ new: Property, _ name: String) throws {
        guard let stored = view.schema.find(name) else { return }
        var first: Value?
        var count = 0
        let odd = try view.objects(of: stored) { key in
            let value = try view.value(old, of: key, in: stored)
            if value == .null { return false }
            count += 1
            guard ExactConversion.convert(value, to: new, in: view.schema) == nil else {
                return false
            }
            if first == nil { first = value }
            return true
        }
        guard let first else { return }
        let isAll = odd.count == count && !(old.isSingle && new.isSingle)
        add(
            isAll ? .changedType : .narrowedType, to: "\(name).\(new.name)", odd,
            problem:
                "\(objects(odd.count)) with a value of '\(name).\(old.name)' that does not convert exactly from "
                + "\(old.typeName) to \(new.typeName), such as \(first.summary)",
            advice: "set '\(new.name)' with m:each"
        )
    }

    /// Finds objects without a value for a property that becomes required.
    mutating func lookAtRequired(_ property: Property, _ name: String) throws {
        guard let stored = view.schema.find(name),
            let old = stored.property(storedAs: property.storedName)
        else { return }
        let without = try view.objects(of: stored) { key in
            let value = try view.value(old, of: key, in: stored)
            return old.isSingle
                ? value == .null && property.defaultValue == nil
                : ExactConversion.convert(value, to: property) == nil
        }
        guard without.count > 0 else { return }
        add(
            .missingValues, to: "\(name).\(property.name)", without,
            problem:
                "\(objects(without.count)) without a value of '\(name).\(property.name)', which becomes "
                + "required",
            advice: "set it with m:each, or give the property a default")
    }

    mutating func lookAtAdded(_ property: Property, _ name: String) throws {
        guard property.isSingle, !property.isOptional, !property.isPrimary,
            property.defaultValue == nil, let stored = view.schema.find(name)
        else { return }
        let count = try view.table(stored).count
        guard count > 0 else { return }
        add(
            .missingValues, to: "\(name).\(property.name)", count: count, objects: [],
            problem: "\(objects(count)) would get \(property.type.zero.summary) as "
                + "'\(name).\(property.name)', which is required and new",
            advice: "fill it with m:each, or declare it \"\(property.typeName)?\"")
    }

    /// Finds objects whose values after the change break a rule, or are equal where a key, a rule or an index is unique.
    ///
    /// Values that the change keeps are tested only by what the file does not require of them.
    mutating func lookAtValues(
        of wanted: ClassSchema, _ differences: [SchemaDifference]
    ) throws {
        guard let stored = view.schema.find(wanted.name) else { return }
        let properties = wanted.properties.filter { !$0.isBacklinks }.map {
            ChangedProperty($0, stored, differences)
        }
        for property in properties
        where !property.isKept || property.old?.rules != property.new.rules {
            guard let rules = try RuleTest(property.new) else { continue }
            let broken = try RuleCheck.broken(rules, property.new, stored, in: view) { [view] in
                try property.value(of: $0, in: stored, view)
            }
            guard broken.count > 0 else { continue }
            add(
                .brokenRules, to: broken.subject, count: broken.count,
                objects: broken.first.map { ObjectReference(table: stored.table, key: $0.key) },
                problem: broken.message, advice: "change the values with m:each, or change the rule"
            )
        }
        for property in properties {
            let (name, old) = ("\(wanted.name).\(property.new.name)", property.old)
            if property.new.isPrimary, !property.isKept || old?.isPrimary != true {
                try lookAtUnique(
                    [property], stored, name, "a value of '\(name)', which becomes the primary key")
            }
            if property.new.rules.isUnique, !property.isKept || old?.rules.isUnique != true {
                try lookAtUnique(
                    [property], stored, name, "a value of '\(name)', which becomes unique")
            }
        }
        for index in wanted.indexes where index.isUnique {
            let parts = index.properties.compactMap { name in
                properties.first { $0.new.name == name }
            }
            if stored.indexes.contains(index), parts.allSatisfy(\.isKept) { continue }
            try lookAtUnique(
                parts, stored, wanted.name,
                "values of the index \(index.summary) of '\(wanted.name)'")
        }
    }

    /// Finds objects with equal values of properties; those without a value are equal only as a primary key.
    private mutating func lookAtUnique(
        _ properties: [ChangedProperty], _ stored: ClassSchema, _ qualifiedName: String,
        _ subject: String
    ) throws {
        var owners: [[Value]: [ObjectKey]] = [:]
        try view.forEachKey(of: stored) { key in
            let values = try properties.compactMap { property -> Value? in
                let value = try property.value(of: key, in: stored, view)
                return value == .null && !property.new.isPrimary ? nil : value
            }
            if values.count == properties.count { owners[values, default: []].append(key) }
        }
        let clashes = owners.filter { $0.value.count > 1 }.sorted { $0.value[0] < $1.value[0] }
        guard !clashes.isEmpty else { return }
        let shown = clashes.prefix(3).map { clash in
            let values = zip(properties, clash.key).map { "\($0.new.name) = \($1.summary)" }
            let names = clash.value.prefix(Self.nameLimit).map {
                view.name(of: ObjectReference(table: stored.table, key: $0))
            }
            return values.joined(separator: ", ") + ": " + names.joined(separator: ", ")
                + (clash.value.count > names.count ? ", …" : "")
        }
        let objects = clashes.flatMap(\.value).map { ObjectReference(table: stored.table, key: $0) }
        add(
            .duplicateKeys, to: qualifiedName, count: objects.count, objects: objects,
            problem:
                "\(self.objects(objects.count)) share \(subject) ("
                + shown.joined(separator: "; ") + (clashes.count > shown.count ? "; …" : "") + ")",
            advice: "give each object its own with m:each")
    }

    mutating func lookAtParents(_ name: String) throws {
        guard let stored = view.schema.find(name) else { return }
        let wrong = try view.objects(of: stored) { try view.linkCount(of: $0, in: stored) != 1 }
        guard wrong.count > 0 else { return }
        add(
            .parents, to: name, wrong,
            problem:
                "\(objects(wrong.count)) of class '\(name)', which becomes embedded, without exactly one "
                + "parent",
            advice: "delete or copy them in the migration")
    }
}
