import ColumnStorage

/// Reads the elements of an observed sequence of values, now or before a step.
struct ValueReader {
    private let sequence: ValueSequence
    private let elementsBefore: [ObjectKey: ListElement]
    private let labelsBefore: [ObjectKey: Int64]

    /// Creates a reader of the current elements.
    init(_ sequence: ValueSequence) {
        self.init(sequence, before: ValueSequence.Step())
    }

    /// Creates a reader of the elements before a step.
    init(_ sequence: ValueSequence, before step: ValueSequence.Step) {
        self.sequence = sequence
        elementsBefore = step.elementsBefore
        labelsBefore = step.labelsBefore
    }

    func element(_ number: ObjectKey) -> ListElement {
        elementsBefore[number] ?? sequence.element(number)
    }

    func value(_ number: ObjectKey) -> Value {
        Value(element(number), of: sequence.property.type, target: nil)
    }

    /// Compares a value with the value of an element: negative if it comes first, zero if equal, otherwise positive.
    func compare(_ value: ListElement, _ number: ObjectKey) -> Int {
        ElementOrder(sequence.property).compare(value, element(number))
    }

    /// Returns an order by value in which equal values keep the order of the sequence.
    ///
    /// If `ascending` is nil, it is the order of the sequence alone.
    func order(ascending: Bool?) -> CodedOrder {
        let ties = sequence.order(labelsBefore: labelsBefore)
        guard let ascending else { return ties }
        let values = ElementOrder(sequence.property)
        return CodedOrder(
            code: { number in
                let code = values.code(of: element(number))
                return ascending ? code : ~code
            },
            precedesAmongEqual: { left, right in
                let order = values.compare(element(left), element(right))
                return try order == 0 ? ties.precedes(left, right) : (order < 0) == ascending
            })
    }
}
