import LuaHost

/// A Swift value that scripts get and give: `Int`, `Double`, `String`, `Bool`, bytes, optionals, arrays, dictionaries,
/// Lua functions (``ScriptFunction``), objects (``ScriptObject``), or any value at all (``AnyScriptValue``).
///
/// Converted on the script's thread.
package protocol ScriptValue: Sendable {
    /// What messages call it: `integer`.
    static var scriptTypeName: String { get }
    /// The Swift value of a Lua value.
    ///
    /// Throws when it is one of another type; nothing is converted that Lua itself would not take.
    static func fromLua(_ value: LuaValue, in context: ScriptContext)
        throws(ScriptTypeMismatch) -> Self
    /// The Lua value of this one.
    func toLua(in context: ScriptContext) throws -> LuaValue
}

/// A Lua value of another type than the one wanted.
package struct ScriptTypeMismatch: Error, Equatable {
    /// Where it stands inside of the value: `[3].name`; empty for the value itself.
    package var path: String
    /// What was wanted.
    package var expected: String
    /// What there is.
    package var found: String

    /// For a value that should have been one of this type.
    package init(expected: String, found value: LuaValue, path: String = "") {
        self.path = path
        self.expected = expected
        found = value.isNil ? "nil" : value.typeName
    }

    /// `integer expected, got string`, with the place if it is inside of the value.
    package var reason: String {
        let place = path.isEmpty ? "" : " at \(path)"
        return "\(expected) expected\(place), got \(found)"
    }

    func inside(_ place: String) -> ScriptTypeMismatch {
        var mismatch = self
        mismatch.path = place + path
        return mismatch
    }
}

extension ScriptContext {
    /// Converts a value that is no argument.
    func convert<Value: ScriptValue>(
        _ value: LuaValue, to type: Value.Type, _ subject: String
    ) throws(ScriptFailure) -> Value {
        do throws(ScriptTypeMismatch) {
            return try type.fromLua(value, in: self)
        } catch {
            throw ScriptFailure(code: "type_mismatch", message: "\(subject): \(error.reason)")
        }
    }
}

// MARK: - Plain values

extension Bool: ScriptValue {
    /// `boolean`.
    package static var scriptTypeName: String { "boolean" }
    /// A boolean.
    package static func fromLua(_ value: LuaValue, in context: ScriptContext)
        throws(ScriptTypeMismatch) -> Bool
    {
        guard let flag = value.boolean else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: value)
        }
        return flag
    }
    /// A boolean.
    package func toLua(in context: ScriptContext) -> LuaValue { .boolean(self) }
}

extension ScriptValue where Self: FixedWidthInteger {
    /// `integer`.
    package static var scriptTypeName: String { "integer" }
    /// An integer, or a float with an integral value, in the type's range.
    package static func fromLua(_ value: LuaValue, in context: ScriptContext)
        throws(ScriptTypeMismatch) -> Self
    {
        guard let number = value.integer else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: value)
        }
        guard let result = Self(exactly: number) else {
            var mismatch = ScriptTypeMismatch(
                expected: "integer from \(Self.min) to \(Self.max)", found: value)
            mismatch.found = "\(number)"
            throw mismatch
        }
        return result
    }
    /// An integer; throws `out_of_range` beyond Lua's 64 bits.
    package func toLua(in context: ScriptContext) throws -> LuaValue {
        guard let number = Int64(exactly: self) else {
            throw ScriptFunctionError("out_of_range", "\(self) is no integer of Lua")
        }
        return .integer(number)
    }
}

extension Int: ScriptValue {}
extension Int64: ScriptValue {}
extension Int32: ScriptValue {}
extension UInt: ScriptValue {}
extension UInt64: ScriptValue {}
extension UInt32: ScriptValue {}
extension UInt8: ScriptValue {}

extension Double: ScriptValue {
    /// `number`.
    package static var scriptTypeName: String { "number" }
    /// A number.
    package static func fromLua(_ value: LuaValue, in context: ScriptContext)
        throws(ScriptTypeMismatch) -> Double
    {
        guard let number = value.number else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: value)
        }
        return number
    }
    /// A float.
    package func toLua(in context: ScriptContext) -> LuaValue { .number(self) }
}

extension String: ScriptValue {
    /// `string`.
    package static var scriptTypeName: String { "string" }
    /// A string that is UTF-8; take ``LuaHost/LuaString`` for bytes.
    package static func fromLua(_ value: LuaValue, in context: ScriptContext)
        throws(ScriptTypeMismatch) -> String
    {
        guard let string = value.string else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: value)
        }
        guard let text = string.text else {
            var mismatch = ScriptTypeMismatch(expected: "string of UTF-8", found: value)
            mismatch.found = "other bytes"
            throw mismatch
        }
        return text
    }
    /// A string.
    package func toLua(in context: ScriptContext) -> LuaValue { .text(self) }
}

extension LuaString: ScriptValue {
    /// `string`.
    package static var scriptTypeName: String { "string" }
    /// A string, whatever its bytes.
    package static func fromLua(_ value: LuaValue, in context: ScriptContext)
        throws(ScriptTypeMismatch) -> LuaString
    {
        guard let string = value.string else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: value)
        }
        return string
    }
    /// A string.
    package func toLua(in context: ScriptContext) -> LuaValue { .string(self) }
}
