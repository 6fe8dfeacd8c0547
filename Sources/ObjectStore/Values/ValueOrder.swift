import ColumnStorage

/// The order and equality of values, which predicates, sorting, `distinct`, sections, sets and observers share.
///
/// - Numbers of all types are compared by value (``Number``). Other values equal only values of their type.
/// - Text and data are compared by their bytes, links by the class and the age of their objects.
/// - A list is compared element by element, a map as the list of its keys and values.
/// - Values of different types are ordered by type: nil, bool, numbers, string, data, date, the types of fixed size in
///   the order of their table, object, list, map.
///
/// Nil equals nil. Predicates do not use the order between types: in predicates, `<` is true only between values of one
/// type.
enum ValueOrder {
    /// Returns the position of a value's type in the order between types.
    static func rank(_ value: Value) -> UInt8 {
        switch value {
        case .null: 0
        case .bool: 1
        case .int, .float, .double, .decimal: 2
        case .string: 3
        case .data: 4
        case .date: 5
        case .fixed(let value): 6 + value.type.number
        case .object: 252
        case .list: 253
        case .dictionary: 254
        }
    }

    /// Compares any two values: -1, 0 or 1.
    static func order(_ left: Value, _ right: Value) -> Int {
        func compare<Element: Comparable>(_ a: Element, _ b: Element) -> Int {
            a < b ? -1 : a == b ? 0 : 1
        }
        switch (left, right) {
        case (.bool(let a), .bool(let b)): return compare(a ? 1 : 0, b ? 1 : 0)
        case (.string(let a), .string(let b)): return bytes(Array(a.utf8), Array(b.utf8))
        case (.data(let a), .data(let b)): return bytes(a, b)
        case (.date(let a), .date(let b)): return compare(a.microseconds, b.microseconds)
        case (.fixed(let a), .fixed(let b)): return compare(a, b)
        case (.object(let a), .object(let b)):
            return a.table == b.table ? compare(a.key, b.key) : compare(a.table, b.table)
        case (.list(let a), .list(let b)):
            for (first, second) in zip(a, b) {
                let order = order(first, second)
                if order != 0 { return order }
            }
            return compare(a.count, b.count)
        case (.dictionary(let a), .dictionary(let b)):
            return order(.list(flat(a)), .list(flat(b)))
        default:
            if let a = left.number, let b = right.number { return Number.order(a, b) }
            return compare(rank(left), rank(right))
        }
    }

    /// Returns whether both values are equal; 1 and 1.0 are.
    static func isEqual(_ left: Value, _ right: Value) -> Bool { order(left, right) == 0 }

    /// Compares any two texts or data: -1, 0 or 1.
    static func bytes(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }

    private static func flat(_ entries: ValueMap) -> [Value] {
        entries.inByteOrder.flatMap { [.string($0.key), $0.value] }
    }

    /// Returns bytes whose order and equality are those of the values.
    static func code(_ value: Value) -> [UInt8] {
        var code: [UInt8] = []
        append(value, to: &code)
        return code
    }

    private static func append(_ value: Value, to code: inout [UInt8]) {
        code.append(rank(value) + 1)
        switch value {
        case .null: break
        case .bool(let flag): code.append(flag ? 1 : 0)
        case .int, .float, .double, .decimal: code += value.number?.code ?? []
        case .string(let text): appendEscaped(Array(text.utf8), to: &code)
        case .data(let bytes): appendEscaped(bytes, to: &code)
        case .date(let moment):
            append(UInt64(bitPattern: moment.microseconds) ^ 1 << 63, to: &code)
        case .fixed(let value): code += value.bytes
        case .object(let reference):
            append(UInt64(reference.table.rawValue), to: &code)
            append(UInt64(bitPattern: reference.key.rawValue) ^ 1 << 63, to: &code)
        case .list(let elements):
            for element in elements { append(element, to: &code) }
            code.append(0)  // less than every rank, so shorter lists come first
        case .dictionary(let entries):
            for element in flat(entries) { append(element, to: &code) }
            code.append(0)
        }
    }

    private static func append(_ number: UInt64, to code: inout [UInt8]) {
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            code.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// Appends bytes with zero bytes escaped, so that the end mark is less than every continuation of a longer text.
    private static func appendEscaped(_ bytes: [UInt8], to code: inout [UInt8]) {
        for byte in bytes {
            code.append(byte)
            if byte == 0 { code.append(255) }
        }
        code += [0, 0]
    }
}
