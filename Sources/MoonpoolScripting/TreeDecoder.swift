import Moonpool
import ObjectStore

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
