import DataFormats

/// The description of a table in its database.
struct PostgresTable {
    struct Column {
        let name: String
        /// The number of the column in the table.
        let number: Int
        /// The type in SQL notation, such as `character varying(20)`.
        let typeName: String
        /// The underlying type of a domain, or of its elements.
        let base: BaseType
        let isArray: Bool
        let isRequired: Bool
        var isIndexed = false
    }

    /// The types that are not imported as text.
    enum BaseType {
        case bool, int, float, double, text, bytes, moment, day, uuid, numeric, json
        /// A type without an equivalent in a store, which is imported as text.
        case other
    }

    struct ForeignKey {
        let name: String
        let columns: [Int]
        let target: String
        let targetColumns: [Int]
    }

    let identifier: String
    let name: String
    /// Whether the rows of tables that inherit from this one are excluded.
    let isOnly: Bool
    var columns: [Column] = []
    var key: [Int] = []
    var foreignKeys: [ForeignKey] = []
    var uniqueColumns: [String] = []

    /// Returns the columns with these numbers.
    func columns(_ numbers: [Int]) -> [Column] {
        numbers.compactMap { number in columns.first { $0.number == number } }
    }

    /// Returns the tables of a schema, and those views whose names are in `wanted`.
    static func all(
        in schema: String, of server: PostgresConnection, wanted: Set<String>
    ) throws -> (tables: [PostgresTable], ignored: [String]) {
        let found = try server.rows(
            """
            SELECT c.oid, c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
            WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'f', 'v', 'm') AND NOT c.relispartition \
            ORDER BY c.relname
            """, [schema])
        var tables: [PostgresTable] = []
        var ignored: [String] = []
        for row in found {
            guard let identifier = row[0], let name = row[1], let kind = row[2] else { continue }
            if kind == "v" || kind == "m", !wanted.contains(name) {
                ignored.append("the view '\(name)'")
                continue
            }
            tables.append(
                PostgresTable(identifier: identifier, name: name, isOnly: kind == "r"))
        }
        let types = try PostgresTypes(server)
        let positions = Dictionary(
            tables.enumerated().map { ($1.identifier, $0) }, uniquingKeysWith: { first, _ in first }
        )
        try readColumns(of: &tables, positions: positions, types: types, from: server)
        try readConstraints(of: &tables, positions: positions, from: server)
        let uniques = try server.rows(
            """
            SELECT i.indrelid, (SELECT string_agg(coalesce(a.attname, 'an expression'), ', ' ORDER BY k.position) \
            FROM unnest(i.indkey) WITH ORDINALITY k(number, position) LEFT JOIN pg_attribute a \
            ON a.attrelid = i.indrelid AND a.attnum = k.number WHERE k.position <= i.indnkeyatts) \
            FROM pg_index i WHERE i.indrelid = ANY ($1::oid[]) AND i.indisunique AND NOT i.indisprimary \
            ORDER BY i.indexrelid
            """, [list(tables)])
        for row in uniques {
            guard let table = row[0].flatMap({ positions[$0] }), let columns = row[1] else {
                continue
            }
            tables[table].uniqueColumns.append(columns)
        }
        return (tables, ignored)
    }

    private static func list(_ tables: [PostgresTable]) -> String {
        "{\(tables.map(\.identifier).joined(separator: ","))}"
    }

    private static func readColumns(
        of tables: inout [PostgresTable], positions: [String: Int], types: PostgresTypes,
        from server: PostgresConnection
    ) throws {
        let rows = try server.rows(
            """
            SELECT a.attrelid, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod), a.atttypid, \
            a.attnotnull, EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indnkeyatts = 1 \
            AND i.indkey[0] = a.attnum AND i.indpred IS NULL AND i.indisvalid) \
            FROM pg_attribute a WHERE a.attrelid = ANY ($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped \
            ORDER BY a.attrelid, a.attnum
            """, [list(tables)])
        for row in rows {
            guard let table = row[0].flatMap({ positions[$0] }), let name = row[1],
                let number = row[2].flatMap({ Int($0) }), let typeName = row[3], let type = row[4]
            else { continue }
            let (base, isArray, isRequired) = types.base(of: type)
            tables[table].columns.append(
                Column(
                    name: name, number: number, typeName: typeName, base: base, isArray: isArray,
                    isRequired: row[5] == "t" || isRequired, isIndexed: row[6] == "t"))
        }
    }

    private static func readConstraints(
        of tables: inout [PostgresTable], positions: [String: Int], from server: PostgresConnection
    ) throws {
        let rows = try server.rows(
            """
            SELECT conrelid, contype, conname, confrelid, array_to_string(conkey, ','), \
            array_to_string(confkey, ',') FROM pg_constraint \
            WHERE conrelid = ANY ($1::oid[]) AND contype IN ('p', 'f') AND conparentid = 0 ORDER BY conname
            """, [list(tables)])
        for row in rows {
            guard let table = row[0].flatMap({ positions[$0] }), let name = row[2] else { continue }
            let columns = (row[4] ?? "").split(separator: ",").compactMap { Int($0) }
            guard row[1] == "f" else {
                tables[table].key = columns
                continue
            }
            guard let target = row[3].flatMap({ positions[$0] }) else { continue }
            let targets = (row[5] ?? "").split(separator: ",").compactMap { Int($0) }
            tables[table].foreignKeys.append(
                ForeignKey(
                    name: name, columns: columns, target: tables[target].name,
                    targetColumns: targets))
        }
    }
}

/// The types of a database.
private struct PostgresTypes {
    private struct Entry {
        let name: String
        let kind: String
        let category: String
        let element: String
        let base: String
        let isRequired: Bool
        let isBuiltIn: Bool
    }

    private var entries: [String: Entry] = [:]

    init(_ server: PostgresConnection) throws {
        let rows = try server.rows(
            """
            SELECT oid, typname, typtype, typcategory, typelem, typbasetype, typnotnull, \
            typnamespace = 'pg_catalog'::regnamespace FROM pg_type
            """)
        for row in rows {
            guard let identifier = row[0] else { continue }
            entries[identifier] = Entry(
                name: row[1] ?? "", kind: row[2] ?? "", category: row[3] ?? "",
                element: row[4] ?? "0", base: row[5] ?? "0", isRequired: row[6] == "t",
                isBuiltIn: row[7] == "t")
        }
    }

    /// Returns the base type of a type, through domains.
    func base(
        of identifier: String
    ) -> (type: PostgresTable.BaseType, isArray: Bool, isRequired: Bool) {
        var entry = entries[identifier]
        var isRequired = false
        while let domain = entry, domain.kind == "d" {
            isRequired = isRequired || domain.isRequired
            entry = entries[domain.base]
        }
        guard let entry else { return (.other, false, isRequired) }
        if entry.category == "A", entry.element != "0" {
            return (base(of: entry.element).type, true, isRequired)
        }
        return (Self.single(entry), false, isRequired)
    }

    private static func single(_ entry: Entry) -> PostgresTable.BaseType {
        // The labels of an enumeration are text.
        if entry.kind == "e" { return .text }
        guard entry.isBuiltIn else { return entry.name == "citext" ? .text : .other }
        switch entry.name {
        case "bool": return .bool
        case "int2", "int4", "int8": return .int
        case "oid": return .int
        case "float4": return .float
        case "float8": return .double
        case "numeric": return .numeric
        case "text", "varchar", "bpchar", "name", "char": return .text
        case "bytea": return .bytes
        case "timestamp", "timestamptz": return .moment
        case "date": return .day
        case "uuid": return .uuid
        case "json", "jsonb": return .json
        default: return .other
        }
    }
}

extension PostgresTable: ImportedTable {
    var columnNames: [String] { columns.map(\.name) }
    var referencedNames: [String] { foreignKeys.map(\.target) }
    static func folded(_ name: String) -> String { name }
}
