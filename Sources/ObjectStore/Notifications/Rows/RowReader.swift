import ColumnStorage

/// Reads the rows of an observed query in one version: their values, and the order of rows with equal values.
struct RowReader {
    private let view: StoreView
    /// The sequence whose elements are the rows; nil if the rows are objects.
    private let sequence: ObservedSequence?
    private let labelsBefore: [ObjectKey: Int64]

    /// Creates a reader of a class's objects.
    ///
    /// Objects with equal values have the order of their creation, which is the order of their keys.
    init(_ view: StoreView) {
        self.view = view
        sequence = nil
        labelsBefore = [:]
    }

    /// Creates a reader of elements; elements with equal values keep the order of their sequence.
    init(_ view: StoreView, _ sequence: ObservedSequence, labelsBefore: [ObjectKey: Int64] = [:]) {
        self.view = view
        self.sequence = sequence
        self.labelsBefore = labelsBefore
    }

    /// Returns a total order by some sort keys.
    func order(_ keys: [SortKey]) throws -> CodedOrder {
        let ties = sequence?.order(labelsBefore: labelsBefore) ?? .byKey
        guard !keys.isEmpty else { return ties }
        let comparator = try SortComparator(keys, in: view)
        func code(_ row: ObjectKey) throws -> UInt64 {
            try comparator.code(of: sequence?.object(row) ?? row)
        }
        if keys.count == 1, keys[0].isExactlyCoded {
            return CodedOrder(code: code, precedesAmongEqual: ties.precedes)
        }
        return CodedOrder(code: code) { first, second in
            let order = try comparator.orderByValues(
                sequence?.object(first) ?? first, sequence?.object(second) ?? second)
            return try order == 0 ? ties.precedes(first, second) : order < 0
        }
    }

    /// Returns a function that reads the values by which `distinct` compares a row.
    func values(_ keys: [DistinctKey]) throws -> (ObjectKey) throws -> [Scalar] {
        let readers = try keys.map { try $0.reader(in: view) }
        guard let sequence else { return { key in try readers.map { try $0(key) } } }
        return { number in
            let key = sequence.object(number)
            return try readers.map { try $0(key) }
        }
    }
}
