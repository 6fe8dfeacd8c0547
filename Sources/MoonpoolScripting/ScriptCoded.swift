import LuaHost
import ObjectStore
import StoreBindings

/// A Codable value as a Lua table.
///
/// Properties are fields, arrays are lists; dates, UUIDs, decimal numbers and data keep their types.
///
/// ```swift
/// struct Discount: Codable, Sendable { var percent: Double }
/// try engine.register("discount(name)") { (name: String) in ScriptCoded(Discount(percent: 10)) }
/// ```
public struct ScriptCoded<Value: Codable & Sendable>: ScriptValue {
    /// The value.
    public var value: Value

    /// Wraps a value.
    public init(_ value: Value) { self.value = value }

    /// `table`.
    public static var scriptTypeName: String { "\(Value.self)" }
    /// `table`.
    public static var scriptAnnotation: String { "table" }
    /// Decodes a table; a mismatch names the field.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> ScriptCoded
    {
        let tree = try ScriptTree.value(operand.lua, in: conversion.context)
        do {
            return ScriptCoded(try ScriptTree.decode(Value.self, from: tree))
        } catch {
            var mismatch = ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua)
            mismatch.found = ScriptTree.describe(error)
            throw mismatch
        }
    }
    /// Encodes the value.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        ScriptOperand(
            conversion.context.storeModule.luaValue(plain: try ScriptTree.encode(value)))
    }
}

/// Plain values as a tree, between Lua and Codable.
enum ScriptTree {
    private static let deepest = 100

    /// Copies a Lua value.
    ///
    /// Throws for functions, objects, other keys, and tables that contain themselves.
    static func value(
        _ value: LuaValue, in context: ScriptContext, depth: Int = 0
    ) throws(ScriptTypeMismatch) -> Value {
        if let plain = context.storeModule.plainValue(value) { return plain }
        guard let table = value.table else {
            throw ScriptTypeMismatch(expected: AnyScriptValue.scriptTypeName, found: value)
        }
        guard depth < deepest else {
            throw ScriptTypeMismatch(
                expected: "table less than \(deepest) deep", found: value)
        }
        let pairs = table.pairs
        if pairs.allSatisfy({ $0.key.integer != nil }), table.count == pairs.count {
            var list: [Value] = []
            for index in 1..<(pairs.count + 1) {
                do throws(ScriptTypeMismatch) {
                    list.append(try self.value(table[index], in: context, depth: depth + 1))
                } catch {
                    throw error.inside("[\(index)]")
                }
            }
            return .list(list)
        }
        var map: [String: Value] = [:]
        for (key, element) in pairs {
            guard let name = key.text else {
                throw ScriptTypeMismatch(expected: "string as key", found: key)
            }
            do throws(ScriptTypeMismatch) {
                map[name] = try self.value(element, in: context, depth: depth + 1)
            } catch {
                throw error.inside(".\(name)")
            }
        }
        return .dictionary(map)
    }

    static func decode<D: Decodable>(_ type: D.Type, from value: Value) throws -> D {
        try TreeDecoder(value, []).unwrap(type)
    }

    static func encode(_ value: some Encodable) throws -> Value {
        let encoder = TreeEncoder([])
        return try encoder.wrap(value)
    }

    /// The reason of a decoding error with the path of the field.
    static func describe(_ error: any Error) -> String {
        func place(_ path: [any CodingKey]) -> String {
            path.map { $0.intValue.map { "[\($0 + 1)]" } ?? ".\($0.stringValue)" }.joined()
        }
        return switch error {
        case DecodingError.typeMismatch(_, let context),
            DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            "\(context.debugDescription) at \(place(context.codingPath))"
        case DecodingError.keyNotFound(let key, let context):
            "no value at \(place(context.codingPath + [key]))"
        default: "\(error)"
        }
    }
}

struct TreeKey: CodingKey {
    let stringValue: String
    let intValue: Int?
    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }
    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}
