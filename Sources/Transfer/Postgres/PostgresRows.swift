import DataFormats
import ObjectStore

/// Writes rows for the objects of one version, with `COPY`.
struct PostgresRows {
    private let view: StoreView
    private let cells: PostgresCellWriter
    private let server: PostgresConnection

    init(_ view: StoreView, _ server: PostgresConnection) {
        self.view = view
        self.server = server
        cells = PostgresCellWriter(view)
    }

    /// Writes a row for each object into a table with the columns of its class.
    func copy(
        _ table: PostgresLayout.Table, _ keys: some Sequence<ObjectKey>, into path: String,
        count: () throws -> Void = {}
    ) throws {
        let classSchema = table.classSchema
        let names = table.columnNames
        let (columns, isNumbered) = (table.columns, table.isNumbered)
        let copy = try server.copyIn(Self.statement(path, names))
        var number = 0
        for key in keys {
            number += 1
            copy.beginRow(columns: names.count)
            do {
                if isNumbered { copy.int(key.rawValue) }
                for column in columns {
                    try cells.write(column, of: key, in: classSchema, to: copy)
                }
            } catch let error as FormatError {
                throw try fault(error, row: number, key: key, of: classSchema)
            }
            try copy.endRow()
            try count()
        }
        try copy.finish()
    }

    /// Writes a row for each element of a collection of each object.
    func copy(
        _ join: PostgresLayout.Join, _ keys: some Sequence<ObjectKey>, into path: String
    ) throws {
        let copy = try server.copyIn(Self.statement(path, join.columns))
        var number = 0
        func add(_ owner: ObjectKey, _ writePosition: () throws -> Void, _ value: Value) throws {
            copy.beginRow(columns: 3)
            try cells.key(owner, of: join.owner, to: copy)
            try writePosition()
            if case .object(let reference) = value {
                try cells.key(reference.key, of: join.target, to: copy)
            } else {
                copy.null()
            }
            try copy.endRow()
        }
        for key in keys {
            number += 1
            do {
                switch try view.value(join.property, of: key, in: join.owner) {
                case .list(let elements):
                    for (index, element) in elements.enumerated() {
                        try add(key, { copy.int(Int64(index + 1)) }, element)
                    }
                case .dictionary(let entries):
                    for (name, value) in entries {
                        try add(key, { try cells.text(name, join.property.name, to: copy) }, value)
                    }
                default: break
                }
            } catch let error as FormatError {
                throw try fault(error, row: number, key: key, of: join.owner)
            }
        }
        try copy.finish()
    }

    /// Writes the key of each object into a table with the key column of its class.
    func copyKeys(
        _ table: PostgresLayout.Table, _ keys: some Sequence<ObjectKey>, into path: String
    ) throws {
        try copyKeys(of: table.classSchema, keys, as: table.keyColumn, into: path)
    }

    /// Writes the key of each object into a table with the column `owner`.
    func copyOwners(
        _ join: PostgresLayout.Join, _ keys: some Sequence<ObjectKey>, into path: String
    ) throws {
        try copyKeys(of: join.owner, keys, as: "owner", into: path)
    }

    private func copyKeys(
        of classSchema: ClassSchema, _ keys: some Sequence<ObjectKey>, as column: String,
        into path: String
    ) throws {
        let copy = try server.copyIn(Self.statement(path, [column]))
        for key in keys {
            copy.beginRow(columns: 1)
            try cells.key(key, of: classSchema, to: copy)
            try copy.endRow()
        }
        try copy.finish()
    }

    private static func statement(_ path: String, _ columns: [String]) -> String {
        let names = columns.map(PostgresConnection.quoted).joined(separator: ", ")
        return "COPY \(path) (\(names)) FROM STDIN (FORMAT binary)"
    }

    /// Returns an error with the row: its number, and its primary key if it has one.
    private func fault(
        _ error: FormatError, row number: Int, key: ObjectKey, of classSchema: ClassSchema
    ) throws -> FormatError {
        guard error.reason.hasPrefix("'") else { return error }
        var location = RowLocation(table: classSchema.name, line: number).description
        if let primary = classSchema.primaryKey {
            let value = try view.value(primary, of: key, in: classSchema)
            location += " (\(primary.name) = \(value.summary))"
        }
        return FormatError("\(location): \(error.reason)")
    }

    /// Returns the statement that merges the rows of a stage into a table.
    static func merge(
        _ stage: String, into path: String, _ columns: [String], key: String,
        type: (String) -> String?
    ) -> String {
        let quoted = columns.map(PostgresConnection.quoted)
        let values = columns.map { name in
            let column = PostgresConnection.quoted(name)
            return type(name).map { "CAST(\(column) AS \($0))" } ?? column
        }
        let updates = columns.filter { $0 != key }.map(PostgresConnection.quoted).map {
            "\($0) = EXCLUDED.\($0)"
        }
        let action = updates.isEmpty ? "NOTHING" : "UPDATE SET \(updates.joined(separator: ", "))"
        return """
            INSERT INTO \(path) (\(quoted.joined(separator: ", "))) OVERRIDING SYSTEM VALUE \
            SELECT \(values.joined(separator: ", ")) FROM \(stage) \
            ON CONFLICT (\(PostgresConnection.quoted(key))) DO \(action)
            """
    }
}
