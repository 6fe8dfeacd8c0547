import DataFormats
import ObjectStore

/// The mapping of classes to PostgreSQL tables, for writing an export and for reading it.
///
/// Each class is a table, and each property is a column with the same name. Lists and sets of single values are arrays.
/// Lists, sets and maps of links have their own tables. Other maps, embedded objects and mixed values are `jsonb`.
struct PostgresLayout {
    struct Column {
        let name: String
        let property: Property
        let form: Form
        /// The type of the values, or of the elements of an array.
        let type: PostgresType

        /// The type in SQL.
        var typeName: String {
            if case .array = form { type.name + "[]" } else { type.name }
        }
    }

    enum Form {
        case value
        case array
        /// The key of the linked object.
        case link(ClassSchema)
        case json
    }

    /// A table with one row for each element of a collection of links: `owner`, `position` or `key`, and `target`.
    struct Join {
        let name: String
        let property: Property
        let owner: ClassSchema
        let target: ClassSchema

        var positionColumn: String { property.isMap ? "key" : "position" }
        var columns: [String] { ["owner", positionColumn, "target"] }
    }

    struct Table {
        let name: String
        let classSchema: ClassSchema
        /// The column that identifies objects: the primary key, or the number of the object in a class without one.
        let keyColumn: String
        let keyType: PostgresType
        let columns: [Column]
        let joins: [Join]

        /// Whether the key column contains the number of the object, which is not a property.
        var isNumbered: Bool { classSchema.primaryKey == nil }
        /// The names of the columns in the order of the rows.
        var columnNames: [String] { (isNumbered ? [keyColumn] : []) + columns.map(\.name) }
    }

    /// PostgreSQL's maximum number of columns of a table.
    private static let columnLimit = 1600

    let schemaName: String
    private(set) var tables: [Table] = []
    private let classes: [String: ClassSchema]
    private let isWhole: Bool
    private var names = PostgresNames()

    /// Creates the layout of classes in a schema of the database.
    ///
    /// `isWhole` means that the objects of all classes are exported, so that every link has a target. Throws
    /// `invalid_argument` for names that are too long.
    init(_ classes: [ClassSchema], _ all: [ClassSchema], isWhole: Bool, in schemaName: String)
        throws
    {
        self.schemaName = schemaName
        self.isWhole = isWhole
        self.classes = Dictionary(
            all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let kept = classes.filter { !$0.isEmbedded }
        // The names of classes are assigned first.
        for classSchema in kept {
            try PostgresNames.check(classSchema.name, "class name")
            _ = names.unique(classSchema.name)
        }
        for classSchema in kept { try add(classSchema) }
    }

    private mutating func add(_ classSchema: ClassSchema) throws {
        var columnNames = PostgresNames()
        var columns: [Column] = []
        var joins: [Join] = []
        for property in classSchema.properties where !property.isBacklinks {
            try PostgresNames.check(property.name, "property name")
            let target = property.target.flatMap { classes[$0] }
            let isLink = property.type == .object && target?.isEmbedded == false
            if isLink, property.collection != nil, isWhole, let target {
                joins.append(
                    Join(
                        name: names.unique("\(classSchema.name)_\(property.name)"),
                        property: property, owner: classSchema, target: target))
                continue
            }
            let name = columnNames.unique(property.name)
            if isLink, property.isSingle, let target {
                columns.append(
                    Column(
                        name: name, property: property, form: .link(target),
                        type: Self.keyType(of: target)))
            } else if property.type == .object || property.type == .mixed || property.isMap {
                columns.append(Column(name: name, property: property, form: .json, type: .json))
            } else {
                columns.append(
                    Column(
                        name: name, property: property, form: property.isSingle ? .value : .array,
                        type: PostgresType(property.type)))
            }
        }
        guard columns.count < Self.columnLimit else {
            throw StoreError(
                .invalidArgument,
                "'\(classSchema.name)' needs \(columns.count) columns, but a table of PostgreSQL has at most "
                    + "\(Self.columnLimit); export it as jsonl, or name some of its properties in the option 'columns'"
            )
        }
        let key =
            classSchema.primaryKey.flatMap { key in
                columns.first { $0.property.name == key.name }?.name
            } ?? columnNames.unique("_key")
        tables.append(
            Table(
                name: classSchema.name, classSchema: classSchema, keyColumn: key,
                keyType: Self.keyType(of: classSchema), columns: columns, joins: joins))
    }

    static func keyType(of classSchema: ClassSchema) -> PostgresType {
        classSchema.primaryKey.map { PostgresType($0.type) } ?? .int
    }

    /// Returns the table of a class.
    func table(of classSchema: ClassSchema) -> Table? {
        tables.first { $0.classSchema.name == classSchema.name }
    }

    /// The names of all tables, including those of collections.
    var tableNames: [String] { tables.flatMap { [$0.name] + $0.joins.map(\.name) } }

    // MARK: SQL

    /// Returns the quoted name of a table with its schema.
    func path(_ table: String) -> String {
        "\(PostgresConnection.quoted(schemaName)).\(PostgresConnection.quoted(table))"
    }

    /// Returns the statements that create tables, without constraints between them; for all tables if `names` is nil.
    func creation(of names: Set<String>? = nil) -> [String] {
        var statements: [String] = []
        for table in tables {
            if names?.contains(table.name) != false { statements.append(creation(of: table)) }
            for join in table.joins where names?.contains(join.name) != false {
                statements.append(creation(of: join))
            }
        }
        return statements
    }

    private func creation(of table: Table) -> String {
        var lines: [String] = []
        if table.isNumbered {
            lines.append("\(PostgresConnection.quoted(table.keyColumn)) bigint NOT NULL")
        }
        for column in table.columns {
            var line = "\(PostgresConnection.quoted(column.name)) \(column.typeName)"
            if isRequired(column) { line += " NOT NULL" }
            for check in checks(of: column) { line += " " + check }
            lines.append(line)
        }
        return statement(table.name, lines)
    }

    private func checks(of column: Column) -> [String] {
        let arrayType: String?
        switch column.form {
        case .value: arrayType = nil
        case .array: arrayType = column.typeName
        case .link, .json: return []
        }
        return RuleConstraints(
            property: column.property, column: PostgresConnection.quoted(column.name),
            arrayType: arrayType
        ) { Self.literal($0, of: column.property) }.checks
    }

    /// The dates whose text has a year of four digits.
    private static let plainDates =
        Timestamp(
            microseconds: -62_135_596_800_000_000)..<Timestamp(
            microseconds: 253_402_300_800_000_000)

    /// Returns the literal of a value in a rule.
    private static func literal(_ value: Value, of property: Property) -> String? {
        switch (property.type, value) {
        case (.int, .int(let number)), (.decimal, .int(let number)): return "(\(number))"
        case (.double, .int(let number)), (.float, .int(let number)):
            return Double(exactly: number).map { "'\($0)'::double precision" }
        case (.double, .double(let number)) where number.isFinite:
            return "'\(number)'::double precision"
        case (.float, .double(let number)):
            return literal(.float(Float(number)), of: property)
        case (.float, .float(let number)) where number.isFinite:
            return "'\(Double(number))'::double precision"
        case (.decimal, .decimal(let number)) where number.isFinite: return "(\(number))"
        case (.bool, .bool(let flag)): return flag ? "true" : "false"
        case (.date, .date(let moment)) where plainDates.contains(moment):
            return "'\(moment)'::timestamp with time zone"
        case (.string, .string), (.objectID, .objectID), (.uuid, .uuid):
            guard let text = ValueText.text(value), !text.utf8.contains(0) else { return nil }
            return PostgresConnection.literal(text) + "::\(PostgresType(property.type).name)"
        default: return nil
        }
    }

    private func isRequired(_ column: Column) -> Bool {
        switch column.form {
        case .value: !column.property.isOptional
        case .array: true
        case .json: !column.property.isSingle
        case .link: false
        }
    }

    private func creation(of join: Join) -> String {
        let position = PostgresConnection.quoted(join.positionColumn)
        return statement(
            join.name,
            [
                "\"owner\" \(Self.keyType(of: join.owner).name) NOT NULL",
                "\(position) \(join.property.isMap ? "text" : "bigint") NOT NULL",
                "\"target\" \(Self.keyType(of: join.target).name)",
            ])
    }

    private func statement(_ table: String, _ lines: [String]) -> String {
        "CREATE TABLE \(path(table)) (\n  \(lines.joined(separator: ",\n  "))\n)"
    }

    /// The statements that create keys, indexes and foreign keys after the rows are inserted, because creating an index
    /// for all rows costs less than updating it for each row.
    func constraints(of wanted: Set<String>? = nil) -> [String] {
        var statements = keys(of: wanted)
        for table in tables {
            if wanted?.contains(table.name) != false {
                statements += indexes(of: table)
                for column in table.columns {
                    guard case .link(let target) = column.form, isWhole else { continue }
                    statements.append(
                        reference(from: table.name, column.name, to: target, cascades: false))
                }
            }
            for join in table.joins where wanted?.contains(join.name) != false {
                statements.append(
                    reference(from: join.name, "owner", to: join.owner, cascades: true))
                statements.append(
                    reference(from: join.name, "target", to: join.target, cascades: false))
                statements.append("CREATE INDEX ON \(path(join.name)) (\"target\")")
            }
        }
        return statements
    }

    /// The statements that create the keys, which foreign keys need.
    private func keys(of wanted: Set<String>?) -> [String] {
        var statements: [String] = []
        func add(_ table: String, _ kind: String, _ columns: [String]) {
            guard wanted?.contains(table) != false else { return }
            let list = columns.map(PostgresConnection.quoted).joined(separator: ", ")
            statements.append("ALTER TABLE \(path(table)) ADD \(kind) (\(list))")
        }
        for table in tables {
            let isOptional = table.classSchema.primaryKey?.isOptional == true
            add(table.name, isOptional ? "UNIQUE" : "PRIMARY KEY", [table.keyColumn])
            for join in table.joins {
                add(join.name, "PRIMARY KEY", ["owner", join.positionColumn])
            }
        }
        return statements
    }

    /// The indexes of a table; unique values are checked at the end of a transaction, as in a store.
    private func indexes(of table: Table) -> [String] {
        table.classSchema.tableIndexes.compactMap { properties, isUnique in
            let columns = properties.compactMap { name in
                table.columns.first { $0.property.name == name }
            }
            guard columns.count == properties.count else { return nil }
            let list = columns.map { PostgresConnection.quoted($0.name) }.joined(separator: ", ")
            return isUnique
                ? "ALTER TABLE \(path(table.name)) ADD UNIQUE (\(list)) DEFERRABLE INITIALLY DEFERRED"
                : "CREATE INDEX ON \(path(table.name)) (\(list))"
        }
    }

    private func reference(
        from table: String, _ column: String, to target: ClassSchema, cascades: Bool
    ) -> String {
        guard let other = self.table(of: target) else { return "" }
        var names = PostgresNames()
        let name = names.unique("\(table)_\(column)_fkey")
        return """
            ALTER TABLE \(path(table)) ADD CONSTRAINT \(PostgresConnection.quoted(name)) \
            FOREIGN KEY (\(PostgresConnection.quoted(column))) REFERENCES \(path(other.name)) \
            (\(PostgresConnection.quoted(other.keyColumn)))\(cascades ? " ON DELETE CASCADE" : "") \
            DEFERRABLE INITIALLY DEFERRED
            """
    }
}
