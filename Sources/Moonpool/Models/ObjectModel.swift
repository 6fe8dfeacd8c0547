import ObjectStore
import StructLayouts

/// A plain struct whose stored properties describe the objects of a class.
///
/// Conform to ``Model`` or ``EmbeddedModel``. The property values that `init()` sets are the defaults of new objects.
public protocol ObjectModel: Sendable {
    /// Creates a value with the defaults.
    init()
    /// The name of the class in the schema; by default the type's name without its outer types.
    static var className: String { get }
    /// The primary key, indexes and names; none by default.
    static var options: ModelOptions<Self> { get }
}

extension ObjectModel {
    /// The type's name without its outer types.
    public static var className: String {
        let name = "\(Self.self)"
        return name.split(separator: ".").last.map(String.init) ?? name
    }
    /// No primary key, no indexes.
    public static var options: ModelOptions<Self> { ModelOptions() }
}

/// A model whose objects exist on their own.
///
/// ```swift
/// struct Dog: Model {
///     var name = ""
///     var age: Int?
///     var owner: Link<Person>?
///     static let options = ModelOptions<Dog>(primaryKey: \.name)
/// }
/// ```
public protocol Model: ObjectModel {}

/// A model whose objects belong to one property of another object, and are deleted with it.
///
/// ```swift
/// struct Address: EmbeddedModel { var city = "" }
/// struct Person: Model { var home: Address? }
/// ```
public protocol EmbeddedModel: ObjectModel, StoredValue
where LiveForm == Live<Self>, FrozenForm == Frozen<Self>, Target == Self {}

/// The primary key, indexes and names of a model.
public struct ModelOptions<M: ObjectModel>: Sendable {
    // Key paths of literals are immutable, but PartialKeyPath is Sendable only if this is declared.
    package let content: ModelOptionsContent

    /// Creates options.
    ///
    /// - Parameters:
    ///   - primaryKey: The property that identifies an object.
    ///   - indexes: Properties with an index each.
    ///   - compositeIndexes: Indexes over several properties.
    ///   - fullText: Text properties with a full-text index.
    ///   - renamed: Names in the file that differ from those in Swift.
    ///   - ignored: Properties that are not stored.
    ///   - rules: Rules for values, checked when a write commits, and links that own their objects.
    ///   - fields: All stored properties by name, for a type whose properties reflection cannot find.
    public init(
        primaryKey: PartialKeyPath<M>? = nil, indexes: [PartialKeyPath<M>] = [],
        compositeIndexes: [[PartialKeyPath<M>]] = [], fullText: [PartialKeyPath<M>] = [],
        renamed: KeyValuePairs<PartialKeyPath<M>, String> = [:],
        ignored: [PartialKeyPath<M>] = [], rules: [PropertyRule<M>] = [],
        fields: KeyValuePairs<String, PartialKeyPath<M>> = [:]
    ) {
        content = ModelOptionsContent(
            primaryKey: primaryKey, indexes: indexes, compositeIndexes: compositeIndexes,
            fullText: fullText, renamed: renamed.map { ($0.key, $0.value) }, ignored: ignored,
            rules: rules.map { ($0.path, $0.set) }, fields: fields.map { ($0.key, $0.value) })
    }
}

/// A rule for the values of a property, or the ownership of its links; see ``ModelOptions``.
///
/// Rules are checked when a write commits, so a write may break them in between. A write with an invalid value throws
/// `invalid_value`, or `duplicate_key` for a value that is not unique, with the object and the rule in its message. In a
/// list, set or map, a rule applies to each element. Nil passes every rule.
///
/// ```swift
/// struct Cat: Model {
///     var chip = ""
///     var lives = 9
///     var mood = "calm"
///     static let options = ModelOptions<Cat>(rules: [
///         .unique(\.chip), .range(\.lives, 0...9), .oneOf(\.mood, ["calm", "wild"]),
///     ])
/// }
/// ```
public struct PropertyRule<M: ObjectModel> {
    let path: PartialKeyPath<M>
    let set: @Sendable (inout PropertyRules) -> Void

    /// Creates a rule for the least value of a number or a date.
    public static func minimum<V, Limit: StoredValue>(
        _ path: KeyPath<M, V>, _ limit: Limit
    ) -> PropertyRule {
        let limit = limit.stored.engineValue
        return PropertyRule(path: path) { $0.minimum = limit }
    }

    /// Creates a rule for the greatest value of a number or a date.
    public static func maximum<V, Limit: StoredValue>(
        _ path: KeyPath<M, V>, _ limit: Limit
    ) -> PropertyRule {
        let limit = limit.stored.engineValue
        return PropertyRule(path: path) { $0.maximum = limit }
    }

    /// Creates a rule for the range of a number or a date.
    public static func range<V, Limit: StoredValue & Comparable>(
        _ path: KeyPath<M, V>, _ range: ClosedRange<Limit>
    ) -> PropertyRule {
        let (low, high) = (
            range.lowerBound.stored.engineValue, range.upperBound.stored.engineValue
        )
        return PropertyRule(path: path) {
            $0.minimum = low
            $0.maximum = high
        }
    }

    /// Creates a rule with the only allowed values.
    public static func oneOf<V, Member: StoredValue>(
        _ path: KeyPath<M, V>, _ values: [Member]
    ) -> PropertyRule {
        let values = values.map(\.stored.engineValue)
        return PropertyRule(path: path) { $0.allowed = values }
    }

    /// Creates a rule with a Lua pattern that a text matches, such as `^%u%d+$`.
    public static func pattern<V>(_ path: KeyPath<M, V>, _ pattern: String) -> PropertyRule {
        PropertyRule(path: path) { $0.pattern = pattern }
    }

    /// Creates a rule for values that no two objects share.
    public static func unique<V>(_ path: KeyPath<M, V>) -> PropertyRule {
        PropertyRule(path: path) { $0.isUnique = true }
    }

    /// Makes a link, or a collection of links, own its objects: deleting an object also deletes those to which only
    /// this property links.
    public static func owns<V>(_ path: KeyPath<M, V>) -> PropertyRule {
        PropertyRule(path: path) { $0.ownsObjects = true }
    }
}

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

    private func record(_ key: some CodingKey) {
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

        func encodeNil(forKey key: Key) { encoder.record(key) }
        func encode(_ value: some Encodable, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: (some Encodable)?, forKey key: Key) { encoder.record(key) }
        // The default implementations of these functions omit nil.
        func encodeIfPresent(_ value: Bool?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: String?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: Double?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: Float?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: Int?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: Int8?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: Int16?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: Int32?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: Int64?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: UInt?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: UInt8?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: UInt16?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: UInt32?, forKey key: Key) { encoder.record(key) }
        func encodeIfPresent(_ value: UInt64?, forKey key: Key) { encoder.record(key) }
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
