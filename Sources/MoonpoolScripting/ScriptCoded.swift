import LuaHost
import Moonpool
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

/// Encodes to a tree of plain values.
final class TreeEncoder: Encoder {
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    /// The encoded value; nil before the first value.
    private(set) var result: Node?

    init(_ codingPath: [any CodingKey]) { self.codingPath = codingPath }

    /// An unfinished value.
    final class Node {
        enum Content {
            case value(Value)
            case list([Node])
            case map([String: Node])
        }
        var content: Content
        init(_ content: Content) { self.content = content }

        var value: Value {
            switch content {
            case .value(let value): value
            case .list(let nodes): .list(nodes.map(\.value))
            case .map(let nodes):
                // A nil field is omitted.
                .dictionary(
                    ValueMap(nodes.mapValues(\.value)).filter { $0.value != .null })
            }
        }
    }

    func wrap(_ value: some Encodable) throws -> Value { try node(value).value }

    fileprivate func node(_ value: some Encodable) throws -> Node {
        if let stored = value as? any StoredScriptValue {
            return Node(.value(stored.stored.engineValue))
        }
        let encoder = TreeEncoder(codingPath)
        try value.encode(to: encoder)
        return encoder.result ?? Node(.map([:]))
    }

    fileprivate func nested(_ key: any CodingKey) -> TreeEncoder { TreeEncoder(codingPath + [key]) }

    private func begin(_ content: Node.Content) -> Node {
        if let result { return result }
        let node = Node(content)
        result = node
        return node
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Keyed(encoder: self, node: begin(.map([:]))))
    }
    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        Unkeyed(encoder: self, node: begin(.list([])))
    }
    func singleValueContainer() -> any SingleValueEncodingContainer {
        Single(encoder: self, node: begin(.value(.null)))
    }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: TreeEncoder
        let node: Node
        var codingPath: [any CodingKey] { encoder.codingPath }

        private func set(_ child: Node, _ key: any CodingKey) {
            guard case .map(var nodes) = node.content else { return }
            // The content is cleared first, so that the dictionary is not copied.
            node.content = .map([:])
            nodes[key.stringValue] = child
            node.content = .map(nodes)
        }
        mutating func encodeNil(forKey key: Key) { set(Node(.value(.null)), key) }
        mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
            set(try encoder.nested(key).node(value), key)
        }
        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            let child = Node(.map([:]))
            set(child, key)
            return KeyedEncodingContainer(
                Keyed<Nested>(encoder: encoder.nested(key), node: child))
        }
        mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            let child = Node(.list([]))
            set(child, key)
            return Unkeyed(encoder: encoder.nested(key), node: child)
        }
        mutating func superEncoder() -> any Encoder { encoder }
        mutating func superEncoder(forKey key: Key) -> any Encoder { encoder }
    }

    private struct Unkeyed: UnkeyedEncodingContainer {
        let encoder: TreeEncoder
        let node: Node
        var codingPath: [any CodingKey] { encoder.codingPath }
        var count: Int {
            if case .list(let nodes) = node.content { nodes.count } else { 0 }
        }

        private func append(_ child: Node) {
            guard case .list(var nodes) = node.content else { return }
            // The content is cleared first, so that the array is not copied.
            node.content = .list([])
            nodes.append(child)
            node.content = .list(nodes)
        }
        mutating func encodeNil() { append(Node(.value(.null))) }
        mutating func encode<T: Encodable>(_ value: T) throws {
            append(try encoder.nested(TreeKey(intValue: count)).node(value))
        }
        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) -> KeyedEncodingContainer<Nested> {
            let child = Node(.map([:]))
            let nested = encoder.nested(TreeKey(intValue: count))
            append(child)
            return KeyedEncodingContainer(Keyed<Nested>(encoder: nested, node: child))
        }
        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
            let child = Node(.list([]))
            let nested = encoder.nested(TreeKey(intValue: count))
            append(child)
            return Unkeyed(encoder: nested, node: child)
        }
        mutating func superEncoder() -> any Encoder { encoder }
    }

    private struct Single: SingleValueEncodingContainer {
        let encoder: TreeEncoder
        let node: Node
        var codingPath: [any CodingKey] { encoder.codingPath }

        private func set(_ value: Value) { node.content = .value(value) }
        private func integer(_ value: some FixedWidthInteger) throws {
            guard let number = Int64(exactly: value) else {
                throw EncodingError.invalidValue(
                    value,
                    EncodingError.Context(
                        codingPath: codingPath,
                        debugDescription: "\(value) is not a Lua integer"))
            }
            set(.int(number))
        }
        mutating func encodeNil() { set(.null) }
        mutating func encode(_ value: Bool) { set(.bool(value)) }
        mutating func encode(_ value: String) { set(.string(value)) }
        mutating func encode(_ value: Double) { set(.double(value)) }
        mutating func encode(_ value: Float) { set(.double(Double(value))) }
        mutating func encode(_ value: Int) { set(.int(Int64(value))) }
        mutating func encode(_ value: Int8) { set(.int(Int64(value))) }
        mutating func encode(_ value: Int16) { set(.int(Int64(value))) }
        mutating func encode(_ value: Int32) { set(.int(Int64(value))) }
        mutating func encode(_ value: Int64) { set(.int(value)) }
        mutating func encode(_ value: UInt) throws { try integer(value) }
        mutating func encode(_ value: UInt8) { set(.int(Int64(value))) }
        mutating func encode(_ value: UInt16) { set(.int(Int64(value))) }
        mutating func encode(_ value: UInt32) { set(.int(Int64(value))) }
        mutating func encode(_ value: UInt64) throws { try integer(value) }
        mutating func encode<T: Encodable>(_ value: T) throws {
            node.content = try encoder.node(value).content
        }
    }
}

/// Decodes from a tree of plain values.
struct TreeDecoder: Decoder {
    let value: Value
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ value: Value, _ codingPath: [any CodingKey]) {
        self.value = value
        self.codingPath = codingPath
    }

    func mismatch(_ type: Any.Type) -> DecodingError {
        DecodingError.typeMismatch(
            type,
            DecodingError.Context(
                codingPath: codingPath,
                debugDescription: "expected \(type), got \(value.summary)"))
    }

    func unwrap<T: Decodable>(_ type: T.Type) throws -> T {
        // Dates, identifiers, decimal numbers and data of Lua.
        if let stored = type as? any StoredScriptValue.Type {
            func open<S: StoredScriptValue>(_ type: S.Type) throws -> T? {
                try? S(stored: Mixed(value)) as? T
            }
            if let value = try open(stored) { return value }
        }
        return try T(from: self)
    }

    func integer<I: FixedWidthInteger>(_ type: I.Type) throws -> I {
        let exact: Int64? =
            switch value {
            case .int(let number): number
            case .double(let number): Int64(exactly: number)
            default: nil
            }
        guard let exact, let number = I(exactly: exact) else { throw mismatch(type) }
        return number
    }

    func number() throws -> Double {
        switch value {
        case .int(let number): Double(number)
        case .double(let number): number
        case .decimal(let number): number.double
        default: throw mismatch(Double.self)
        }
    }

    func container<Key: CodingKey>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        switch value {
        case .dictionary(let values):
            return KeyedDecodingContainer(Keyed(values: values, codingPath: codingPath))
        case .list(let values) where values.isEmpty:
            return KeyedDecodingContainer(Keyed(values: [:], codingPath: codingPath))
        default: throw mismatch([String: Any].self)
        }
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .list(let values) = value else { throw mismatch([Any].self) }
        return Unkeyed(values: values, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { Single(decoder: self) }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let values: ValueMap
        let codingPath: [any CodingKey]
        var allKeys: [Key] { values.keys.sorted().compactMap(Key.init(stringValue:)) }

        func contains(_ key: Key) -> Bool { values[key.stringValue] != nil }
        private func decoder(_ key: any CodingKey) throws -> TreeDecoder {
            guard let value = values[key.stringValue] else {
                throw DecodingError.keyNotFound(
                    key,
                    DecodingError.Context(
                        codingPath: codingPath, debugDescription: "no value"))
            }
            return TreeDecoder(value, codingPath + [key])
        }
        func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).value == .null }
        func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
            try decoder(key).unwrap(type)
        }
        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> { try decoder(key).container(keyedBy: type) }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try decoder(key).unkeyedContainer()
        }
        func superDecoder() throws -> any Decoder { try decoder(TreeKey(stringValue: "super")) }
        func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
    }

    private struct Unkeyed: UnkeyedDecodingContainer {
        let values: [Value]
        let codingPath: [any CodingKey]
        private(set) var currentIndex = 0
        var count: Int? { values.count }
        var isAtEnd: Bool { currentIndex >= values.count }

        init(values: [Value], codingPath: [any CodingKey]) {
            self.values = values
            self.codingPath = codingPath
        }

        private mutating func next() throws -> TreeDecoder {
            guard !isAtEnd else {
                throw DecodingError.valueNotFound(
                    Value.self,
                    DecodingError.Context(
                        codingPath: codingPath, debugDescription: "the list has ended"))
            }
            defer { currentIndex += 1 }
            return TreeDecoder(
                values[currentIndex], codingPath + [TreeKey(intValue: currentIndex)])
        }
        mutating func decodeNil() throws -> Bool {
            guard !isAtEnd, values[currentIndex] == .null else { return false }
            currentIndex += 1
            return true
        }
        mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
            try next().unwrap(type)
        }
        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) throws -> KeyedDecodingContainer<Nested> { try next().container(keyedBy: type) }
        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try next().unkeyedContainer()
        }
        mutating func superDecoder() throws -> any Decoder { try next() }
    }

    private struct Single: SingleValueDecodingContainer {
        let decoder: TreeDecoder
        var codingPath: [any CodingKey] { decoder.codingPath }

        func decodeNil() -> Bool { decoder.value == .null }
        func decode(_ type: Bool.Type) throws -> Bool {
            guard case .bool(let flag) = decoder.value else { throw decoder.mismatch(type) }
            return flag
        }
        func decode(_ type: String.Type) throws -> String {
            guard case .string(let text) = decoder.value else { throw decoder.mismatch(type) }
            return text
        }
        func decode(_ type: Double.Type) throws -> Double { try decoder.number() }
        func decode(_ type: Float.Type) throws -> Float { Float(try decoder.number()) }
        func decode(_ type: Int.Type) throws -> Int { try decoder.integer(type) }
        func decode(_ type: Int8.Type) throws -> Int8 { try decoder.integer(type) }
        func decode(_ type: Int16.Type) throws -> Int16 { try decoder.integer(type) }
        func decode(_ type: Int32.Type) throws -> Int32 { try decoder.integer(type) }
        func decode(_ type: Int64.Type) throws -> Int64 { try decoder.integer(type) }
        func decode(_ type: UInt.Type) throws -> UInt { try decoder.integer(type) }
        func decode(_ type: UInt8.Type) throws -> UInt8 { try decoder.integer(type) }
        func decode(_ type: UInt16.Type) throws -> UInt16 { try decoder.integer(type) }
        func decode(_ type: UInt32.Type) throws -> UInt32 { try decoder.integer(type) }
        func decode(_ type: UInt64.Type) throws -> UInt64 { try decoder.integer(type) }
        func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoder.unwrap(type) }
    }
}
