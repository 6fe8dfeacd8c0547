import ColumnStorage
import ObjectStore

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
