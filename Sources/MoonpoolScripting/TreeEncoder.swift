import Moonpool
import ObjectStore

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
