import ColumnStorage

/// The plain values of an observed list, set or map, in its order.
///
/// A value may occur several times, so each element has a number of its own, by which rows are kept. The number stays
/// when the element is set to another value, and when it moves. A step costs time proportional to its changes, times a
/// logarithm.
final class ValueSequence {
    /// The changes of a step, in numbers of elements.
    struct Step {
        /// Elements that are gone; their values can be read until `forget`.
        var removed: [ObjectKey] = []
        var added: [ObjectKey] = []
        /// Elements that were set, with the values that they had.
        var elementsBefore: [ObjectKey: ListElement] = [:]
        /// Elements with another position, with the labels that they had.
        var labelsBefore: [ObjectKey: Int64] = [:]
        /// Whether all elements have other labels, so that structures ordered by labels have to be rebuilt.
        var isRelabeled = false
    }

    let property: Property
    private var elements: [ListElement]
    private var places = ElementPlaces()
    private var unused: [ObjectKey] = []

    init(_ elements: [ListElement], of property: Property) {
        self.property = property
        self.elements = elements
        label(elements.indices.map { ObjectKey(rawValue: Int64($0)) })
    }

    /// The value of an element.
    func element(_ number: ObjectKey) -> ListElement { elements[Int(number.rawValue)] }

    /// All elements, in order.
    func numbers() -> [ObjectKey] { places.numbers() }

    /// The order of the elements; `labelsBefore` are those of an earlier version.
    func order(labelsBefore: [ObjectKey: Int64]) -> CodedOrder {
        places.order(labelsBefore: labelsBefore)
    }

    /// Advances along a change; `element` reads the present element at a position.
    func advance(by changes: CollectionChangeSet, element: (Int) -> ListElement) -> Step {
        var step = Step()
        for (old, new) in zip(changes.modifications, changes.modificationsNew) {
            let number = places.number(at: old)
            step.elementsBefore[number] = self.element(number)
            elements[Int(number.rawValue)] = element(new)
        }
        // Very many are done sooner all at once.
        let count = changes.deletions.count + changes.insertions.count
        step.isRelabeled = count > 64 + places.count / 8
        var numbers = step.isRelabeled ? places.numbers() : []
        var gone: [ListElement: [ObjectKey]] = [:]
        for position in changes.deletions.reversed() {
            let number = step.isRelabeled ? numbers[position] : places.remove(at: position)
            gone[self.element(number), default: []].append(number)
        }
        if step.isRelabeled { numbers.removeAll(at: changes.deletions) }
        var come: [(position: Int, number: ObjectKey)] = []
        for position in changes.insertions {
            let number = number(for: element(position), from: &gone, &step)
            if !step.isRelabeled, let label = places.label(at: position) {
                places.insert(number, label: label)
                continue
            }
            if !step.isRelabeled {
                // Inserted elements have used up the labels between these two.
                step.isRelabeled = true
                numbers = places.numbers()
            }
            come.append((position, number))
        }
        if step.isRelabeled {
            numbers.insert(come)
            label(numbers)
        }
        step.removed = gone.values.flatMap(\.self)
        return step
    }

    /// Releases elements that were removed.
    func forget(_ removed: [ObjectKey]) { unused += removed }

    /// The number of an element that comes: one that has only moved keeps it.
    private func number(
        for element: ListElement, from gone: inout [ListElement: [ObjectKey]], _ step: inout Step
    ) -> ObjectKey {
        if let known = gone[element]?.popLast() {
            step.labelsBefore[known] = places.label(of: known)
            return known
        }
        let number: ObjectKey
        if let known = unused.popLast() {
            number = known
            elements[Int(number.rawValue)] = element
        } else {
            number = ObjectKey(rawValue: Int64(elements.count))
            elements.append(element)
        }
        step.added.append(number)
        return number
    }

    /// Places all elements, which have labels far from one another then.
    private func label(_ numbers: [ObjectKey]) {
        for (position, number) in numbers.enumerated() {
            places.set(ElementPlaces.firstLabel(at: position), of: number)
        }
        places.place(numbers)
    }
}

extension [ObjectKey] {
    /// Removes the elements at ascending positions.
    fileprivate mutating func removeAll(at positions: [Int]) {
        var rest = positions[...]
        self = indices.compactMap { index in
            guard rest.first == index else { return self[index] }
            rest.removeFirst()
            return nil
        }
    }

    /// Puts keys at some ascending positions, as they are when all have come.
    fileprivate mutating func insert(_ comes: [(position: Int, number: ObjectKey)]) {
        var kept = makeIterator()
        var rest = comes[...]
        self = (0..<(count + comes.count)).compactMap { position in
            guard rest.first?.position == position else { return kept.next() }
            return rest.removeFirst().number
        }
    }
}
