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
