import DataFormats
import ObjectStore

/// The description of exports in a database: `moonpool.exports` has one row for each schema with an export.
enum PostgresMetadata {
    private static let format = "1"

    /// Writes the description of the classes in a schema of the database.
    static func write(
        _ description: String, for schema: String, to server: PostgresConnection
    ) throws {
        if try server.rows("SELECT to_regclass('moonpool.exports') IS NOT NULL")[0][0] != "t" {
            try createSchema(on: server)
            try server.run(
                """
                CREATE TABLE moonpool.exports (schema_name text PRIMARY KEY, format integer NOT NULL, \
                classes text NOT NULL)
                """)
        }
        _ = try server.rows(
            """
            INSERT INTO moonpool.exports VALUES ($1, $2, $3) ON CONFLICT (schema_name) \
            DO UPDATE SET format = EXCLUDED.format, classes = EXCLUDED.classes
            """, [schema, format, description])
    }

    /// Creates the schema `moonpool` of the database if it does not exist.
    static func createSchema(on server: PostgresConnection) throws {
        if try server.rows("SELECT 1 FROM pg_namespace WHERE nspname = 'moonpool'").isEmpty {
            try server.run("CREATE SCHEMA moonpool")
        }
    }

    /// Returns the classes of the export in a schema of the database; nil if there is no export.
    ///
    /// Throws `file_format_too_new` for an export of a newer version.
    static func read(
        _ schema: String, from server: PostgresConnection
    ) throws -> [ClassSchema]? {
        try row(schema, from: server).map { row in
            try RelationalDescription.classes(row[1] ?? "", format: row[0], known: [format])
        }
    }

    /// Returns the description of the export in a schema of the database; nil if there is no export.
    static func text(_ schema: String, from server: PostgresConnection) throws -> String? {
        try row(schema, from: server).flatMap { $0[1] }
    }

    private static func row(
        _ schema: String, from server: PostgresConnection
    ) throws -> [String?]? {
        let isReadable = try server.rows(
            """
            SELECT CASE WHEN to_regclass('moonpool.exports') IS NULL THEN false \
            ELSE has_schema_privilege('moonpool', 'USAGE') \
            AND has_table_privilege('moonpool.exports', 'SELECT') END
            """)
        guard isReadable[0][0] == "t" else { return nil }
        return try server.rows(
            "SELECT format, classes FROM moonpool.exports WHERE schema_name = $1", [schema]
        ).first
    }
}
