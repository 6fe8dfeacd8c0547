import DataFormats
import ObjectStore

/// The rows of a CSV file, whose columns are named by its header.
final class CSVSource {
    private let file: FileReader
    /// Notes about decisions that the options do not determine.
    private(set) var notes: [String] = []
    private var columns: [FieldTable.Field] = []

    init(_ file: FileReader) { self.file = file }

    func read(into importer: Importer) throws {
        guard let className = importer.useGivenClass() else {
            throw StoreError(.invalidArgument, "add --class NAME: a CSV file has no class name")
        }
        let table = try CSVReader(file, importer.options.csv)
        notes = table.notes
        importer.setRejectForm { _ in .csv(table.header) }
        let fields = try importer.fields(of: className)
        columns = try readHeader(table, fields, importer)
        while try table.next() {
            try importer.take(RowLocation(line: table.line)) {
                table.record
            } decode: {
                if table.fault == nil, try insert(table, fields, importer) { return .stored }
                try table.check()
                return .values(try row(table, fields, importer))
            }
        }
    }

    private func readHeader(
        _ table: CSVReader, _ fields: FieldTable, _ importer: Importer
    ) throws -> [FieldTable.Field] {
        let line = table.line
        for name in table.names { importer.recordField(name) }
        try importer.checkFields(among: table.names)
        do {
            var columns = ColumnNames()
            let names = try columns.properties(of: table.names.map { ($0, nil) }) {
                importer.options.names[$0]
            }
            let known = Set(table.names).union(names.compactMap(\.self))
            let given = Set(importer.options.types.keys).union(importer.options.links.keys)
            if let unknown = given.subtracting(known).min() {
                throw StoreError(
                    .invalidArgument,
                    "a type or link is specified for '\(unknown)', which is not in the file"
                        + NearestName.hint(for: unknown, among: table.names))
            }
            return try zip(table.names, names).enumerated().map { index, column in
                do {
                    return try column.1.map { try fields.property($0, for: column.0) } ?? .ignored
                } catch let error as StoreError {
                    throw FormatError(line: line, column: index + 1, error.message)
                }
            }
        } catch var error as FormatError {
            if error.line == nil { error.line = line }
            throw error
        }
    }

    // MARK: Fast path

    /// Stores a record that contains only single values.
    ///
    /// Returns false, without storing it, for any other record.
    private func insert(
        _ table: CSVReader, _ fields: FieldTable, _ importer: Importer
    ) throws -> Bool {
        guard table.count == columns.count,
            let inserter = try importer.directInserter(of: fields.classSchema)
        else { return false }
        inserter.clear()
        for (index, column) in columns.enumerated() {
            guard case .property(let position) = column else { continue }
            let isStored =
                table.isNil(index)
                ? fields.isNilWhenUnset(position)
                : set(field: position, table, index: index, type: fields.types[position], inserter)
            guard isStored else {
                inserter.clear()
                return false
            }
        }
        do {
            try inserter.insert()
        } catch let error as StoreError where error.code == .duplicateKey {
            throw importer.duplicate(
                try? row(table, fields, importer).primaryKey, fields.classSchema)
        }
        return true
    }

    private func set(
        field position: Int, _ record: CSVReader, index: Int, type: PropertyType?,
        _ inserter: ObjectInserter
    ) -> Bool {
        switch type {
        case .string: return record.withField(index) { inserter.set(position, utf8: $0) }
        case .int:
            guard let number = record.int(index) else { return false }
            inserter.set(position, int: number)
        case .double:
            guard let number = record.double(index) else { return false }
            inserter.set(position, double: number)
        case .bool, .date, .decimal:
            guard let type,
                let value = record.withUTF8(index, { ValueText.plain($0, as: type) })
                    ?? (try? record.text(index)).flatMap({ ValueText.value($0, as: type) })
            else { return false }
            inserter.set(position, value)
        default: return false
        }
        return true
    }

    // MARK: In general

    private func row(
        _ table: CSVReader, _ fields: FieldTable, _ importer: Importer
    ) throws -> DecodedRow {
        var row = DecodedRow(fields.classSchema)
        for (index, column) in columns.enumerated() {
            guard case .property(let position) = column else { continue }
            let property = fields.classSchema.properties[position]
            do {
                if let text = try table.text(index) {
                    row.values[position] = try value(
                        text, of: property, in: fields.classSchema, importer: importer,
                        line: table.line)
                } else if !importer.options.keepsEmpty {
                    row.values[position] = nilValue(property, importer)
                }
            } catch let error where error is FormatError || error is StoreError {
                throw ValueFault(location: .field(index + 1), underlying: error)
            }
        }
        return row
    }

    /// Returns the value of an empty field; nil if the property gets its default.
    private func nilValue(_ property: Property, _ importer: Importer) -> Value? {
        guard property.isSingle else {
            guard importer.options.isUpsert else { return nil }
            return property.isMap ? .dictionary([:]) : .list([])
        }
        let holdsNil = property.isOptional || property.type == .object || property.type == .mixed
        return holdsNil || importer.options.isUpsert ? .null : nil
    }

    private func value(
        _ text: String, of property: Property, in classSchema: ClassSchema, importer: Importer,
        line: Int
    ) throws -> Value {
        let target = importer.store.view.schema.target(of: property)
        if property.isSingle, property.type != .mixed, target?.isEmbedded != true {
            if let target, let key = target.primaryKey,
                let value = ValueText.value(text, as: key.type)
            {
                return try importer.link(to: value, of: target, RowLocation(line: line))
            }
            if let value = importer.value(text, as: property.type) { return value }
        }
        if property.type == .object || !property.isSingle || property.type == .mixed {
            return try JSONField.value(
                text, of: property, in: classSchema, importer: importer,
                at: RowLocation(line: line),
                container: "CSV files")
        }
        throw importer.mismatch(property, classSchema, got: "\"\(text)\"", text)
    }
}

/// Writes the objects of one class as records of a CSV file, with a header.
///
/// A link is written as the primary key of its object. Collections, embedded objects and mixed values are JSON in a
/// field.
struct CSVRows {
    private let view: StoreView
    private let classSchema: ClassSchema
    private let reader: PlainReader
    private let separator: Character

    init(_ view: StoreView, _ classSchema: ClassSchema, separator: Character = ",") throws {
        self.separator = separator
        self.view = view
        self.classSchema = classSchema
        reader = try PlainReader(view, classSchema)
        guard !reader.columns.isEmpty else {
            throw StoreError(
                .invalidArgument,
                "'\(classSchema.name)' has no properties for the columns of a CSV file; export it to JSON Lines, JSON, "
                    + "SQLite or Lua source")
        }
    }

    /// Passes the record of the header, and then one record at a time.
    func write(
        _ keys: ResultKeys, header: ([UInt8]) throws -> Void, record take: ([UInt8]) throws -> Void
    ) throws {
        var csv = CSVWriter(separator: separator)
        for column in reader.columns { csv.field(classSchema.properties[column.position].name) }
        csv.endRecord()
        try header(csv.bytes)
        csv.removeAll()
        for key in keys {
            for column in reader.columns {
                try reader.write(column, key, to: &csv) { $2.field(try text(of: $0, $1)) }
            }
            csv.endRecord()
            try take(csv.bytes)
            csv.removeAll()
        }
    }

    private func text(of value: Value, _ property: Property) throws -> String? {
        if value == .null { return nil }
        if property.isSingle, property.type != .mixed {
            guard case .object(let reference) = value else { return ValueText.text(value) }
            if let target = view.schema.find(table: reference.table), !target.isEmbedded,
                let primary = target.primaryKey
            {
                let key = try view.value(primary, of: reference.key, in: target)
                if key != .null { return ValueText.text(key) }
            }
        }
        var json = JSONWriter()
        try RowEncoder(view: view).write(value, property, to: &json)
        return json.text
    }
}
