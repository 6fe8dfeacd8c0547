import ColumnStorage

/// The type of a property's value, or of the elements of a list property.
public enum PropertyType: String, Hashable, Sendable, CaseIterable {
    /// A Boolean value.
    case bool
    /// A 64-bit integer.
    case int
    /// A single-precision number.
    case float
    /// A double-precision number.
    case double
    /// A string.
    case string
    /// Binary data.
    case data
    /// A point in time in microseconds.
    case date
    /// A UUID.
    case uuid
    /// A 12-byte object id.
    case objectID = "object_id"
    /// A decimal number of 34 digits.
    case decimal
    /// Any value: nil, a value of any other type, a link to an object of any class, and lists and maps of these values.
    case mixed
    /// A link to an object of the property's target class.
    case object
    /// The objects that link to this one through another property; read-only and not stored.
    case backlinks

    /// The kind of column for one value of the type; nil for backlinks.
    var columnKind: ColumnKind? {
        switch self {
        case .bool: .bool
        case .int, .date: .int
        case .float: .float
        case .double: .double
        case .string: .string
        case .data, .mixed: .data
        case .uuid, .decimal: .bytes16
        case .objectID: .bytes12
        case .object: .link
        case .backlinks: nil
        }
    }

    /// Whether a property of the type may be a primary key.
    var canBePrimary: Bool { [.int, .string, .uuid, .objectID].contains(self) }

    /// Whether a property of the type may be indexed.
    var canBeIndexed: Bool { [.bool, .int, .string, .date, .uuid, .objectID].contains(self) }

    /// Whether values of the type can be compared with `<` and `>`.
    package var isOrdered: Bool { ![.object, .backlinks].contains(self) }

    /// Whether the type is a number: int, float, double or decimal.
    package var isNumeric: Bool { [.int, .float, .double, .decimal].contains(self) }

    /// The value of a required property that was never set, as after the property was added; null for links.
    package var zero: Value {
        switch self {
        case .bool: .bool(false)
        case .int: .int(0)
        case .float: .float(0)
        case .double: .double(0)
        case .string: .string("")
        case .data: .data([])
        case .date: .date(Timestamp(microseconds: 0))
        case .uuid: .uuid(UUIDValue(high: 0, low: 0))
        case .objectID: .objectID(ObjectIDValue(high: 0, low: 0))
        case .decimal: .decimal(.zero)
        case .object, .backlinks, .mixed: .null
        }
    }
}
