/// Converts values to another type without loss.
///
/// A conversion is exact if converting back gives the same value; text converts to a number, a date or a Boolean value
/// only if writing the result gives the same text. Migrations convert values this way automatically, and the linter
/// reports the values that do not convert.
enum ExactConversion {
    /// Returns the value converted to the type of a property; nil if the conversion is not exact.
    static func convert(_ value: Value, to property: Property) -> Value? {
        switch (property.collection, value) {
        case (nil, .list(let elements)) where property.type != .mixed:
            // A list converts to a single value only if it has at most one element.
            guard elements.count <= 1 else { return nil }
            return single(elements.first ?? .null, property)
        case (nil, _): return single(value, property)
        case (.map?, .dictionary(let entries)):
            var result: ValueMap = [:]
            for (key, element) in entries {
                guard let converted = single(element, property) else { return nil }
                result[key] = converted
            }
            return .dictionary(result)
        case (.map?, _): return nil
        case (let collection?, .list(let elements)):
            let converted = elements.compactMap { single($0, property) }
            guard converted.count == elements.count,
                collection == .list || Set(converted).count == converted.count
            else { return nil }
            return .list(converted)
        case (_?, .null): return .list([])
        case (_?, .dictionary): return nil
        case (_?, _): return single(value, property).map { .list([$0]) }
        }
    }

    /// Returns the value converted for a property of a schema; nil also for embedded objects, to which no mixed value links.
    static func convert(_ value: Value, to property: Property, in schema: Schema) -> Value? {
        let isEmbedded = { schema.find(table: $0)?.isEmbedded == true }
        return property.type == .mixed && value.hasLink(to: isEmbedded)
            ? nil : convert(value, to: property)
    }

    private static func single(_ value: Value, _ property: Property) -> Value? {
        if value == .null {
            if property.isOptional { return .null }
            return property.defaultValue
        }
        switch property.type {
        case .mixed: return value
        case .bool: return bool(value)
        case .int: return int(value).map(Value.int)
        case .float:
            let exact = double(value).flatMap { number -> Value? in
                Double(Float(number)) == number || number.isNaN ? .float(Float(number)) : nil
            }
            return exact ?? parsed(value, .float) { Float($0).map(Value.float) }
        case .double: return double(value).map(Value.double)
        case .string: return text(value).map(Value.string)
        case .data: return data(value)
        case .decimal: return decimal(value).map(Value.decimal)
        case .date: return parsed(value, property.type) { Timestamp($0).map(Value.date) }
        case .fixed(let type):
            return parsed(value, property.type) { type.traits.parse($0).map(Value.fixed) }
        default: return nil
        }
    }

    /// Returns a value of the type itself, or parses a text; nil if writing the parsed value does not give the same text
    /// again.
    private static func parsed(
        _ value: Value, _ type: PropertyType, _ parse: (String) -> Value?
    ) -> Value? {
        if value.type == type { return value }
        guard case .string(let written) = value, let result = parse(written),
            text(result) == written
        else { return nil }
        return result
    }

    private static func bool(_ value: Value) -> Value? {
        switch value {
        case .bool: value
        case .int(0): .bool(false)
        case .int(1): .bool(true)
        case .string("true"): .bool(true)
        case .string("false"): .bool(false)
        default: nil
        }
    }

    private static func int(_ value: Value) -> Int64? {
        switch value {
        case .int(let number): return number
        case .bool(let flag): return flag ? 1 : 0
        case .float(let number):
            return isNegativeZero(Double(number)) ? nil : Int64(exactly: number)
        case .double(let number): return isNegativeZero(number) ? nil : Int64(exactly: number)
        case .decimal(let number):
            guard let whole = number.exactInt, DecimalValue(whole).description == number.description
            else { return nil }
            return whole
        case .string(let written):
            guard let number = Int64(written), String(number) == written else { return nil }
            return number
        default: return nil
        }
    }

    private static func isNegativeZero(_ number: Double) -> Bool {
        number == 0 && number.sign == .minus
    }

    private static func double(_ value: Value) -> Double? {
        switch value {
        case .double(let number): return number
        case .float(let number): return Double(number)
        case .int(let number):
            return Int64(exactly: Double(number)) == number ? Double(number) : nil
        case .decimal(let number):
            return DecimalValue(number.double).description == number.description
                ? number.double : nil
        case .string(let written):
            guard let number = Double(written), text(.double(number)) == written else { return nil }
            return number
        default: return nil
        }
    }

    private static func decimal(_ value: Value) -> DecimalValue? {
        switch value {
        case .decimal(let number): return number
        case .int(let number): return DecimalValue(number)
        case .float(let number): return decimal(.double(Double(number)))
        case .double(let number):
            let converted = DecimalValue(number)
            return converted.double == number ? converted : nil
        case .string(let written):
            guard let number = DecimalValue(written), number.description == written else {
                return nil
            }
            return number
        default: return nil
        }
    }

    private static func data(_ value: Value) -> Value? {
        switch value {
        case .data: value
        case .string(let text): .data(Array(text.utf8))
        default: nil
        }
    }

    private static func text(_ value: Value) -> String? {
        if case .data(let bytes) = value { return String(validating: bytes, as: UTF8.self) }
        return value.text
    }
}
