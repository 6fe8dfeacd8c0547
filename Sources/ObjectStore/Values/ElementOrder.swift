import ColumnStorage

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
        case (.int(let left), .int(let right)): Self.order(left, right)
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
            return Self.order(left, right)
        default: break
        }
        return left.lexicographicallyPrecedes(right) ? -1 : 1
    }

    private static func order<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
        left < right ? -1 : left == right ? 0 : 1
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
        var result: [ListElement] = []
        result.reserveCapacity(elements.count)
        for element in elements.sorted(by: { compare($0, $1) < 0 })
        where result.last.map({ compare($0, element) != 0 }) ?? true {
            result.append(element)
        }
        return result
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
