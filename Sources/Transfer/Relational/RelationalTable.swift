import DataFormats
import ObjectStore

/// The description of a table in its database.
package struct RelationalTable {
    package struct Column {
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
        /// The type as which the column is selected; nil for the one of the dialect.
        var selectedType: String?
        /// The column with the types of mixed values; NULL means that the value is not JSON.
        var typeColumn: String?
        /// Whether the numbers of a date column are milliseconds since 1970.
        var isMilliseconds = false
        /// Whether the column has been found to hold NULL.
        var hasNulls = false

        package init(
            name: String, typeName: String = "", type: PropertyType? = nil, isArray: Bool = false,
            isRequired: Bool = false, isIndexed: Bool = false, isForeign: Bool = false,
            selectedType: String? = nil, typeColumn: String? = nil
        ) {
            self.name = name
            self.typeName = typeName
            self.type = type
            self.isArray = isArray
            self.isRequired = isRequired
            self.isIndexed = isIndexed
            self.isForeign = isForeign
            self.selectedType = selectedType
            self.typeColumn = typeColumn
        }
    }

    package struct ForeignKey {
        /// The name of the constraint, if it has one.
        let name: String?
        let columns: [String]
        let target: String
        /// The referenced columns; empty for the primary key of the other table.
        let targetColumns: [String]

        package init(name: String?, columns: [String], target: String, targetColumns: [String]) {
            self.name = name
            self.columns = columns
            self.target = target
            self.targetColumns = targetColumns
        }
    }

    /// The declared type of columns with the types of mixed values, by which an import recognizes them.
    ///
    /// They belong to the columns without a declared type, in the same order.
    package static let typeColumnType = "MIXED_TYPE_TEXT"

    package let name: String
    /// The quoted name that a statement selects from.
    package let path: String
    package var columns: [Column] = []
    /// The columns of the primary key.
    package var key: [String] = []
    package var foreignKeys: [ForeignKey] = []
    /// The columns of each UNIQUE constraint and unique index, as text.
    package var uniqueColumns: [String] = []
    /// The quoted column with the number of a row, which locates the row in messages; nil if there is none.
    package var rowID: String?

    package init(name: String, path: String) {
        self.name = name
        self.path = path
    }

    /// The names of all columns.
    package var columnNames: [String] { columns.map(\.name) + columns.compactMap(\.typeColumn) }

    package func column(_ name: String) -> Column? { columns.first { $0.name == name } }
}

/// The selection of rows of one table, and the class and the properties that receive them.
package struct RelationalPlan {
    /// A selected column, and the property that receives its values.
    package struct Column {
        /// The expression that selects the column.
        let expression: String
        let source: RelationalTable.Column
        let property: String
        /// The index in a row of the type of a mixed value; NULL there means that the value is not JSON.
        var typeIndex: Int?

        package var name: String { source.name }
        /// The type as which the column is selected; nil for the type of each value.
        package var type: PropertyType? { source.type }
        package var isArray: Bool { source.isArray }
    }

    package let table: String
    package let className: String
    /// The expression that a statement selects from.
    package let path: String
    private let dialect: any RelationalDialect
    private(set) var columns: [Column] = []
    private var typeColumns: [String] = []
    /// The expression for the number of a row, which is selected first; nil if there is none.
    private var number: String?
    /// Whether other rows use the number to link to a row; otherwise it only locates the row.
    package let isNumbered: Bool
    private var order = ""

    /// Creates a plan for a table of another program's database.
    package init(_ table: RelationalTable, _ className: String, in dialect: any RelationalDialect) {
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
    package init(
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
    package init(_ join: RelationalLayout.Join, in dialect: any RelationalDialect) {
        self.init(join.name, "", dialect.path(join.name), dialect)
        for (name, type) in zip(join.columnNames, join.columnTypes) {
            add(RelationalTable.Column(name: name, type: type), as: name)
        }
        order = " ORDER BY " + SQLText.list(Array(join.columnNames.prefix(2)))
    }

    /// The index of the first property in a row.
    package var offset: Int { number == nil ? 0 : 1 }

    /// Whether the number of a row is selected.
    package var hasNumber: Bool { number != nil }

    /// The statement that selects the rows.
    package var statement: String {
        let list = [number].compactMap(\.self) + columns.map(\.expression)
        let types = typeColumns.map(SQLText.quoted)
        return "SELECT \((list + types).joined(separator: ", ")) FROM \(path)\(order)"
    }

    /// Adds a column.
    package mutating func add(_ column: RelationalTable.Column, as property: String) {
        let quoted = SQLText.quoted(column.name)
        var created = Column(
            expression: column.selectedType.map {
                "\(quoted)::\($0)\(column.isArray ? "[]" : "")"
            } ?? dialect.selected(quoted, as: column.type, isArray: column.isArray),
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
    package mutating func add(joining names: [String], as property: String) {
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
    package func typeIndex(_ column: Column) -> Int? {
        column.typeIndex.map { offset + columns.count + $0 }
    }
}

/// The differences between SQL databases in the mapping of classes to tables.
///
/// ``RelationalLayout`` is the mapping. A dialect has no connection; ``RelationalTarget`` and ``RelationalOrigin`` have.
package protocol RelationalDialect {
    /// The name of the database in messages.
    var name: String { get }
    /// The maximum length of a name in bytes; nil without a limit.
    var nameLimit: Int? { get }
    /// The names that no table of a class can have.
    var reservedTables: [String] { get }
    /// Whether lists and sets of single values are arrays; otherwise they are JSON.
    var hasArrays: Bool { get }
    /// Whether a column can hold values of several types; otherwise mixed values are JSON.
    var hasMixedColumns: Bool { get }
    /// Whether mixed values that are JSON have their types in a second column.
    var hasTypeColumns: Bool { get }
    /// Whether keys and references belong to the columns of a new table; otherwise they are added later.
    var hasInlineKeys: Bool { get }
    /// Whether the columns of a key can be selected as one text, which identifies objects.
    var joinsKeys: Bool { get }
    /// Whether the database stores JSON numbers as decimals.
    var normalizesJSON: Bool { get }
    /// The type of columns with JSON.
    var jsonType: String { get }
    /// Returns the type of columns with single values of a type.
    func columnType(_ type: PropertyType) -> String
    /// Returns the quoted name of a table.
    func path(_ table: String) -> String
    /// Returns the form of a name in which equal names are identical.
    func folded(_ name: String) -> String
    /// Returns a wanted name without a prefix that the database reserves.
    func permitted(_ name: String) -> String
    /// Returns the literal of a value in a rule, if the database compares it as the store does.
    func literal(_ value: Value, of property: Property) -> String?
    /// Returns the expression that selects a column as a type; nil for the type of the stored value.
    func selected(_ column: String, as type: PropertyType?, isArray: Bool) -> String
}

/// Assigns names of tables, columns and constraints by the rules of a dialect.
package struct RelationalNames {
    private let dialect: any RelationalDialect
    private var taken: Set<String>

    /// Creates an allocator with names that are taken.
    package init(_ dialect: any RelationalDialect, taken: [String] = []) {
        self.dialect = dialect
        self.taken = Set(taken.map(dialect.folded))
    }

    /// Returns the wanted name, or the first free variant of it, within the limit of the dialect.
    package mutating func unique(_ wanted: String) -> String {
        let wanted = dialect.permitted(wanted)
        var name = cut(wanted, before: "")
        var number = 1
        while !taken.insert(dialect.folded(name)).inserted {
            number += 1
            name = cut(wanted, before: "_\(number)")
        }
        return name
    }

    private func cut(_ name: String, before suffix: String) -> String {
        var name = name
        while let limit = dialect.nameLimit, name.utf8.count + suffix.utf8.count > limit {
            name.removeLast()
        }
        return name + suffix
    }
}
