import DataFormats
import ObjectStore

/// The types and the notation of SQLite.
struct SQLiteDialect: RelationalDialect {
    /// The table that describes the other tables.
    static let metadata = "moonpool"

    let name = "SQLite"
    let nameLimit: Int? = nil
    let reservedTables = [metadata]
    let hasArrays = false
    let hasMixedColumns = true
    /// False for the first format of exports, in which text that looks like JSON is JSON.
    var hasTypeColumns = true
    let hasInlineKeys = true
    let joinsKeys = false
    let normalizesJSON = false
    let jsonType = "JSON_TEXT"

    /// Returns the declared type of a column, which determines SQLite's conversions; text must not become a number.
    func columnType(_ type: PropertyType) -> String {
        switch type {
        case .bool: "BOOLEAN"
        case .int: "INTEGER"
        case .float, .double: "REAL"
        case .string: "TEXT"
        case .data: "BLOB"
        case .date: "DATETIME"
        case .fixed(let type): type.traits.sqlite
        case .decimal: "DECIMAL_TEXT"
        case .mixed, .object, .backlinks: ""
        }
    }

    func path(_ table: String) -> String { SQLText.quoted(table) }

    // SQLite compares the ASCII letters of names without case, and foreign keys can use another spelling.
    func folded(_ name: String) -> String { name.lowercased() }

    func permitted(_ name: String) -> String {
        (name.lowercased().hasPrefix("sqlite_") ? "_" : "") + name
    }

    func selected(_ column: String, as type: PropertyType?, isArray: Bool) -> String { column }

    // Decimals and dates have no literal, because they are text in SQLite.
    func literal(_ value: Value, of property: Property) -> String? {
        switch (property.type, value) {
        case (.int, .int(let number)), (.double, .int(let number)), (.float, .int(let number)):
            number > .min ? String(number) : nil
        case (.double, .double(let number)):
            RuleConstraints.isShort(number) ? number.description : nil
        case (.float, .double(let number)): literal(.float(Float(number)), of: property)
        case (.float, .float(let number)):
            RuleConstraints.isShort(Double(number)) ? Double(number).description : nil
        case (.bool, .bool(let flag)): flag ? "1" : "0"
        case (.string, .string), (.fixed, .fixed):
            ValueText.text(value).flatMap { $0.utf8.contains(0) ? nil : SQLText.literal($0) }
        default: nil
        }
    }
}

/// A new database that receives an export.
final class SQLiteTarget: RelationalTarget {
    let dialect: any RelationalDialect = SQLiteDialect()
    private let dates: SQLiteDates
    private let database: SQLiteDatabase
    private var layout: RelationalLayout?

    /// Creates the database.
    init(_ path: String, dates: SQLiteDates) throws {
        guard path != "-" else {
            throw StoreError(
                .invalidArgument,
                "a SQLite database cannot be written to standard output; name a file")
        }
        self.dates = dates
        database = try SQLiteDatabase(writing: path)
    }

    var columnLimit: Int { database.columnLimit }

    func begin(_ layout: RelationalLayout, description: String?) throws {
        self.layout = layout
        for statement in layout.creation() { try database.run(statement) }
        guard let description else { return }
        let table = SQLText.quoted(SQLiteDialect.metadata)
        try database.run("CREATE TABLE \(table) (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        let insertion = try database.prepare("INSERT INTO \(table) VALUES (?, ?)")
        for (name, value) in [
            ("format", "2"), ("dates", dates.rawValue), ("schema", description),
        ] {
            insertion.bind(0, name)
            insertion.bind(1, value)
            _ = try insertion.step()
        }
    }

    func writer(_ path: String, _ columns: [String]) throws -> any RelationalRowWriter {
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        return SQLiteRowWriter(
            try database.prepare(
                "INSERT INTO \(path) (\(SQLText.list(columns))) VALUES (\(marks))"),
            dates: dates)
    }

    /// Creates the indexes and renames the database to its final path.
    func finish() throws {
        guard let layout else { return }
        var names = RelationalNames(
            dialect, taken: layout.dialect.reservedTables + layout.tableNames)
        for table in layout.tables {
            for (columns, isUnique) in layout.indexes(of: table) {
                let properties = columns.map(\.property.name).joined(separator: "_")
                let name = names.unique("\(table.name)_\(properties)_index")
                let isExact = isUnique && columns.allSatisfy(hasExactEquality)
                try database.run(
                    "CREATE \(isExact ? "UNIQUE " : "")INDEX \(SQLText.quoted(name)) "
                        + "ON \(dialect.path(table.name)) (\(SQLText.list(columns.map(\.name))))")
            }
        }
        try database.finish()
    }

    /// Returns whether two values of a column are equal in SQLite exactly if they are in the store.
    private func hasExactEquality(_ column: RelationalLayout.Column) -> Bool {
        switch (column.form, column.property.type) {
        case (.json, _), (.value, .decimal), (.value, .mixed): false
        case (.value, .date): dates == .text
        default: true
        }
    }
}

/// Inserts the rows of a table with a prepared statement.
private final class SQLiteRowWriter: RelationalRowWriter {
    private let statement: SQLiteStatement
    private let dates: SQLiteDates
    private var position = 0

    init(_ statement: SQLiteStatement, dates: SQLiteDates) {
        self.statement = statement
        self.dates = dates
    }

    func beginRow() { position = 0 }

    private func bind(_ body: (Int) -> Void) {
        body(position)
        position += 1
    }

    func write(_ value: Value, _ property: Property?) {
        switch value {
        case .bool(let flag): bind { statement.bind($0, flag ? 1 : Int64(0)) }
        case .int(let number): bind { statement.bind($0, number) }
        case .float(let number): double(Double(number))
        case .double(let number): double(number)
        case .data(let bytes): bind { statement.bind($0, bytes) }
        case .date(let moment) where dates != .text: write(dates.stored(moment), property)
        default:
            let text = ValueText.text(value)
            bind { if let text { statement.bind($0, text) } else { statement.bindNull($0) } }
        }
    }

    /// Binds a number; NaN becomes text, because SQLite would store it as `NULL`.
    private func double(_ number: Double) {
        bind { if number.isNaN { statement.bind($0, "NaN") } else { statement.bind($0, number) } }
    }

    func json(_ text: [UInt8], _ property: Property) {
        bind { statement.bind($0, String(decoding: text, as: UTF8.self)) }
    }

    func endRow() throws { _ = try statement.step() }
    func finish() {}
}
