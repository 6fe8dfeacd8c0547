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
                .invalidArgument, "a CSV file does not name its class; say which to import into")
        }
        let parser = CSVParser { [self] record, line in
            guard let fields else { return try readHeader(record, importer, className, line) }
            try importer.take(line: line) {
                record.fields.map { $0 ?? "" }.joined(separator: ",")
            } decode: {
                try row(record, fields, importer, line)
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
            return try table.field(name)
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
            row.values[position] = try record.field(index).map {
                try value($0, property, fields.classSchema, importer, line)
            }
        }
        return row
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
                return try importer.link(to: value, of: target, line: line)
            }
            if let value = ValueText.value(text, as: property.type) { return value }
        }
        if property.type == .object || !property.isSingle || property.type == .mixed {
            return try json(text, property, classSchema, importer, line)
        }
        throw StoreError(
            .typeMismatch,
            "'\(classSchema.name).\(property.name)' expects \(property.typeName), got \"\(text)\"")
    }

    /// What a field cannot say is JSON in it.
    private func json(
        _ text: String, _ property: Property, _ classSchema: ClassSchema, _ importer: Importer,
        _ line: Int
    ) throws -> Value {
        var value = Value.null
        let parser = JSONParser(.values) { parser in
            value = try JSONRowDecoder(importer, line: line).value(
                JSONNode(parser.tape), property, classSchema)
        }
        do {
            try parser.parse(Array(text.utf8))
            try parser.finish()
        } catch let error as FormatError {
            throw FormatError(
                "'\(classSchema.name).\(property.name)' holds JSON in CSV files; \"\(text)\" is "
                    + error.reason)
        }
        return value
    }
}
