import DataFormats
import ObjectStore

/// The rows of the tables of a SQLite database.
final class SQLiteSource: RowSource {
    private(set) var notes: [String] = []
    private let database: SQLiteDatabase
    private let options: ImportOptions
    private var tables: [SQLiteTablePlan] = []
    private var joins: [(table: SQLiteLayout.Table, join: SQLiteLayout.Join)] = []
    /// Whether text in mixed columns that looks like JSON is JSON, as in the first format of exports.
    private var marksJSONInText = false
    private var dates: SQLiteDates?
    private(set) var fields: [String]?
    private var allRows = 0
    private var rowsDone = 0

    /// Opens a database.
    init(_ path: String, _ options: ImportOptions) throws {
        self.options = options
        database = try SQLiteDatabase(reading: path)
    }

    var part: Double? { allRows > 0 ? min(1, Double(rowsDone) / Double(allRows)) : nil }

    /// Plans the import of the tables.
    ///
    /// Examines every value of tables for which the store has no class.
    func classes(besides known: Schema) throws -> ClassInference.Result {
        let (all, ignored) = try SQLiteTable.all(in: database)
        var others = all
        var classes: [ClassSchema] = []
        dates = options.dates
        if let export = try Self.export(database, all) {
            marksJSONInText = export.format == "1"
            dates = options.dates ?? export.dates
            classes = export.classes
            let layout = SQLiteLayout(
                classes, classes, isWhole: true, hasTypeColumns: export.format != "1")
            others.removeAll { $0.name == SQLiteLayout.metadata }
            for table in layout.tables {
                let names = [table.name] + table.joins.map(\.name)
                others.removeAll { names.contains($0.name) }
                guard all.contains(where: { $0.name == table.name }),
                    let className = options.className(
                        ofTable: table.name, usually: table.classSchema.name)
                else { continue }
                tables.append(SQLiteTablePlan(table, className, options))
                joins += table.joins.filter { join in all.contains { $0.name == join.name } }
                    .map { (table, $0) }
            }
        }
        var otherOptions = options
        otherOptions.dates = dates
        let planner = try SQLitePlanner(
            database, tables: others, options: otherOptions, known: known)
        tables += planner.tables
        notes = planner.notes + ignored.map { "\($0) is omitted" }
        try options.checkTables(
            all.map(\.name), importing: tables.map(\.className), from: "the database")
        fields =
            all.flatMap { ImportOptions.fields($0.name, $0.columnNames) }
            + joins.flatMap { ImportOptions.fields($0.table.name, [$0.join.property.name]) }
        try countRows()
        return ClassInference.Result(classes: classes + planner.newClasses)
    }

    /// Returns the schema and the format of an export; nil for other databases.
    private static func export(
        _ database: SQLiteDatabase, _ tables: [SQLiteTable]
    ) throws -> (classes: [ClassSchema], dates: SQLiteDates, format: String)? {
        guard let table = tables.first(where: { $0.name == SQLiteLayout.metadata }),
            table.columns.map(\.name) == ["name", "value"]
        else { return nil }
        let rows = try database.prepare(
            "SELECT name, value FROM \(SQLiteDatabase.quoted(table.name))")
        var values: [String: String] = [:]
        while try rows.step() {
            if let name = rows.text(0), let value = rows.text(1) { values[name] = value }
        }
        guard let schema = values["schema"] else { return nil }
        guard let format = values["format"], ["1", "2"].contains(format) else {
            throw StoreError(
                .fileFormatTooNew,
                "the database was exported by a newer version of Moonpool; update to import it")
        }
        let tape = JSONTape()
        try JSONText.read(Array(schema.utf8), onto: tape)
        let dates = try SQLiteDates(name: values["dates"] ?? "text")
        return (try SchemaJSON.read(tape, 0), dates, format)
    }

    private func countRows() throws {
        for table in tables {
            let rows = try database.prepare(
                "SELECT count(*) FROM \(SQLiteDatabase.quoted(table.table))")
            if try rows.step() { allRows += Int(clamping: rows.int(0)) }
        }
    }

    // MARK: Rows

    func read(into importer: Importer) throws {
        for table in tables { try read(table, into: importer) }
        for (table, join) in joins {
            guard let plan = tables.first(where: { $0.table == table.name }) else { continue }
            let reader = try LinkCollectionReader(
                importer, join.property, of: table.name, className: plan.className,
                table: join.name)
            try reader?.read(SQLiteJoinReader(join, of: table, database).next)
        }
    }

    private func read(_ table: SQLiteTablePlan, into importer: Importer) throws {
        let fields = try importer.fields(ofTableClass: table.className)
        let classSchema = fields.classSchema
        let columns = try zip(table.properties, table.columns).map {
            try fields.property($0, for: $1)
        }
        let emptied = options.collectionsToEmpty(
            joins.filter { $0.table.name == table.table }.map(\.join.property), of: table.table,
            in: classSchema)
        let decoder = SQLiteRowDecoder(
            importer, cell: SQLiteCell(dates: dates, isExport: marksJSONInText),
            classSchema: classSchema, columns: columns,
            typePositions: table.typePositions, milliseconds: table.millisecondColumns)
        let rows = try database.prepare(table.selection)
        var number = 0
        while try rows.step() {
            number += 1
            rowsDone += 1
            let id = rows.kind(0) == .int ? Int(rows.int(0)) : number
            let location = RowLocation(table: table.table, line: id)
            try importer.take(location) {
                Self.record(rows, table)
            } decode: {
                var row = try decoder.row(rows, location)
                if table.numberColumn != nil { row.number = rows.int(0) }
                for position in emptied { row.values[position] = .list([]) }
                return .values(row)
            }
        }
    }

    /// Returns a row as a line of JSON, which an import of JSON Lines accepts.
    private static func record(_ row: SQLiteStatement, _ table: SQLiteTablePlan) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("$class", table.className)
        if table.numberColumn != nil {
            json.member("$key", row.int(0))
        }
        for (index, property) in table.properties.enumerated() {
            json.key(property)
            SQLiteCell.write(row, index + 1, to: &json)
        }
        json.endObject()
        return json.bytes
    }
}
