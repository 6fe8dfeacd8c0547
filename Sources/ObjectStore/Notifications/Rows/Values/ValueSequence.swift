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

/// The steps on plain values, up to the first limit or from one limit to the next: a condition, distinct values, an
/// order, and a limit.
struct ValueRules {
    private(set) var conditions: [ElementPredicate] = []
    private(set) var isDistinct = false
    /// The direction of the order by value; nil keeps the order of the collection.
    private(set) var ascending: Bool?
    private(set) var limit: Int?

    /// Returns the steps in the fewest stages with the same effect; at least one.
    static func stages(of steps: [CollectionValues.Step]) -> [ValueRules] {
        var stages = [ValueRules()]
        for step in steps where !stages[stages.count - 1].add(step) {
            // Sorted values remain sorted in the next stages.
            var next = ValueRules()
            next.ascending = stages[stages.count - 1].ascending
            _ = next.add(step)
            stages.append(next)
        }
        return stages
    }

    /// Adds a step; returns false if the step needs a new stage.
    private mutating func add(_ step: CollectionValues.Step) -> Bool {
        if let limit {
            guard case .limit(let count) = step else { return false }
            self.limit = min(limit, count)
            return true
        }
        switch step {
        case .filter(let condition):
            // `distinct` keeps the first of equal values, so a later condition must not remove values before that step.
            if isDistinct { return false }
            conditions.append(condition)
        case .distinct: isDistinct = true
        // Equal values keep their order, so a later order replaces an earlier one.
        case .sort(let ascending): self.ascending = ascending
        case .limit(let count): limit = count
        }
        return true
    }

    func admits(_ value: Value) throws -> Bool {
        try conditions.allSatisfy { try $0.matches(value) }
    }
}

/// The values after one stage of ``ValueRules``, updated element by element.
struct ValueStage {
    private let rules: ValueRules
    private var firsts: FirstValues?
    private var ordered: SortedKeys

    /// Creates a stage from elements in the order of the previous stage.
    init(_ rules: ValueRules, _ numbers: [ObjectKey], _ reader: ValueReader) throws {
        self.rules = rules
        var numbers = numbers
        if !rules.conditions.isEmpty {
            try numbers.removeAll { try !rules.admits(reader.value($0)) }
        }
        if rules.isDistinct {
            let firsts = try FirstValues(numbers, reader)
            numbers = firsts.numbers(reader)
            self.firsts = firsts
        }
        ordered = try SortedKeys(inOrder: reader.order(ascending: rules.ascending).sorted(numbers))
    }

    var count: Int { min(rules.limit ?? .max, ordered.count) }

    /// Returns the element at a position below `count`.
    func number(at position: Int) -> ObjectKey { ordered.key(at: position) }

    /// Returns all elements in order.
    func numbers() -> [ObjectKey] { Array(ordered.keys().prefix(count)) }

    /// Updates the stage for a step.
    ///
    /// `delta` is the effect of the step on the elements; those in `reporting` are reported as modified if they stay.
    mutating func advance(
        _ delta: RowDelta, reporting: KeySet, before: ValueReader, after: ValueReader
    ) throws -> CollectionChangeSet {
        var delta = try admitted(delta, before, after)
        if let changed = try firsts?.advance(delta, before: before, after: after) {
            delta = changed
        }
        if delta.isEmpty { return CollectionChangeSet() }
        let oldCount = ordered.count
        let changes = try ordered.change(
            delta, modified: reporting.intersection(KeySet(unordered: delta.stayed)),
            before: before.order(ascending: rules.ascending),
            after: after.order(ascending: rules.ascending))
        guard let limit = rules.limit else { return changes }
        return changes.limited(
            to: limit, oldCount: oldCount, newCount: ordered.count,
            keyAtNew: ordered.key)
    }

    /// Converts changes of all elements to changes of those that satisfy the condition.
    private func admitted(
        _ delta: RowDelta, _ before: ValueReader, _ after: ValueReader
    ) throws -> RowDelta {
        if rules.conditions.isEmpty { return delta }
        var result = RowDelta()
        result.left = try delta.left.filter { try rules.admits(before.value($0)) }
        result.entered = try delta.entered.filter { try rules.admits(after.value($0)) }
        for number in delta.stayed {
            try result.add(
                number, was: rules.admits(before.value(number)),
                is: rules.admits(after.value(number))
            )
        }
        return result
    }
}

extension RowDelta {
    /// Converts changes of rows for the next stage; all touched rows that stay are reported as modified.
    init(_ changes: CollectionChangeSet) {
        assert(changes.hasAllKeys, "the changes of elements have their numbers")
        let removed = Set(changes.deletedKeys)
        let come = Set(changes.insertedKeys)
        self.init(
            left: changes.deletedKeys.filter { !come.contains($0) },
            entered: changes.insertedKeys.filter { !removed.contains($0) },
            stayed: changes.insertedKeys.filter(removed.contains) + changes.modifiedKeys)
    }
}
