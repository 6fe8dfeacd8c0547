import ObjectStore

extension Array: StoredValue, CollectionValue where Element: StoredValue {
    /// The form of the value in a live object: a ``LiveList``; for bytes, the array.
    public typealias LiveForm = Element.ListForm
    /// An array of frozen forms.
    public typealias FrozenForm = [Element.FrozenForm]
    /// The type of the elements.
    public typealias ElementValue = Element
    /// The model of the elements.
    public typealias Target = Element.Target

    static var isBytes: Bool { Element.self == UInt8.self }

    /// A list of the elements' type; data for bytes.
    public static var storedType: StoredType {
        isBytes ? .data : Element.storedType.collected(in: .list)
    }
    /// The elements as a list; bytes as data.
    public var stored: Mixed {
        if Self.isBytes, let bytes = self as? [UInt8] { return .data(bytes) }
        return .list(map(\.stored))
    }
    /// Creates the array.
    public init(stored: Mixed) throws {
        switch stored {
        case .data(let bytes) where Self.isBytes: self = bytes as! [Element]
        case .list(let values) where !Self.isBytes:
            self = try values.map(Element.init(stored:))
        default: throw stored.mismatch(expected: Self.isBytes ? "data" : "a list")
        }
    }
    /// Returns the live list, or the bytes.
    public static func _live(_ cell: StoredCell) throws -> LiveForm { try Element._list(cell) }
    /// Throws `invalid_argument`, because lists cannot be nested.
    public static func _live(
        _ element: StoredElement, in context: StoredContext
    ) throws -> LiveForm {
        throw StoreError(.invalidArgument, "a list cannot be an element of a collection")
    }
    /// Creates the frozen elements.
    public static func _frozen(
        _ element: StoredElement, in context: StoredContext
    ) throws -> [Element.FrozenForm] {
        if case .data = element.value { return try _plain(element, in: context) as! FrozenForm }
        return try elements(element).map { try Element._frozen($0, in: context) }
    }
    /// Creates the plain elements.
    public static func _plain(
        _ element: StoredElement, in context: StoredContext
    ) throws -> [Element] {
        if case .data = element.value {
            return try Self(stored: Mixed(element.value))
        }
        return try elements(element).map { try Element._plain($0, in: context) }
    }
    /// Returns the elements as a list.
    public func _element(in context: StoredContext) throws -> StoredElement {
        if Self.isBytes, let bytes = self as? [UInt8] { return StoredElement(.data(bytes)) }
        return StoredElement(.list(try map { try $0._element(in: context).value }))
    }
    /// Returns the elements of the live list.
    public static func _element(
        of live: LiveForm, in context: StoredContext
    ) throws -> StoredElement {
        try Element._element(ofList: live, in: context)
    }
    /// No elements.
    public static var _placeholder: [Element]? { [] }

    private static func elements(_ element: StoredElement) throws -> [StoredElement] {
        guard case .list(let values) = element.value else {
            throw Mixed(element.value).mismatch(expected: "a list")
        }
        return values.map { StoredElement($0) }
    }
}

extension Set: StoredValue, CollectionValue where Element: StoredValue {
    /// The form of the value in a live object.
    public typealias LiveForm = LiveSet<Element>
    /// The type of the elements.
    public typealias ElementValue = Element
    /// The model of the elements.
    public typealias Target = Element.Target

    /// A set of the elements' type.
    public static var storedType: StoredType { Element.storedType.collected(in: .set) }
    /// The elements as a list.
    public var stored: Mixed { .list(map(\.stored)) }
    /// Creates the set.
    public init(stored: Mixed) throws {
        guard case .list(let values) = stored else { throw stored.mismatch(expected: "a list") }
        self = Set(try values.map(Element.init(stored:)))
    }
    /// Returns the live set.
    public static func _live(_ cell: StoredCell) throws -> LiveForm {
        LiveSet(try cell.table.liveObject(cell.key).set(cell.property.name), cell.table.context)
    }
    /// Throws `invalid_argument`, because sets cannot be nested.
    public static func _live(
        _ element: StoredElement, in context: StoredContext
    ) throws -> LiveForm {
        throw StoreError(.invalidArgument, "a set cannot be an element of a collection")
    }
    /// Creates the plain elements.
    public static func _plain(
        _ element: StoredElement, in context: StoredContext
    ) throws -> Set<Element> {
        guard case .list(let values) = element.value else {
            throw Mixed(element.value).mismatch(expected: "a list")
        }
        return Set(try values.map { try Element._plain(StoredElement($0), in: context) })
    }
    /// Returns the elements as a list.
    public func _element(in context: StoredContext) throws -> StoredElement {
        StoredElement(.list(try map { try $0._element(in: context).value }))
    }
    /// Returns the elements of the live set.
    public static func _element(
        of live: LiveForm, in context: StoredContext
    ) throws -> StoredElement {
        StoredElement(.list(try live.engineValues(in: context)))
    }
    /// No elements.
    public static var _placeholder: Set<Element>? { [] }
}

extension Dictionary: StoredValue, CollectionValue, MapValue
where Key == String, Value: StoredValue {
    /// The form of the value in a live object.
    public typealias LiveForm = LiveMap<Value>
    /// A dictionary of frozen forms.
    public typealias FrozenForm = [String: Value.FrozenForm]
    /// The type of the values.
    public typealias ElementValue = Value
    /// The model of the values.
    public typealias Target = Value.Target

    /// A map of the values' type.
    public static var storedType: StoredType { Value.storedType.collected(in: .map) }
    /// The values as a map.
    public var stored: Mixed { .map(mapValues(\.stored)) }
    /// Creates the dictionary.
    public init(stored: Mixed) throws {
        guard case .map(let values) = stored else { throw stored.mismatch(expected: "a map") }
        self = try values.mapValues(Value.init(stored:))
    }
    /// Returns the live map.
    public static func _live(_ cell: StoredCell) throws -> LiveForm {
        LiveMap(try cell.table.liveObject(cell.key).map(cell.property.name), cell.table.context)
    }
    /// Throws `invalid_argument`, because maps cannot be nested.
    public static func _live(
        _ element: StoredElement, in context: StoredContext
    ) throws -> LiveForm {
        throw StoreError(.invalidArgument, "a map cannot be an element of a collection")
    }
    /// Creates the frozen values.
    public static func _frozen(
        _ element: StoredElement, in context: StoredContext
    ) throws -> FrozenForm {
        try values(element).dictionary { try Value._frozen(StoredElement($0), in: context) }
    }
    /// Creates the plain values.
    public static func _plain(
        _ element: StoredElement, in context: StoredContext
    ) throws -> [String: Value] {
        try values(element).dictionary { try Value._plain(StoredElement($0), in: context) }
    }
    /// Returns the values as a map.
    public func _element(in context: StoredContext) throws -> StoredElement {
        StoredElement(.dictionary(ValueMap(try mapValues { try $0._element(in: context).value })))
    }
    /// Returns the values of the live map.
    public static func _element(
        of live: LiveForm, in context: StoredContext
    ) throws -> StoredElement {
        StoredElement(.dictionary(try live.engineValues(in: context)))
    }
    /// No values.
    public static var _placeholder: [String: Value]? { [:] }

    private static func values(
        _ element: StoredElement
    ) throws -> ValueMap {
        guard case .dictionary(let values) = element.value else {
            throw Mixed(element.value).mismatch(expected: "a map")
        }
        return values
    }
}
