import ColumnStorage
import ObjectStore

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
