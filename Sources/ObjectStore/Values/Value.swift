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

// Equality that decides whether an assignment changes a value; the update mode "modified" and the comparison of two
// versions use it.
extension Value {
    /// Returns whether both values have the same type and are equal.
    ///
    /// This equality is stricter than that of predicates, for which the int 1 equals the double 1.0, because a mixed
    /// property keeps the type. NaN equals itself, and -0.0 equals 0.0. Strings are compared by their bytes, unlike
    /// Swift's strings, which are equal if they are canonically equivalent ("é" as one scalar or as two).
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.float(let a), .float(let b)): RealOrder.isEqual(Double(a), Double(b))
        case (.double(let a), .double(let b)): RealOrder.isEqual(a, b)
        case (.string(let a), .string(let b)): a.hasSameBytes(as: b)
        case (.data(let a), .data(let b)): a == b
        case (.date(let a), .date(let b)): a == b
        case (.fixed(let a), .fixed(let b)): a == b
        case (.decimal(let a), .decimal(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        case (.list(let a), .list(let b)): a == b
        case (.dictionary(let a), .dictionary(let b)): a == b
        default: false
        }
    }

    /// Returns whether an equal value also has the same form: -0.0 and 0.0 have not, nor have the decimals 1.5 and 1.50.
    func hasSameForm(as other: Value) -> Bool {
        switch self {
        case .float, .double, .decimal, .list, .dictionary:
            MixedCoding.encode(self) == MixedCoding.encode(other)
        default: true
        }
    }

    /// Hashes the value, with equal hashes for equal values.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .int(let number): hasher.combine(number)
        case .double(let number): hasher.combine(RealOrder.canonical(number).bitPattern)
        case .string(let text): hasher.combine(text)
        case .date(let moment): hasher.combine(moment)
        case .fixed(let value): hasher.combine(value)
        default: hasher.combine(ValueOrder.code(self))
        }
    }
}

extension Value {
    /// The value as an element of a stored list.
    ///
    /// Nested values must already be resolved to links.
    var listElement: ListElement {
        switch self {
        case .null, .list, .dictionary: .null
        case .bool(let flag): .int(flag ? 1 : 0)
        case .int(let number): .int(number)
        case .float(let number): .float(number)
        case .double(let number): .double(number)
        case .string(let text): .bytes(Array(text.utf8))
        case .data(let bytes): .bytes(bytes)
        case .date(let moment): .int(moment.microseconds)
        case .fixed(let value): .bytes(value.bytes)
        case .decimal(let number): .bytes(number.bytes)
        case .object(let reference): .int(reference.key.rawValue)
        }
    }

    /// Returns the value as an element of a list of a property.
    func listElement(of property: Property) -> ListElement {
        guard property.type == .mixed else { return listElement }
        return self == .null ? .null : .bytes(MixedCoding.encode(self))
    }

    /// Creates a value of a type from a stored value or element; null if the bytes are not valid.
    ///
    /// `target` is the table of linked objects.
    init(_ element: ListElement, of type: PropertyType, target: TableID? = nil) {
        switch (type, element) {
        case (.bool, .int(let number)): self = .bool(number != 0)
        case (.int, .int(let number)): self = .int(number)
        case (.date, .int(let number)): self = .date(Timestamp(microseconds: number))
        case (.float, .float(let number)): self = .float(number)
        case (.double, .double(let number)): self = .double(number)
        case (.string, .bytes(let bytes)): self = .string(String(decoding: bytes, as: UTF8.self))
        case (.data, .bytes(let bytes)): self = .data(bytes)
        case (.fixed(let type), .bytes(let bytes)):
            self = FixedValue(type, bytes: bytes).map(Value.fixed) ?? .null
        case (.mixed, .bytes(let bytes)): self = MixedCoding.decode(bytes)
        case (.decimal, .bytes(let bytes)):
            self = DecimalValue(bytes: bytes).map(Value.decimal) ?? .null
        case (.object, .int(let number)):
            guard let target else {
                self = .null
                return
            }
            self = .object(ObjectReference(table: target, key: ObjectKey(rawValue: number)))
        default: self = .null
        }
    }
}

extension String {
    /// Returns whether the string precedes another one in the order of their UTF-8 bytes, which is that of map keys.
    package func precedesInBytes(_ other: String) -> Bool {
        let (left, right) = (utf8Span.span, other.utf8Span.span)
        for index in 0..<min(left.count, right.count) where left[index] != right[index] {
            return left[index] < right[index]
        }
        return left.count < right.count
    }

    /// Returns whether two texts consist of the same bytes; Swift also considers other forms of "é" equal.
    package func hasSameBytes(as other: String) -> Bool {
        self == other && utf8.elementsEqual(other.utf8)
    }
}

// The names of storage types in the signatures of the store, so that a program needs one import.

/// The key of an object in its class: stable, ascending in the order of creation, and never reused.
@usableFromInline
package typealias ObjectKey = ColumnStorage.ObjectKey

/// The table that stores the objects of a class.
@usableFromInline
package typealias TableID = ColumnStorage.TableID

/// The column that stores a property.
package typealias ColumnID = ColumnStorage.ColumnID

/// The kind of collection in a property: a list, a set or a map.
public typealias CollectionKind = ColumnStorage.CollectionKind

/// A reader of the rows of one class in a snapshot, with typed reads by key and without intermediate values.
package typealias TableReader = ColumnStorage.TableReader

/// The check whether the calling thread should stop its computation.
package typealias Interruption = ColumnStorage.Interruption

/// The errors of the storage, for modules above that do not import it; ``StoreError`` describes them to users.
package typealias StorageError = ColumnStorage.StorageError
