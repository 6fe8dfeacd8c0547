import DataFormats
import ObjectStore

/// A database that receives an export: the calls that create its tables and write their rows.
package protocol RelationalTarget: AnyObject {
    var dialect: any RelationalDialect { get }
    /// The maximum number of columns of a table.
    var columnLimit: Int { get }
    /// Creates the tables.
    ///
    /// `description` describes the classes for a later import; nil for a part of a store, which has no description.
    func begin(_ layout: RelationalLayout, description: String?) throws
    /// Begins to write rows with these columns into a table.
    func writer(_ path: String, _ columns: [String]) throws -> any RelationalRowWriter
    /// Writes the objects of one class; calls `count` with 1 for each object, and with 0 for each element of a
    /// collection with its own table.
    func write(
        _ keys: ResultKeys, of table: RelationalLayout.Table, with rows: RelationalRows,
        count: (_ objects: Int) throws -> Void
    ) throws
    /// Creates the indexes and commits.
    func finish() throws
}

extension RelationalTarget {
    /// Writes the objects of classes, for which `keys` returns the keys; the database is unchanged until the end.
    ///
    /// `isWhole` means that all objects are exported, including all linked objects.
    package func export(
        _ classes: [ClassSchema], of view: StoreView, isWhole: Bool,
        keys: (ClassSchema) throws -> ResultKeys?,
        count: (_ objects: Int) throws -> Void = { _ in }
    ) throws {
        let layout = try RelationalLayout(
            classes, view.schema.classes, isWhole: isWhole, in: dialect)
        for table in layout.tables where table.columnNames.count > columnLimit {
            throw StoreError(
                .invalidArgument,
                "'\(table.classSchema.name)' needs \(table.columnNames.count) columns, but a table of "
                    + "\(dialect.name) has at most \(columnLimit); export it as jsonl, or name some of its "
                    + "properties in the option 'columns'")
        }
        let description = isWhole ? try RelationalDescription.text(of: view) : nil
        try begin(layout, description: description)
        let rows = RelationalRows(view, dialect)
        for table in layout.ordered {
            guard let keys = try keys(table.classSchema) else { continue }
            try write(keys, of: table, with: rows, count: count)
        }
        try finish()
    }

    package func write(
        _ keys: ResultKeys, of table: RelationalLayout.Table, with rows: RelationalRows,
        count: (_ objects: Int) throws -> Void
    ) throws {
        try rows.write(table, keys, to: writer(dialect.path(table.name), table.columnNames), count)
        for join in table.joins {
            try rows.write(join, keys, to: writer(dialect.path(join.name), join.columnNames), count)
        }
    }
}

/// Writes the rows of one table.
package protocol RelationalRowWriter: AnyObject {
    func beginRow()
    /// Writes a single value, or a list into an array; the property is nil for the number of an object.
    ///
    /// Throws a `FormatError` for a value that the database cannot represent.
    func write(_ value: Value, _ property: Property?) throws
    func json(_ text: [UInt8], _ property: Property) throws
    func endRow() throws
    func finish() throws
}

/// Writes rows for the objects of one version.
package struct RelationalRows {
    private let view: StoreView
    private let encoder: RowEncoder

    package init(_ view: StoreView, _ dialect: any RelationalDialect) {
        self.view = view
        encoder = RowEncoder(view: view, normalizesNumbers: dialect.normalizesJSON)
    }

    /// Writes a row for each object into a table with the columns of its class.
    package func write(
        _ table: RelationalLayout.Table, _ keys: some Sequence<ObjectKey>,
        to writer: any RelationalRowWriter, _ count: (_ objects: Int) throws -> Void = { _ in }
    ) throws {
        let (classSchema, columns) = (table.classSchema, table.columns)
        let isNumbered = table.isNumbered
        var types: [(Value, Property)] = []
        try each(keys, of: classSchema) { key in
            writer.beginRow()
            if isNumbered { try writer.write(.int(key.rawValue), nil) }
            types.removeAll(keepingCapacity: true)
            for column in columns {
                let value = try view.value(column.property, of: key, in: classSchema)
                let isJSON = column.typeColumn != nil && !Self.isPlain(value)
                if isJSON {
                    try json(value, column.property, to: writer)
                } else {
                    try write(value, column, to: writer)
                }
                if column.typeColumn != nil {
                    types.append((isJSON ? .string(value.typeName) : .null, column.property))
                }
            }
            for (type, property) in types { try writer.write(type, property) }
            try writer.endRow()
            try count(1)
        }
        try writer.finish()
    }

    private func write(
        _ value: Value, _ column: RelationalLayout.Column, to writer: any RelationalRowWriter
    ) throws {
        switch (column.form, value) {
        case (.value, _), (.array, _), (_, .null): try writer.write(value, column.property)
        case (.link(let target), .object(let reference)):
            try link(reference, to: target, column.property, to: writer)
        case (.link, _): try writer.write(.null, column.property)
        case (.json, _): try json(value, column.property, to: writer)
        }
    }

    /// Writes a row for each element of a collection of each object.
    package func write(
        _ join: RelationalLayout.Join, _ keys: some Sequence<ObjectKey>,
        to writer: any RelationalRowWriter, _ count: (_ objects: Int) throws -> Void = { _ in }
    ) throws {
        func add(_ owner: ObjectKey, _ position: Value, _ value: Value) throws {
            writer.beginRow()
            try key(owner, of: join.owner, to: writer)
            try writer.write(position, join.property)
            if case .object(let reference) = value {
                try link(reference, to: join.target, join.property, to: writer)
            } else {
                try writer.write(.null, nil)
            }
            try writer.endRow()
            try count(0)
        }
        try each(keys, of: join.owner) { key in
            switch try view.value(join.property, of: key, in: join.owner) {
            case .list(let elements):
                for (index, element) in elements.enumerated() {
                    try add(key, .int(Int64(index + 1)), element)
                }
            case .dictionary(let entries):
                // In order, so that equal stores have equal exports.
                for (name, value) in entries.sorted(by: { $0.key < $1.key }) {
                    try add(key, .string(name), value)
                }
            default: break
            }
        }
        try writer.finish()
    }

    /// Writes the key of each object into a table with only that column.
    package func writeKeys(
        _ keys: some Sequence<ObjectKey>, of classSchema: ClassSchema,
        to writer: any RelationalRowWriter
    ) throws {
        for key in keys {
            writer.beginRow()
            try self.key(key, of: classSchema, to: writer)
            try writer.endRow()
        }
        try writer.finish()
    }

    /// Writes the key of a linked object; throws if it is nil, which means no link in a foreign key.
    private func link(
        _ reference: ObjectReference, to target: ClassSchema, _ property: Property,
        to writer: any RelationalRowWriter
    ) throws {
        guard try key(reference.key, of: target, to: writer) != .null else {
            throw FormatError(
                "'\(property.name)' links to the \(target.name) whose primary key is nil, which a database cannot store"
            )
        }
    }

    /// Writes and returns the key of an object, which is its primary key or its number.
    @discardableResult  // because: only links need it
    private func key(
        _ key: ObjectKey, of classSchema: ClassSchema, to writer: any RelationalRowWriter
    ) throws -> Value {
        let primary = classSchema.primaryKey
        let value =
            try primary.map { try view.value($0, of: key, in: classSchema) } ?? .int(key.rawValue)
        try writer.write(value, primary)
        return value
    }

    private func json(
        _ value: Value, _ property: Property, to writer: any RelationalRowWriter
    ) throws {
        var json = JSONWriter()
        try encoder.write(value, property, to: &json)
        try writer.json(json.bytes, property)
    }

    /// Returns whether a column can hold a mixed value in its own type.
    private static func isPlain(_ value: Value) -> Bool {
        switch value {
        case .null, .int, .data, .string: true
        case .double(let number): !number.isNaN
        default: false
        }
    }

    /// Calls a function with each object; the error of a value gets the row: its number, and its primary key if it has
    /// one.
    private func each(
        _ keys: some Sequence<ObjectKey>, of classSchema: ClassSchema,
        _ body: (ObjectKey) throws -> Void
    ) throws {
        var number = 0
        for key in keys {
            number += 1
            do {
                try body(key)
            } catch let error as FormatError where error.reason.hasPrefix("'") {
                var location = RowLocation(table: classSchema.name, line: number).description
                if let primary = classSchema.primaryKey {
                    let value = try view.value(primary, of: key, in: classSchema)
                    location += " (\(primary.name) = \(value.summary))"
                }
                throw FormatError("\(location): \(error.reason)")
            }
        }
    }
}
