import ColumnStorage

/// The encoding of values as bytes, for defaults in the schema catalog.
enum ValueCoding {
    static func encode(_ value: Value, _ writer: inout ByteWriter) {
        switch value {
        case .null, .object: writer.byte(0)
        case .bool(let flag):
            writer.byte(1)
            writer.byte(flag ? 1 : 0)
        case .int(let number):
            writer.byte(2)
            writer.number(UInt64(bitPattern: number))
        case .float(let number):
            writer.byte(3)
            writer.number(UInt64(number.bitPattern))
        case .double(let number):
            writer.byte(4)
            writer.number(number.bitPattern)
        case .string(let text):
            writer.byte(5)
            writer.text(text)
        case .data(let bytes):
            writer.byte(6)
            writer.data(bytes)
        case .date(let moment):
            writer.byte(7)
            writer.number(UInt64(bitPattern: moment.microseconds))
        case .fixed(let value):
            switch value.type {
            case .uuid: writer.byte(8)
            case .objectID: writer.byte(9)
            default:
                writer.byte(13)
                writer.byte(value.type.number)
            }
            writer.data(value.bytes)
        case .decimal(let value):
            writer.byte(11)
            writer.data(value.bytes)
        case .list(let values):
            writer.byte(10)
            writer.number(UInt64(values.count))
            for element in values { encode(element, &writer) }
        case .dictionary(let entries):
            writer.byte(12)
            writer.number(UInt64(entries.count))
            for (key, value) in entries.sorted(by: { $0.key.precedesInBytes($1.key) }) {
                writer.text(key)
                encode(value, &writer)
            }
        }
    }

    /// Decodes the next value; collections cannot be nested, so damaged bytes cannot cause a deep recursion.
    static func decode(
        _ reader: inout ByteReader, isElement: Bool = false
    ) throws -> Value {
        switch try reader.byte() {
        case 0: return .null
        case 1: return .bool(try reader.byte() != 0)
        case 2: return .int(Int64(bitPattern: try reader.number()))
        case 3: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: try reader.number())))
        case 4: return .double(Double(bitPattern: try reader.number()))
        case 5: return .string(try reader.text())
        case 6: return .data(try reader.data())
        case 7: return .date(Timestamp(microseconds: Int64(bitPattern: try reader.number())))
        case 8: return try fixed(.uuid, &reader)
        case 9: return try fixed(.objectID, &reader)
        case 10 where !isElement:
            return .list(
                try (0..<(try reader.count())).map { _ in try decode(&reader, isElement: true) })
        case 11: return .decimal(try DecimalValue(bytes: reader.data()).orThrow(reader.damaged))
        case 12 where !isElement:
            var entries: ValueMap = [:]
            for _ in 0..<(try reader.count()) {
                let key = try reader.text()
                entries[key] = try decode(&reader, isElement: true)
            }
            return .dictionary(entries)
        case 13:
            return try fixed(FixedType(number: reader.byte()).orThrow(reader.damaged), &reader)
        default: throw reader.damaged
        }
    }

    private static func fixed(_ type: FixedType, _ reader: inout ByteReader) throws -> Value {
        .fixed(try FixedValue(type, bytes: reader.data()).orThrow(reader.damaged))
    }
}
