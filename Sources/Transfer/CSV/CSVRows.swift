import DataFormats
import ObjectStore

/// Writes the objects of one class as records of a CSV file, with a header.
///
/// A link is written as the primary key of its object. Collections, embedded objects and mixed values are JSON in a
/// field.
struct CSVRows {
    private struct Column {
        let position: Int
        /// The type, if the value can be read without creating a `Value`; nil for other values.
        let plain: PropertyType?
    }

    private let view: StoreView
    private let classSchema: ClassSchema
    private let columns: [Column]
    private let reader: ObjectReader
    private let encoder: RowEncoder
    private let separator: Character

    init(_ view: StoreView, _ classSchema: ClassSchema, separator: Character = ",") throws {
        self.separator = separator
        self.view = view
        self.classSchema = classSchema
        let plain: Set<PropertyType> = [.int, .double, .bool, .string, .date, .decimal]
        columns = classSchema.properties.enumerated().compactMap { position, property in
            if property.isBacklinks { return nil }
            let isPlain = property.isSingle && plain.contains(property.type)
            return Column(position: position, plain: isPlain ? property.type : nil)
        }
        reader = try ObjectReader(view, classSchema)
        encoder = RowEncoder(view: view)
    }

    /// Passes the record of the header, and then one record at a time.
    func write(
        _ keys: ResultKeys, header: ([UInt8]) throws -> Void, record take: ([UInt8]) throws -> Void
    ) throws {
        var csv = CSVWriter(separator: separator)
        for column in columns { csv.field(classSchema.properties[column.position].name) }
        csv.endRecord()
        try header(csv.bytes)
        csv.removeAll()
        for key in keys {
            for column in columns where try !write(column, key, to: &csv) {
                csv.field(try text(of: classSchema.properties[column.position], key))
            }
            csv.endRecord()
            try take(csv.bytes)
            csv.removeAll()
        }
    }

    /// Writes a plain value; returns false for nil and for other values.
    private func write(_ column: Column, _ key: ObjectKey, to csv: inout CSVWriter) throws -> Bool {
        switch column.plain {
        case .int:
            guard let number = try reader.int(column.position, key) else { return false }
            csv.field(plain: { $0.append(contentsOf: number.description.utf8) })
        case .double:
            guard let number = try reader.double(column.position, key) else { return false }
            csv.field(plain: { $0.append(contentsOf: number.description.utf8) })
        case .bool:
            guard let flag = try reader.bool(column.position, key) else { return false }
            csv.field(plain: { $0.append(contentsOf: (flag ? "true" : "false").utf8) })
        case .date:
            guard let moment = try reader.date(column.position, key) else { return false }
            csv.field(plain: moment.append(to:))
        case .decimal:
            guard let number = try reader.decimal(column.position, key) else { return false }
            csv.field(plain: number.append(to:))
        case .string:
            let wasText: Void? = try reader.withText(column.position, key) { csv.field(utf8: $0) }
            return wasText != nil
        default: return false
        }
        return true
    }

    private func text(of property: Property, _ key: ObjectKey) throws -> String? {
        let value = try view.value(property, of: key, in: classSchema)
        if value == .null { return nil }
        if property.isSingle, property.type != .mixed {
            guard case .object(let reference) = value else { return ValueText.text(value) }
            if let target = view.schema.find(table: reference.table), !target.isEmbedded,
                let primary = target.primaryKey
            {
                return ValueText.text(try view.value(primary, of: reference.key, in: target))
            }
        }
        var json = JSONWriter()
        try encoder.write(value, property, to: &json)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
