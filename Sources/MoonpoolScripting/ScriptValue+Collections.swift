import LuaHost
import ObjectStore

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
