import DataFormats
import LuaHost

/// A migration report for people, programs and scripts.
package enum ReportValue: Hashable, Sendable {
    /// No value.
    case null
    /// A truth value.
    case bool(Bool)
    /// A whole number.
    case int(Int64)
    /// A number.
    case double(Double)
    /// Text.
    case text(String)
    /// Several values.
    case array([ReportValue])
    /// Named values, in this order.
    case object([Member])

    /// A named value.
    package struct Member: Hashable, Sendable {
        /// The name.
        package let name: String
        /// The value.
        package let value: ReportValue

        /// Names a value.
        package init(_ name: String, _ value: ReportValue) {
            self.name = name
            self.value = value
        }
    }

    /// Creates an object with these members, in this order.
    package static func members(_ pairs: KeyValuePairs<String, ReportValue>) -> ReportValue {
        .object(pairs.map { Member($0.key, $0.value) })
    }

    /// A whole number.
    package static func count(_ number: Int) -> ReportValue { .int(Int64(number)) }

    /// Several texts.
    package static func texts(_ values: [String]) -> ReportValue { .array(values.map(Self.text)) }

    /// Returns a member of an object; null if there is none.
    package subscript(name: String) -> ReportValue {
        guard case .object(let members) = self else { return .null }
        return members.first { $0.name == name }?.value ?? .null
    }

    /// The values of an array; none for anything else.
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

    /// The value as a script sees it.
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
