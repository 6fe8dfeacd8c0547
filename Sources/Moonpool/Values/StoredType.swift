import ColumnStorage
import ObjectStore

/// The property type that a ``StoredValue`` has in the schema.
///
/// Your own type returns one of the constants:
///
/// ```swift
/// struct Celsius: StoredValue {
///     var degrees: Double
///     static var storedType: StoredType { .double }
///     init(stored: Mixed) throws { degrees = try stored.get(as: Double.self) }
///     var stored: Mixed { .double(degrees) }
/// }
/// ```
public struct StoredType: Sendable {
    package var type: PropertyType
    package var isOptional = false
    package var collection: CollectionKind?
    package var target: (any ObjectModel.Type)?
    package var origin: BacklinksOrigin?

    package init(
        _ type: PropertyType, target: (any ObjectModel.Type)? = nil,
        origin: BacklinksOrigin? = nil
    ) {
        self.type = type
        self.target = target
        self.origin = origin
    }

    package func optional() -> StoredType {
        var copy = self
        copy.isOptional = true
        return copy
    }

    package func collected(in kind: CollectionKind) -> StoredType {
        var copy = self
        copy.collection = kind
        // Lists and sets cannot contain nil links; only a property with an embedded object can be nil.
        if type == .object { copy.isOptional = kind == .map }
        return copy
    }
}

extension StoredType {
    /// True or false.
    public static var bool: StoredType { StoredType(.bool) }
    /// A 64-bit integer.
    public static var int: StoredType { StoredType(.int) }
    /// A single-precision number.
    public static var float: StoredType { StoredType(.float) }
    /// A double-precision number.
    public static var double: StoredType { StoredType(.double) }
    /// Text.
    public static var string: StoredType { StoredType(.string) }
    /// Bytes.
    public static var data: StoredType { StoredType(.data) }
    /// A point in time in microseconds.
    public static var date: StoredType { StoredType(.date) }
    /// A UUID.
    public static var uuid: StoredType { StoredType(.uuid) }
    /// A 12-byte object ID.
    public static var objectID: StoredType { StoredType(.objectID) }
    /// A decimal number with 34 digits.
    public static var decimal: StoredType { StoredType(.decimal) }
    /// A value of any type.
    public static var mixed: StoredType { StoredType(.mixed) }
}

/// The link that a backlinks property follows backwards.
package struct BacklinksOrigin: Sendable {
    package let model: any ObjectModel.Type
    package let property: @Sendable () throws -> String
}

/// A type that a property of a model can have.
///
/// Numbers, text, dates, identifiers, collections, links and embedded models conform. An enum with a raw value needs no
/// code:
///
/// ```swift
/// enum Color: String, StoredValue { case brown, black }
/// ```
///
/// Your own type implements ``storedType``, ``init(stored:)`` and ``stored``. Members that begin with an underscore
/// have default implementations.
public protocol StoredValue: Sendable {
    /// The type that a live object shows for the property.
    associatedtype LiveForm = Self
    /// The type that a frozen object shows for the property.
    associatedtype FrozenForm: Sendable = Self
    /// The type that a live object shows for an array of these.
    associatedtype ListForm = LiveList<Self>
    /// The model of a link or an embedded object.
    associatedtype Target = NoFields
    /// The type without Optional.
    associatedtype Bare: StoredValue = Self
    /// Whether queries can sort and compare the values: ``_Ordered`` or ``_Unordered``.
    associatedtype _Order = _Unordered

    /// The type of the property in the schema.
    static var storedType: StoredType { get }
    /// Creates the value from its stored form.
    ///
    /// Throws `type_mismatch` or `out_of_range` for a stored value that this type cannot represent.
    init(stored: Mixed) throws
    /// The stored form.
    var stored: Mixed { get }

    /// Reads a property on the fast path. Returns nil to use the slow path.
    static func _read(_ cell: StoredCell) -> LiveForm?
    /// Whether ``_read(_:)`` can read every value that is not null.
    static var _hasFastRead: Bool { get }
    /// Reads a property of a live object.
    static func _live(_ cell: StoredCell) throws -> LiveForm
    /// Creates the live form of an element.
    static func _live(_ element: StoredElement, in context: StoredContext) throws -> LiveForm
    /// Creates the frozen form of an element.
    static func _frozen(_ element: StoredElement, in context: StoredContext) throws -> FrozenForm
    /// Creates the plain value of an element.
    static func _plain(_ element: StoredElement, in context: StoredContext) throws -> Self
    /// Returns the element that stores the value.
    func _element(in context: StoredContext) throws -> StoredElement
    /// Returns the element that stores a live form.
    static func _element(of live: LiveForm, in context: StoredContext) throws -> StoredElement
    /// Returns the live form of an array of elements.
    static func _list(_ cell: StoredCell) throws -> ListForm
    /// Returns the element that stores the live form of an array.
    static func _element(ofList live: ListForm, in context: StoredContext) throws -> StoredElement
    /// A plain value for a missing value in the file.
    static var _placeholder: Self? { get }
}

/// A type whose values have an order, so that queries can sort by it.
///
/// An enum with an ordered raw value is ordered without a conformance, by its raw values.
public protocol OrderedValue: StoredValue where _Order == _Ordered {}

/// The ``StoredValue/_Order`` of values that have an order.
public enum _Ordered: Sendable {}
/// The ``StoredValue/_Order`` of values without an order.
public enum _Unordered: Sendable {}

/// A number.
public protocol NumericValue: OrderedValue {
    /// The type of a sum.
    associatedtype Total: Sendable = Self
    /// Creates a sum from its stored form.
    static func _total(_ sum: Mixed) throws -> Total
}

/// Text or optional text.
public protocol TextValue: OrderedValue {}

/// A Boolean or an optional Boolean.
public protocol TruthValue: StoredValue {}

/// An array, a set, a dictionary, or backlinks.
public protocol CollectionValue: StoredValue {
    /// The type of the elements.
    associatedtype ElementValue: StoredValue
}

/// A dictionary with text keys.
public protocol MapValue: CollectionValue {}

/// An optional.
public protocol OptionalValue: StoredValue {
    /// The type without Optional.
    associatedtype WrappedValue: StoredValue
}

/// The ``StoredValue/Target`` of values that do not link to objects.
public enum NoFields: Sendable {}

/// A property of one object, for the implementations of ``StoredValue``.
public struct StoredCell {
    @usableFromInline package let table: ModelTable
    @usableFromInline package let key: ObjectKey
    @usableFromInline package let offset: Int

    @inlinable
    package init(_ table: ModelTable, _ key: ObjectKey, offset: Int) {
        self.table = table
        self.key = key
        self.offset = offset
    }

    @inlinable @inline(__always)
    package var column: ColumnID { table.columns[offset] }

    package var property: Property { get throws { try table.property(at: offset) } }
    package var context: StoredContext { StoredContext(table.context) }

    /// Reads the value through the engine.
    package func value() throws -> Value {
        try table.context.source.openView().value(
            property, of: key, in: table.classSchema)
    }
}

/// A stored value that is passed between a model and the store.
public struct StoredElement {
    package var value: Value

    package init(_ value: Value) { self.value = value }
}

/// The store or frozen version that values belong to.
public struct StoredContext {
    package let context: ModelContext

    package init(_ context: ModelContext) { self.context = context }
}

// MARK: Values that a live object shows unchanged

extension StoredValue {
    /// Returns nil, so that the slow path is used.
    @inlinable public static func _read(_ cell: StoredCell) -> LiveForm? { nil }
    /// False: values are read through the engine.
    @inlinable public static var _hasFastRead: Bool { false }
    /// Reads the property through the engine.
    public static func _live(_ cell: StoredCell) throws -> LiveForm {
        try _live(StoredElement(cell.value()), in: cell.context)
    }
    /// Nil: the type has no plain value for a missing value.
    public static var _placeholder: Self? { nil }
    /// Creates the plain value from the stored form.
    public static func _plain(_ element: StoredElement, in context: StoredContext) throws -> Self {
        try Self(stored: context.context.mixed(element.value))
    }
    /// Returns the stored form.
    public func _element(in context: StoredContext) throws -> StoredElement {
        StoredElement(try context.context.resolved(stored))
    }
}

extension StoredValue where LiveForm == Self {
    /// Creates the value from the stored form.
    public static func _live(
        _ element: StoredElement, in context: StoredContext
    ) throws -> LiveForm {
        try _plain(element, in: context)
    }
    /// Returns the stored form.
    public static func _element(
        of live: LiveForm, in context: StoredContext
    ) throws -> StoredElement {
        try live._element(in: context)
    }
}

extension StoredValue where FrozenForm == Self {
    /// Creates the value from the stored form.
    public static func _frozen(
        _ element: StoredElement, in context: StoredContext
    ) throws -> FrozenForm {
        try _plain(element, in: context)
    }
}

extension StoredValue where ListForm == LiveList<Self> {
    /// Returns the live list.
    public static func _list(_ cell: StoredCell) throws -> ListForm {
        LiveList(try cell.table.liveObject(cell.key).list(cell.property.name), cell.table.context)
    }
    /// Returns the elements of the live list.
    public static func _element(
        ofList live: ListForm, in context: StoredContext
    ) throws -> StoredElement {
        StoredElement(.list(try live.engineValues(in: context)))
    }
}
