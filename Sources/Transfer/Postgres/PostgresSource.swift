import DataFormats
import ObjectStore

/// The rows of the tables of a PostgreSQL database, from one snapshot.
final class PostgresSource: RowSource {
    private(set) var notes: [String] = []
    private let server: PostgresConnection
    private let options: ImportOptions
    private var tables: [PostgresTablePlan] = []
    private var joins: [PostgresLayout.Join] = []
    private var layout: PostgresLayout?
    private(set) var fields: [String]?
    private var allRows = 0.0
    private var rowsDone = 0

    /// Connects to a database.
    init(_ address: String, _ options: ImportOptions) throws {
        self.options = options
        server = try PostgresConnection(address)
        try server.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    var part: Double? { allRows > 0 ? min(1, Double(rowsDone) / allRows) : nil }

    func classes(besides known: Schema) throws -> ClassInference.Result {
        let schema = options.postgres.schemaName
        if try server.rows("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]).isEmpty {
            let all = try server.rows(
                "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_'"
            ).compactMap { $0[0] }
            throw StoreError(
                .invalidArgument,
                "the database has no schema '\(schema)'\(NearestName.hint(for: schema, among: all))"
            )
        }
        let (all, ignored) = try PostgresTable.all(
            in: schema, of: server,
            wanted: Set(options.tables).union(options.classNames.keys))
        var others = all
        var classes: [ClassSchema] = []
        if let export = try PostgresMetadata.read(schema, from: server) {
            let layout = try PostgresLayout(export, export, isWhole: true, in: schema)
            if Self.matches(layout, all) {
                classes = export
                others.removeAll { layout.tableNames.contains($0.name) }
                take(layout)
            } else {
                notes.append(
                    "the tables were changed after they were exported; their types are those of the database"
                )
            }
        }
        let planner = try PostgresPlanner(others, options, known)
        tables += planner.tables
        notes += planner.notes + ignored.map { "\($0) is omitted; --table imports it" }
        try options.checkTables(
            all.map(\.name), importing: tables.map(\.className),
            from: "the schema '\(schema)' of the database")
        fields =
            all.flatMap { ImportOptions.fields($0.name, $0.columnNames) }
            + (layout?.tables ?? []).flatMap { table in
                ImportOptions.fields(table.name, table.joins.map(\.property.name))
            }
        try estimateRows()
        let wanted = Self.needed(classes, tables.map(\.className))
        return ClassInference.Result(classes: wanted + planner.newClasses)
    }

    /// Returns whether the tables contain all tables and columns of a layout.
    private static func matches(_ layout: PostgresLayout, _ tables: [PostgresTable]) -> Bool {
        let byName = Dictionary(
            tables.map { ($0.name, Set($0.columns.map(\.name))) },
            uniquingKeysWith: { first, _ in first })
        return layout.tables.allSatisfy { table in
            byName[table.name]?.isSuperset(of: table.columnNames) == true
                && table.joins.allSatisfy { byName[$0.name]?.isSuperset(of: $0.columns) == true }
        }
    }

    /// Returns the classes with these names, and all classes that they link to.
    private static func needed(_ classes: [ClassSchema], _ names: [String]) -> [ClassSchema] {
        let byName = Dictionary(
            classes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var needed: Set<String> = []
        var rest = names
        while let name = rest.popLast() {
            guard let classSchema = byName[name], needed.insert(name).inserted else { continue }
            rest += classSchema.properties.compactMap(\.target)
        }
        return classes.filter { needed.contains($0.name) }
    }

    private func take(_ layout: PostgresLayout) {
        self.layout = layout
        // Links to rows that were read earlier cost less.
        for classSchema in PostgresExporter.ordered(layout.tables.map(\.classSchema)) {
            guard let table = layout.table(of: classSchema) else { continue }
            guard
                let className = options.className(
                    ofTable: table.name, usually: classSchema.name)
            else { continue }
            var plan = PostgresTablePlan(
                table: table.name, className: className, path: "ONLY \(layout.path(table.name))")
            if table.isNumbered {
                plan.isNumbered = true
                plan.add(table.keyColumn, "", .int, isArray: false)
            }
            for column in table.columns {
                let renamed = options.property(of: column.name, in: table.name)
                guard renamed?.isEmpty != true else { continue }
                var isArray = false
                if case .array = column.form { isArray = true }
                plan.add(
                    column.name, renamed ?? column.property.name, column.type, isArray: isArray)
            }
            tables.append(plan)
            joins += table.joins.filter {
                options.property(of: $0.property.name, in: table.name)?.isEmpty != true
            }
        }
    }

    /// Adds the row counts that the server estimates, which require no scan of the tables.
    private func estimateRows() throws {
        let estimates = try server.rows(
            """
            SELECT c.relname, greatest(c.reltuples, 0) FROM pg_class c JOIN pg_namespace n \
            ON n.oid = c.relnamespace WHERE n.nspname = $1
            """, [options.postgres.schemaName])
        let byName = Dictionary(
            estimates.compactMap { row in row[0].map { ($0, row[1].flatMap { Double($0) } ?? 0) } },
            uniquingKeysWith: { first, _ in first })
        allRows = tables.reduce(0) { $0 + (byName[$1.table] ?? 0) }
    }

    // MARK: Rows

    func read(into importer: Importer) throws {
        for table in tables { try read(table, into: importer) }
        for join in joins where tables.contains(where: { $0.table == join.owner.name }) {
            guard let layout else { break }
            let reader = try LinkCollectionReader(
                importer, join.property, of: join.owner.name, className: className(of: join.owner),
                table: join.name)
            try reader?.read(PostgresJoinReader(join, layout, server).next)
        }
    }

    private func className(of classSchema: ClassSchema) -> String {
        tables.first { $0.table == classSchema.name }?.className ?? classSchema.name
    }

    private func read(_ table: PostgresTablePlan, into importer: Importer) throws {
        let fields = try importer.fields(ofTableClass: table.className)
        let classSchema = fields.classSchema
        let first = table.isNumbered ? 1 : 0
        let columns = try table.columns.enumerated().map { index, column in
            index < first ? .ignored : try fields.property(column.property, for: column.name)
        }
        let emptied = options.collectionsToEmpty(
            joins.filter { $0.owner.name == table.table }.map(\.property), of: table.table,
            in: classSchema)
        var nullArrays = [Int](repeating: 0, count: columns.count)
        let fast = PostgresFastRow(table, columns, classSchema)
        let rows = try server.copyOut(table.statement)
        let cell = PostgresCell(importer, classSchema, rows: rows)
        var number = 0
        while try rows.next() {
            number += 1
            rowsDone += 1
            let location = RowLocation(table: table.table, line: number)
            try importer.take(location) {
                Self.record(rows, table)
            } decode: {
                if let fast, let inserter = try importer.directInserter(of: classSchema),
                    try fast.insert(rows, inserter)
                {
                    return .stored
                }
                var row = DecodedRow(classSchema)
                if table.isNumbered { row.number = rows.int(0) }
                for (index, column) in columns.enumerated() {
                    guard case .property(let position) = column else { continue }
                    if table.columns[index].isArray, rows.isNull(index) { nullArrays[index] += 1 }
                    row.values[position] = try cell.value(
                        at: index, in: table.columns[index], of: classSchema.properties[position],
                        location: location)
                }
                for position in emptied { row.values[position] = .list([]) }
                return .values(row)
            }
        }
        for (index, count) in nullArrays.enumerated() where count > 0 {
            let name = "'\(table.table).\(table.columns[index].name)'"
            notes.append(
                count == 1
                    ? "1 NULL in \(name) became an empty list"
                    : "\(count) NULLs in \(name) became empty lists")
        }
    }

    /// Returns a row as a line of JSON, which an import of JSON Lines accepts.
    private static func record(_ rows: PostgresCopyReader, _ table: PostgresTablePlan) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("$class", table.className)
        for (index, column) in table.columns.enumerated() {
            json.key(column.property.isEmpty ? "$key" : column.property)
            PostgresCell.write(rows, index, column, to: &json)
        }
        json.endObject()
        return json.bytes
    }
}

/// Stores rows whose columns have the types of their properties, without creating values.
private struct PostgresFastRow {
    private let fields: [(index: Int, position: Int, type: PostgresType)]

    /// Returns nil if a row of the table needs more than an insertion.
    init?(_ table: PostgresTablePlan, _ columns: [FieldTable.Field], _ classSchema: ClassSchema) {
        guard !table.isNumbered else { return nil }
        var fields: [(Int, Int, PostgresType)] = []
        for (index, column) in columns.enumerated() {
            guard case .property(let position) = column else { continue }
            let property = classSchema.properties[position]
            let type = table.columns[index].type
            switch (type, property.type) {
            case (.bool, .bool), (.int, .int), (.float, .float), (.double, .double),
                (.text, .string), (.timestamp, .date), (.uuid, .uuid), (.bytes, .data):
                guard property.isSingle, !table.columns[index].isArray else { return nil }
                fields.append((index, position, type))
            default: return nil
            }
        }
        self.fields = fields
    }

    /// Stores the row; returns false, without storing it, if a value needs a conversion.
    func insert(_ rows: PostgresCopyReader, _ inserter: ObjectInserter) throws -> Bool {
        inserter.clear()
        for (index, position, type) in fields {
            if rows.isNull(index) {
                inserter.set(position, .null)
                continue
            }
            switch type {
            case .int: inserter.set(position, int: rows.int(index))
            case .double: inserter.set(position, double: rows.double(index))
            case .bool: inserter.set(position, bool: rows.bool(index))
            case .float: inserter.set(position, .float(rows.float(index)))
            case .text:
                guard rows.withBytes(index, { inserter.set(position, utf8: $0) }) else {
                    inserter.clear()
                    return false
                }
            case .timestamp:
                guard let moment = PostgresMoment.moment(rows.int(index)) else {
                    inserter.clear()
                    return false
                }
                inserter.set(position, .date(moment))
            case .uuid:
                guard let identifier = UUIDValue(bytes: rows.bytes(index)) else {
                    inserter.clear()
                    return false
                }
                inserter.set(position, .uuid(identifier))
            case .bytes: inserter.set(position, .data(rows.bytes(index)))
            case .numeric, .json:
                inserter.clear()
                return false
            }
        }
        do {
            try inserter.insert()
        } catch let error as StoreError where error.code == .duplicateKey {
            // The general path reports the key.
            return false
        }
        return true
    }
}
