import ColumnStorage

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

/// Objects before and after a change of the schema that loses data.
package struct LossPreview: Sendable {
    /// An object whose value changes.
    package struct Row: Sendable {
        /// The class and the primary key, or the object key.
        package let object: String
        /// The value before the change, as text.
        package let old: String
        /// The value after the change; nil if the property is removed.
        package let new: String?
    }

    /// The difference, such as `'Dog.age' would be removed, with its values`.
    package let difference: String
    /// The number of objects of the class.
    package let objects: Int
    /// The first objects with a value.
    package let rows: [Row]

    /// The maximum number of objects that are searched for values.
    private static let scanned = 10_000

    init(_ difference: SchemaDifference, _ migration: Migration, rows limit: Int) throws {
        self.difference = "\(difference)"
        let name = difference.className
        let (before, after) = difference.properties
        guard let old = before?.name, let walk = try migration.walk(name) else {
            (objects, rows) = (0, [])
            return
        }
        objects = try walk.oldView.table(walk.oldClass).count
        var found: [Row] = []
        var seen = 0
        while found.count < limit, seen < Self.scanned, let key = try walk.next() {
            seen += 1
            let value = try walk.oldObject(key).value(old)
            if case .null = value { continue }
            found.append(
                Row(
                    object: walk.currentName ?? name, old: Self.text(value, in: walk.oldView),
                    new: try after.map { try walk.newObject(key).value($0.name).summary }))
        }
        rows = found
    }

    /// Returns a value as text, a link by the primary key of its object.
    private static func text(_ value: Value, in view: StoreView) -> String {
        guard case .object(let reference) = value else { return value.summary }
        let className = view.schema.find(table: reference.table)?.name ?? ""
        return "\(className) \(view.name(of: reference))"
    }
}

extension Store {
    /// Returns the losses that ``redefine(_:migration:)`` would cause, with the first objects of each difference.
    ///
    /// Applies the change in a transaction and rolls it back, so the call has the cost and the errors of the change.
    package func previewLoss(
        of classes: @autoclosure () throws -> [ClassSchema], rows: Int
    ) throws -> [LossPreview] {
        struct RollBack: Error {}
        var previews: [LossPreview] = []
        do {
            try redefine(classes()) { migration in
                for difference in migration.differences where !difference.isAdditive {
                    previews.append(try LossPreview(difference, migration, rows: rows))
                }
                throw RollBack()
            }
        } catch is RollBack {}
        return previews
    }
}

/// Values or objects that a change of the schema has dropped.
package struct AbandonedData: Hashable, Sendable {
    /// The name of a class, or `Class.property`.
    package let qualifiedName: String
    /// The number of objects that had such a value, or belonged to the class.
    package let count: Int

    /// Whether objects were removed, not only values of objects.
    package var isClass: Bool { !qualifiedName.contains(".") }
}

/// Values that a change of the schema drops, counted in the stored data.
struct SchemaLoss {
    /// The qualified name of the values: `Class.property`, or the name of a class.
    let qualifiedName: String
    /// The objects that have such a value, or belong to the class.
    let found: FoundObjects
    var count: Int { found.count }
    var data: AbandonedData { AbandonedData(qualifiedName: qualifiedName, count: count) }

    /// Returns the stored values that the differences drop, without properties that have no values.
    ///
    /// `kept` returns the objects of a class that received another value for a property of the new schema.
    static func losses(
        _ differences: [SchemaDifference], in view: StoreView,
        kept: (_ className: String, _ property: String) -> KeySet = { _, _ in KeySet() }
    ) throws -> [SchemaLoss] {
        try differences.compactMap { difference -> SchemaLoss? in
            switch difference.loss {
            case .objects(let name):
                try view.schema.find(name).map {
                    SchemaLoss(
                        qualifiedName: name, found: try view.objects(of: $0) { _ in true })
                }
            case .values(let property, let name, let receiver):
                try ofProperty(
                    property, of: name, oldName: differences.oldName(ofClass: name), in: view,
                    except: receiver.map { kept(name, $0.name) } ?? KeySet())
            case nil: nil
            }
        }.filter { $0.count > 0 }
    }

    private static func ofProperty(
        _ property: Property, of name: String, oldName: String, in view: StoreView,
        except kept: KeySet
    ) throws -> SchemaLoss? {
        guard !property.isBacklinks, let classSchema = view.schema.find(oldName) else { return nil }
        let rows = try view.table(classSchema)
        // This is the usual end of a migration: every object received its value.
        if kept.count == rows.count { return nil }
        let found = try view.objects(of: classSchema) { key in
            if kept.contains(key) { return false }
            if !property.isSingle { return try rows.listCount(property.column, key) > 0 }
            return try !property.isOptional || !rows.isNull(property.column, key)
        }
        return SchemaLoss(qualifiedName: "\(name).\(property.name)", found: found)
    }
}
