/// Any Lua value.
///
/// Collectable values are references: they keep the value alive, and are equal if they refer to the same value.
package enum LuaValue: Hashable, Sendable {
    case `nil`
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case string(LuaString)
    case table(LuaTable)
    case function(LuaFunction)
    case thread(LuaCoroutine)
    case userdata(LuaUserdata)

    /// Creates a string value.
    package static func text(_ text: String) -> LuaValue { .string(LuaString(text)) }

    /// Whether the value is neither `nil` nor `false`.
    package var isTruthy: Bool { self != .nil && self != .boolean(false) }
    /// Whether the value is `nil`.
    package var isNil: Bool { self == .nil }
    /// The integer, or the float with an integral value; nil for other values, including strings.
    package var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }
    /// The number as a double; nil for other values.
    package var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
    /// The boolean; nil for other values.
    package var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The string; nil for other values, including numbers.
    package var string: LuaString? { if case .string(let value) = self { value } else { nil } }
    /// The string as text; nil if its bytes are not UTF-8, and for other values.
    package var text: String? { string?.text }
    /// The table; nil for other values.
    package var table: LuaTable? { if case .table(let value) = self { value } else { nil } }
    /// The function; nil for other values.
    package var function: LuaFunction? {
        if case .function(let value) = self { value } else { nil }
    }
    /// The userdata; nil for other values.
    package var userdata: LuaUserdata? {
        if case .userdata(let value) = self { value } else { nil }
    }
    /// The result of `type(value)`.
    package var typeName: String {
        switch self {
        case .nil: "nil"
        case .boolean: "boolean"
        case .integer, .number: "number"
        case .string: "string"
        case .table: "table"
        case .function: "function"
        case .thread: "thread"
        case .userdata: "userdata"
        }
    }

    var reference: LuaReference? {
        switch self {
        case .table(let value): value.reference
        case .function(let value): value.reference
        case .thread(let value): value.reference
        case .userdata(let value): value.reference
        default: nil
        }
    }
}

extension LuaValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    /// Creates a string.
    package init(stringLiteral value: String) { self = .string(LuaString(value)) }
    /// Creates an integer.
    package init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a float.
    package init(floatLiteral value: Double) { self = .number(value) }
    /// Creates a boolean.
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Creates `nil`.
    package init(nilLiteral: ()) { self = .nil }
}
