import DataFormats
import ObjectStore

/// The description of a table in its database.
struct RelationalTable {
    struct Column {
        let name: String
        /// The declared type in SQL notation.
        var typeName = ""
        /// The type of the property that the column becomes; nil until the values are examined.
        var type: PropertyType?
        var isArray = false
        var isRequired = false
        var isIndexed = false
        /// Whether the declared type has no equivalent in a store, and its values are imported as text.
        var isForeign = false
        /// A type through which values are converted.
        var cast: String?
        /// The column with the types of mixed values; NULL means that the value is not JSON.
        var typeColumn: String?
        /// Whether the numbers of a date column are milliseconds since 1970.
        var isMilliseconds = false
        /// Whether the column has been found to hold NULL.
        var hasNulls = false
    }

    struct ForeignKey {
        /// The name of the constraint, if it has one.
        let name: String?
        let columns: [String]
        let target: String
        /// The referenced columns; empty for the primary key of the other table.
        let targetColumns: [String]
    }

    /// The declared type of columns with the types of mixed values, by which an import recognizes them.
    ///
    /// They belong to the columns without a declared type, in the same order.
    static let typeColumnType = "MIXED_TYPE_TEXT"

    let name: String
    /// The quoted name that a statement selects from.
    let path: String
    var columns: [Column] = []
    /// The columns of the primary key.
    var key: [String] = []
    var foreignKeys: [ForeignKey] = []
    /// The columns of each UNIQUE constraint and unique index, as text.
    var uniqueColumns: [String] = []
    /// The quoted column with the number of a row, which locates the row in messages; nil if there is none.
    var rowID: String?

    /// The names of all columns.
    var columnNames: [String] { columns.map(\.name) + columns.compactMap(\.typeColumn) }

    func column(_ name: String) -> Column? { columns.first { $0.name == name } }
}

/// The selection of rows of one table, and the class and the properties that receive them.
struct RelationalPlan {
    /// A selected column, and the property that receives its values.
    struct Column {
        /// The expression that selects the column.
        let expression: String
        let source: RelationalTable.Column
        let property: String
        /// The index in a row of the type of a mixed value; NULL there means that the value is not JSON.
        var typeIndex: Int?

        var name: String { source.name }
        /// The type as which the column is selected; nil for the type of each value.
        var type: PropertyType? { source.type }
        var isArray: Bool { source.isArray }
    }

    let table: String
    let className: String
    /// The expression that a statement selects from.
    let path: String
    private let dialect: any RelationalDialect
    private(set) var columns: [Column] = []
    private var typeColumns: [String] = []
    /// The expression for the number of a row, which is selected first; nil if there is none.
    private var number: String?
    /// Whether other rows use the number to link to a row; otherwise it only locates the row.
    let isNumbered: Bool
    private var order = ""

    /// Creates a plan for a table of another program's database.
    init(_ table: RelationalTable, _ className: String, in dialect: any RelationalDialect) {
        self.init(table.name, className, table.path, dialect, number: table.rowID)
    }

    private init(
        _ table: String, _ className: String, _ path: String, _ dialect: any RelationalDialect,
        number: String? = nil, isNumbered: Bool = false
    ) {
        self.table = table
        self.className = className
        self.path = path
        self.dialect = dialect
        self.number = number
        self.isNumbered = isNumbered
    }

    /// Creates a plan for a table of an export, which exists as `found`.
    init(
        _ table: RelationalLayout.Table, _ found: RelationalTable, _ className: String,
        _ options: ImportOptions, in dialect: any RelationalDialect
    ) {
        let number = dialect.selected(
            SQLText.quoted(table.keyColumn), as: .int, isArray: false)
        self.init(
            table.name, className, found.path, dialect,
            number: table.isNumbered ? number : found.rowID, isNumbered: table.isNumbered)
        for column in table.columns {
            let renamed = options.property(of: column.name, in: table.name)
            guard renamed?.isEmpty != true else { continue }
            var isArray = false
            if case .array = column.form { isArray = true }
            add(
                RelationalTable.Column(
                    name: column.name, type: column.type, isArray: isArray,
                    typeColumn: column.typeColumn),
                as: renamed ?? column.property.name)
        }
    }

    /// Creates a plan for the table of a collection of links; the rows of an owner are adjacent.
    init(_ join: RelationalLayout.Join, in dialect: any RelationalDialect) {
        self.init(join.name, "", dialect.path(join.name), dialect)
        for (name, type) in zip(join.columnNames, join.columnTypes) {
            add(RelationalTable.Column(name: name, type: type), as: name)
        }
        order = " ORDER BY " + SQLText.list(Array(join.columnNames.prefix(2)))
    }

    /// The index of the first property in a row.
    var offset: Int { number == nil ? 0 : 1 }

    /// Whether the number of a row is selected.
    var hasNumber: Bool { number != nil }

    /// The statement that selects the rows.
    var statement: String {
        let list = [number].compactMap(\.self) + columns.map(\.expression)
        let types = typeColumns.map(SQLText.quoted)
        return "SELECT \((list + types).joined(separator: ", ")) FROM \(path)\(order)"
    }

    /// Adds a column.
    mutating func add(_ column: RelationalTable.Column, as property: String) {
        let quoted =
            SQLText.quoted(column.name)
            + (column.cast.map { "::\($0)\(column.isArray ? "[]" : "")" } ?? "")
        var created = Column(
            expression: dialect.selected(quoted, as: column.type, isArray: column.isArray),
            source: column, property: property)
        if let name = column.typeColumn {
            created.typeIndex = typeColumns.count
            typeColumns.append(name)
        }
        columns.append(created)
    }

    /// Adds the text of several columns, joined by colons, as one column.
    ///
    /// Colons in the values are escaped if there are several columns, so that different keys have different texts. The
    /// text is NULL if a value is NULL.
    mutating func add(joining names: [String], as property: String) {
        var texts = names.map { "\(SQLText.quoted($0))::text" }
        if texts.count > 1 {
            texts = texts.map { "replace(replace(\($0), '\\', '\\\\'), ':', '\\:')" }
        }
        columns.append(
            Column(
                expression: texts.joined(separator: " || ':' || "),
                source: RelationalTable.Column(name: names.joined(separator: ":"), type: .string),
                property: property))
    }

    /// Returns the index of the type of a column's values in a row; nil if it has none.
    func typeIndex(_ column: Column) -> Int? {
        column.typeIndex.map { offset + columns.count + $0 }
    }
}
