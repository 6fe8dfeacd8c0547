import DataFormats
import ObjectStore

/// Converts values to text and back, for formats that do not have their types.
package enum ValueText {
    /// Returns the text of a single value; nil for null, links and collections.
    package static func text(_ value: Value) -> String? {
        if case .data(let bytes) = value { Base64.encode(bytes) } else { value.text }
    }

    /// Parses the usual text of a bool, a date or a decimal without creating a string.
    ///
    /// Returns nil for any other text, which ``value(_:as:)`` can accept.
    static func plain(_ text: Span<UInt8>, as type: PropertyType) -> Value? {
        switch type {
        case .bool:
            if equals(text, trueText) { return .bool(true) }
            return equals(text, falseText) ? .bool(false) : nil
        case .date: return Timestamp(canonical: text).map(Value.date)
        case .decimal: return DecimalValue(plain: text).map(Value.decimal)
        default: return nil
        }
    }

    static let trueText = Array("true".utf8)
    static let falseText = Array("false".utf8)

    /// Returns whether two texts have the same bytes.
    static func equals(_ text: Span<UInt8>, _ other: [UInt8]) -> Bool {
        guard text.count == other.count else { return false }
        for index in other.indices where text[index] != other[index] { return false }
        return true
    }

    /// Parses a text as a value of a type.
    ///
    /// Returns nil if the text is invalid, or if the type cannot represent it exactly.
    package static func value(_ text: String, as type: PropertyType) -> Value? {
        switch type {
        case .string: return .string(text)
        case .bool:
            switch text.lowercased() {
            case "true", "yes", "1": return .bool(true)
            case "false", "no", "0": return .bool(false)
            default: return nil
            }
        case .int: return NumberText.exactInt(text).map(Value.int)
        case .float:
            return (NumberText.exactFloat(text) ?? special(text).map { Float($0) })
                .map(Value.float)
        case .double: return (NumberText.exactDouble(text) ?? special(text)).map(Value.double)
        case .decimal: return decimal(text).map(Value.decimal)
        case .data: return Base64.decode(text).map(Value.data)
        case .date:
            guard let moment = PreciseTimestamp(text), moment.isExact else { return nil }
            return .date(moment.floor)
        case .fixed(let type): return type.traits.parse(text).map(Value.fixed)
        default: return nil
        }
    }

    /// Returns the nearest value of a type to a text with more digits than the type has; nil for other texts.
    static func rounded(_ text: String, as type: PropertyType) -> Value? {
        switch type {
        case .float:
            guard NumberText.isNumber(text), let number = Float(text) else { return nil }
            return number.isFinite ? .float(number) : nil
        case .double:
            guard NumberText.isNumber(text), let number = Double(text) else { return nil }
            return number.isFinite ? .double(number) : nil
        case .decimal:
            guard NumberText.isNumber(text), let number = DecimalValue(text) else { return nil }
            return number.isFinite ? .decimal(number) : nil
        case .date:
            guard let moment = PreciseTimestamp(text) else { return nil }
            let isUp = moment.digitsBelow.first.map { $0 >= "5" } ?? false
            let (microseconds, overflow) = moment.floor.microseconds
                .addingReportingOverflow(isUp ? 1 : 0)
            return overflow ? nil : .date(Timestamp(microseconds: microseconds))
        default: return nil
        }
    }

    /// Returns the number that JSON digits represent: a double or a decimal, whichever has exactly this value; nil if
    /// neither does.
    package static func number(_ text: String) -> Value? {
        if let number = NumberText.exactDouble(text) ?? special(text) { return .double(number) }
        return decimal(text).map(Value.decimal)
    }

    private static func decimal(_ text: String) -> DecimalValue? {
        if let number = DecimalValue(plain: text.utf8.span) { return number }
        guard let number = DecimalValue(text) else { return nil }
        guard number.isFinite else { return number }
        return NumberText.isSameNumber(text, number.description) ? number : nil
    }

    /// Parses values without digits, in the notations of the store and of JSON.
    private static func special(_ text: String) -> Double? {
        switch text {
        case "Infinity", "inf", "+inf": .infinity
        case "-Infinity", "-inf": -.infinity
        case "NaN", "nan": .nan
        default: nil
        }
    }
}

/// Encodes bytes as text for formats without binary values (RFC 4648).
package enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Returns the text of bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for byte in group { bits = bits << 8 | UInt32(byte) }
            bits <<= 8 * UInt32(3 - group.count)
            for position in 0..<4 {
                text.append(
                    position > group.count
                        ? 0x3D : alphabet[Int(bits >> (18 - 6 * UInt32(position)) & 63)])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes a text.
    ///
    /// Returns nil if the text is not Base64. Whitespace is skipped.
    package static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        var padding = 0
        for character in text.utf8 where character > 0x20 {
            if character == 0x3D {
                padding += 1
                continue
            }
            guard padding == 0, let value = alphabet.firstIndex(of: character) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 1
            if count % 4 == 0 {
                bytes += [UInt8(bits >> 16 & 255), UInt8(bits >> 8 & 255), UInt8(bits & 255)]
                bits = 0
            }
        }
        switch (count % 4, padding) {
        case (0, 0): break
        case (2, 0), (2, 2): bytes.append(UInt8(bits >> 4 & 255))
        case (3, 0), (3, 1): bytes += [UInt8(bits >> 10 & 255), UInt8(bits >> 2 & 255)]
        default: return nil
        }
        return bytes
    }
}
