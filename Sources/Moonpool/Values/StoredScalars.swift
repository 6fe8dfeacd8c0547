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

extension Int: NumericValue {
    /// An int property.
    public static var storedType: StoredType { .int }
    /// The number.
    public var stored: Mixed { .int(self) }
    /// Creates the number, also from floating-point and decimal numbers without a fraction.
    public init(stored: Mixed) throws { self = try stored.integer(Int.self) }
    /// True: every value that is not null can be read from the column.
    @inlinable public static var _hasFastRead: Bool { true }
    /// Reads the column.
    @inlinable public static func _read(_ cell: StoredCell) -> Int? {
        (try? cell.table.rows.int(cell.column, cell.key)).map { Int($0) }
    }
    /// Creates a sum.
    public static func _total(_ sum: Mixed) throws -> Int { try Int(stored: sum) }
}

/// Integers other than Int: stored as 64-bit integers, with a check of the range.
public protocol SmallStoredInteger: NumericValue, FixedWidthInteger where Total == Int {}

extension SmallStoredInteger {
    /// An int property.
    public static var storedType: StoredType { .int }
    /// The number.
    public var stored: Mixed { .int(Int(self)) }
    /// Creates the number.
    ///
    /// Throws `out_of_range` for a number that does not fit.
    public init(stored: Mixed) throws { self = try stored.integer(Self.self) }
    /// Creates a sum.
    public static func _total(_ sum: Mixed) throws -> Int { try Int(stored: sum) }
}

extension Int8: SmallStoredInteger {}
extension Int16: SmallStoredInteger {}
extension Int32: SmallStoredInteger {}
extension Int64: SmallStoredInteger {
    /// True: every value that is not null can be read from the column.
    @inlinable public static var _hasFastRead: Bool { true }
    /// Reads the column.
    @inlinable public static func _read(_ cell: StoredCell) -> Int64? {
        try? cell.table.rows.int(cell.column, cell.key)
    }
}
extension UInt16: SmallStoredInteger {}
extension UInt32: SmallStoredInteger {}

extension UInt8: SmallStoredInteger {
    /// A live object shows bytes as an array, because they are data, not a list.
    public typealias ListForm = [UInt8]
    /// Reads the bytes.
    public static func _list(_ cell: StoredCell) throws -> [UInt8] {
        try [UInt8](stored: Mixed(try cell.value()))
    }
    /// Returns the bytes.
    public static func _element(
        ofList live: [UInt8], in context: StoredContext
    ) throws -> StoredElement {
        StoredElement(.data(live))
    }
}

extension Double: NumericValue {
    /// A double property.
    public static var storedType: StoredType { .double }
    /// The number.
    public var stored: Mixed { .double(self) }
    /// Creates the number, also from other types of numbers.
    public init(stored: Mixed) throws {
        switch stored {
        case .double(let number): self = number
        case .float(let number): self = Double(number)
        case .int(let number): self = Double(number)
        case .decimal(let number): self = number.double
        default: throw stored.mismatch(expected: "a number")
        }
    }
    /// True: every value that is not null can be read from the column.
    @inlinable public static var _hasFastRead: Bool { true }
    /// Reads the column.
    @inlinable public static func _read(_ cell: StoredCell) -> Double? {
        try? cell.table.rows.double(cell.column, cell.key)
    }
    /// Creates a sum.
    public static func _total(_ sum: Mixed) throws -> Double { try Double(stored: sum) }
}

extension Float: NumericValue {
    /// The type of a sum.
    public typealias Total = Double
    /// A float property.
    public static var storedType: StoredType { .float }
    /// The number.
    public var stored: Mixed { .float(self) }
    /// Creates the number, also from other types of numbers.
    public init(stored: Mixed) throws {
        if case .float(let number) = stored {
            self = number
        } else {
            self = Float(try Double(stored: stored))
        }
    }
    /// True: every value that is not null can be read from the column.
    @inlinable public static var _hasFastRead: Bool { true }
    /// Reads the column.
    @inlinable public static func _read(_ cell: StoredCell) -> Float? {
        try? cell.table.rows.float(cell.column, cell.key)
    }
    /// Creates a sum.
    public static func _total(_ sum: Mixed) throws -> Double { try Double(stored: sum) }
}

extension DecimalValue {
    // Programs see the other operators as those of SignedNumeric; no protocol of the standard library contains these.

    /// Returns the quotient, rounded to 34 digits.
    ///
    /// Division by zero returns infinity or not-a-number, as in binary floating point.
    @_disfavoredOverload
    public static func / (left: DecimalValue, right: DecimalValue) -> DecimalValue {
        left.divided(by: right)
    }
    /// Divides a number.
    @_disfavoredOverload
    public static func /= (left: inout DecimalValue, right: DecimalValue) {
        left = left.divided(by: right)
    }
}

extension DecimalValue: NumericValue {
    /// A decimal property.
    public static var storedType: StoredType { .decimal }
    /// The number.
    public var stored: Mixed { .decimal(self) }
    /// Creates the number, also from other types of numbers.
    public init(stored: Mixed) throws {
        switch stored {
        case .decimal(let number): self = number
        case .int(let number): self = DecimalValue(Int64(number))
        case .double(let number): self = DecimalValue(number)
        case .float(let number): self = DecimalValue(number)
        default: throw stored.mismatch(expected: "a number")
        }
    }
    /// Creates a sum.
    public static func _total(_ sum: Mixed) throws -> DecimalValue { try DecimalValue(stored: sum) }
}

extension Mixed {
    func integer<I: FixedWidthInteger>(_ type: I.Type) throws -> I {
        let exact: Int?
        switch self {
        case .int(let number): exact = number
        case .double(let number): exact = Int(exactly: number)
        case .float(let number): exact = Int(exactly: number)
        case .decimal(let number): exact = number.exactInt.map { Int($0) }
        default: throw mismatch(expected: "an integer")
        }
        guard let exact else { throw mismatch(expected: "an integer") }
        guard let number = I(exactly: exact) else {
            throw StoreError(
                .outOfRange, "\(exact) does not fit in \(I.self) (\(I.min) to \(I.max))")
        }
        return number
    }
}

extension Optional: StoredValue where Wrapped: StoredValue {
    /// The optional live form.
    public typealias LiveForm = Wrapped.LiveForm?
    /// The optional frozen form.
    public typealias FrozenForm = Wrapped.FrozenForm?
    /// The model of the wrapped value.
    public typealias Target = Wrapped.Target
    /// The type without Optional.
    public typealias Bare = Wrapped.Bare
    /// The order of the wrapped values.
    public typealias _Order = Wrapped._Order

    /// The wrapped type, optional.
    public static var storedType: StoredType { Wrapped.storedType.optional() }
    /// The stored form; null for nil.
    public var stored: Mixed { self?.stored ?? .null }
    /// Creates the value; nil for null.
    public init(stored: Mixed) throws {
        if case .null = stored { self = nil } else { self = try Wrapped(stored: stored) }
    }
    /// Reads the column.
    @inlinable public static func _read(_ cell: StoredCell) -> Wrapped.LiveForm?? {
        if let value = Wrapped._read(cell) { return .some(value) }
        return Wrapped._hasFastRead && (try? cell.table.rows.isNull(cell.column, cell.key)) == true
            ? .some(nil) : nil
    }
    /// Creates the live form; nil for null, and for a raw value without a case.
    public static func _live(
        _ element: StoredElement, in context: StoredContext
    ) throws -> Wrapped.LiveForm? {
        if case .null = element.value { return nil }
        return try nilForUnknownCase { try Wrapped._live(element, in: context) }
    }
    /// Creates the frozen form; nil for null, and for a raw value without a case.
    public static func _frozen(
        _ element: StoredElement, in context: StoredContext
    ) throws -> Wrapped.FrozenForm? {
        if case .null = element.value { return nil }
        return try nilForUnknownCase { try Wrapped._frozen(element, in: context) }
    }
    /// Returns nil for a stored value that the type cannot represent.
    ///
    /// Because the schema determines the type, this is a raw value without a case.
    private static func nilForUnknownCase<Form>(_ body: () throws -> Form) throws -> Form? {
        do { return try body() } catch let error as StoreError where error.code == .typeMismatch {
            return nil
        }
    }
    /// Creates the plain value; nil for null.
    public static func _plain(
        _ element: StoredElement, in context: StoredContext
    ) throws -> Wrapped? {
        if case .null = element.value { return nil }
        return try Wrapped._plain(element, in: context)
    }
    /// Returns the stored form.
    public func _element(in context: StoredContext) throws -> StoredElement {
        try self?._element(in: context) ?? StoredElement(.null)
    }
    /// Returns the stored form of the live form.
    public static func _element(
        of live: Wrapped.LiveForm?, in context: StoredContext
    ) throws -> StoredElement {
        try live.map { try Wrapped._element(of: $0, in: context) } ?? StoredElement(.null)
    }
    /// Nil.
    public static var _placeholder: Wrapped?? { .some(nil) }
}

extension Optional: OptionalValue where Wrapped: StoredValue {
    /// The type without Optional.
    public typealias WrappedValue = Wrapped
}
extension Optional: OrderedValue where Wrapped: OrderedValue {}
extension Optional: NumericValue where Wrapped: NumericValue {
    /// The type of a sum.
    public typealias Total = Wrapped.Total
    /// Creates a sum.
    public static func _total(_ sum: Mixed) throws -> Wrapped.Total { try Wrapped._total(sum) }
}
extension Optional: TextValue where Wrapped: TextValue {}
extension Optional: TruthValue where Wrapped: TruthValue {}
