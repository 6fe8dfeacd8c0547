/// One element of a list.
package enum ListElement: Hashable, Sendable {
    /// Null, in lists of optional elements.
    case null
    /// A bool (0 or 1), int, date, or the raw key of a linked row.
    case int(Int64)
    /// A single-precision number.
    case float(Float)
    /// A double-precision number.
    case double(Double)
    /// The bytes of a string, data, or a value of 12 or 16 bytes.
    case bytes([UInt8])
}

extension ListElement {
    /// Returns whether both elements are of the same kind and equal; numbers are compared by ``RealOrder``.
    package static func == (left: ListElement, right: ListElement) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.int(let left), .int(let right)): left == right
        case (.float(let left), .float(let right)): RealOrder.isEqual(Double(left), Double(right))
        case (.double(let left), .double(let right)): RealOrder.isEqual(left, right)
        case (.bytes(let left), .bytes(let right)): left == right
        default: false
        }
    }

    /// Hashes the element, with equal hashes for equal elements.
    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .int(let value):
            hasher.combine(1 as UInt8)
            hasher.combine(value)
        case .float(let value):
            hasher.combine(2 as UInt8)
            hasher.combine(RealOrder.canonical(Double(value)).bitPattern)
        case .double(let value):
            hasher.combine(3 as UInt8)
            hasher.combine(RealOrder.canonical(value).bitPattern)
        case .bytes(let value):
            hasher.combine(4 as UInt8)
            hasher.combine(value)
        }
    }
}

extension ColumnKind {
    /// Whether elements of this kind are stored as 64-bit words rather than as bytes.
    var isStoredAsWord: Bool {
        switch self {
        case .bool, .int, .float, .double, .link, .list: true
        case .string, .data, .bytes12, .bytes16: false
        }
    }

    func element(word: Int64) -> ListElement {
        switch self {
        case .float: .float(Float(bitPattern: UInt32(truncatingIfNeeded: word)))
        case .double: .double(Double(bitPattern: UInt64(bitPattern: word)))
        default: .int(word)
        }
    }
}

extension ListElement {
    /// The element as a word; nil for null and bytes.
    var word: Int64? {
        switch self {
        case .int(let value): value
        case .float(let value): Int64(value.bitPattern)
        case .double(let value): Int64(bitPattern: value.bitPattern)
        case .null, .bytes: nil
        }
    }
}
