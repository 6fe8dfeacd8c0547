/// The rules of a class, to check the values of one object before they are stored.
///
/// A commit checks them in any case; this check finds the row of an import that breaks one. Rules of embedded objects are
/// left to the commit, and so are unique properties whose values take a comparison with all objects.
package struct ObjectRules {
    private let classSchema: ClassSchema
    private let tests: [(position: Int, test: RuleTest)]
    private let uniques: [[Int]]

    /// Whether single values can break a rule.
    package var hasValueRules: Bool { !tests.isEmpty }

    /// Prepares the rules; nil for a class without any.
    ///
    /// Throws `invalid_schema` for an invalid pattern.
    package init?(_ classSchema: ClassSchema) throws {
        self.classSchema = classSchema
        let properties = classSchema.properties
        tests = try properties.indices.compactMap { position in
            try RuleTest(properties[position]).map { (position, $0) }
        }
        let single = properties.indices.filter {
            properties[$0].rules.isUnique
                && (properties[$0].hasIndex || properties[$0].type == .object)
        }
        let indexes = classSchema.indexes.filter(\.isUnique).map {
            $0.properties.compactMap(classSchema.position(of:))
        }
        uniques = single.map { [$0] } + indexes
        if tests.isEmpty, uniques.isEmpty { return nil }
    }

    /// Throws `invalid_value` for a value in schema order that breaks a rule; nil is a value that the row does not set.
    package func check(_ values: [Value?]) throws {
        for (position, test) in tests {
            guard let value = values[position], let fault = try test.fault(of: value) else {
                continue
            }
            let property = classSchema.properties[position]
            throw StoreError(
                .invalidValue,
                "'\(classSchema.name).\(property.name)' \(property.isSingle ? "is" : "contains") "
                    + "\(fault.value.summary); \(fault.rule)")
        }
    }

    /// Throws `duplicate_key` if another object than `own` has a value that must be unique.
    package func checkUnique(_ values: [Value?], of own: ObjectKey?, in store: Store) throws {
        for positions in uniques {
            let given = positions.compactMap { position in
                values[position].map { (classSchema.properties[position].name, $0) }
            }
            guard given.count == positions.count, !given.contains(where: { $1 == .null }) else {
                continue
            }
            let same = try store.objects(classSchema.name).filtered(equal: given)
            let others = try (0..<min(2, same.count())).map { try same.object(at: $0) }
            guard let other = others.first(where: { $0.key != own }) else { continue }
            let what = given.map { "\($0) = \($1.summary)" }.joined(separator: ", ")
            throw StoreError(
                .duplicateKey,
                "\(store.view.name(of: other.reference)) has the same \(what), which is unique in '\(classSchema.name)'"
            )
        }
    }
}
