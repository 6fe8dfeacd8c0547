import DataFormats
import ObjectStore

/// The mapping of classes to the tables of an SQL database, for writing an export and for reading it.
///
/// Each class is a table, and each property is a column. Lists, sets and maps of links have their own tables. Values that
/// the dialect cannot represent are JSON in their column.
package struct RelationalLayout {
    package struct Column {
        package let name: String
        let property: Property
        package let form: Form
        /// The type of the values, or of the elements of an array; `mixed` for JSON.
        let type: PropertyType
        /// The column with the type of a mixed value if this column contains it as JSON; NULL for other values.
        var typeColumn: String?
    }

    package enum Form {
        case value
        case array
        /// The primary key of the linked object, or its number if it has none.
        case link(ClassSchema)
        case json
    }

    /// A table with one row for each element of a collection of links: `owner`, `position` or `key`, and `target`.
    package struct Join {
        package let name: String
        package let property: Property
        package let owner: ClassSchema
        package let target: ClassSchema

        package var positionColumn: String { property.isMap ? "key" : "position" }
        package var columnNames: [String] { ["owner", positionColumn, "target"] }
        var columnTypes: [PropertyType] {
            [owner.keyType, property.isMap ? .string : .int, target.keyType]
        }
    }

    package struct Table {
        package let name: String
        package let classSchema: ClassSchema
        /// The column that identifies objects: the primary key, or the number of the object in a class without one.
        package let keyColumn: String
        package let columns: [Column]
        package let joins: [Join]

        /// Whether the key column contains the number of the object, which is not a property.
        package var isNumbered: Bool { classSchema.primaryKey == nil }
        /// The names of the columns in the order of the rows: the number, the properties, the types of mixed values.
        package var columnNames: [String] {
            (isNumbered ? [keyColumn] : []) + columns.map(\.name) + columns.compactMap(\.typeColumn)
        }
    }

    package let dialect: any RelationalDialect
    package private(set) var tables: [Table] = []
    private let classes: [String: ClassSchema]
    private let isWhole: Bool
    private var names: RelationalNames

    /// Creates the layout of classes.
    ///
    /// `isWhole` means that the objects of all classes are exported, so that every link has a target. Throws
    /// `invalid_argument` for names that are too long.
    package init(
        _ classes: [ClassSchema], _ all: [ClassSchema], isWhole: Bool,
        in dialect: any RelationalDialect
    ) throws {
        self.dialect = dialect
        self.isWhole = isWhole
        self.classes = Dictionary(
            all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        names = RelationalNames(dialect, taken: dialect.reservedTables)
        let kept = classes.filter { !$0.isEmbedded }
        // The names of classes are assigned first.
        let tableNames = try kept.map {
            try check($0.name, "class name")
            return names.unique($0.name)
        }
        for (classSchema, name) in zip(kept, tableNames) { try add(classSchema, name) }
        assert(
            Set(self.tableNames).count == self.tableNames.count,
            "each table has a name of its own")
    }

    /// Throws `invalid_argument` for a name that the database would truncate.
    private func check(_ name: String, _ kind: String) throws {
        guard let limit = dialect.nameLimit, name.utf8.count > limit else { return }
        throw StoreError(
            .invalidArgument,
            "\(dialect.name) names have at most \(limit) bytes; the \(kind) '\(name)' has \(name.utf8.count)"
        )
    }

    private mutating func add(_ classSchema: ClassSchema, _ name: String) throws {
        var columnNames = RelationalNames(dialect)
        var columns: [Column] = []
        var joins: [Join] = []
        for property in classSchema.properties where !property.isBacklinks {
            try check(property.name, "property name")
            let target = property.target.flatMap { classes[$0] }
            let link = property.type == .object && target?.isEmbedded == false ? target : nil
            if let link, property.collection != nil, isWhole {
                joins.append(
                    Join(
                        name: names.unique("\(name)_\(property.name)"), property: property,
                        owner: classSchema, target: link))
                continue
            }
            let (form, type) = form(of: property, link: link)
            columns.append(
                Column(
                    name: columnNames.unique(property.name), property: property, form: form,
                    type: type))
        }
        // These names are assigned last, so that they do not change the names of properties.
        for (index, column) in columns.enumerated() where dialect.hasTypeColumns {
            guard case .value = column.form, column.type == .mixed else { continue }
            columns[index].typeColumn = columnNames.unique("\(column.name)_type")
        }
        let key = columns.first { $0.property.isPrimary }?.name ?? columnNames.unique("_key")
        assert(
            Set(columns.map(\.name)).count == columns.count,
            "each column has a name of its own")
        tables.append(
            Table(
                name: name, classSchema: classSchema, keyColumn: key, columns: columns,
                joins: joins))
    }

    private func form(
        of property: Property, link: ClassSchema?
    ) -> (form: Form, type: PropertyType) {
        if property.isSingle {
            if let link { return (.link(link), link.keyType) }
            let isJSON =
                property.type == .object || property.type == .mixed && !dialect.hasMixedColumns
            return isJSON ? (.json, .mixed) : (.value, property.type)
        }
        let isArray =
            dialect.hasArrays && !property.isMap && property.type != .object
            && property.type != .mixed
        return isArray ? (.array, property.type) : (.json, .mixed)
    }

    /// Returns the table of a class.
    package func table(of classSchema: ClassSchema) -> Table? {
        tables.first { $0.classSchema.name == classSchema.name }
    }

    /// The names of all tables, including those of collections.
    package var tableNames: [String] { tables.flatMap { [$0.name] + $0.joins.map(\.name) } }

    // MARK: SQL

    /// Returns the statements that create the tables with these names; all tables if `wanted` is nil.
    package func creation(of wanted: Set<String>? = nil) -> [String] {
        var statements: [String] = []
        for table in tables {
            if wanted?.contains(table.name) != false { statements.append(creation(of: table)) }
            for join in table.joins where wanted?.contains(join.name) != false {
                statements.append(creation(of: join))
            }
        }
        return statements
    }

    private func creation(of table: Table) -> String {
        var lines: [String] = []
        if table.isNumbered {
            let rule = dialect.hasInlineKeys ? "PRIMARY KEY" : "NOT NULL"
            lines.append(
                "\(SQLText.quoted(table.keyColumn)) \(dialect.columnType(.int)) \(rule)")
        }
        for column in table.columns {
            let words = [SQLText.quoted(column.name), type(of: column)] + constraints(of: column)
            lines.append(words.filter { !$0.isEmpty }.joined(separator: " "))
        }
        for name in table.columns.compactMap(\.typeColumn) {
            lines.append("\(SQLText.quoted(name)) \(RelationalTable.typeColumnType)")
        }
        return statement(table.name, lines)
    }

    /// Returns the SQL type of a column.
    package func type(of column: Column) -> String {
        switch column.form {
        case .json: dialect.jsonType
        case .array: dialect.columnType(column.type) + "[]"
        case .value, .link: dialect.columnType(column.type)
        }
    }

    private func constraints(of column: Column) -> [String] {
        let property = column.property
        var arrayType: String?
        var words: [String] = []
        switch column.form {
        case .link(let target):
            return dialect.hasInlineKeys && isWhole ? [reference(to: target)] : []
        case .json: return property.isSingle || dialect.hasInlineKeys ? [] : ["NOT NULL"]
        case .array:
            arrayType = type(of: column)
            words.append("NOT NULL")
        case .value:
            let isKey = property.isPrimary && dialect.hasInlineKeys
            if isKey { words.append(property.isOptional ? "UNIQUE" : "PRIMARY KEY") }
            // An integer key of SQLite is never NULL.
            if !property.isOptional, property.type != .mixed, !isKey || property.type != .int {
                words.append("NOT NULL")
            }
        }
        let rules = RuleConstraints(
            property: property, column: SQLText.quoted(column.name), arrayType: arrayType
        ) { dialect.literal($0, of: property) }
        return words + rules.checks
    }

    private func creation(of join: Join) -> String {
        let isInline = dialect.hasInlineKeys
        let types = join.columnTypes.map(dialect.columnType)
        var lines = zip(join.columnNames, types).map { "\(SQLText.quoted($0)) \($1)" }
        for index in 0...1 { lines[index] += " NOT NULL" }
        if isInline {
            lines[0] += " " + reference(to: join.owner)
            lines[2] += " " + reference(to: join.target)
            lines.append("PRIMARY KEY (\(SQLText.list(["owner", join.positionColumn])))")
        }
        return statement(join.name, lines) + (isInline ? " WITHOUT ROWID" : "")
    }

    private func statement(_ table: String, _ lines: [String]) -> String {
        "CREATE TABLE \(dialect.path(table)) (\n  \(lines.joined(separator: ",\n  "))\n)"
    }

    /// Returns the reference to the table of a class that is exported.
    package func reference(to target: ClassSchema) -> String {
        guard let table = table(of: target) else { return "" }
        return "REFERENCES \(dialect.path(table.name)) (\(SQLText.quoted(table.keyColumn)))"
    }

    /// Returns the columns of each index of a table, and whether its values are unique.
    package func indexes(of table: Table) -> [(columns: [Column], isUnique: Bool)] {
        table.classSchema.tableIndexes.compactMap { properties, isUnique in
            let columns = properties.compactMap { name in
                table.columns.first { $0.property.name == name }
            }
            return columns.count == properties.count ? (columns, isUnique) : nil
        }
    }

    /// Returns whether tables of a database have all columns that the layout has in them.
    package func matches(_ found: [RelationalTable]) -> Bool {
        let columns = Dictionary(
            found.map { ($0.name, Set($0.columnNames)) }, uniquingKeysWith: { first, _ in first })
        return tables.allSatisfy { table in
            columns[table.name]?.isSuperset(of: table.columnNames) != false
                && table.joins.allSatisfy {
                    columns[$0.name]?.isSuperset(of: $0.columnNames) != false
                }
        }
    }

    /// The tables in the order in which rows are written and read: targets of links come first, except for circular
    /// links.
    ///
    /// Foreign keys can be checked for each row, and links to known objects cost less.
    package var ordered: [Table] {
        // The class of a table can have another name and other properties than in the schema.
        let byName = Dictionary(
            tables.map { ($0.classSchema.name, $0) }, uniquingKeysWith: { first, _ in first })
        return tables.map(\.classSchema.name).targetsFirst { name in
            ((byName[name]?.classSchema ?? classes[name])?.properties ?? [])
                .filter(\.isSingle).compactMap(\.target).filter { classes[$0] != nil }
        }.compactMap { byName[$0] }
    }
}

extension Sequence where Element: Hashable {
    /// Returns the elements and their targets so that targets come first, except for circular links.
    ///
    /// Without recursion, because a file can have chains of thousands of classes.
    package func targetsFirst(_ targets: (Element) -> [Element]) -> [Element] {
        var order: [Element] = []
        var seen: Set<Element> = []
        for start in self where seen.insert(start).inserted {
            var stack = [(element: start, rest: targets(start)[...])]
            while let top = stack.last {
                guard let target = top.rest.first else {
                    order.append(stack.removeLast().element)
                    continue
                }
                stack[stack.count - 1].rest.removeFirst()
                if seen.insert(target).inserted { stack.append((target, targets(target)[...])) }
            }
        }
        return order
    }
}

extension ClassSchema {
    /// The type of the key of a table: the primary key, or the number of the object in a class without one.
    package var keyType: PropertyType { primaryKey?.type ?? .int }
}

/// The description of exported classes that a database contains.
package enum RelationalDescription {
    /// Returns the description of all classes as the database stores it.
    package static func text(of view: StoreView) throws -> String {
        var json = JSONWriter()
        try SchemaJSON.write(view, to: &json)
        return json.text
    }

    /// Returns the described classes.
    ///
    /// Throws `file_format_too_new` for a format that is not `known`.
    package static func classes(_ text: String, format: String?, known: [String]) throws
        -> [ClassSchema]
    {
        guard let format, known.contains(format) else {
            throw StoreError(
                .fileFormatTooNew,
                "the database was exported by a newer version of Moonpool; update to import it")
        }
        let tape = JSONTape()
        try JSONText.read(Array(text.utf8), onto: tape)
        return try SchemaJSON.read(tape, 0)
    }
}
