import DataFormats
import ObjectStore

/// Formats values as Lua source that creates them.
package enum LuaLiteral {
    /// Returns whether a text is a Lua name: ASCII letters, digits and `_`, and not a keyword.
    package static func isName(_ text: String) -> Bool { LuaWords.isName(text) }

    /// Returns a key of a table constructor: `name`, or `["a name"]`.
    package static func key(_ text: String) -> String { isName(text) ? text : "[\(string(text))]" }

    /// Returns the access to a field of a table: `.name`, or `["a name"]`.
    package static func field(_ text: String) -> String {
        isName(text) ? "." + text : "[\(string(text))]"
    }

    /// Returns a quoted string.
    package static func string(_ text: String) -> String { string(Array(text.utf8), isText: true) }

    /// Returns a quoted string of any bytes.
    static func string(_ bytes: [UInt8], isText: Bool = false) -> String {
        var quoted: [UInt8] = [0x22]
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case 0x22, 0x5C: quoted += [0x5C, byte]
            case 0x0A: quoted += Array("\\n".utf8)
            case 0x20..<0x7F: quoted.append(byte)
            case 0x80... where isText: quoted.append(byte)
            default:
                // A digit after the escape sequence would be read as a part of it.
                let next = index + 1 < bytes.count ? bytes[index + 1] : 0
                let digits = String(byte)
                let zeros = (0x30...0x39).contains(next) ? 3 - digits.utf8.count : 0
                quoted += Array(("\\" + String(repeating: "0", count: zeros) + digits).utf8)
            }
        }
        return String(decoding: quoted + [0x22], as: UTF8.self)
    }

    /// Returns a value of a store as Lua source.
    ///
    /// Links have no literal and become `nil`. Dates and similar values become calls of functions of `moonpool`.
    package static func value(_ value: Value) -> String {
        switch value {
        case .null, .object: "nil"
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): number == .min ? "math.mininteger" : "\(number)"
        case .float(let number): double(Double(number))
        case .double(let number): double(number)
        case .string(let text): string(text)
        case .data(let bytes): "moonpool.data(\(string(bytes)))"
        case .date(let moment): "moonpool.date(\(string(moment.description)))"
        case .fixed(let value): "moonpool.\(value.type.traits.name)(\(string(value.description)))"
        case .decimal(let number): "moonpool.decimal(\(string(number.description)))"
        case .list(let values):
            values.isEmpty
                ? "{}"
                : "{ \(values.map { $0 == .null ? "moonpool.null" : self.value($0) }.joined(separator: ", ")) }"
        case .dictionary(let entries):
            entries.isEmpty
                ? "{}"
                : "{ "
                    + entries.sorted { $0.key < $1.key }.map {
                        "\(key($0.key)) = \($0.value == .null ? "moonpool.null" : self.value($0.value))"
                    }.joined(separator: ", ") + " }"
        }
    }

    private static func double(_ number: Double) -> String {
        if number.isNaN { return "(0/0)" }
        if number.isInfinite { return number > 0 ? "math.huge" : "-math.huge" }
        return "\(number)"
    }
}
