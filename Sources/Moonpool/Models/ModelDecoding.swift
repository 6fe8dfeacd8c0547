import ObjectStore
import StructLayouts

extension ObjectModel where Self: Decodable {
    /// Decodes the properties that the data contains; the others have the defaults of the model.
    ///
    /// ```swift
    /// struct Person: Model, Codable { var name = ""; var visits = 0 }
    /// let bob = try JSONDecoder().decode(Person.self, from: Data(#"{"name": "Bob"}"#.utf8))
    /// ```
    ///
    /// The keys are those that the model encodes, so `CodingKeys` can rename properties and omit them.
    ///
    /// Throws `DecodingError` for a value of another type, `invalid_schema` for a model that cannot be stored.
    public init(from decoder: any Decoder) throws {
        self = try ModelRegistry.description(of: Self.self).decode(from: decoder)
    }
}

/// A property of a model in encoded data.
struct DecodedField<M: ObjectModel> {
    /// Decodes the property if the data contains it.
    let decode: (inout M, KeyedDecodingContainer<FieldKey>) throws -> Void

    /// Returns the properties of a model that can be decoded.
    static func all(of sample: M, in layout: StructLayout<M>) -> [DecodedField] {
        guard M.self is any Decodable.Type else { return [] }
        let keys = EncodedKeys.of(sample)
        return layout.fields.compactMap { field in
            guard !(field.type is any DescribedByValue.Type),
                let type = field.type as? any Decodable.Type
            else { return nil }
            guard let keys else { return DecodedField(type, field, key: field.name) }
            return keys[field.name].map { DecodedField(type, field, key: $0) }
        }
    }

    private init(_ type: any Decodable.Type, _ field: StoredField, key: String) {
        func open<V: Decodable>(_ type: V.Type) -> DecodedField {
            let key = FieldKey(stringValue: key)
            return DecodedField { model, container in
                guard container.contains(key) else { return }
                StructLayout<M>.assign(
                    try container.decode(V.self, forKey: key), at: field.offset, of: &model)
            }
        }
        self = open(type)
    }

    private init(decode: @escaping (inout M, KeyedDecodingContainer<FieldKey>) throws -> Void) {
        self.decode = decode
    }
}

extension TypedDescription {
    fileprivate func decode(from decoder: any Decoder) throws -> M {
        let container = try decoder.container(keyedBy: FieldKey.self)
        var model = M()
        for field in decoded { try field.decode(&model, container) }
        return model
    }
}

/// A key of encoded data.
struct FieldKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// Collects the keys that a model encodes, without the values.
private final class EncodedKeys: Encoder {
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    private var keys: [String: String] = [:]

    /// Returns the keys by the names of the properties; nil for a model that does not encode them.
    static func of(_ model: some ObjectModel) -> [String: String]? {
        guard let model = model as? any Encodable else { return nil }
        let encoder = EncodedKeys()
        do { try model.encode(to: encoder) } catch { return nil }
        return encoder.keys
    }

    private func note(_ key: some CodingKey) {
        keys[caseName(of: key) ?? key.stringValue] = key.stringValue
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Keyed(encoder: self))
    }
    func unkeyedContainer() -> any UnkeyedEncodingContainer { TreeOfNothing() }
    func singleValueContainer() -> any SingleValueEncodingContainer { TreeOfNothing() }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: EncodedKeys
        var codingPath: [any CodingKey] { [] }

        func encodeNil(forKey key: Key) { encoder.note(key) }
        func encode(_ value: some Encodable, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: (some Encodable)?, forKey key: Key) { encoder.note(key) }
        // The default implementations of these functions omit nil.
        func encodeIfPresent(_ value: Bool?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: String?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: Double?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: Float?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: Int?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: Int8?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: Int16?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: Int32?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: Int64?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: UInt?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: UInt8?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: UInt16?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: UInt32?, forKey key: Key) { encoder.note(key) }
        func encodeIfPresent(_ value: UInt64?, forKey key: Key) { encoder.note(key) }
        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            KeyedEncodingContainer(EncodedKeys.Keyed<Nested>(encoder: EncodedKeys()))
        }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            TreeOfNothing()
        }
        func superEncoder() -> any Encoder { EncodedKeys() }
        func superEncoder(forKey key: Key) -> any Encoder { EncodedKeys() }
    }

    /// The container of values that are not properties.
    private struct TreeOfNothing: UnkeyedEncodingContainer, SingleValueEncodingContainer {
        var codingPath: [any CodingKey] { [] }
        var count: Int { 0 }
        func encodeNil() {}
        func encode(_ value: some Encodable) {}
        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) -> KeyedEncodingContainer<Nested> {
            KeyedEncodingContainer(EncodedKeys.Keyed<Nested>(encoder: EncodedKeys()))
        }
        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { TreeOfNothing() }
        func superEncoder() -> any Encoder { EncodedKeys() }
    }
}
