import DataFormats
import ObjectStore

/// The mapping of classes to tables, for writing and reading a database.
///
/// Each class is a table, and each property is a column. Lists, sets and maps of links have their own tables. Values
/// that SQLite cannot represent are JSON in their column.
struct SQLiteLayout {
    struct Column {
        let name: String
        let property: Property
        let form: Form
        /// The column with the type of a mixed value if this column contains it as JSON; NULL for other values.
        var typeColumn: String?
    }

    enum Form {
        case value
        /// The primary key of the linked object, or its number if it has none.
        case link(ClassSchema)
        case json
    }

    /// A table with one row for each element of a collection of links: `owner`, `position` or `key`, and `target`.
    struct Join {
        let name: String
        let property: Property
        let target: ClassSchema

        var positionColumn: String { property.isMap ? "key" : "position" }
    }

    struct Table {
        let name: String
        let classSchema: ClassSchema
        /// The column with the number of the object, if the class has no primary key.
        let keyColumn: String?
        let columns: [Column]
        let joins: [Join]

        /// The columns in the order in which an insertion binds them.
        var insertedColumns: [String] {
            columns.map(\.name) + columns.compactMap(\.typeColumn) + [keyColumn].compactMap(\.self)
        }
    }

    /// The declared type of columns with the types of mixed values, by which an import recognizes them.
    ///
    /// They belong to the columns without a declared type, in the same order.
    static let typeColumnType = "MIXED_TYPE_TEXT"

    /// The table that describes the other tables.
    static let metadata = "moonpool"

    private(set) var tables: [Table] = []
    private let classes: [String: ClassSchema]
    private let isWhole: Bool
    private let hasTypeColumns: Bool
    private(set) var names = SQLiteNames(taken: [metadata])

    /// Creates the layout of whole stores, or of the objects of some classes, whose links have no targets in the
    /// database.
    init(
        _ classes: [ClassSchema], _ all: [ClassSchema], isWhole: Bool, hasTypeColumns: Bool = true
    ) {
        self.hasTypeColumns = hasTypeColumns
        self.classes = Dictionary(
            all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.isWhole = isWhole
        let kept = classes.filter { !$0.isEmbedded }
        // The names of classes are assigned first.
        let tableNames = kept.map { names.unique($0.name) }
        for (classSchema, name) in zip(kept, tableNames) { add(classSchema, name) }
    }

    private mutating func add(_ classSchema: ClassSchema, _ name: String) {
        var columnNames = SQLiteNames()
        var columns: [Column] = []
        var joins: [Join] = []
        for property in classSchema.properties where !property.isBacklinks {
            let target = property.target.flatMap { classes[$0] }
            let isLink = property.type == .object && target?.isEmbedded == false
            if isLink, property.collection != nil, isWhole, let target {
                let joinName = names.unique("\(name)_\(property.name)")
                joins.append(Join(name: joinName, property: property, target: target))
                continue
            }
            let isPlain = property.isSingle && (property.type != .object || isLink)
            let form = !isPlain ? Form.json : isLink ? target.map(Form.link) ?? .json : .value
            columns.append(
                Column(name: columnNames.unique(property.name), property: property, form: form))
        }
        // These names are assigned last, so that they do not change the names of properties.
        for index in columns.indices where hasTypeColumns && columns[index].isMixed {
            columns[index].typeColumn = columnNames.unique("\(columns[index].name)_type")
        }
        let keyColumn = classSchema.primaryKey == nil ? columnNames.unique("_key") : nil
        tables.append(
            Table(
                name: name, classSchema: classSchema, keyColumn: keyColumn, columns: columns,
                joins: joins))
    }

    // MARK: SQL

    /// Returns the statements that create the tables.
    func creation(_ dates: SQLiteDates) -> [String] {
        var statements: [String] = []
        for table in tables {
            statements.append(creation(of: table, dates))
            for join in table.joins { statements.append(creation(of: join, in: table)) }
        }
        return statements
    }

    /// Returns the statements that create the indexes, after the rows are inserted.
    func indexing(_ dates: SQLiteDates) -> [String] {
        var names = names
        return tables.flatMap { table in
            table.classSchema.tableIndexes.map { properties, isUnique in
                let name = names.unique("\(table.name)_\(properties.joined(separator: "_"))_index")
                let columns = properties.compactMap { name in
                    table.columns.first { $0.property.name == name }
                }
                let list = columns.map { SQLiteDatabase.quoted($0.name) }
                let isExact =
                    columns.count == properties.count
                    && columns.allSatisfy { Self.hasExactEquality($0, dates) }
                return "CREATE \(isUnique && isExact ? "UNIQUE " : "")INDEX "
                    + "\(SQLiteDatabase.quoted(name)) "
                    + "ON \(SQLiteDatabase.quoted(table.name)) (\(list.joined(separator: ", ")))"
            }
        }
    }

    /// Returns whether two values of a column are equal in SQLite exactly if they are in the store.
    private static func hasExactEquality(_ column: Column, _ dates: SQLiteDates) -> Bool {
        switch (column.form, column.property.type) {
        case (.json, _), (.value, .decimal), (.value, .mixed): false
        case (.value, .date): dates == .text
        default: true
        }
    }

    /// Returns the literal of a value in a rule; decimals and dates have none, because they are text in SQLite.
    private static func literal(_ value: Value, of property: Property) -> String? {
        switch (property.type, value) {
        case (.int, .int(let number)), (.double, .int(let number)), (.float, .int(let number)):
            number > .min ? String(number) : nil
        case (.double, .double(let number)):
            RuleConstraints.isShort(number) ? number.description : nil
        case (.float, .double(let number)): literal(.float(Float(number)), of: property)
        case (.float, .float(let number)):
            RuleConstraints.isShort(Double(number)) ? Double(number).description : nil
        case (.bool, .bool(let flag)): flag ? "1" : "0"
        case (.string, .string), (.uuid, .uuid), (.objectID, .objectID):
            ValueText.text(value).flatMap {
                $0.utf8.contains(0) ? nil : "'" + $0.replacing("'", with: "''") + "'"
            }
        default: nil
        }
    }

    private func creation(of table: Table, _ dates: SQLiteDates) -> String {
        var lines: [String] = []
        if let key = table.keyColumn {
            lines.append("\(SQLiteDatabase.quoted(key)) INTEGER PRIMARY KEY")
        }
        for column in table.columns {
            let property = column.property
            var line = SQLiteDatabase.quoted(column.name)
            switch column.form {
            case .json: line += " JSON_TEXT"
            case .link(let target):
                line += " " + keyType(of: target)
                if isWhole { line += reference(to: target) }
            case .value:
                let type = Self.type(of: property)
                if !type.isEmpty { line += " " + type }
                if property.isPrimary { line += property.isOptional ? " UNIQUE" : " PRIMARY KEY" }
                let isAlias = property.isPrimary && property.type == .int
                if !property.isOptional, !isAlias, property.type != .mixed { line += " NOT NULL" }
                let rules = RuleConstraints(
                    property: property, column: SQLiteDatabase.quoted(column.name)
                ) { Self.literal($0, of: property) }
                for check in rules.checks { line += " " + check }
            }
            lines.append(line)
        }
        for name in table.columns.compactMap(\.typeColumn) {
            lines.append("\(SQLiteDatabase.quoted(name)) \(Self.typeColumnType)")
        }
        return Self.statement(table.name, lines)
    }

    private func creation(of join: Join, in table: Table) -> String {
        let owner = table.classSchema
        let position = SQLiteDatabase.quoted(join.positionColumn)
        let statement = Self.statement(
            join.name,
            [
                "\"owner\" \(keyType(of: owner)) NOT NULL\(reference(to: owner))",
                position + (join.property.isMap ? " TEXT NOT NULL" : " INTEGER NOT NULL"),
                "\"target\" \(keyType(of: join.target))\(reference(to: join.target))",
                "PRIMARY KEY (\"owner\", \(position))",
            ])
        return statement + " WITHOUT ROWID"
    }

    private static func statement(_ name: String, _ lines: [String]) -> String {
        "CREATE TABLE \(SQLiteDatabase.quoted(name)) (\n  "
            + lines.joined(separator: ",\n  ") + "\n)"
    }

    private func keyType(of target: ClassSchema) -> String {
        target.primaryKey.map(Self.type) ?? "INTEGER"
    }

    private func reference(to target: ClassSchema) -> String {
        guard let table = tables.first(where: { $0.classSchema.name == target.name }) else {
            return ""
        }
        let key = table.columns.first { $0.property.isPrimary }?.name ?? table.keyColumn ?? ""
        return " REFERENCES \(SQLiteDatabase.quoted(table.name)) (\(SQLiteDatabase.quoted(key)))"
    }

    /// Returns the declared type of a column, which determines SQLite's conversions; text must not become a number.
    private static func type(of property: Property) -> String {
        switch property.type {
        case .bool: "BOOLEAN"
        case .int: "INTEGER"
        case .float, .double: "REAL"
        case .string: "TEXT"
        case .data: "BLOB"
        case .date: "DATETIME"
        case .uuid: "UUID_TEXT"
        case .objectID: "OBJECT_ID_TEXT"
        case .decimal: "DECIMAL_TEXT"
        case .mixed, .object, .backlinks: ""
        }
    }
}

extension SQLiteLayout.Column {
    fileprivate var isMixed: Bool {
        if case .value = form { property.type == .mixed } else { false }
    }
}
