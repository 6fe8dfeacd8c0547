import DataFormats
import ObjectStore
import PostgresConnections
import Transfer

/// A schema of a PostgreSQL database that is imported, from one snapshot.
final class PostgresOrigin: RelationalOrigin {
    let dialect: any RelationalDialect
    private let server: PostgresConnection
    private let schemaName: String
    /// The tables that the options name, which can be views.
    private let wanted: Set<String>

    /// Connects to a database.
    init(_ address: String, _ options: ImportOptions) throws {
        schemaName = options.postgres.schemaName
        dialect = PostgresDialect(schemaName: schemaName)
        wanted = Set(options.tables).union(options.classNames.keys)
        server = try PostgresConnection(address)
        try server.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    var location: String { "the schema '\(schemaName)' of the database" }

    func exportedClasses(_ tables: [RelationalTable]) throws -> [ClassSchema]? {
        try PostgresMetadata.read(schemaName, from: server)
    }

    // The declared types determine the types of properties.
    func examine(_ table: inout RelationalTable) {}

    /// Returns the number of rows that the server estimates, which requires no scan of the tables.
    func rowCount(_ tables: [String]) throws -> Double {
        let estimates = try server.rows(
            """
            SELECT c.relname, greatest(c.reltuples, 0) FROM pg_class c JOIN pg_namespace n \
            ON n.oid = c.relnamespace WHERE n.nspname = $1
            """, [schemaName])
        let wanted = Set(tables)
        return estimates.reduce(0) { sum, row in
            guard let name = row[0], wanted.contains(name) else { return sum }
            return sum + (row[1].flatMap { Double($0) } ?? 0)
        }
    }

    func rows(_ plan: RelationalPlan, _ importer: Importer) throws -> any RelationalRowReader {
        PostgresRowReader(
            try server.copyOut("COPY (\(plan.statement)) TO STDOUT (FORMAT binary)"))
    }

    // MARK: Tables

    /// Returns the tables of the schema, and those views that the options name.
    func tables() throws -> (tables: [RelationalTable], notes: [String]) {
        if try server.rows("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schemaName]).isEmpty {
            let all = try server.rows(
                "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_'"
            ).compactMap { $0[0] }
            throw StoreError(
                .invalidArgument,
                "the database has no schema '\(schemaName)'\(NearestName.hint(for: schemaName, among: all))"
            )
        }
        let found = try server.rows(
            """
            SELECT c.oid, c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
            WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'f', 'v', 'm') AND NOT c.relispartition \
            ORDER BY c.relname
            """, [schemaName])
        var tables: [RelationalTable] = []
        var notes: [String] = []
        var positions: [String: Int] = [:]
        for row in found {
            guard let identifier = row[0], let name = row[1], let kind = row[2] else { continue }
            if kind == "v" || kind == "m", !wanted.contains(name) {
                notes.append("the view '\(name)' is omitted; --table imports it")
                continue
            }
            positions[identifier] = tables.count
            // The rows of tables that inherit from this one belong to their own tables.
            let path = (kind == "r" ? "ONLY " : "") + dialect.path(name)
            tables.append(RelationalTable(name: name, path: path))
        }
        try readColumns(of: &tables, positions)
        return (tables, notes)
    }

    private func readColumns(
        of tables: inout [RelationalTable], _ positions: [String: Int]
    ) throws {
        let list = "{\(positions.keys.joined(separator: ","))}"
        let types = try PostgresTypes(server)
        let rows = try server.rows(
            """
            SELECT a.attrelid, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod), a.atttypid, \
            a.attnotnull, EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indnkeyatts = 1 \
            AND i.indkey[0] = a.attnum AND i.indpred IS NULL AND i.indisvalid) \
            FROM pg_attribute a WHERE a.attrelid = ANY ($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped \
            ORDER BY a.attrelid, a.attnum
            """, [list])
        var names: [Int: [String: String]] = [:]
        for row in rows {
            guard let table = row[0].flatMap({ positions[$0] }), let name = row[1],
                let number = row[2], let typeName = row[3], let identifier = row[4]
            else { continue }
            names[table, default: [:]][number] = name
            let type = types.base(of: identifier)
            tables[table].columns.append(
                RelationalTable.Column(
                    name: name, typeName: typeName, type: type.property ?? .string,
                    isArray: type.isArray, isRequired: row[5] == "t" || type.isRequired,
                    isIndexed: row[6] == "t", isForeign: type.property == nil,
                    selectedType: type.isDay ? "date" : nil))
        }
        let constraints = try server.rows(
            """
            SELECT conrelid, contype, conname, confrelid, array_to_string(conkey, ','), \
            array_to_string(confkey, ',') FROM pg_constraint \
            WHERE conrelid = ANY ($1::oid[]) AND contype IN ('p', 'f') AND conparentid = 0 ORDER BY conname
            """, [list])
        for row in constraints {
            func columns(_ numbers: String?, of table: Int) -> [String] {
                (numbers ?? "").split(separator: ",").compactMap { names[table]?[String($0)] }
            }
            guard let table = row[0].flatMap({ positions[$0] }) else { continue }
            guard row[1] == "f" else {
                tables[table].key = columns(row[4], of: table)
                continue
            }
            guard let target = row[3].flatMap({ positions[$0] }) else { continue }
            tables[table].foreignKeys.append(
                RelationalTable.ForeignKey(
                    name: row[2] ?? "", columns: columns(row[4], of: table),
                    target: tables[target].name, targetColumns: columns(row[5], of: target)))
        }
        let uniques = try server.rows(
            """
            SELECT i.indrelid, (SELECT string_agg(coalesce(a.attname, 'an expression'), ', ' ORDER BY k.position) \
            FROM unnest(i.indkey) WITH ORDINALITY k(number, position) LEFT JOIN pg_attribute a \
            ON a.attrelid = i.indrelid AND a.attnum = k.number WHERE k.position <= i.indnkeyatts) \
            FROM pg_index i WHERE i.indrelid = ANY ($1::oid[]) AND i.indisunique AND NOT i.indisprimary \
            ORDER BY i.indexrelid
            """, [list])
        for row in uniques {
            guard let table = row[0].flatMap({ positions[$0] }), let columns = row[1] else {
                continue
            }
            tables[table].uniqueColumns.append(columns)
        }
    }
}

/// The types of a database.
private struct PostgresTypes {
    /// The property for a column; its type is nil if a store has no equivalent.
    struct Base {
        var property: PropertyType?
        var isArray = false
        var isRequired = false
        /// Whether the values are dates without a time.
        var isDay = false
    }

    private let rows: [String: [String?]]

    init(_ server: PostgresConnection) throws {
        let rows = try server.rows(
            """
            SELECT oid, typname, CASE WHEN typtype = 'd' THEN typbasetype END, \
            CASE WHEN typcategory = 'A' AND typelem <> 0 THEN typelem END, typnotnull, typtype = 'e', \
            typnamespace = 'pg_catalog'::regnamespace FROM pg_type
            """)
        self.rows = Dictionary(rows.map { ($0[0] ?? "", $0) }, uniquingKeysWith: { $1 })
    }

    /// Returns the base of a type, through domains and arrays.
    func base(of identifier: String) -> Base {
        guard let row = rows[identifier], let name = row[1] else { return Base() }
        if let domain = row[2] {
            var base = base(of: domain)
            base.isRequired = base.isRequired || row[4] == "t"
            return base
        }
        if let element = row[3] {
            var base = base(of: element)
            (base.isArray, base.isRequired) = (true, false)
            return base
        }
        // The labels of an enumeration are text.
        if row[5] == "t" { return Base(property: .string) }
        guard row[6] == "t" else { return Base(property: name == "citext" ? .string : nil) }
        return Base(property: Self.property(name), isDay: name == "date")
    }

    private static func property(_ name: String) -> PropertyType? {
        switch name {
        case "bool": .bool
        case "int2", "int4", "int8", "oid": .int
        case "float4": .float
        case "float8": .double
        case "numeric": .decimal
        case "text", "varchar", "bpchar", "name", "char": .string
        case "bytea": .data
        case "timestamp", "timestamptz", "date": .date
        case "uuid": .uuid
        case "json", "jsonb": .mixed
        default: nil
        }
    }
}

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
