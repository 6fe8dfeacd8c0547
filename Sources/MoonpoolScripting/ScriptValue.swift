import LuaHost
import ObjectStore
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
        case .collection(let collection): collection.property.collection?.name
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

/// A value that Swift functions can receive from scripts and return to scripts.
///
/// These are all types that conform to ``ScriptValue``, and the live objects, results and collections of the script's
/// stores, which belong to the engine's thread.
///
/// ```swift
/// try engine.register("vaccinate(dog, at)") { (dog: Live<Dog>, at: Date) in dog.vaccinated = at }
/// ```
public protocol ScriptConvertible: SendableMetatype {
    /// The name of the type in messages: `integer`.
    static var scriptTypeName: String { get }
    /// The type in annotations of LuaLS: `integer?`, `string[]`.
    ///
    /// The default is the type's name if it is a Lua type, otherwise `any`.
    static var scriptAnnotation: String { get }
    /// Converts a Lua value.
    ///
    /// Throws if the value has another type. It makes only the conversions that Lua itself makes.
    static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Self
    /// Converts this value to Lua.
    func toScript(in conversion: ScriptConversion) throws -> ScriptOperand
}

extension ScriptConvertible {
    /// The type's name if it is a Lua type, otherwise `any`.
    public static var scriptAnnotation: String {
        let known = ["boolean", "integer", "number", "string", "function", "table"]
        return known.contains(scriptTypeName) ? scriptTypeName : "any"
    }
}

extension Optional: ScriptValue where Wrapped: ScriptValue {}
extension Array: ScriptValue where Element: ScriptValue {}
extension Dictionary: ScriptValue where Key == String, Value: ScriptValue {}

extension Optional: ScriptConvertible where Wrapped: ScriptConvertible {
    /// `integer or nil`.
    public static var scriptTypeName: String { "\(Wrapped.scriptTypeName) or nil" }
    /// `integer?`.
    public static var scriptAnnotation: String {
        let wrapped = Wrapped.scriptAnnotation
        return wrapped == "any" || wrapped.hasSuffix("?") ? wrapped : wrapped + "?"
    }
    /// Converts nil or `moonpool.null`, or the value.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Wrapped?
    {
        operand.lua.isNull ? nil : try Wrapped.fromScript(operand, in: conversion)
    }
    /// Returns nil, or the value.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        try self?.toScript(in: conversion) ?? ScriptOperand(.nil)
    }
}

extension Array: ScriptConvertible where Element: ScriptConvertible {
    /// `table`.
    public static var scriptTypeName: String { "table" }
    /// `integer[]`.
    public static var scriptAnnotation: String {
        let element = Element.scriptAnnotation
        return element.hasSuffix("?") ? "(\(element.dropLast())|nil)[]" : element + "[]"
    }
    /// Converts the elements 1 to `#t` of a table, or the elements of results, a list or a set.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> [Element]
    {
        var array: [Element] = []
        func append(_ value: LuaValue) throws(ScriptTypeMismatch) {
            do throws(ScriptTypeMismatch) {
                array.append(try Element.fromLua(value, in: conversion.context))
            } catch {
                throw error.inside("[\(array.count + 1)]")
            }
        }
        if let table = operand.lua.table {
            // The length of a table with gaps is not defined, so the array grows with its elements.
            for index in 1..<(table.count + 1) { try append(table[index]) }
            return array
        }
        var mismatch = ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua)
        do {
            guard let elements = try conversion.context.storeModule.elements(of: operand.lua)
            else { throw mismatch }
            for element in elements { try append(element) }
            return array
        } catch let error as ScriptTypeMismatch {
            throw error
        } catch {
            mismatch.found = (error as? StoreError)?.message ?? "\(error)"
            throw mismatch
        }
    }
    /// Returns a table with these elements; nil becomes `moonpool.null`.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        let context = conversion.context
        return ScriptOperand(
            .table(
                context.state.makeTable(
                    try map {
                        let element = try $0.toLua(in: context)
                        return element.isNil ? context.storeModule.null : element
                    })))
    }
}

extension Dictionary: ScriptConvertible where Key == String, Value: ScriptConvertible {
    /// `table`.
    public static var scriptTypeName: String { "table" }
    /// `table<string, integer>`.
    public static var scriptAnnotation: String { "table<string, \(Value.scriptAnnotation)>" }
    /// Converts the pairs of a table whose keys are all strings.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> [String: Value]
    {
        guard let table = operand.lua.table else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua)
        }
        var result: [String: Value] = [:]
        for (key, element) in table.pairs {
            guard let name = key.text else {
                throw ScriptTypeMismatch(expected: "string as key", found: key)
            }
            let value: Value
            do throws(ScriptTypeMismatch) {
                value = try Value.fromLua(element, in: conversion.context)
            } catch {
                throw error.inside(".\(name)")
            }
            try ScriptTypeMismatch.insert(value, name, into: &result)
        }
        return result
    }
    /// Returns a table with these pairs.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        let table = conversion.context.state.makeTable(fields: count)
        for (name, element) in self { table[name] = try element.toLua(in: conversion.context) }
        return ScriptOperand(.table(table))
    }
}

/// Any plain value of Lua, copied.
public indirect enum AnyScriptValue: ScriptValue, Hashable {
    case none
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case string(LuaString)
    /// A table with the keys 1 … n, or without any.
    case list([AnyScriptValue])
    /// A table whose keys are strings.
    case map([String: AnyScriptValue])

    private static let deepest = 100

    /// `plain value`.
    public static var scriptTypeName: String { "plain value" }

    /// Returns a copy.
    ///
    /// Throws for functions, coroutines, userdata, other keys, and tables that contain themselves.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> AnyScriptValue
    {
        try copy(operand.lua, 0)
    }

    private static func copy(_ value: LuaValue, _ depth: Int)
        throws(ScriptTypeMismatch) -> AnyScriptValue
    {
        switch value {
        case _ where value.isNull: return .none
        case .boolean(let flag): return .boolean(flag)
        case .integer(let number): return .integer(number)
        case .number(let number): return .number(number)
        case .string(let string): return .string(string)
        case .table(let table): return try copy(table, depth)
        case .nil, .function, .thread, .userdata:
            throw ScriptTypeMismatch(expected: scriptTypeName, found: value)
        }
    }

    private static func copy(_ table: LuaTable, _ depth: Int)
        throws(ScriptTypeMismatch) -> AnyScriptValue
    {
        guard depth < deepest else {
            throw ScriptTypeMismatch(
                expected: "table of at most \(deepest) levels", found: .table(table))
        }
        let pairs = table.pairs
        var list: [AnyScriptValue] = []
        var map: [String: AnyScriptValue] = [:]
        let isList = pairs.allSatisfy { $0.key.integer != nil } && table.count == pairs.count
        if isList {
            for index in 1..<(pairs.count + 1) {
                do throws(ScriptTypeMismatch) {
                    list.append(try copy(table[index], depth + 1))
                } catch {
                    throw error.inside("[\(index)]")
                }
            }
            return .list(list)
        }
        for (key, element) in pairs {
            guard let name = key.text else {
                throw ScriptTypeMismatch(expected: "string as key", found: key)
            }
            let value: AnyScriptValue
            do throws(ScriptTypeMismatch) {
                value = try copy(element, depth + 1)
            } catch {
                throw error.inside(".\(name)")
            }
            try ScriptTypeMismatch.insert(value, name, into: &map)
        }
        return .map(map)
    }

    /// Returns the value.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        let context = conversion.context
        let value: LuaValue =
            switch self {
            case .none: .nil
            case .boolean(let flag): .boolean(flag)
            case .integer(let number): .integer(number)
            case .number(let number): .number(number)
            case .string(let string): .string(string)
            case .list(let elements): try elements.toLua(in: context)
            case .map(let pairs): try pairs.toLua(in: context)
            }
        return ScriptOperand(value)
    }
}
