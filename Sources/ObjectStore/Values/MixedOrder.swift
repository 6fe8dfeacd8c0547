import ColumnStorage

/// How mixed values compare: numbers by value whatever their type, other values only with their like; for sorting
/// the types stand in a fixed order.
///
/// That order is nil, bool, numbers, string, data, date, object id, UUID, object, list, map. Not-a-number is the last
/// number. Lists are ordered like texts, element by element; maps like lists of keys and values.
enum MixedOrder {
    private static func rank(_ value: Value) -> UInt8 {
        switch value {
        case .null: 0
        case .bool: 1
        case .int, .float, .double, .decimal: 2
        case .string: 3
        case .data: 4
        case .date: 5
        case .objectID: 6
        case .uuid: 7
        case .object: 8
        case .list: 9
        case .dictionary: 10
        }
    }

    /// -1, 0 or 1 for any two values.
    static func order(_ left: Value, _ right: Value) -> Int {
        func compare<Element: Comparable>(_ a: Element, _ b: Element) -> Int {
            a < b ? -1 : a == b ? 0 : 1
        }
        switch (left, right) {
        case (.bool(let a), .bool(let b)): return compare(a ? 1 : 0, b ? 1 : 0)
        case (.int(let a), .int(let b)): return compare(a, b)
        case (.string(let a), .string(let b)): return bytes(Array(a.utf8), Array(b.utf8))
        case (.data(let a), .data(let b)): return bytes(a, b)
        case (.date(let a), .date(let b)): return compare(a.microseconds, b.microseconds)
        case (.objectID(let a), .objectID(let b)): return compare(a, b)
        case (.uuid(let a), .uuid(let b)): return compare(a, b)
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
            let ranks = (rank(left), rank(right))
            if ranks.0 != ranks.1 { return compare(ranks.0, ranks.1) }
            guard let a = left.exactNumber, let b = right.exactNumber else { return 0 }
            return compare(a, b)
        }
    }

    /// Whether both are the same value; 1 and 1.0 are.
    static func isEqual(_ left: Value, _ right: Value) -> Bool { order(left, right) == 0 }

    private static func bytes(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }

    private static func flat(_ entries: [String: Value]) -> [Value] {
        MixedCoding.sorted(entries).flatMap { [.string($0.key), $0.value] }
    }

    /// Bytes that order like the values and are equal for equal ones.
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
        case .int, .float, .double, .decimal:
            code += value.exactNumber?.orderedBytes ?? []
        case .string(let text): appendEscaped(Array(text.utf8), to: &code)
        case .data(let bytes): appendEscaped(bytes, to: &code)
        case .date(let moment):
            append(UInt64(bitPattern: moment.microseconds) ^ 1 << 63, to: &code)
        case .objectID(let identifier): code += identifier.bytes
        case .uuid(let identifier): code += identifier.bytes
        case .object(let reference):
            append(UInt64(reference.table.rawValue), to: &code)
            append(UInt64(bitPattern: reference.key.rawValue) ^ 1 << 63, to: &code)
        case .list(let elements):
            for element in elements { append(element, to: &code) }
            code.append(0)  // below every rank, so that shorter lists come first
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

    /// Zero bytes are escaped, so that the end mark is below whatever a longer text goes on with.
    private static func appendEscaped(_ bytes: [UInt8], to code: inout [UInt8]) {
        for byte in bytes {
            code.append(byte)
            if byte == 0 { code.append(255) }
        }
        code += [0, 0]
    }
}

extension Value {
    /// A number as a decimal that compares like it; nil for what is no number.
    var exactNumber: DecimalValue? {
        switch self {
        case .int(let number): DecimalValue(number)
        case .float(let number): DecimalValue(Double(number))
        case .double(let number): DecimalValue(number)
        case .decimal(let number): number
        default: nil
        }
    }
}
