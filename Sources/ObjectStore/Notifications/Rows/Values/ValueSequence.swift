import ColumnStorage

/// The plain values of an observed list, set or map, in its order.
///
/// A value may occur several times, so rows are identified by the numbers of elements. An element keeps its number when
/// its value is replaced and when it moves. A step takes time in proportion to its changes, times the logarithm of the
/// length.
final class ValueSequence {
    /// The changes of a step, by the numbers of elements.
    struct Step {
        /// The removed elements; their values can be read until `forget`.
        var removed: [ObjectKey] = []
        var added: [ObjectKey] = []
        /// The elements whose values were replaced, with their values before the step.
        var elementsBefore: [ObjectKey: ListElement] = [:]
        /// The elements that moved, with their labels before the step.
        var labelsBefore: [ObjectKey: Int64] = [:]
        /// Whether all labels changed, so that structures ordered by labels have to be rebuilt.
        var isRelabeled = false
    }

    let property: Property
    private var elements: [ListElement]
    private var positions = ElementPositions()
    private var unused: [ObjectKey] = []

    init(_ elements: [ListElement], of property: Property) {
        self.property = property
        self.elements = elements
        label(elements.indices.map { ObjectKey(rawValue: Int64($0)) })
    }

    /// Returns the value of an element.
    func element(_ number: ObjectKey) -> ListElement { elements[Int(number.rawValue)] }

    /// Returns all elements in order.
    func numbers() -> [ObjectKey] { positions.numbers() }

    /// Returns the order of the elements; `labelsBefore` are labels in an earlier version.
    func order(labelsBefore: [ObjectKey: Int64]) -> CodedOrder {
        positions.order(labelsBefore: labelsBefore)
    }

    /// Applies changes of the collection; `element` reads the current element at a position.
    func advance(by changes: CollectionChangeSet, element: (Int) throws -> ListElement) throws
        -> Step
    {
        var step = Step()
        for (old, new) in zip(changes.modifications, changes.modificationsNew) {
            let number = positions.number(at: old)
            step.elementsBefore[number] = self.element(number)
            elements[Int(number.rawValue)] = try element(new)
        }
        // For very many changes, rebuilding the whole sequence is faster.
        let count = changes.deletions.count + changes.insertions.count
        step.isRelabeled = count > 64 + positions.count / 8
        var numbers = step.isRelabeled ? positions.numbers() : []
        var removed: [ListElement: [ObjectKey]] = [:]
        for position in changes.deletions.reversed() {
            let number = step.isRelabeled ? numbers[position] : positions.remove(at: position)
            removed[self.element(number), default: []].append(number)
        }
        if step.isRelabeled { numbers.removeAll(at: changes.deletions) }
        var come: [(position: Int, number: ObjectKey)] = []
        for position in changes.insertions {
            let number = try number(for: element(position), from: &removed, &step)
            if !step.isRelabeled, let label = positions.label(at: position) {
                try positions.insert(number, label: label)
                continue
            }
            if !step.isRelabeled {
                // No label is free at the position of an inserted element.
                step.isRelabeled = true
                numbers = positions.numbers()
            }
            come.append((position, number))
        }
        if step.isRelabeled {
            numbers.insert(come)
            label(numbers)
        }
        step.removed = removed.values.flatMap(\.self)
        return step
    }

    /// Makes the numbers of removed elements available again.
    func forget(_ removed: [ObjectKey]) { unused += removed }

    /// Returns the number for an inserted element; an element that only moved keeps its number.
    private func number(
        for element: ListElement, from removed: inout [ListElement: [ObjectKey]], _ step: inout Step
    ) -> ObjectKey {
        if let known = removed[element]?.popLast() {
            step.labelsBefore[known] = positions.label(of: known)
            return known
        }
        let number: ObjectKey
        if let known = unused.popLast() {
            number = known
            elements[Int(known.rawValue)] = element
        } else {
            number = ObjectKey(rawValue: Int64(elements.count))
            elements.append(element)
        }
        step.added.append(number)
        return number
    }

    /// Places all elements, with large gaps between their labels.
    private func label(_ numbers: [ObjectKey]) {
        for (position, number) in numbers.enumerated() {
            positions.set(ElementPositions.firstLabel(at: position), of: number)
        }
        positions.setOrder(numbers)
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

    /// Inserts keys at some ascending positions, which are the positions after all insertions.
    fileprivate mutating func insert(_ comes: [(position: Int, number: ObjectKey)]) {
        var kept = makeIterator()
        var rest = comes[...]
        self = (0..<(count + comes.count)).compactMap { position in
            guard rest.first?.position == position else { return kept.next() }
            return rest.removeFirst().number
        }
    }
}
