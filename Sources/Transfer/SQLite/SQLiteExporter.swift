import DataFormats
import ObjectStore

/// Writes objects of one version into a new database.
struct SQLiteExporter {
    private let view: StoreView
    private let encoder: RowEncoder
    private let layout: SQLiteLayout
    private let dates: SQLiteDates
    private let database: SQLiteDatabase

    /// Creates the database.
    ///
    /// `isWhole` means that it will contain all objects, and therefore all link targets.
    init(
        _ path: String, view: StoreView, classes: [ClassSchema], isWhole: Bool,
        dates: SQLiteDates
    ) throws {
        guard path != "-" else {
            throw StoreError(
                .invalidArgument,
                "a SQLite database cannot be written to standard output; name a file")
        }
        self.view = view
        self.dates = dates
        encoder = RowEncoder(view: view)
        layout = SQLiteLayout(classes, view.schema.classes, isWhole: isWhole)
        database = try SQLiteDatabase(writing: path)
        for table in layout.tables where table.insertedColumns.count > database.columnLimit {
            throw StoreError(
                .invalidArgument,
                "'\(table.classSchema.name)' needs \(table.insertedColumns.count) columns, but a table of SQLite has at most "
                    + "\(database.columnLimit); export it as jsonl, or name some of its properties in the option 'columns'"
            )
        }
        for statement in layout.creation(dates) { try database.run(statement) }
        if isWhole { try writeMetadata(classes) }
    }

    private func writeMetadata(_ classes: [ClassSchema]) throws {
        let table = SQLiteDatabase.quoted(SQLiteLayout.metadata)
        try database.run("CREATE TABLE \(table) (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        var json = JSONWriter()
        try SchemaJSON.write(classes, of: encoder.view, to: &json)
        let insertion = try database.prepare("INSERT INTO \(table) VALUES (?, ?)")
        let rows = [
            ("format", "2"), ("dates", dates.rawValue),
            ("schema", String(decoding: json.bytes, as: UTF8.self)),
        ]
        for (name, value) in rows {
            insertion.bind(0, name)
            insertion.bind(1, value)
            _ = try insertion.step()
        }
    }

    /// Writes objects of one class.
    func write(_ keys: ResultKeys, of classSchema: ClassSchema, count: () throws -> Void) throws {
        guard let table = layout.tables.first(where: { $0.classSchema.name == classSchema.name })
        else { return }
        let columns = table.insertedColumns
        let insertion = try insertion(table.name, columns)
        let joins = try table.joins.map {
            try self.insertion($0.name, ["owner", $0.positionColumn, "target"])
        }
        for key in keys {
            var typePosition = table.columns.count
            for (position, column) in table.columns.enumerated() {
                let value = try bind(column, of: key, in: classSchema, at: position, to: insertion)
                guard column.typeColumn != nil else { continue }
                if isPlain(value) {
                    insertion.bindNull(typePosition)
                } else {
                    insertion.bind(typePosition, value.typeName)
                }
                typePosition += 1
            }
            if table.keyColumn != nil { insertion.bind(columns.count - 1, key.rawValue) }
            _ = try insertion.step()
            for (join, statement) in zip(table.joins, joins) {
                try write(join, of: key, classSchema, statement)
            }
            try count()
        }
    }

    /// Creates the indexes and renames the database to its final path.
    func finish() throws {
        for statement in layout.indexing(dates) { try database.run(statement) }
        try database.finish()
    }

    private func insertion(_ table: String, _ columns: [String]) throws -> SQLiteStatement {
        let names = columns.map(SQLiteDatabase.quoted).joined(separator: ", ")
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        return try database.prepare(
            "INSERT INTO \(SQLiteDatabase.quoted(table)) (\(names)) VALUES (\(marks))")
    }

    /// Binds the value of a column and returns the value.
    private func bind(
        _ column: SQLiteLayout.Column, of key: ObjectKey, in classSchema: ClassSchema,
        at position: Int, to statement: SQLiteStatement
    ) throws -> Value {
        let value = try view.value(column.property, of: key, in: classSchema)
        switch (column.form, value) {
        case (.json, _): try bindJSON(value, of: column.property, at: position, to: statement)
        case (.link(let target), .object(let reference)):
            try bindKey(reference.key, of: target, at: position, to: statement)
        case (.link, _): statement.bindNull(position)
        case (.value, _) where column.property.type == .mixed:
            try bindMixed(value, of: column.property, at: position, to: statement)
        case (.value, _): bind(value, at: position, to: statement)
        }
        return value
    }

    /// Returns whether SQLite can represent a mixed value.
    private func isPlain(_ value: Value) -> Bool {
        switch value {
        case .null, .int, .data, .string: true
        case .double(let number): !number.isNaN
        default: false
        }
    }

    private func write(
        _ join: SQLiteLayout.Join, of key: ObjectKey, _ owner: ClassSchema,
        _ statement: SQLiteStatement
    ) throws {
        func add(_ bindPosition: (SQLiteStatement) -> Void, _ value: Value) throws {
            try bindKey(key, of: owner, at: 0, to: statement)
            bindPosition(statement)
            if case .object(let reference) = value {
                try bindKey(reference.key, of: join.target, at: 2, to: statement)
            } else {
                statement.bindNull(2)
            }
            _ = try statement.step()
        }
        switch try view.value(join.property, of: key, in: owner) {
        case .list(let elements):
            for (index, element) in elements.enumerated() {
                try add({ $0.bind(1, Int64(index + 1)) }, element)
            }
        case .dictionary(let entries):
            for (name, value) in entries { try add({ $0.bind(1, name) }, value) }
        default: break
        }
    }

    /// Binds the key of an object.
    private func bindKey(
        _ key: ObjectKey, of classSchema: ClassSchema, at position: Int,
        to statement: SQLiteStatement
    ) throws {
        if let primary = classSchema.primaryKey {
            bind(try view.value(primary, of: key, in: classSchema), at: position, to: statement)
        } else {
            statement.bind(position, key.rawValue)
        }
    }

    private func bind(_ value: Value, at position: Int, to statement: SQLiteStatement) {
        switch value {
        case .bool(let flag): statement.bind(position, flag ? 1 : Int64(0))
        case .int(let number): statement.bind(position, number)
        case .float(let number): bind(Double(number), at: position, to: statement)
        case .double(let number): bind(number, at: position, to: statement)
        case .data(let bytes): statement.bind(position, bytes)
        case .date(let moment) where dates != .text:
            bind(dates.stored(moment), at: position, to: statement)
        default:
            if let text = ValueText.text(value) {
                statement.bind(position, text)
            } else {
                statement.bindNull(position)
            }
        }
    }

    /// Binds a number; NaN becomes text, because SQLite would store it as `NULL`.
    private func bind(_ number: Double, at position: Int, to statement: SQLiteStatement) {
        if number.isNaN {
            statement.bind(position, "NaN")
        } else {
            statement.bind(position, number)
        }
    }

    private func bindMixed(
        _ value: Value, of property: Property, at position: Int, to statement: SQLiteStatement
    ) throws {
        if isPlain(value) {
            bind(value, at: position, to: statement)
        } else {
            try bindJSON(value, of: property, at: position, to: statement)
        }
    }

    private func bindJSON(
        _ value: Value, of property: Property, at position: Int, to statement: SQLiteStatement
    ) throws {
        guard value != .null else { return statement.bindNull(position) }
        var json = JSONWriter()
        try encoder.write(value, property, to: &json)
        statement.bind(position, String(decoding: json.bytes, as: UTF8.self))
    }
}
