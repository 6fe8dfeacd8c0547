import ObjectStore

/// The options for exchanging data with a PostgreSQL database.
package struct PostgresOptions: Sendable, Equatable {
    /// The treatment of existing tables when classes are exported.
    package enum ExistingTables: Sendable {
        /// Throws an error if a table exists.
        case refuse
        /// Drops existing tables.
        case replace
        /// Updates rows whose key exists, and inserts the other rows.
        case upsert
        /// Empties existing tables, or drops them if the classes have changed since they were exported.
        case refill
    }

    /// The schema of the database with the tables; nil for `public`.
    package var schema: String?
    /// The name of the schema.
    var schemaName: String { schema ?? "public" }
    /// The treatment of existing tables in an export.
    package var existingTables = ExistingTables.refuse
    /// The columns that identify objects in an import, by table; an empty table name applies to every table.
    package var keys: [String: String] = [:]

    /// Creates options for the schema `public`; an export throws an error if a table exists.
    package init() {}
}

/// Functions for the addresses of databases.
package enum PostgresAddress {
    /// Returns whether a text is the address of a PostgreSQL database.
    package static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    /// Returns the address without its password, for messages.
    package static func display(_ address: String) -> String {
        guard isAddress(address) else { return "the database" }
        let scheme = address.prefix { $0 != ":" } + "://"
        let rest = address.dropFirst(scheme.count)
        guard let at = rest.lastIndex(of: "@") else { return address }
        return "\(scheme)\(rest[..<at].prefix { $0 != ":" })\(rest[at...])"
    }
}
