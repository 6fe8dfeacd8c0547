import ColumnStorage
import Decimals

/// A decimal number of 34 digits: `Decimals.DecimalValue`, for the modules that use the store.
public typealias DecimalValue = Decimals.DecimalValue

/// A reference to an object: the table of its class, and a key that is never reused.
public struct ObjectReference: Hashable, Sendable {
    /// The table of the object's class.
    @usableFromInline
    package let table: TableID
    /// The object's key in that table.
    @usableFromInline
    package let key: ObjectKey

    /// Creates a reference.
    @inlinable
    package init(table: TableID, key: ObjectKey) {
        self.table = table
        self.key = key
    }
}

/// A value that a property can have or be set to.
public enum Value: Hashable, Sendable {
    /// No value.
    case null
    /// A Boolean value.
    case bool(Bool)
    /// A 64-bit integer.
    case int(Int64)
    /// A single-precision number.
    case float(Float)
    /// A double-precision number.
    case double(Double)
    /// A string.
    case string(String)
    /// Binary data.
    case data([UInt8])
    /// A point in time.
    case date(Timestamp)
    /// A value with a fixed number of bytes: a UUID or an object id.
    case fixed(FixedValue)
    /// A decimal number.
    case decimal(DecimalValue)
    /// An object of the same store.
    case object(ObjectReference)
    /// The values of a list or a set, or a list in a mixed value; also the values of a new object, in schema order.
    case list([Value])
    /// The values of a map by key, or a map in a mixed value; also the values of a new object, by property name.
    case dictionary(ValueMap)
}

extension Value {
    /// Returns the value of an empty collection.
    static func empty(_ collection: CollectionKind) -> Value {
        collection == .map ? .dictionary([:]) : .list([])
    }

    /// Whether the value is a list or a map.
    var isCollection: Bool {
        switch self {
        case .list, .dictionary: true
        default: false
        }
    }

    /// Whether the value is a collection without elements.
    var isEmptyCollection: Bool {
        switch self {
        case .list(let elements): elements.isEmpty
        case .dictionary(let entries): entries.isEmpty
        default: false
        }
    }

    /// The type of a property for the value; nil for null and collections.
    package var type: PropertyType? {
        switch self {
        case .null, .list, .dictionary: nil
        case .bool: .bool
        case .int: .int
        case .float: .float
        case .double: .double
        case .string: .string
        case .data: .data
        case .date: .date
        case .fixed(let value): .fixed(value.type)
        case .decimal: .decimal
        case .object: .object
        }
    }

    /// The name of the value's type in the syntax of schemas, for messages.
    public var typeName: String {
        switch self {
        case .list: "list"
        case .dictionary: "table"
        default: type?.rawValue ?? "nil"
        }
    }

    /// The value as a short text for messages: strings are quoted and truncated, objects appear by their key.
    package var summary: String {
        switch self {
        case .string(let value): value.count > 40 ? "\"\(value.prefix(37))…\"" : "\"\(value)\""
        case .data(let bytes): "\(bytes.count) bytes"
        case .object(let reference): "object \(reference.key.rawValue)"
        case .list(let values): "a list of \(values.count)"
        case .dictionary(let values): "a table of \(values.count)"
        default: text ?? "nil"
        }
    }

    /// The text that parses as the same value; nil for null, data, links and collections.
    package var text: String? {
        switch self {
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): String(number)
        case .float(let number): number.description
        case .double(let number): number.description
        case .string(let text): text
        case .date(let moment): moment.description
        case .fixed(let value): value.description
        case .decimal(let number): number.description
        case .null, .data, .object, .list, .dictionary: nil
        }
    }
}
