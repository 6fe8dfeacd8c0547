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
        for difference in try SchemaDifference.between(store.schema, and: classes) {
            try lint.look(at: difference)
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
        case .propertyChanged(let name, .type, let old, let new):
            try lookAtType(old, new, name)
            if new.isPrimary { try lookAtKey(new, name, isKept: false) }
        case .propertyAdded(let name, let property): try lookAtAdded(property, name)
        case .keyAdded(let name, let property): try lookAtKey(property, name, isKept: true)
        case .propertyChanged(let name, .rules, let old, let new): try lookAtRules(old, new, name)
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
            guard ExactConversion.convert(value, to: new) == nil else { return false }
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

    /// Finds objects that would share a primary key; if the values are not kept, all objects would have the same key.
    mutating func lookAtKey(
        _ property: Property, _ name: String, isKept: Bool, as role: String = "the primary key"
    ) throws {
        guard let stored = view.schema.find(name) else { return }
        let old = stored.property(storedAs: property.storedName).flatMap { old in
            let keeps =
                old.type == property.type && old.isSingle
                && (property.isOptional || !old.isOptional)
            return isKept && keeps ? old : nil
        }
        // A change of type is reported separately.
        if isKept, old == nil, stored.property(storedAs: property.storedName) != nil { return }
        var owners: [Value: [ObjectKey]] = [:]
        try view.forEachKey(of: stored) { key in
            let value =
                try old.map { try view.value($0, of: key, in: stored) } ?? property.type.zero
            // Objects without a value share none, except as a key.
            if value == .null, !property.isPrimary { return }
            owners[value, default: []].append(key)
        }
        let clashes = owners.filter { $0.value.count > 1 }.sorted { $0.value[0] < $1.value[0] }
        guard !clashes.isEmpty else { return }
        let count = clashes.reduce(0) { $0 + $1.value.count }
        let shown = clashes.prefix(3).map { clash in
            let names = clash.value.prefix(Self.nameLimit).map {
                view.name(of: ObjectReference(table: stored.table, key: $0))
            }
            return "\(property.name) = \(clash.key.summary): " + names.joined(separator: ", ")
                + (clash.value.count > names.count ? ", …" : "")
        }
        let objects = clashes.flatMap(\.value).map { ObjectReference(table: stored.table, key: $0) }
        add(
            .duplicateKeys, to: "\(name).\(property.name)", count: count, objects: objects,
            problem:
                "\(self.objects(count)) share a value of '\(name).\(property.name)', which becomes \(role) ("
                + shown.joined(separator: "; ") + (clashes.count > shown.count ? "; …" : "") + ")",
            advice: "give each object its own with m:each")
    }

    /// Finds objects whose values break the new rules of their property.
    mutating func lookAtRules(_ old: Property, _ new: Property, _ name: String) throws {
        guard let stored = view.schema.find(name) else { return }
        let broken = try RuleTest(new).map { try RuleCheck.broken($0, old, stored, in: view) }
        if let broken, broken.count > 0 {
            add(
                .brokenRules, to: "\(name).\(new.name)", count: broken.count,
                objects: broken.first.map { ObjectReference(table: stored.table, key: $0.key) },
                problem: broken.message, advice: "change the values with m:each, or change the rule"
            )
        }
        if new.rules.isUnique, !old.rules.isUnique {
            try lookAtKey(new, name, isKept: true, as: "unique")
        }
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
