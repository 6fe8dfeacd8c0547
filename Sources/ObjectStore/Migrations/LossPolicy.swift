/// The data that a change of the schema may lose.
package struct LossPolicy: Sendable {
    /// All data may be lost: for `define` with `force`, and for code that has checked the losses itself.
    package static let allowed = LossPolicy(isChecked: false, isStrict: false, declared: [])

    /// Allows the loss of declared data only: of `Class.property`, or of a class by name.
    ///
    /// A strict policy also refuses the removal of undeclared properties and classes without data, so a migration that
    /// fails on a store with data also fails on an empty one.
    package static func declared(_ qualifiedNames: Set<String>, isStrict: Bool) -> LossPolicy {
        LossPolicy(isChecked: true, isStrict: isStrict, declared: qualifiedNames)
    }

    /// Whether undeclared losses are refused.
    let isChecked: Bool
    /// Whether undeclared losses of properties and classes without data are refused too.
    let isStrict: Bool
    private(set) var declared: Set<String>

    /// Throws `invalid_schema` if a strict policy contains a name that neither the old nor the new schema declares.
    func checkDeclarations(_ before: [ClassSchema], _ after: [ClassSchema]) throws {
        guard isStrict else { return }
        for qualifiedName in declared.sorted() {
            if let hint = DeclaredLoss(qualifiedName).missing(in: before, after) {
                throw StoreError(
                    .invalidSchema,
                    "drops contains '\(qualifiedName)', which neither schema declares\(hint)")
            }
        }
    }

    /// Declares the loss of one more property or class.
    mutating func declare(_ qualifiedName: String) { declared.insert(qualifiedName) }

    /// Returns whether a class and its objects may be lost.
    func covers(className: String) -> Bool { declared.contains(className) }

    /// Returns whether a property and its values may be lost.
    func covers(property: String, of className: String) -> Bool {
        declared.contains("\(className).\(property)") || declared.contains(className)
    }
}

/// Finds losses that a migration has not declared.
enum UndeclaredLoss {
    /// Throws for properties that are removed without being declared.
    ///
    /// The error is `invalid_schema`, or `migration_needed` if the policy is not strict; the message has the number of
    /// values that would be lost. The check reads the data before the migration, which `before` opens, only if there
    /// are undeclared properties.
    static func check(
        _ losses: LossPolicy, _ differences: [SchemaDifference],
        before: () throws -> StoreView, in store: Store
    ) throws {
        guard losses.isChecked else { return }
        let undeclared = differences.filter { difference in
            guard case .propertyRemoved(let name, let old) = difference else { return false }
            return !losses.covers(property: old.name, of: name)
                && !losses.covers(property: old.name, of: differences.oldName(ofClass: name))
        }
        guard !undeclared.isEmpty else { return }
        let view = try before()
        defer { view.close() }
        let counts = try Dictionary(
            SchemaLoss.losses(differences, in: view)
                .map { ($0.qualifiedName, $0.count) }, uniquingKeysWith: +)
        var sentences: [String] = []
        var qualifiedNames: [String] = []
        for case .propertyRemoved(let name, let old) in undeclared {
            let qualifiedName = "\(name).\(old.name)"
            let count = counts[qualifiedName] ?? 0
            guard losses.isStrict || count > 0 else { continue }
            let objects = count == 1 ? "1 object has a value" : "\(count) objects have a value"
            sentences.append("'\(qualifiedName)' would be removed, and \(objects) for it")
            qualifiedNames.append("\"\(qualifiedName)\"")
        }
        guard !sentences.isEmpty else { return }
        throw StoreError(
            losses.isStrict ? .invalidSchema : .migrationNeeded,
            sentences.joined(separator: "; "),
            program:
                "delete the values with deleteProperty, keep them with rename(_:from:), or keep the "
                + "property in the model",
            script:
                "declare the loss with drops = { \(qualifiedNames.joined(separator: ", ")) }, keep the "
                + "values with m:rename_property, or keep the property in the schema")
    }
}

/// A loss that a migration declares: a class, or `Class.property`.
private struct DeclaredLoss {
    private let className: String
    private let property: String?

    init(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            .map(String.init)
        className = parts.first ?? text
        property = parts.count > 1 ? parts[1] : nil
    }

    /// Returns a hint with the most similar name if neither schema contains the declared name; nil if one of them does.
    ///
    /// The hint is empty if no name is similar. A property may be declared with either name of a class that the
    /// migration renames, so a class that only one of the schemas has matches every class of the other.
    func missing(in before: [ClassSchema], _ after: [ClassSchema]) -> String? {
        let all = before + after
        guard all.contains(where: { $0.name == className }) else {
            return NearestName.hint(for: className, among: all.map(\.name))
        }
        guard let property else { return nil }
        let isInBoth = [before, after].allSatisfy { $0.contains { $0.name == className } }
        let names = all.filter { !isInBoth || $0.name == className }
            .flatMap { $0.properties.map(\.name) }
        return names.contains(property) ? nil : NearestName.hint(for: property, among: names)
    }
}
