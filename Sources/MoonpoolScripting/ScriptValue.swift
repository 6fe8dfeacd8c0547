import LuaHost
import StoreBindings

/// A Swift value that can be passed to scripts and received from them.
///
/// Conforming types: `Bool`, integers, `Double`, `String`, bytes (`LuaString`), optionals, arrays and
/// dictionaries of these, Lua functions (``ScriptFunction``), objects (``ScriptObject``), and any plain value
/// (``AnyScriptValue``). Values are converted on the engine's thread.
///
/// Your type can conform by converting to a type that conforms:
///
/// ```swift
/// extension Celsius: ScriptValue {
///     static var scriptTypeName: String { "number" }
///     static func fromScript(
///         _ operand: ScriptOperand, in conversion: ScriptConversion
///     ) throws(ScriptTypeMismatch) -> Celsius {
///         Celsius(degrees: try Double.fromScript(operand, in: conversion))
///     }
///     func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
///         degrees.toScript(in: conversion)
///     }
/// }
/// ```
public protocol ScriptValue: ScriptConvertible, Sendable {}

/// A Lua value, opaque to programs: pass it to the conversion of another ``ScriptValue``.
public struct ScriptOperand {
    package let lua: LuaValue
    package init(_ lua: LuaValue) { self.lua = lua }
}

/// The engine of a conversion, opaque to programs.
public struct ScriptConversion {
    package let context: ScriptContext
    package init(_ context: ScriptContext) { self.context = context }
}

extension ScriptConvertible {
    static func fromLua(_ value: LuaValue, in context: ScriptContext)
        throws(ScriptTypeMismatch) -> Self
    {
        do throws(ScriptTypeMismatch) {
            return try fromScript(ScriptOperand(value), in: ScriptConversion(context))
        } catch {
            guard error.path.isEmpty, error.found == "userdata",
                let name = context.storeModule.inspect(value)?.name
            else { throw error }
            var mismatch = error
            mismatch.found = name
            throw mismatch
        }
    }

    func toLua(in context: ScriptContext) throws -> LuaValue {
        try toScript(in: ScriptConversion(context)).lua
    }
}

/// The error for a Lua value of an unexpected type.
public struct ScriptTypeMismatch: Error, Equatable {
    /// The path inside the value: `[3].name`; empty for the value itself.
    public var path: String
    /// The expected type.
    public var expected: String
    /// The actual type.
    public var found: String

    /// Creates the error for a value that is not of this type.
    package init(expected: String, found value: LuaValue, path: String = "") {
        self.path = path
        self.expected = expected
        found = value.isNil ? "nil" : value.typeName
    }

    /// `integer expected, got string`, with the path if it is inside the value.
    public var reason: String {
        let location = path.isEmpty ? "" : " at \(path)"
        return "\(expected) expected\(location), got \(found)"
    }

    /// Inserts an entry of a table into a dictionary.
    ///
    /// Throws for a key that a Swift string considers equal to another one: "é" as one scalar and as two.
    static func insert<Value>(
        _ value: Value, _ name: String, into entries: inout [String: Value]
    ) throws(ScriptTypeMismatch) {
        guard entries.updateValue(value, forKey: name) != nil else { return }
        var mismatch = ScriptTypeMismatch(expected: "different keys in Unicode", found: .nil)
        mismatch.found = "'\(name)' twice"
        throw mismatch
    }

    func inside(_ outer: String) -> ScriptTypeMismatch {
        var mismatch = self
        mismatch.path = outer + path
        return mismatch
    }
}

extension ScriptContext {
    /// Converts a value that is not an argument.
    func convert<Value: ScriptConvertible>(
        _ value: LuaValue, to type: Value.Type, _ subject: String
    ) throws(ScriptFailure) -> Value {
        do throws(ScriptTypeMismatch) {
            return try type.fromLua(value, in: self)
        } catch {
            throw ScriptFailure(.typeMismatch, "\(subject): \(error.reason)")
        }
    }
}

// MARK: - Plain values

extension Bool: ScriptValue {
    /// `boolean`.
    public static var scriptTypeName: String { "boolean" }
    /// Converts a boolean.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Bool
    {
        guard let flag = operand.lua.boolean else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua)
        }
        return flag
    }
    /// Returns a boolean.
    public func toScript(in conversion: ScriptConversion) -> ScriptOperand {
        ScriptOperand(.boolean(self))
    }
}

extension ScriptValue where Self: FixedWidthInteger {
    /// `integer`.
    public static var scriptTypeName: String { "integer" }
    /// Converts an integer, or a float with an integral value, in the type's range.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Self
    {
        guard let number = operand.lua.integer else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua)
        }
        guard let result = Self(exactly: number) else {
            var mismatch = ScriptTypeMismatch(
                expected: "integer from \(Self.min) to \(Self.max)", found: operand.lua)
            mismatch.found = "\(number)"
            throw mismatch
        }
        return result
    }
    /// Returns an integer; throws `out_of_range` beyond Lua's 64 bits.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        guard let number = Int64(exactly: self) else {
            throw ScriptFunctionError("out_of_range", "\(self) is not a Lua integer")
        }
        return ScriptOperand(.integer(number))
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
    public static var scriptTypeName: String { "number" }
    /// Converts a number.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Double
    {
        guard let number = operand.lua.number else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua)
        }
        return number
    }
    /// Returns a float.
    public func toScript(in conversion: ScriptConversion) -> ScriptOperand {
        ScriptOperand(.number(self))
    }
}

extension String: ScriptValue {
    /// `string`.
    public static var scriptTypeName: String { "string" }
    /// Converts a string in UTF-8; use ``LuaHost/LuaString`` for bytes.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> String
    {
        guard let string = operand.lua.string else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua)
        }
        guard let text = string.text else {
            var mismatch = ScriptTypeMismatch(expected: "string of UTF-8", found: operand.lua)
            mismatch.found = "other bytes"
            throw mismatch
        }
        return text
    }
    /// Returns a string.
    public func toScript(in conversion: ScriptConversion) -> ScriptOperand {
        ScriptOperand(.text(self))
    }
}

extension LuaString: ScriptValue {
    /// `string`.
    public static var scriptTypeName: String { "string" }
    /// Converts a string of any bytes.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> LuaString
    {
        guard let string = operand.lua.string else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua)
        }
        return string
    }
    /// Returns a string.
    public func toScript(in conversion: ScriptConversion) -> ScriptOperand {
        ScriptOperand(.string(self))
    }
}

extension Inspection {
    /// The description of the value in a message; nil for dates, identifiers and data.
    fileprivate var name: String? {
        switch self {
        case .object(let object): object.classSchema.name
        case .results: "results"
        case .sections: "sections"
        case .list: "list"
        case .set: "set"
        case .map: "map"
        case .values: "values of a collection"
        case .nested: "collection in a mixed value"
        case .projection: "projection"
        case .projectedResults: "projected results"
        case .store: "store"
        case .token: "token"
        case .text: nil
        }
    }
}
