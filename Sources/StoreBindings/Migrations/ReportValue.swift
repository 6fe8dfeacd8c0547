import DataFormats
import LuaHost

/// A migration report for text, JSON and scripts.
package enum ReportValue: Hashable, Sendable {
    /// No value.
    case null
    /// A boolean.
    case bool(Bool)
    /// An integer.
    case int(Int64)
    /// A floating-point number.
    case double(Double)
    /// A text.
    case text(String)
    /// A list of values.
    case array([ReportValue])
    /// Named values in a fixed order.
    case object([Member])

    /// A named value.
    package struct Member: Hashable, Sendable {
        /// The name.
        package let name: String
        /// The value.
        package let value: ReportValue

        /// Creates a named value.
        package init(_ name: String, _ value: ReportValue) {
            self.name = name
            self.value = value
        }
    }

    /// Creates an object with these members in this order.
    package static func members(_ pairs: KeyValuePairs<String, ReportValue>) -> ReportValue {
        .object(pairs.map { Member($0.key, $0.value) })
    }

    /// Creates an integer.
    package static func count(_ number: Int) -> ReportValue { .int(Int64(number)) }

    /// Creates an array of texts.
    package static func texts(_ values: [String]) -> ReportValue { .array(values.map(Self.text)) }

    /// Returns a member of an object; null if it does not exist.
    package subscript(name: String) -> ReportValue {
        guard case .object(let members) = self else { return .null }
        return members.first { $0.name == name }?.value ?? .null
    }

    /// The elements of an array; empty for other values.
    package var elements: [ReportValue] {
        if case .array(let values) = self { values } else { [] }
    }

    /// The value as JSON, on one line.
    package var json: String {
        var writer = JSONWriter()
        write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func write(to json: inout JSONWriter) {
        switch self {
        case .null: json.null()
        case .bool(let flag): json.bool(flag)
        case .int(let number): json.int(number)
        case .double(let number): json.double(number)
        case .text(let text): json.string(text)
        case .array(let values):
            json.beginArray()
            for value in values { value.write(to: &json) }
            json.endArray()
        case .object(let members):
            json.beginObject()
            for member in members {
                json.key(member.name)
                member.value.write(to: &json)
            }
            json.endObject()
        }
    }

    /// Returns the value as a Lua value.
    package func lua(_ state: LuaState) -> LuaValue {
        switch self {
        case .null: return .nil
        case .bool(let flag): return .boolean(flag)
        case .int(let number): return .integer(number)
        case .double(let number): return .number(number)
        case .text(let text): return .text(text)
        case .array(let values): return .table(state.makeTable(values.map { $0.lua(state) }))
        case .object(let members):
            let table = state.makeTable(fields: members.count)
            for member in members { table[member.name] = member.value.lua(state) }
            return .table(table)
        }
    }
}
