import DataFormats
import ObjectStore

/// Writes values of objects as fields of PostgreSQL rows.
struct PostgresCellWriter {
    let view: StoreView
    let encoder: RowEncoder

    init(_ view: StoreView) {
        self.view = view
        encoder = RowEncoder(view: view, normalizesNumbers: true)
    }

    /// Writes the value of a column.
    ///
    /// Throws a `FormatError` for a value that PostgreSQL cannot represent.
    func write(
        _ column: PostgresLayout.Column, of key: ObjectKey, in classSchema: ClassSchema,
        to copy: PostgresCopyWriter
    ) throws {
        let property = column.property
        let value = try view.value(property, of: key, in: classSchema)
        switch column.form {
        case .value: try single(value, property, to: copy)
        case .link(let target):
            guard case .object(let reference) = value else { return copy.null() }
            try self.key(reference.key, of: target, to: copy)
        case .array:
            guard case .list(let elements) = value else { return copy.null() }
            try copy.array(
                of: column.type.identifier, count: elements.count,
                hasNull: elements.contains(.null)
            ) { try single(elements[$0], property, to: copy) }
        case .json: try json(value, property, to: copy)
        }
    }

    /// Writes the key of an object, which is its primary key or its number.
    func key(_ key: ObjectKey, of classSchema: ClassSchema, to copy: PostgresCopyWriter) throws {
        guard let primary = classSchema.primaryKey else { return copy.int(key.rawValue) }
        try single(view.value(primary, of: key, in: classSchema), primary, to: copy)
    }

    private func single(
        _ value: Value, _ property: Property, to copy: PostgresCopyWriter
    ) throws {
        switch value {
        case .bool(let flag): copy.bool(flag)
        case .int(let number): copy.int(number)
        case .float(let number): copy.float(number)
        case .double(let number): copy.double(number)
        case .string(let text): try self.text(text, property.name, to: copy)
        case .data(let bytes): copy.bytes(bytes)
        case .date(let moment):
            guard let number = PostgresMoment.stored(moment) else {
                throw FormatError(
                    "'\(property.name)' is \(moment), which PostgreSQL cannot store: its dates range "
                        + "from 4713 BC to 294276 AD")
            }
            copy.int(number)
        case .uuid(let identifier): copy.bytes(identifier.bytes)
        case .objectID(let identifier): copy.text(identifier.description)
        case .decimal(let number):
            guard let numeric = PostgresNumeric(number.description) else {
                throw FormatError(
                    "'\(property.name)' is \(number), which is beyond the range of PostgreSQL's numeric"
                )
            }
            copy.numeric(numeric)
        default: copy.null()
        }
    }

    /// Writes a text.
    func text(_ text: String, _ name: String, to copy: PostgresCopyWriter) throws {
        guard !text.utf8.contains(0) else { throw Self.zeroByte(name) }
        copy.text(text)
    }

    private func json(_ value: Value, _ property: Property, to copy: PostgresCopyWriter) throws {
        guard value != .null else { return copy.null() }
        var json = JSONWriter()
        try encoder.write(value, property, to: &json)
        guard !Self.containsZero(json.bytes) else { throw Self.zeroByte(property.name) }
        copy.json(json.bytes)
    }

    private static func zeroByte(_ name: String) -> FormatError {
        FormatError(
            "'\(name)' contains a zero byte, which PostgreSQL cannot store in text; remove it, or "
                + "make the property data")
    }

    /// Returns whether a JSON text contains the escape sequence of a zero byte.
    static func containsZero(_ json: [UInt8]) -> Bool {
        var isEscaped = false
        for (index, byte) in json.enumerated() {
            if isEscaped {
                isEscaped = false
                if byte == UInt8(ascii: "u"),
                    json.dropFirst(index + 1).prefix(4).allSatisfy({ $0 == 0x30 })
                {
                    return true
                }
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            }
        }
        return false
    }
}
