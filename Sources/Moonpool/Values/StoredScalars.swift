import ColumnStorage
import ObjectStore

extension Bool: TruthValue {
    /// The order of false and true.
    public typealias _Order = _Ordered
    /// A bool property.
    public static var storedType: StoredType { .bool }
    /// The Boolean.
    public var stored: Mixed { .bool(self) }
    /// Creates the Boolean.
    public init(stored: Mixed) throws {
        guard case .bool(let flag) = stored else { throw stored.mismatch(expected: "a bool") }
        self = flag
    }
    /// True: every value that is not null can be read from the column.
    @inlinable public static var _hasFastRead: Bool { true }
    /// Reads the column.
    @inlinable public static func _read(_ cell: StoredCell) -> Bool? {
        try? cell.table.rows.bool(cell.column, cell.key)
    }
}
extension Bool: OrderedValue {}

extension String: TextValue {
    /// A string property.
    public static var storedType: StoredType { .string }
    /// The text.
    public var stored: Mixed { .string(self) }
    /// Creates the text.
    public init(stored: Mixed) throws {
        guard case .string(let text) = stored else { throw stored.mismatch(expected: "a string") }
        self = text
    }
    /// True: every value that is not null can be read from the column.
    @inlinable public static var _hasFastRead: Bool { true }
    /// Reads the column.
    @inlinable public static func _read(_ cell: StoredCell) -> String? {
        try? cell.table.rows.string(cell.column, cell.key)
    }
}

extension Timestamp: OrderedValue {
    /// A date property.
    public static var storedType: StoredType { .date }
    /// The date.
    public var stored: Mixed { .date(self) }
    /// Creates the date.
    public init(stored: Mixed) throws {
        guard case .date(let moment) = stored else { throw stored.mismatch(expected: "a date") }
        self = moment
    }
    /// True: every value that is not null can be read from the column.
    @inlinable public static var _hasFastRead: Bool { true }
    /// Reads the column.
    @inlinable public static func _read(_ cell: StoredCell) -> Timestamp? {
        (try? cell.table.rows.int(cell.column, cell.key)).map { Timestamp(microseconds: $0) }
    }
}

extension UUIDValue: OrderedValue {
    /// A uuid property.
    public static var storedType: StoredType { .uuid }
    /// The UUID.
    public var stored: Mixed { .uuid(self) }
    /// Creates the UUID.
    public init(stored: Mixed) throws {
        guard case .uuid(let identifier) = stored else { throw stored.mismatch(expected: "a uuid") }
        self = identifier
    }
}

extension ObjectIDValue: OrderedValue {
    /// An object_id property.
    public static var storedType: StoredType { .objectID }
    /// The object ID.
    public var stored: Mixed { .objectID(self) }
    /// Creates the object ID.
    public init(stored: Mixed) throws {
        guard case .objectID(let identifier) = stored else {
            throw stored.mismatch(expected: "an object_id")
        }
        self = identifier
    }
}

extension Mixed: OrderedValue {
    /// A mixed property.
    public static var storedType: StoredType { .mixed }
    /// The value itself.
    public var stored: Mixed { self }
    /// Creates the value.
    public init(stored: Mixed) throws { self = stored }
}

extension StoredValue where Self: RawRepresentable, RawValue: StoredValue {
    /// The type of the raw value.
    public static var storedType: StoredType { RawValue.storedType }
    /// The raw value.
    public var stored: Mixed { rawValue.stored }
    /// Creates the case of a raw value.
    ///
    /// Throws `type_mismatch` for a raw value without a case.
    public init(stored: Mixed) throws {
        let raw = try RawValue(stored: stored)
        guard let value = Self(rawValue: raw) else {
            throw StoreError(.typeMismatch, "'\(Self.self)' has no case for \(stored)")
        }
        self = value
    }
}

extension StoredValue
where
    Self: RawRepresentable, RawValue: StoredValue, LiveForm == Self,
    RawValue.LiveForm == RawValue
{
    /// Reads the column.
    @inlinable public static func _read(_ cell: StoredCell) -> Self? {
        RawValue._read(cell).flatMap(Self.init(rawValue:))
    }
}

extension StoredValue where Self: RawRepresentable, RawValue: OrderedValue {
    /// The order of the raw values.
    public typealias _Order = _Ordered
}
