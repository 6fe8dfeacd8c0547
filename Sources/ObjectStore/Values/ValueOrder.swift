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

    /// Compares any two values of a type: -1, 0 or 1.
    @inline(__always)
    static func compare<Element: Comparable>(_ left: Element, _ right: Element) -> Int {
        left < right ? -1 : left == right ? 0 : 1
    }

    /// Compares any two texts or data: -1, 0 or 1.
    static func bytes(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left.compare(with: right).signum()
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

/// The order of stored collection elements: that of their values (``ValueOrder``), with nil first.
///
/// A set stores its elements in this order, without duplicates.
struct ElementOrder {
    private let property: Property

    init(_ property: Property) {
        self.property = property
    }

    /// Compares two elements: negative if the first precedes the second, zero if they are equal, otherwise positive.
    func compare(_ left: ListElement, _ right: ListElement) -> Int {
        switch (left, right) {
        case (.null, .null): 0
        case (.null, _): -1
        case (_, .null): 1
        case (.int(let left), .int(let right)): ValueOrder.compare(left, right)
        case (.float(let left), .float(let right)): RealOrder.compare(Double(left), Double(right))
        case (.double(let left), .double(let right)): RealOrder.compare(left, right)
        case (.bytes(let left), .bytes(let right)): order(left, right)
        // The elements of a valid set are of one kind; the other cases define an order for damaged elements.
        case (.int, _): -1
        case (_, .int): 1
        case (.float, _): -1
        case (_, .float): 1
        case (.double, _): -1
        case (_, .double): 1
        }
    }

    private func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
        if left == right { return 0 }
        switch property.type {
        case .mixed: return ValueOrder.order(MixedCoding.decode(left), MixedCoding.decode(right))
        case .decimal:
            guard let left = DecimalValue(bytes: left), let right = DecimalValue(bytes: right)
            else { break }
            return ValueOrder.compare(left, right)
        default: break
        }
        return ValueOrder.bytes(left, right)
    }

    /// Returns a code with the order of the elements; equal codes require ``compare(_:_:)``.
    func code(of element: ListElement) -> UInt64 {
        switch element {
        case .null: 0
        case .int(let value): SortCode.of(value)
        case .float(let value): SortCode.of(Double(value))
        case .double(let value): SortCode.of(value)
        case .bytes(let bytes):
            switch property.type {
            // The bytes of these types have another order than the values.
            case .mixed, .decimal: 1
            default: SortCode.of(bytes)
            }
        }
    }

    /// Returns the elements in order, without duplicates.
    func normalized(_ elements: [ListElement]) -> [ListElement] {
        distinctPositions(elements).map { elements[$0] }
    }

    /// Returns the values in the order of their elements, without duplicates.
    func normalized(_ values: [Value]) -> [Value] {
        distinctPositions(values).map { values[$0] }
    }

    /// Returns the positions of the first occurrences of the values, in the order of the values.
    func distinctPositions(_ values: [Value]) -> [Int] {
        distinctPositions(values.map { $0.listElement(of: property) })
    }

    /// Returns the positions of the first occurrences of the elements, in their order.
    func distinctPositions(_ elements: [ListElement]) -> [Int] {
        var result: [Int] = []
        for position in sortedPositions(elements)
        where result.last.map({ compare(elements[$0], elements[position]) != 0 }) ?? true {
            result.append(position)
        }
        return result
    }

    /// Returns the positions of elements in their order; the positions of equal ones ascend.
    func sortedPositions(_ elements: [ListElement], ascending: Bool = true) -> [Int] {
        elements.indices.sorted {
            let order = compare(elements[$0], elements[$1])
            return order == 0 ? $0 < $1 : (order < 0) == ascending
        }
    }

    /// Returns the index of an element in a sorted collection or its insertion index, and whether the element exists.
    func search(
        _ element: ListElement, in set: ListReader
    ) throws -> (position: Int, isThere: Bool) {
        try StoreError.wrapping { () throws(StorageError) in
            var isThere = false
            let position = try set.partitioningIndex { other in
                let order = compare(other, element)
                // The search ends at the first element that does not precede the searched one. Its comparison is the
                // last one here.
                if order >= 0 { isThere = order == 0 }
                return order >= 0
            }
            return (position, isThere)
        }
    }
}
