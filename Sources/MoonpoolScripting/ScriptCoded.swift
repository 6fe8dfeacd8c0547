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
    /// Decodes a table.
    ///
    /// The error of a mismatch contains the field.
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
        _ value: LuaValue, in context: ScriptContext
    ) throws(ScriptTypeMismatch) -> Value {
        try walk(
            value, AnyScriptValue.scriptTypeName, list: Value.list,
            map: { .dictionary(ValueMap($0)) },
            leaf: context.storeModule.plainValue)
    }

    /// Copies a Lua value; `leaf` returns nil for a value that is not a leaf.
    static func walk<Tree>(
        _ value: LuaValue, _ expected: String, depth: Int = 0, list makeList: ([Tree]) -> Tree,
        map makeMap: ([String: Tree]) -> Tree, leaf: (LuaValue) -> Tree?
    ) throws(ScriptTypeMismatch) -> Tree {
        if let plain = leaf(value) { return plain }
        guard let table = value.table else {
            throw ScriptTypeMismatch(expected: expected, found: value)
        }
        func inner(_ value: LuaValue) throws(ScriptTypeMismatch) -> Tree {
            try walk(
                value, expected, depth: depth + 1, list: makeList, map: makeMap, leaf: leaf)
        }
        guard depth < deepest else {
            throw ScriptTypeMismatch(
                expected: "table of at most \(deepest) levels", found: value)
        }
        let pairs = table.pairs
        if pairs.allSatisfy({ $0.key.integer != nil }), table.count == pairs.count {
            var list: [Tree] = []
            for index in 1..<(pairs.count + 1) {
                do throws(ScriptTypeMismatch) {
                    list.append(try inner(table[index]))
                } catch {
                    throw error.inside("[\(index)]")
                }
            }
            return makeList(list)
        }
        var map: [String: Tree] = [:]
        for (key, element) in pairs {
            guard let name = key.text else {
                throw ScriptTypeMismatch(expected: "string as key", found: key)
            }
            let value: Tree
            do throws(ScriptTypeMismatch) {
                value = try inner(element)
            } catch {
                throw error.inside(".\(name)")
            }
            try ScriptTypeMismatch.insert(value, name, into: &map)
        }
        return makeMap(map)
    }

    static func decode<D: Decodable>(_ type: D.Type, from value: Value) throws -> D {
        try TreeDecoder(value, []).unwrap(type)
    }

    /// Encodes a value.
    ///
    /// Throws `out_of_range` for an integer beyond Lua's 64 bits, `invalid_argument` for another value that cannot be
    /// encoded, and the errors of the value's own encoding.
    static func encode(_ value: some Encodable) throws -> Value {
        do { return try TreeEncoder([]).wrap(value) } catch let error as EncodingError {
            guard case .invalidValue(let invalid, _) = error else { throw error }
            throw ScriptFunctionError(
                invalid is any FixedWidthInteger ? .outOfRange : .invalidArgument,
                describe(error))
        }
    }

    /// Returns the reason of a decoding or encoding error with the path of the field.
    static func describe(_ error: any Error) -> String {
        func text(_ path: [any CodingKey]) -> String {
            path.map { $0.intValue.map { "[\($0 + 1)]" } ?? ".\($0.stringValue)" }.joined()
        }
        return switch error {
        case DecodingError.typeMismatch(_, let context),
            DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            "\(context.debugDescription) at \(text(context.codingPath))"
        case EncodingError.invalidValue(_, let context):
            context.debugDescription
                + (context.codingPath.isEmpty ? "" : " at \(text(context.codingPath))")
        case DecodingError.keyNotFound(let key, let context):
            "no value at \(text(context.codingPath + [key]))"
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
