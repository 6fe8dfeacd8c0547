import ColumnStorage

/// The type of a property's value, or of the elements of a list property.
public enum PropertyType: Hashable, Sendable, CaseIterable {
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
    /// A value with a fixed number of bytes: a UUID or an object id.
    case fixed(FixedType)
    /// A decimal number of 34 digits.
    case decimal
    /// Any value: nil, a value of any other type, a link to an object of any class, and lists and maps of these values.
    case mixed
    /// A link to an object of the property's target class.
    case object
    /// The objects that link to this one through another property; read-only and not stored.
    case backlinks

    /// A UUID.
    public static let uuid = PropertyType.fixed(.uuid)
    /// A 12-byte object id.
    public static let objectID = PropertyType.fixed(.objectID)

    /// All types.
    public static var allCases: [PropertyType] {
        [.bool, .int, .float, .double, .string, .data, .date] + FixedType.all.map(Self.fixed)
            + [.decimal, .mixed, .object, .backlinks]
    }

    /// The attributes of a type.
    package struct Traits {
        /// The name in schemas.
        package let name: String
        /// The kind of column for one value; nil for backlinks.
        let column: ColumnKind?
        /// The value of a required property that was never set; null for links.
        package let zero: Value
        /// The permitted uses of a property.
        let uses: Uses
        /// The type in the annotations of the Lua API.
        package let luaType: String
        /// The tags of a value in extended JSON.
        package let tags: [String]
    }

    /// The permitted uses of a type.
    struct Uses: OptionSet {
        let rawValue: UInt8
        /// Arithmetic.
        static let number = Uses(rawValue: 1)
        /// A part of an index over several properties.
        static let composite = Uses(rawValue: 2)
        /// An index of its own, or a part of one.
        static let index = Uses(rawValue: 4 | 2)
        /// A primary key, or an index.
        static let key = Uses(rawValue: 8 | 4 | 2)
    }

    /// The table of the types.
    package var traits: Traits {
        func row(
            _ name: String, _ column: ColumnKind?, _ zero: Value, _ uses: Uses, _ luaType: String,
            _ tags: [String] = []
        ) -> Traits {
            Traits(name: name, column: column, zero: zero, uses: uses, luaType: luaType, tags: tags)
        }
        switch self {
        case .bool: return row("bool", .bool, .bool(false), .index, "boolean")
        case .int:
            let tags = ["$numberInt", "$numberLong"]
            return row("int", .int, .int(0), [.key, .number], "integer", tags)
        case .float:
            return row("float", .float, .float(0), [.composite, .number], "number", ["$float"])
        case .double:
            let tags = ["$numberDouble"]
            return row("double", .double, .double(0), [.composite, .number], "number", tags)
        case .string: return row("string", .string, .string(""), .key, "string")
        case .data: return row("data", .data, .data([]), [], "string", ["$data", "$binary"])
        case .date:
            let zero = Value.date(Timestamp(microseconds: 0))
            return row("date", .int, zero, .index, "moonpool.Date", ["$date"])
        case .fixed(let type):
            let (traits, zero) = (type.traits, FixedValue(type, high: 0, low: 0))
            let column = type.size == 12 ? ColumnKind.bytes12 : .bytes16
            return row(
                traits.name, column, .fixed(zero), .key, traits.luaClass, traits.tags)
        case .decimal:
            let tags = ["$decimal", "$numberDecimal"]
            return row("decimal", .bytes16, .decimal(.zero), .number, "moonpool.Decimal", tags)
        case .mixed: return row("mixed", .data, .null, [], "any")
        case .object: return row("object", .link, .null, .composite, "moonpool.Object")
        case .backlinks: return row("backlinks", nil, .null, [], "moonpool.Object")
        }
    }

    /// The name in schemas.
    public var rawValue: String { traits.name }

    /// Returns the type with a name; nil for other names.
    public init?(rawValue: String) {
        guard let type = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = type
    }

    /// The kind of column for one value of the type; nil for backlinks.
    var columnKind: ColumnKind? { traits.column }

    /// Whether a property of the type may be a primary key.
    package var canBePrimary: Bool { traits.uses.contains(.key) }

    /// Whether a property of the type may be indexed.
    package var canBeIndexed: Bool { traits.uses.contains(.index) }

    /// Whether an index over several properties can contain values of the type.
    var canBeInCompositeIndex: Bool { traits.uses.contains(.composite) }

    /// Whether the type is a number: int, float, double or decimal.
    package var isNumeric: Bool { traits.uses.contains(.number) }

    /// The value of a required property that was never set, as after the property was added; null for links.
    package var zero: Value { traits.zero }

    /// Returns the names of the types with a use, for messages: `int, string or uuid`.
    static func names(of use: Uses, _ word: String) -> String {
        let names = allCases.filter { $0.traits.uses.contains(use) }.map(\.rawValue)
        return names.dropLast().joined(separator: ", ") + " \(word) " + (names.last ?? "")
    }
}
