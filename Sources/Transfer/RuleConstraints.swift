import ObjectStore

/// The rules of a property as constraints of its column, as far as SQL can express them exactly.
///
/// A constraint never refuses a value that the store accepts. Lua patterns, and numbers and dates that the database
/// stores or compares in another form, have no constraint.
struct RuleConstraints {
    let property: Property
    /// The quoted name of the column.
    let column: String
    /// The type of an array column; nil for single values.
    var arrayType: String?
    /// Returns the literal of a value that the database compares as the store does; nil if there is none.
    let literal: (Value) -> String?

    /// The conditions that all values fulfill; NULL passes each of them.
    var checks: [String] {
        let rules = property.rules
        var checks: [String] = []
        for (limit, comparison) in [(rules.minimum, "<="), (rules.maximum, ">=")] {
            guard let limit = limit.flatMap(literal) else { continue }
            checks.append("\(limit) \(comparison) \(arrayType == nil ? column : "ALL (\(column))")")
        }
        let allowed = rules.allowed.filter { $0 != .null }
        let literals = allowed.compactMap(literal)
        if !allowed.isEmpty, literals.count == allowed.count {
            let list = literals.joined(separator: ", ")
            checks.append(
                arrayType.map { "array_remove(\(column), NULL) <@ ARRAY[\(list)]::\($0)" }
                    ?? "\(column) IN (\(list))")
        }
        return checks.map { "CHECK (\($0))" }
    }

    /// Returns whether a number has so few digits that every database reads it as the same double.
    static func isShort(_ number: Double) -> Bool {
        let digits = number.description.utf8.count { $0 >= UInt8(ascii: "0") }
        return number.isFinite && digits <= 15
            && !number.description.utf8.contains(UInt8(ascii: "e"))
    }
}

extension ClassSchema {
    /// The indexes that a table of the class has: the names of properties, and whether their values are unique.
    var tableIndexes: [(names: [String], isUnique: Bool)] {
        properties.filter { ($0.isIndexed || $0.rules.isUnique) && !$0.isPrimary }
            .map { ([$0.name], $0.rules.isUnique) }
            + indexes.map { ($0.properties, $0.isUnique) }
    }
}
