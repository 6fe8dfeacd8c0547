import ObjectStore

/// Assigns names of tables, columns and constraints, which have at most 63 bytes and are compared exactly.
struct PostgresNames {
    /// The longest name that PostgreSQL does not cut.
    static let limit = 63

    private var taken: Set<String>

    /// Names besides those that are taken.
    init(taken: [String] = []) { self.taken = Set(taken) }

    /// Returns the wanted name, cut to the limit, or the first like it that is free.
    mutating func unique(_ wanted: String) -> String {
        var name = Self.cut(wanted, Self.limit)
        var number = 1
        while !taken.insert(name).inserted {
            number += 1
            let suffix = "_\(number)"
            name = Self.cut(wanted, Self.limit - suffix.utf8.count) + suffix
        }
        return name
    }

    /// Throws `invalid_argument` for a name that PostgreSQL would cut.
    static func check(_ name: String, _ kind: String) throws {
        guard name.utf8.count > limit else { return }
        throw StoreError(
            .invalidArgument,
            "PostgreSQL names have at most \(limit) bytes; the \(kind) '\(name)' has \(name.utf8.count)"
        )
    }

    private static func cut(_ name: String, _ bytes: Int) -> String {
        var name = name
        while name.utf8.count > bytes { name.removeLast() }
        return name
    }
}
