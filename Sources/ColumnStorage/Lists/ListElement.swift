/// One element of a list as it is handed over.
package enum ListElement: Hashable, Sendable {
    /// Nothing, in lists of optional elements.
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
