import ObjectStore

/// Values of the types that formats know nothing of, as text and back.
enum ValueText {
    /// The text of a single value; nil for null, links and collections.
    static func text(_ value: Value) -> String? {
        switch value {
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): String(number)
        case .float(let number): number.description
        case .double(let number): number.description
        case .string(let text): text
        case .data(let bytes): Base64.encode(bytes)
        case .date(let moment): moment.description
        case .uuid(let identifier): identifier.description
        case .objectID(let identifier): identifier.description
        case .decimal(let number): number.description
        default: nil
        }
    }

    /// The value that a text stands for in a property of a type; nil if it stands for none.
    static func value(_ text: String, as type: PropertyType) -> Value? {
        switch type {
        case .string: return .string(text)
        case .bool:
            switch text.lowercased() {
            case "true", "yes", "1": return .bool(true)
            case "false", "no", "0": return .bool(false)
            default: return nil
            }
        case .int: return Int64(text).map(Value.int)
        case .float: return number(text).map { .float(Float($0)) }
        case .double: return number(text).map(Value.double)
        case .decimal: return DecimalValue(text).map(Value.decimal)
        case .data: return Base64.decode(text).map(Value.data)
        case .date: return Timestamp(text).map(Value.date)
        case .uuid: return UUIDValue(text).map(Value.uuid)
        case .objectID: return ObjectIDValue(text).map(Value.objectID)
        default: return nil
        }
    }

    /// A number as JSON, CSV and the store write it: `1e3`, `Infinity`, `nan`.
    static func number(_ text: String) -> Double? {
        switch text {
        case "Infinity", "inf", "+inf": .infinity
        case "-Infinity", "-inf": -.infinity
        case "NaN", "nan": .nan
        default: Double(text)
        }
    }
}
