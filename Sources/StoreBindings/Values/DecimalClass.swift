import Decimals
import LuaHost
import ObjectStore

/// A decimal number in Lua.
///
/// Supports arithmetic with decimals and numbers. A number has the value of its shortest decimal form.
final class DecimalBox: ValueBox {
    let number: DecimalValue
    init(_ number: DecimalValue) { self.number = number }
    override var value: Value { .decimal(number) }

    static let type: LuaClass<DecimalBox> = LuaClass(
        name: "decimal",
        methods: [
            LuaMethod("round") { decimal, call in
                let places = call.isNil(2) ? 0 : Int(clamping: try call.integer(2))
                guard let rounded = decimal.number.rounded(places: places) else {
                    throw call.argumentError(
                        2, "\(decimal.number) with \(places) places needs more than 34 digits")
                }
                return call.answer(DecimalBox(rounded), type)
            },
            LuaMethod("abs") { decimal, call in
                call.answer(DecimalBox(decimal.number.magnitude), type)
            },
            LuaMethod("to_number") { decimal, call in
                call.answer(
                    decimal.number.exactInt.map(LuaValue.integer) ?? .number(decimal.number.double))
            },
            LuaMethod("is_nan") { decimal, call in
                call.answer(.boolean(decimal.number.isNotANumber))
            },
            LuaMethod("is_finite") { decimal, call in
                call.answer(.boolean(decimal.number.isFinite))
            },
        ],
        metamethods: [
            LuaMethod("__tostring") { $1.answer(.text($0.number.description)) },
            LuaMethod.equality(of: type) { DecimalValue.order($0.number, $1.number) == 0 },
            LuaMethod("__lt", anyReceiver: { try compare($0) { $0 < 0 } }),
            LuaMethod("__le", anyReceiver: { try compare($0) { $0 <= 0 } }),
            LuaMethod("__add", anyReceiver: { try calculate($0, +) }),
            LuaMethod("__sub", anyReceiver: { try calculate($0, -) }),
            LuaMethod("__mul", anyReceiver: { try calculate($0, *) }),
            LuaMethod("__div", anyReceiver: { try calculate($0, /) }),
            LuaMethod("__mod", anyReceiver: { try calculate($0) { $0.modulo($1) } }),
            LuaMethod("__idiv", anyReceiver: { try calculate($0) { $0.floorDivided(by: $1) } }),
            LuaMethod("__unm") { $1.answer(DecimalBox(-$0.number), type) },
            LuaMethod("__concat", anyReceiver: joinedTexts),
        ])

    private static func calculate(
        _ call: borrowing LuaCall, _ operation: (DecimalValue, DecimalValue) -> DecimalValue
    ) throws -> LuaAnswer {
        call.answer(DecimalBox(operation(try operand(call, 1), try operand(call, 2))), type)
    }

    private static func compare(
        _ call: borrowing LuaCall, _ test: (Int) -> Bool
    ) throws -> LuaAnswer {
        let order = DecimalValue.order(try operand(call, 1), try operand(call, 2))
        return call.answer(.boolean(order.map(test) ?? false))
    }

    private static func operand(_ call: borrowing LuaCall, _ index: Int) throws -> DecimalValue {
        switch call[index] {
        case .integer(let number): return DecimalValue(number)
        case .number(let number): return DecimalValue(number)
        default: return try call.object(index, type).number
        }
    }

    /// Implements `moonpool.decimal(text | number)`.
    static func make(_ call: borrowing LuaCall) throws -> LuaAnswer {
        switch call[1] {
        case .string(let string):
            try call.checkMemory(ofText: 1)
            guard let text = string.text, let number = DecimalValue(text) else {
                throw call.argumentError(
                    1,
                    "'\(string.description)' is not a valid decimal; expected \"12.30\", \"1e10\", \"NaN\" or "
                        + "\"Infinity\" (at most 9.99…e6144)")
            }
            return call.answer(DecimalBox(number), type)
        case .integer, .number: return call.answer(DecimalBox(try operand(call, 1)), type)
        default:
            guard let decimal = call.optionalObject(1, type) else {
                throw call.typeError(1, "string or number")
            }
            return call.answer(decimal, type)
        }
    }
}
