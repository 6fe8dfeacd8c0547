import DataFormats
import ObjectStore

/// Writes the objects of one class as records of a CSV file, with a header.
///
/// A link is the primary key of its object. Collections, embedded objects and mixed values are JSON in their field.
struct CSVRows {
    private let view: StoreView
    private let classSchema: ClassSchema
    private let encoder: RowEncoder
    private var csv: CSVWriter

    init(_ view: StoreView, _ classSchema: ClassSchema, separator: Character = ",") {
        csv = CSVWriter(separator: separator)
        self.view = view
        self.classSchema = classSchema
        encoder = RowEncoder(view: view)
    }

    /// Passes the header's record, then one record at a time.
    mutating func write(
        _ keys: ResultKeys, header: ([UInt8]) throws -> Void, record take: ([UInt8]) throws -> Void
    ) throws {
        let properties = classSchema.properties.filter { !$0.isBacklinks }
        for property in properties { csv.field(property.name) }
        csv.endRecord()
        try header(csv.bytes)
        csv.removeAll()
        for key in keys {
            for property in properties {
                csv.field(try text(of: property, key))
            }
            csv.endRecord()
            try take(csv.bytes)
            csv.removeAll()
        }
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
