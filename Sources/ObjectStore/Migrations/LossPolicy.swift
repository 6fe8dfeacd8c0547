/// What a change of the schema may lose.
package struct LossPolicy: Sendable {
    /// Everything: for `define` with `force`, and for code that has checked the losses itself.
    package static let allowed = LossPolicy(isChecked: false, isStrict: false, declared: [])

    /// Only what is declared: `Class.property`, or the name of a class.
    ///
    /// A strict policy also refuses undeclared properties and classes that hold nothing, so that a migration is
    /// refused on an empty store as on a full one.
    package static func declared(_ places: Set<String>, isStrict: Bool) -> LossPolicy {
        LossPolicy(isChecked: true, isStrict: isStrict, declared: places)
    }

    /// Whether undeclared losses are refused.
    let isChecked: Bool
    /// Whether that includes properties and classes that hold nothing.
    let isStrict: Bool
    private(set) var declared: Set<String>

    /// Adds to what is declared.
    mutating func declare(_ place: String) { declared.insert(place) }

    /// Whether a class and its objects may be lost.
    func covers(className: String) -> Bool { declared.contains(className) }

    /// Whether a property and its values may be lost.
    func covers(property: String, of className: String) -> Bool {
        declared.contains("\(className).\(property)") || declared.contains(className)
    }
}

/// Finds losses that a migration has not declared.
enum UndeclaredLoss {
    /// Throws `invalid_schema` for a property that disappears without being declared, with the number of values
    /// at stake, and for a declaration that names nothing.
    static func check(
        _ losses: LossPolicy, _ differences: [SchemaDifference],
        before: () throws -> StoreView, in store: Store
    ) throws {
        guard losses.isChecked else { return }
        var oldNames: [String: String] = [:]
        for case .classRenamed(let from, let to) in differences { oldNames[to] = from }
        var open: [String] = []
        for difference in differences {
            guard case .propertyRemoved(let name, let old) = difference,
                !losses.covers(property: old.name, of: name),
                !losses.covers(property: old.name, of: oldNames[name] ?? name)
            else { continue }
            let view = try before()
            defer { view.close() }
            let count =
                SchemaLoss.losses(differences, in: view)
                .first { $0.place == "\(name).\(old.name)" }?.count ?? 0
            guard losses.isStrict || count > 0 else { continue }
            let what = count == 1 ? "1 object has a value" : "\(count) objects have a value"
            open.append("'\(name).\(old.name)' would disappear, and \(what) in it")
        }
        guard !open.isEmpty else { return }
        let places = differences.compactMap { difference -> String? in
            guard case .propertyRemoved(let name, let old) = difference,
                !losses.covers(property: old.name, of: name)
            else { return nil }
            return "\"\(name).\(old.name)\""
        }
        throw StoreError(
            losses.isStrict ? .invalidSchema : .migrationNeeded,
            open.joined(separator: "; ") + "; declare the loss with drops = { "
                + places.joined(separator: ", ") + " }, keep the values with m:rename_property, or "
                + "keep the property in the schema")
    }
}
