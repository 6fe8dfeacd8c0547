import DataFormats
import ObjectStore

/// The rows of a CSV file, whose first record names the properties.
final class CSVSource {
    private let file: FileReader
    private var fields: FieldTable?
    private var columns: [FieldTable.Field] = []

    init(_ file: FileReader) { self.file = file }

    func read(into importer: Importer) throws {
        guard let className = importer.options.className else {
            throw StoreError(
                .invalidArgument, "add --class NAME: a CSV file has no class name")
        }
        let parser = CSVParser { [self] record, line in
            guard let fields else { return try readHeader(record, importer, className, line) }
            try importer.take(RowPlace(line: line)) {
                record.fields.map { $0 ?? "" }.joined(separator: ",")
            } decode: {
                if try insert(record, fields, importer) { return .stored }
                return .values(try row(record, fields, importer, line))
            }
        }
        while true {
            let bytes = try file.read()
            if bytes.isEmpty { break }
            try parser.parse(bytes)
        }
        try parser.finish()
    }

    private func readHeader(
        _ record: CSVParser.Record, _ importer: Importer, _ className: String, _ line: Int
    ) throws {
        let table = try importer.fields(of: className)
        columns = try record.fields.enumerated().map { index, name in
            guard let name else { throw FormatError(line: line, "column \(index + 1) has no name") }
            guard record.isText(index) else { throw Self.notText(line: line, "the header") }
            do {
                return try table.field(name)
            } catch let error as StoreError {
                throw FormatError(line: line, error.message)
            }
        }
        let positions = columns.filter { $0 != .ignored }
        for (index, field) in positions.enumerated() where positions[..<index].contains(field) {
            if case .property(let position) = field {
                let name = table.classSchema.properties[position].name
                throw FormatError(line: line, "two columns are for '\(name)'")
            }
        }
        fields = table
    }

    /// Stores a record of single values at once; false, and nothing has happened, for any other.
    private func insert(
        _ record: CSVParser.Record, _ fields: FieldTable, _ importer: Importer
    ) throws -> Bool {
        guard record.count == columns.count,
            let inserter = try importer.directInserter(of: fields.classSchema)
        else { return false }
        inserter.clear()
        for (index, column) in columns.enumerated() {
            guard case .property(let position) = column, !record.isNothing(index) else { continue }
            guard set(position, record, index, fields.types[position], inserter) else {
                inserter.clear()
                return false
            }
        }
        do {
            try inserter.insert()
        } catch let error as StoreError where error.code == .duplicateKey {
            let key = columns.firstIndex {
                guard case .property(let position) = $0 else { return false }
                return fields.classSchema.properties[position].isPrimary
            }
            throw Importer.duplicate(
                key.flatMap(record.field).map {
                    record.int(key ?? 0).map(Value.int) ?? .string($0)
                },
                fields.classSchema)
        }
        return true
    }

    private func set(
        _ position: Int, _ record: CSVParser.Record, _ index: Int, _ type: PropertyType?,
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
        case .bool, .date:
            guard let type, let text = record.field(index),
                let value = ValueText.value(text, as: type)
            else { return false }
            inserter.set(position, value)
        default: return false
        }
        return true
    }

    private func row(
        _ record: CSVParser.Record, _ fields: FieldTable, _ importer: Importer, _ line: Int
    ) throws -> DecodedRow {
        guard record.count == columns.count else {
            throw FormatError(
                "the record has \(record.count) fields, the header names \(columns.count)")
        }
        var row = DecodedRow(fields.classSchema)
        for (index, column) in columns.enumerated() {
            guard case .property(let position) = column else { continue }
            let property = fields.classSchema.properties[position]
            guard record.isText(index) else {
                throw Self.notText(line: line, "column '\(property.name)'")
            }
            row.values[position] = try record.field(index).map {
                try value($0, property, fields.classSchema, importer, line)
            }
        }
        return row
    }

    private static func notText(line: Int, _ subject: String) -> FormatError {
        FormatError(
            line: line,
            "\(subject) contains bytes that are not UTF-8; convert the file first, for example with "
                + "iconv --from-code=latin1")
    }

    private func value(
        _ text: String, _ property: Property, _ classSchema: ClassSchema, _ importer: Importer,
        _ line: Int
    ) throws -> Value {
        let target = importer.store.view.schema.target(of: property)
        if property.isSingle, property.type != .mixed, target?.isEmbedded != true {
            if let target, let key = target.primaryKey,
                let value = ValueText.value(text, as: key.type)
            {
                return try importer.link(to: value, of: target, RowPlace(line: line))
            }
            if let value = ValueText.value(text, as: property.type) { return value }
        }
        if property.type == .object || !property.isSingle || property.type == .mixed {
            return try JSONField.value(
                text, property, classSchema, importer, RowPlace(line: line),
                container: "CSV files")
        }
        throw StoreError(
            .typeMismatch,
            "'\(classSchema.name).\(property.name)' expects \(property.typeName), got \"\(text)\"")
    }
}
