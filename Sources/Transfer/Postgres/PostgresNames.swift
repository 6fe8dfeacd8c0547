import ObjectStore

/// Assigns names of tables, columns and constraints, which have at most 63 bytes and are case-sensitive.
struct PostgresNames {
    /// The maximum length of a name in bytes; PostgreSQL truncates longer names.
    static let limit = 63

    private var taken: Set<String>

    /// Creates an allocator with names that are taken.
    init(taken: [String] = []) { self.taken = Set(taken) }

    /// Returns the wanted name, truncated to the limit, or the first free variant of it.
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

    /// Throws `invalid_argument` for a name that PostgreSQL would truncate.
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
