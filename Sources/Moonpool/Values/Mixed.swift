import ObjectStore

/// The engine's values.
package typealias EngineValue = ObjectStore.Value

/// A value of any stored type.
///
/// ```swift
/// struct Note: Model { var extra: Mixed = nil }
/// let note = Note(extra: ["chip": 12, "seen": [1, 4]])
/// ```
public enum Mixed: Hashable, Sendable {
    /// No value.
    case null
    /// True or false.
    case bool(Bool)
    /// A 64-bit integer.
    case int(Int)
    /// A single-precision number.
    case float(Float)
    /// A double-precision number.
    case double(Double)
    /// Text.
    case string(String)
    /// Bytes.
    case data([UInt8])
    /// A point in time in microseconds.
    case date(Timestamp)
    /// A UUID.
    case uuid(UUIDValue)
    /// A 12-byte object ID.
    case objectID(ObjectIDValue)
    /// A decimal number with 34 digits.
    case decimal(DecimalValue)
    /// A link to an object of any model.
    case object(AnyObjectID)
    /// A list of values.
    case list([Mixed])
    /// Values by name; of names that are equal only after Unicode normalization, the first in the order of the bytes.
    case map([String: Mixed])
}

extension Mixed {
    /// Creates a mixed value from a stored value.
    public init(_ value: some StoredValue) { self = value.stored }

    /// Returns the value as another type.
    ///
    /// Throws `type_mismatch` if the value has another type, `out_of_range` if it does not fit.
    public func get<V: StoredValue>(as type: V.Type = V.self) throws -> V {
        try V(stored: self)
    }

    /// The name of the value's type in the notation of a schema.
    public var typeName: String {
        switch self {
        case .object: "object"
        case .list: "list"
        case .map: "map"
        default: engineValue.typeName
        }
    }

    func mismatch(expected: String) -> StoreError {
        StoreError(.typeMismatch, "expected \(expected), got \(engineValue.summary)")
    }

    package init(_ value: EngineValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .int(let number): self = .int(Int(number))
        case .float(let number): self = .float(number)
        case .double(let number): self = .double(number)
        case .string(let text): self = .string(text)
        case .data(let bytes): self = .data(bytes)
        case .date(let moment): self = .date(moment)
        case .fixed(let fixed):
            self =
                fixed.uuid.map(Mixed.uuid) ?? fixed.objectID.map(Mixed.objectID)
                ?? .data(fixed.bytes)
        case .decimal(let number): self = .decimal(number)
        case .object(let reference): self = .object(AnyObjectID(reference, nil, in: 0))
        case .list(let values): self = .list(values.map(Mixed.init(_:)))
        case .dictionary(let values): self = .map(values.dictionary(Mixed.init(_:)))
        }
    }

    package var engineValue: EngineValue {
        switch self {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .int(let number): .int(Int64(number))
        case .float(let number): .float(number)
        case .double(let number): .double(number)
        case .string(let text): .string(text)
        case .data(let bytes): .data(bytes)
        case .date(let moment): .date(moment)
        case .uuid(let identifier): .uuid(identifier)
        case .objectID(let identifier): .objectID(identifier)
        case .decimal(let number): .decimal(number)
        case .object(let identifier): .object(identifier.reference)
        case .list(let values): .list(values.map(\.engineValue))
        case .map(let values): .dictionary(ValueMap(values.mapValues(\.engineValue)))
        }
    }
}

extension Mixed: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Creates ``null``.
    public init(nilLiteral: ()) { self = .null }
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an integer.
    public init(integerLiteral value: Int) { self = .int(value) }
    /// Creates a double-precision number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Creates text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates a list.
    public init(arrayLiteral elements: Mixed...) { self = .list(elements) }
    /// Creates a map.
    ///
    /// For a repeated key, the last value is used.
    public init(dictionaryLiteral elements: (String, Mixed)...) {
        self = .map(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}

extension Mixed: CustomStringConvertible {
    /// The value as text.
    public var description: String {
        switch self {
        case .list(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
        case .map(let values):
            "["
                + values.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value)" }
                .joined(separator: ", ") + "]"
        case .string(let text): "\"\(text)\""
        default: engineValue.summary
        }
    }
}
