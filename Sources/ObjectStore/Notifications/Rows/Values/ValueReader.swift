import ColumnStorage

/// How the elements of an observed sequence of values are read: as they are, or as they were before a step.
struct ValueReader {
    private let sequence: ValueSequence
    private let elementsBefore: [ObjectKey: ListElement]
    private let labelsBefore: [ObjectKey: Int64]

    /// Reads what is.
    init(_ sequence: ValueSequence) {
        self.init(sequence, before: ValueSequence.Step())
    }

    /// Reads what was before a step.
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

    /// Negative, zero or positive as a value comes before that of an element, is equal to it or follows it.
    func compare(_ value: ListElement, _ number: ObjectKey) -> Int {
        ElementOrder(sequence.property).compare(value, element(number))
    }

    /// By value, where equal ones keep the order of the sequence; nil is the order of the sequence alone.
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
                return order == 0 ? ties.precedes(left, right) : (order < 0) == ascending
            })
    }
}
