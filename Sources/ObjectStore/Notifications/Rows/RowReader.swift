import ColumnStorage

/// How the rows of an observed query are read in one version: the values of their objects, and the
/// order of rows whose values are equal.
struct RowReader {
    private let view: StoreView
    /// The elements that rows represent; nil if a row is an object.
    private let sequence: ObservedSequence?
    private let labelsBefore: [ObjectKey: Int64]

    /// Reads objects of a class.
    ///
    /// Objects with equal values are in the order of creation, which is the order of the keys.
    init(_ view: StoreView) {
        self.view = view
        sequence = nil
        labelsBefore = [:]
    }

    /// Reads elements, which keep the order of their sequence where values are equal.
    init(_ view: StoreView, _ sequence: ObservedSequence, labelsBefore: [ObjectKey: Int64] = [:]) {
        self.view = view
        self.sequence = sequence
        self.labelsBefore = labelsBefore
    }

    /// A total order by some keys.
    func order(_ keys: [SortKey]) -> CodedOrder {
        let ties = sequence?.order(labelsBefore: labelsBefore) ?? .byKey
        guard !keys.isEmpty else { return ties }
        let comparator = SortComparator(keys, in: view)
        func code(_ row: ObjectKey) -> UInt64 {
            comparator.code(of: sequence?.object(row) ?? row)
        }
        if keys.count == 1, keys[0].isExactlyCoded {
            return CodedOrder(code: code, precedesAmongEqual: ties.precedes)
        }
        return CodedOrder(code: code) { first, second in
            let order = comparator.orderByValues(
                sequence?.object(first) ?? first, sequence?.object(second) ?? second)
            return order == 0 ? ties.precedes(first, second) : order < 0
        }
    }

    /// The values that distinguish rows.
    func values(_ keys: [DistinctKey]) -> (ObjectKey) -> [Scalar] {
        let readers = keys.map { $0.reader(in: view) }
        guard let sequence else { return { key in readers.map { $0(key) } } }
        return { number in
            let key = sequence.object(number)
            return readers.map { $0(key) }
        }
    }
}
