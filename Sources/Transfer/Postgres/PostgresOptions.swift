import ObjectStore

/// How data is exchanged with a PostgreSQL database.
package struct PostgresOptions: Sendable, Equatable {
    /// The treatment of existing tables when classes are exported.
    package enum ExistingTables: Sendable {
        /// Refuse to export.
        case refuse
        /// Drop them.
        case replace
        /// Update rows whose key exists and insert the others.
        case upsert
        /// Empty them, or drop them if the classes have changed since they were exported.
        case refill
    }

    /// The schema of the database that holds the tables.
    package var schema = "public"
    /// For an export: what happens to tables that exist.
    package var existingTables = ExistingTables.refuse
    /// For an import: the columns that identify objects, by table; an empty table name means every table.
    package var keys: [String: String] = [:]

    /// The schema `public`; existing tables are refused.
    package init() {}
}

/// Addresses of databases.
package enum PostgresAddress {
    /// Whether a text is the address of a PostgreSQL database.
    package static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    /// The address without its password, for messages.
    package static func display(_ address: String) -> String {
        guard isAddress(address) else { return "the database" }
        let scheme = address.prefix { $0 != ":" } + "://"
        let rest = address.dropFirst(scheme.count)
        guard let at = rest.lastIndex(of: "@") else { return address }
        return "\(scheme)\(rest[..<at].prefix { $0 != ":" })\(rest[at...])"
    }
}
