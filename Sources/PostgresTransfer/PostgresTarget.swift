import DataFormats
import ObjectStore
import PostgresConnections
import Transfer

/// PostgreSQL databases as an optional format.
package struct PostgresFormat: WritableFormat {
    package init() {}

    package func source(_ path: String, _ options: ImportOptions) throws -> any RowSource {
        try RelationalSource(PostgresOrigin(path, options), options)
    }

    package func target(_ path: String, _ options: PostgresOptions) throws -> any RelationalTarget {
        try PostgresTarget(path, options)
    }
}

/// A PostgreSQL database that receives an export, in one transaction.
///
/// If the connection ends before ``finish()``, the database is unchanged.
final class PostgresTarget: RelationalTarget {
    let dialect: any RelationalDialect
    let columnLimit = 1600
    private let options: PostgresOptions
    private let server: PostgresConnection
    /// Writes additional data in the same transaction.
    private let record: (PostgresConnection) throws -> Void
    private var layout: RelationalLayout?
    private var description: String?
    /// The names of the tables that existed before the export.
    private var existing: Set<String> = []
    /// Whether existing tables were emptied and therefore already have their constraints.
    private var isRefilled = false
    private var stages = 0

    /// Connects to a database.
    init(
        _ address: String, _ options: PostgresOptions,
        record: @escaping (PostgresConnection) throws -> Void = { _ in }
    ) throws {
        dialect = PostgresDialect(schemaName: options.schemaName)
        self.options = options
        self.record = record
        server = try PostgresConnection(address)
    }

    func begin(_ layout: RelationalLayout, description: String?) throws {
        assert(self.layout == nil, "an export begins once")
        self.layout = layout
        self.description = description
        try server.run("BEGIN")
        let schema = options.schemaName
        if try server.rows("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]).isEmpty {
            try server.run("CREATE SCHEMA \(SQLText.quoted(schema))")
        }
        let found = try server.rows(
            """
            SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
            WHERE n.nspname = $1
            """, [schema])
        let names = Set(found.compactMap { $0.first ?? nil })
        existing = names.intersection(layout.tableNames)
        switch options.existingTables {
        case .refuse:
            guard let name = layout.tableNames.first(where: existing.contains) else { break }
            throw StoreError(
                .invalidArgument,
                "the database already has a table '\(schema).\(name)'; add --upsert to update "
                    + "its rows, --replace to drop it, or --schema NAME to use another schema")
        case .refill:
            if existing.count == layout.tableNames.count,
                try PostgresMetadata.text(schema, from: server) == description
            {
                let paths = layout.tableNames.map(dialect.path)
                if !paths.isEmpty {
                    try server.run("TRUNCATE \(paths.joined(separator: ", "))")
                }
                existing = []
                isRefilled = true
                return
            }
            // Tables of removed classes are dropped too.
            let old = try PostgresMetadata.read(schema, from: server).map {
                try RelationalLayout($0, $0, isWhole: true, in: dialect).tableNames
            }
            try drop(names.intersection(layout.tableNames + (old ?? [])))
        case .replace: try drop(existing)
        case .upsert: break
        }
        for statement in layout.creation(of: newTables) { try server.run(statement) }
    }

    private var newTables: Set<String> { Set(layout?.tableNames ?? []).subtracting(existing) }

    /// Drops tables, which can have foreign keys between them.
    private func drop(_ names: Set<String>) throws {
        let paths = names.sorted().map(dialect.path)
        if !paths.isEmpty { try server.run("DROP TABLE \(paths.joined(separator: ", "))") }
        existing = []
    }

    func writer(_ path: String, _ columns: [String]) throws -> any RelationalRowWriter {
        try PostgresRowWriter(server, path, columns)
    }

    func write(
        _ keys: ResultKeys, of table: RelationalLayout.Table, with rows: RelationalRows,
        count: (_ objects: Int) throws -> Void
    ) throws {
        if existing.contains(table.name) {
            try upsert(table, keys, rows, count)
        } else {
            try rows.write(
                table, keys, to: writer(dialect.path(table.name), table.columnNames), count)
        }
        for join in table.joins {
            let path = dialect.path(join.name)
            if existing.contains(join.name) {
                let stage = try makeStage([("owner", dialect.columnType(join.owner.keyType))])
                try rows.writeKeys(keys, of: join.owner, to: writer(stage, ["owner"]))
                try server.run("\(Self.deletion(path, "owner", of: stage)); DROP TABLE \(stage)")
            }
            try rows.write(join, keys, to: writer(path, join.columnNames), count)
        }
    }

    /// Creates indexes and foreign keys, describes the export in the schema `moonpool`, and commits.
    func finish() throws {
        if !isRefilled, let layout {
            for statement in constraints(of: newTables, layout) { try server.run(statement) }
        }
        if let description, existing.isEmpty {
            try PostgresMetadata.write(description, for: options.schemaName, to: server)
        }
        try record(server)
        try server.run("COMMIT")
    }

    // MARK: Constraints

    /// The statements that create keys, indexes and foreign keys after the rows are inserted, because creating an index
    /// for all rows costs less than updating it for each row.
    ///
    /// Foreign keys need the keys. Unique values are checked at the end of a transaction, as in a store.
    private func constraints(of wanted: Set<String>, _ layout: RelationalLayout) -> [String] {
        var (keys, others): ([String], [String]) = ([], [])
        for table in layout.tables {
            var names = RelationalNames(dialect)
            func reference(_ source: String, _ column: String, to target: ClassSchema) -> String {
                let name = SQLText.quoted(names.unique("\(source)_\(column)_fkey"))
                return "ALTER TABLE \(dialect.path(source)) ADD CONSTRAINT \(name) FOREIGN KEY "
                    + "(\(SQLText.quoted(column))) \(layout.reference(to: target))"
            }
            let deferred = " DEFERRABLE INITIALLY DEFERRED"
            if wanted.contains(table.name) {
                let path = dialect.path(table.name)
                let isOptional = table.classSchema.primaryKey?.isOptional == true
                keys.append(
                    "ALTER TABLE \(path) ADD \(isOptional ? "UNIQUE" : "PRIMARY KEY") "
                        + "(\(SQLText.quoted(table.keyColumn)))")
                for (columns, isUnique) in layout.indexes(of: table) {
                    let list = SQLText.list(columns.map(\.name))
                    others.append(
                        isUnique
                            ? "ALTER TABLE \(path) ADD UNIQUE (\(list))\(deferred)"
                            : "CREATE INDEX ON \(path) (\(list))")
                }
                for column in table.columns where description != nil {
                    guard case .link(let target) = column.form else { continue }
                    others.append(reference(table.name, column.name, to: target) + deferred)
                }
            }
            for join in table.joins where wanted.contains(join.name) {
                let path = dialect.path(join.name)
                let list = SQLText.list(["owner", join.positionColumn])
                keys.append("ALTER TABLE \(path) ADD PRIMARY KEY (\(list))")
                others.append(
                    reference(join.name, "owner", to: join.owner) + " ON DELETE CASCADE" + deferred)
                others.append(reference(join.name, "target", to: join.target) + deferred)
                others.append("CREATE INDEX ON \(path) (\"target\")")
            }
        }
        return keys + others
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
            """, [dialect.path(table)])
        var columns: [String: ExistingColumn] = [:]
        for row in rows {
            guard let name = row[0], let type = row[1], let unlimited = row[3] else { continue }
            columns[name] = ExistingColumn(
                type: type, unlimitedType: unlimited, isGenerated: row[2] == "t")
        }
        return columns
    }

    private func upsert(
        _ table: RelationalLayout.Table, _ keys: ResultKeys, _ rows: RelationalRows,
        _ count: (_ objects: Int) throws -> Void
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
            (table.isNumbered ? [dialect.columnType(.int)] : [])
            + table.columns.compactMap { layout?.type(of: $0) }
        assert(types.count == table.columnNames.count, "each column has a type")
        let columns = Array(zip(table.columnNames, types))
        let stage = try makeStage(columns)
        try rows.write(table, keys, to: writer(stage, table.columnNames), count)
        let kept = table.columnNames.filter { known[$0]?.isGenerated == false }
        for (name, type) in columns where kept.contains(name) {
            guard let column = known[name] else { continue }
            try checkLosses(stage, table, name, type, column)
        }
        try server.run(
            Self.merge(stage, into: dialect.path(table.name), kept, key: table.keyColumn) {
                known[$0]?.type
            })
        try server.run("DROP TABLE \(stage)")
    }

    /// Throws `invalid_argument` with the first row whose value an existing column cannot hold completely.
    private func checkLosses(
        _ stage: String, _ table: RelationalLayout.Table, _ name: String, _ type: String,
        _ column: ExistingColumn
    ) throws {
        let quoted = SQLText.quoted(name)
        let key = SQLText.quoted(table.keyColumn)
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

    private func makeStage(_ columns: [(name: String, type: String)]) throws -> String {
        stages += 1
        let list = columns.map { "\(SQLText.quoted($0.name)) \($0.type)" }
        try server.run(
            "CREATE TEMPORARY TABLE moonpool_stage_\(stages) (\(list.joined(separator: ", ")))")
        return "pg_temp.moonpool_stage_\(stages)"
    }

    // MARK: Statements

    /// Returns the statement that deletes the rows of a table whose keys are in a stage.
    static func deletion(_ path: String, _ column: String, of stage: String) -> String {
        let key = SQLText.quoted(column)
        return "DELETE FROM \(path) WHERE \(key) IN (SELECT \(key) FROM \(stage))"
    }

    /// Returns the statement that merges the rows of a stage into a table.
    static func merge(
        _ stage: String, into path: String, _ columns: [String], key: String,
        type: (String) -> String?
    ) -> String {
        let values = columns.map { name in
            let column = SQLText.quoted(name)
            return type(name).map { "CAST(\(column) AS \($0))" } ?? column
        }
        let updates = columns.filter { $0 != key }.map(SQLText.quoted).map {
            "\($0) = EXCLUDED.\($0)"
        }
        let action = updates.isEmpty ? "NOTHING" : "UPDATE SET \(updates.joined(separator: ", "))"
        return """
            INSERT INTO \(path) (\(SQLText.list(columns))) OVERRIDING SYSTEM VALUE \
            SELECT \(values.joined(separator: ", ")) FROM \(stage) \
            ON CONFLICT (\(SQLText.quoted(key))) DO \(action)
            """
    }
}
