import DataFormats
import ObjectStore

/// Writes objects of one version into tables of a PostgreSQL database, in one transaction.
///
/// If the connection ends before ``finish()``, the database is unchanged.
final class PostgresExporter {
    private let view: StoreView
    private let classes: [ClassSchema]
    private let isWhole: Bool
    private let options: PostgresOptions
    private let layout: PostgresLayout
    private let rows: PostgresRows
    private let server: PostgresConnection
    /// The names of the tables that existed before the export.
    private var existing: Set<String> = []
    /// Whether existing tables were emptied and therefore already have their constraints.
    private var isRefilled = false
    private var stages = 0

    /// Starts the export and creates the tables.
    ///
    /// `isWhole` means that all objects are exported, including all linked objects.
    init(
        _ address: String, view: StoreView, classes: [ClassSchema], isWhole: Bool,
        options: PostgresOptions
    ) throws {
        self.view = view
        self.classes = classes
        self.isWhole = isWhole
        self.options = options
        layout = try PostgresLayout(
            classes, view.schema.classes, isWhole: isWhole, in: options.schemaName)
        server = try PostgresConnection(address)
        rows = PostgresRows(view, server)
        try server.run("BEGIN")
        try prepareTables()
    }

    private func prepareTables() throws {
        let schema = PostgresConnection.literal(options.schemaName)
        if try server.rows("SELECT 1 FROM pg_namespace WHERE nspname = \(schema)").isEmpty {
            try server.run("CREATE SCHEMA \(PostgresConnection.quoted(options.schemaName))")
        }
        let found = try server.rows(
            """
            SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
            WHERE n.nspname = $1
            """, [options.schemaName])
        let names = Set(found.compactMap { $0.first ?? nil })
        existing = names.intersection(layout.tableNames)
        switch options.existingTables {
        case .refuse:
            guard let name = layout.tableNames.first(where: existing.contains) else { break }
            throw StoreError(
                .invalidArgument,
                "the database already has a table '\(options.schemaName).\(name)'; add --upsert to update "
                    + "its rows, --replace to drop it, or --schema NAME to use another schema")
        case .refill:
            let described = try PostgresMetadata.read(options.schemaName, from: server)
            if existing.count == layout.tableNames.count, let described,
                try PostgresMetadata.text(of: described, in: view)
                    == PostgresMetadata.text(of: classes, in: view)
            {
                let paths = layout.tableNames.map(layout.path)
                if !paths.isEmpty {
                    try server.run("TRUNCATE \(paths.joined(separator: ", "))")
                }
                existing = []
                isRefilled = true
                return
            }
            // Tables of removed classes are dropped too.
            let old = try described.map {
                try PostgresLayout($0, $0, isWhole: true, in: options.schemaName).tableNames
            }
            try drop(names.intersection(layout.tableNames + (old ?? [])))
        case .replace: try drop(existing)
        case .upsert: break
        }
        let new = Set(layout.tableNames).subtracting(existing)
        for statement in layout.creation(of: new) { try server.run(statement) }
    }

    /// Drops tables, which can have foreign keys between them.
    private func drop(_ names: Set<String>) throws {
        let paths = names.sorted().map(layout.path)
        if !paths.isEmpty { try server.run("DROP TABLE \(paths.joined(separator: ", "))") }
        existing = []
    }

    /// Returns the classes in export order: targets of links come first, except for circular links.
    ///
    /// The order matters for existing tables of other programs, whose foreign keys can be checked for each row.
    static func ordered(_ classes: [ClassSchema]) -> [ClassSchema] {
        let byName = Dictionary(
            classes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var ordered: [ClassSchema] = []
        var seen: Set<String> = []
        func visit(_ classSchema: ClassSchema) {
            guard seen.insert(classSchema.name).inserted else { return }
            for property in classSchema.properties where property.isSingle {
                if let target = property.target.flatMap({ byName[$0] }) { visit(target) }
            }
            ordered.append(classSchema)
        }
        classes.forEach(visit)
        return ordered
    }

    /// Writes the objects of one class.
    func write(_ keys: ResultKeys, of classSchema: ClassSchema, count: () throws -> Void) throws {
        guard let table = layout.table(of: classSchema) else { return }
        if existing.contains(table.name) {
            try upsert(table, keys, count: count)
        } else {
            try rows.copy(table, keys, into: layout.path(table.name), count: count)
        }
        for join in table.joins {
            guard existing.contains(join.name) else {
                try rows.copy(join, keys, into: layout.path(join.name))
                continue
            }
            try replaceElements(join, keys, of: table)
        }
    }

    /// Creates indexes and foreign keys, describes the export in the schema `moonpool`, and commits.
    ///
    /// `record` writes additional data in the same transaction.
    func finish(_ record: (PostgresConnection) throws -> Void = { _ in }) throws {
        let new = Set(layout.tableNames).subtracting(existing)
        if !isRefilled {
            for statement in layout.constraints(of: new) where !statement.isEmpty {
                try server.run(statement)
            }
        }
        if isWhole, existing.isEmpty {
            try PostgresMetadata.write(
                classes, of: view, for: options.schemaName, to: server)
        }
        try record(server)
        try server.run("COMMIT")
    }

    // MARK: Existing tables

    /// A column of an existing table.
    private struct ExistingColumn {
        let type: String
        /// The type without a length or precision and, for a domain, the type of its values.
        let unlimitedType: String
        let isGenerated: Bool

        /// Returns a condition for values of another type that this column cannot hold completely: PostgreSQL cuts texts,
        /// rounds numbers and removes times of day when it converts them.
        func loses(_ column: String, of other: String) -> String? {
            guard type != other else { return nil }
            func cast(_ value: String, _ types: String...) -> String {
                types.reduce(value) { "CAST(\($0) AS \($1))" }
            }
            func differ(_ first: String, _ second: String) -> String {
                "\(first) IS DISTINCT FROM \(second)"
            }
            let whole = cast(column, unlimitedType)
            // JSON and XML have no limits and no equality.
            let isCut =
                type == unlimitedType || ["json", "xml"].contains(unlimitedType)
                ? "false" : differ(cast(column, type, unlimitedType), whole)
            let isChanged =
                switch (other, unlimitedType) {
                // A text in the form of another type, such as a number, can differ from the text of its value.
                case ("text", "date"): differ(cast(whole, "timestamp"), cast(column, "timestamp"))
                case ("text", _), ("text[]", _): "false"
                // The shortest decimals are equal if a number loses no digits.
                case ("double precision", "real"):
                    differ(cast(whole, "text", "numeric"), cast(column, "text", "numeric"))
                default: differ(cast(whole, other), column)
                }
            return "CASE WHEN \(isCut) THEN true ELSE \(isChanged) END"
        }
    }

    private func columns(of table: String) throws -> [String: ExistingColumn] {
        let rows = try server.rows(
            """
            SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attgenerated <> '', \
            format_type(coalesce(nullif(t.typbasetype, 0), t.oid), -1) \
            FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped
            """, [layout.path(table)])
        var columns: [String: ExistingColumn] = [:]
        for row in rows {
            guard let name = row[0], let type = row[1], let unlimited = row[3] else { continue }
            columns[name] = ExistingColumn(
                type: type, unlimitedType: unlimited, isGenerated: row[2] == "t")
        }
        return columns
    }

    private func upsert(
        _ table: PostgresLayout.Table, _ keys: ResultKeys, count: () throws -> Void
    ) throws {
        let known = try columns(of: table.name)
        for name in table.columnNames where known[name] == nil {
            throw StoreError(
                .invalidArgument,
                "the table '\(options.schemaName).\(table.name)' has no column '\(name)'"
                    + NearestName.hint(for: name, among: Array(known.keys))
                    + "; add the column, or replace the table with --replace")
        }
        let types =
            (table.isNumbered ? [("bigint")] : []) + table.columns.map(\.typeName)
        let columns = Array(zip(table.columnNames, types))
        let stage = try makeStage(columns)
        try rows.copy(table, keys, into: stage, count: count)
        let kept = table.columnNames.filter { known[$0]?.isGenerated == false }
        for (name, type) in columns where kept.contains(name) {
            guard let column = known[name] else { continue }
            try checkLosses(stage, table, name, type, column)
        }
        try server.run(
            PostgresRows.merge(stage, into: layout.path(table.name), kept, key: table.keyColumn) {
                known[$0]?.type
            })
        try server.run("DROP TABLE \(stage)")
    }

    /// Throws `invalid_argument` with the first row whose value an existing column cannot hold completely.
    private func checkLosses(
        _ stage: String, _ table: PostgresLayout.Table, _ name: String, _ type: String,
        _ column: ExistingColumn
    ) throws {
        let quoted = PostgresConnection.quoted(name)
        let key = PostgresConnection.quoted(table.keyColumn)
        guard let condition = column.loses(quoted, of: type),
            let row = try server.rows(
                """
                SELECT CAST(\(key) AS text), left(CAST(\(quoted) AS text), 80) FROM \(stage) \
                WHERE \(condition) LIMIT 1
                """
            ).first
        else { return }
        throw StoreError(
            .invalidArgument,
            "\(table.name), row with \(table.keyColumn) = \(row[0] ?? "NULL"): the column '\(name)' of type "
                + "\(column.type) cannot hold \"\(row[1] ?? "")\" completely")
    }

    /// Replaces the elements of collections of the written objects.
    private func replaceElements(
        _ join: PostgresLayout.Join, _ keys: ResultKeys, of table: PostgresLayout.Table
    ) throws {
        let owners = try makeStage([("owner", table.keyType.name)])
        try rows.copyOwners(join, keys, into: owners)
        let path = layout.path(join.name)
        try server.run(
            "DELETE FROM \(path) WHERE \"owner\" IN (SELECT \"owner\" FROM \(owners)); DROP TABLE \(owners)"
        )
        try rows.copy(join, keys, into: path)
    }

    private func makeStage(_ columns: [(name: String, type: String)]) throws -> String {
        stages += 1
        let name = "pg_temp.moonpool_stage_\(stages)"
        let list = columns.map { "\(PostgresConnection.quoted($0.name)) \($0.type)" }
        try server.run(
            "CREATE TEMPORARY TABLE moonpool_stage_\(stages) (\(list.joined(separator: ", ")))")
        return name
    }
}
