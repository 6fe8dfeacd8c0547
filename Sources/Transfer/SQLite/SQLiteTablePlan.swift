import DataFormats

/// The plan for importing the rows of one table.
struct SQLiteTablePlan {
    let table: String
    let className: String
    /// The column with the number that other rows use to link to a row.
    var numberColumn: String?
    private(set) var columns: [String] = []
    private(set) var properties: [String] = []
    /// The columns with the types of mixed values, by the index of the value's column; NULL means that the value is not
    /// JSON.
    private(set) var typeColumns: [Int: String] = [:]
    /// The indexes of columns whose numbers are milliseconds since 1970.
    private(set) var millisecondColumns: Set<Int> = []
    private let rowID: String?

    /// Creates a plan for a table of another program's database.
    init(_ table: SQLiteTable, _ className: String) {
        self.table = table.name
        self.className = className
        rowID = table.rowID
    }

    /// Creates a plan for a table that `SQLiteExporter` wrote.
    init(_ table: SQLiteLayout.Table, _ className: String, _ options: ImportOptions) {
        self.table = table.name
        self.className = className
        numberColumn = table.keyColumn
        rowID = "_rowid_"
        for column in table.columns {
            let renamed = options.property(of: column.name, in: table.name)
            guard renamed?.isEmpty != true else { continue }
            if let type = column.typeColumn { typeColumns[columns.count] = type }
            add(column.name, renamed ?? column.property.name)
        }
    }

    /// Sets the encoding of numbers in the last added column to milliseconds.
    mutating func noteMilliseconds() { millisecondColumns.insert(columns.count - 1) }

    /// The indexes of type columns in the rows of ``selection``, by the index of the value's column.
    var typePositions: [Int: Int] {
        var positions: [Int: Int] = [:]
        for (location, column) in typeColumns.keys.sorted().enumerated() {
            positions[column] = 1 + columns.count + location
        }
        return positions
    }

    /// Sets the column with the types of the last added column's values.
    mutating func noteTypes(in column: String) { typeColumns[columns.count - 1] = column }

    mutating func add(_ column: String, _ property: String) {
        columns.append(column)
        properties.append(property)
    }

    func property(of column: String) -> String? {
        columns.firstIndex(of: column).map { properties[$0] }
    }

    /// The statement that selects the rowid, or nothing, and then the columns.
    var selection: String {
        let first = numberColumn ?? rowID
        let names =
            [first.map(SQLiteDatabase.quoted) ?? "NULL"]
            + columns.map(SQLiteDatabase.quoted)
            + typeColumns.keys.sorted().compactMap { typeColumns[$0] }.map(SQLiteDatabase.quoted)
        return "SELECT \(names.joined(separator: ", ")) FROM \(SQLiteDatabase.quoted(table))"
    }
}
