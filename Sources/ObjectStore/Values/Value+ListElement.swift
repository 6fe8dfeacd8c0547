import ColumnStorage

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
