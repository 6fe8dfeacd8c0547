/// Any Lua value.
///
/// Collectable ones are references: they keep the value alive and are equal if it is the same one.
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

    /// A string value.
    package static func text(_ text: String) -> LuaValue { .string(LuaString(text)) }

    /// Everything but `nil` and `false`.
    package var isTruthy: Bool { self != .nil && self != .boolean(false) }
    /// Whether this is `nil`.
    package var isNil: Bool { self == .nil }
    /// The integer, or the integral float, that this is; nil for anything else, strings included.
    package var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }
    /// The number that this is, as a double; nil for anything else.
    package var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
    /// The boolean that this is.
    package var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The string that this is; numbers are not converted.
    package var string: LuaString? { if case .string(let value) = self { value } else { nil } }
    /// The string that this is, when its bytes are UTF-8.
    package var text: String? { string?.text }
    /// The table that this is.
    package var table: LuaTable? { if case .table(let value) = self { value } else { nil } }
    /// The function that this is.
    package var function: LuaFunction? {
        if case .function(let value) = self { value } else { nil }
    }
    /// The userdata that this is.
    package var userdata: LuaUserdata? {
        if case .userdata(let value) = self { value } else { nil }
    }
    /// The coroutine that this is.
    package var thread: LuaCoroutine? { if case .thread(let value) = self { value } else { nil } }

    /// `type(value)`.
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
    /// A string.
    package init(stringLiteral value: String) { self = .string(LuaString(value)) }
    /// An integer.
    package init(integerLiteral value: Int64) { self = .integer(value) }
    /// A float.
    package init(floatLiteral value: Double) { self = .number(value) }
    /// A boolean.
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// `nil`.
    package init(nilLiteral: ()) { self = .nil }
}
