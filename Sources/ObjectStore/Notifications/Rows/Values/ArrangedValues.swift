import ColumnStorage

/// The plain values of an observed list, set or map after filtering, sorting, `distinct` or limits.
struct ArrangedValues: ObservedRows {
    private var elements: ElementRows
    private let owner: ObjectReference
    private let sequence: ValueSequence
    private let rules: [ValueRules]
    private var stages: [ValueStage]
    /// The elements that the last step removed or moved, in the order of its deletions.
    private(set) var lostDetails: [ElementDetail] = []

    init(
        _ owner: ObjectReference, _ property: Property, _ steps: [CollectionValues.Step],
        in view: StoreView
    ) throws {
        self.owner = owner
        elements = try ElementRows(owner, property, in: view)
        sequence = try ValueSequence(
            view.table(owner.table).listElements(property.column, owner.key), of: property)
        rules = ValueRules.stages(of: steps)
        stages = try Self.stages(rules, sequence)
    }

    private static func stages(_ rules: [ValueRules], _ sequence: ValueSequence) throws
        -> [ValueStage]
    {
        let reader = ValueReader(sequence)
        var stages: [ValueStage] = []
        for rules in rules {
            try stages.append(
                ValueStage(rules, stages.last?.numbers() ?? sequence.numbers(), reader))
        }
        return stages
    }

    // There is always at least one stage.
    private var shown: ValueStage { stages[stages.count - 1] }

    var count: Int { shown.count }

    /// Returns the values at some positions.
    func values(at positions: [Int]) -> [Value]? {
        let reader = ValueReader(sequence)
        return positions.map { reader.value(shown.number(at: $0)) }
    }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        lostDetails = []
        let moved = try elements.advance(along: step, modified: KeySet())
        if moved.isEmpty { return CollectionChangeSet() }
        let list = try step.new.table(owner.table).list(sequence.property.column, owner.key)
        let change = try sequence.advance(by: moved) { position in
            try list?.element(at: position) ?? .null
        }
        let before = ValueReader(sequence, before: change)
        var changes = try change.isRelabeled ? rebuild(change) : follow(change, before)
        lostDetails = changes.deletedKeys.map { .value(before.value($0), mapKey: "") }
        sequence.forget(change.removed)
        // The numbers of elements are not object keys.
        changes.deletedKeys = []
        changes.insertedKeys = []
        changes.modifiedKeys = []
        return changes
    }

    private mutating func follow(
        _ change: ValueSequence.Step, _ before: ValueReader
    ) throws -> CollectionChangeSet {
        let after = ValueReader(sequence)
        let set = KeySet(unordered: Array(change.elementsBefore.keys))
        let touched = set.union(KeySet(unordered: Array(change.labelsBefore.keys)))
        var delta = RowDelta(left: change.removed, entered: change.added, stayed: Array(touched))
        var changes = CollectionChangeSet()
        for index in stages.indices {
            // The next stage needs all elements whose position may have changed.
            let reported = index == stages.count - 1 ? set : touched
            changes = try stages[index].advance(
                delta, reporting: reported, before: before, after: after)
            delta = RowDelta(changes)
        }
        return changes
    }

    private mutating func rebuild(_ change: ValueSequence.Step) throws -> CollectionChangeSet {
        let before = shown.numbers()
        stages = try Self.stages(rules, sequence)
        return SequenceDifference.changes(
            from: before, to: shown.numbers(),
            isTouched: { change.elementsBefore[$0] != nil })
    }
}

/// The first element with each value, updated element by element.
///
/// All elements are kept, ordered by value, so the next one with a value is known when the first one leaves.
struct FirstValues {
    private var ordered: SortedKeys

    /// Creates the state from all elements.
    init(_ numbers: [ObjectKey], _ reader: ValueReader) throws {
        ordered = try SortedKeys(inOrder: reader.order(ascending: true).sorted(numbers))
    }

    /// Returns the first element with each value, ordered by value.
    func numbers(_ reader: ValueReader) -> [ObjectKey] {
        var firsts: [ObjectKey] = []
        for number in ordered.keys()
        where firsts.last.map({ reader.compare(reader.element($0), number) != 0 }) ?? true {
            firsts.append(number)
        }
        return firsts
    }

    /// Converts changes of all elements to changes of the first elements.
    mutating func advance(
        _ delta: RowDelta, before: ValueReader, after: ValueReader
    ) throws -> RowDelta {
        let olds = (delta.left + delta.stayed).map(before.element)
        let news = (delta.stayed + delta.entered).map(after.element)
        let oldFirsts = firsts(of: olds + news, before)
        let (orderBefore, orderAfter) = (
            before.order(ascending: true), after.order(ascending: true)
        )
        for number in delta.left + delta.stayed {
            // All elements are in the sequence; one can be missing only if the order is inconsistent.
            guard let position = try ordered.position(of: number, by: orderBefore) else { continue }
            ordered.remove(at: position)
        }
        for number in delta.stayed + delta.entered { try ordered.insert(number, by: orderAfter) }
        let newFirsts = firsts(of: olds + news, after)
        return RowDelta(
            left: oldFirsts.subtracting(newFirsts).sorted(),
            entered: newFirsts.subtracting(oldFirsts).sorted(),
            stayed: delta.stayed.filter { oldFirsts.contains($0) && newFirsts.contains($0) })
    }

    /// Returns the first element with each of the given values that occurs.
    private func firsts(of values: [ListElement], _ reader: ValueReader) -> Set<ObjectKey> {
        var found: Set<ObjectKey> = []
        for value in values {
            let position = ordered.partitioningPosition { reader.compare(value, $0) > 0 }
            guard position < ordered.count else { continue }
            let number = ordered.key(at: position)
            if reader.compare(value, number) == 0 { found.insert(number) }
        }
        return found
    }
}

/// The elements of an observed list or map inside a mixed value after filtering, sorting, `distinct` or limits.
///
/// A mixed value is stored as a whole, so the two versions of the collection are compared.
struct NestedRows: ObservedRows {
    /// The current address of the collection: changes of enclosing lists may move it.
    private(set) var address: NestedAddress
    private let property: Property
    private let steps: [CollectionValues.Step]
    private var content: Content
    /// Whether the collection no longer exists.
    private(set) var isRemoved = false
    /// The elements that the last step removed or moved, in the order of its deletions.
    private(set) var lostDetails: [ElementDetail] = []

    /// The elements of one version; each has a number that it keeps when its value is replaced.
    private struct Content {
        var keys: [String] = []
        var values: [Value] = []
        var numbers: [ObjectKey] = []
        /// The positions of the visible elements, in their order.
        var shown: [Int] = []
        var nextNumber: Int64 = 0

        mutating func addNumber() {
            numbers.append(ObjectKey(rawValue: nextNumber))
            nextNumber += 1
        }
    }

    init(
        _ address: NestedAddress, _ property: Property, _ steps: [CollectionValues.Step],
        in view: StoreView
    ) throws {
        self.address = address
        self.property = property
        self.steps = steps
        content = Content()
        (content.keys, content.values) = try address.value(in: view)?.nestedElements ?? ([], [])
        for _ in content.values { content.addNumber() }
        try arrange(&content)
    }

    private func arrange(_ content: inout Content) throws {
        assert(
            content.numbers.count == content.values.count
                && (content.keys.isEmpty || content.keys.count == content.values.count),
            "each element has a number, and in a map also a key")
        content.shown = try CollectionValues.positions(of: content.values, by: steps, of: property)
    }

    var count: Int { content.shown.count }

    func values(at positions: [Int]) -> [Value]? {
        positions.map { content.values[content.shown[$0]] }
    }

    func mapKeys(at positions: [Int]) -> [String]? {
        content.keys.isEmpty ? nil : positions.map { content.keys[content.shown[$0]] }
    }

    /// All visible elements, to report them as deleted.
    var allDetails: [ElementDetail] { content.shown.map { detail($0, content) } }

    private func detail(_ position: Int, _ content: Content) -> ElementDetail {
        .value(
            content.values[position], mapKey: content.keys.isEmpty ? "" : content.keys[position])
    }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        lostDetails = []
        guard step.isChanged(address.owner.table, address.column, address.owner.key) else {
            return CollectionChangeSet()
        }
        guard let (moved, value) = try address.followed(along: step) else {
            isRemoved = true
            lostDetails = allDetails
            return CollectionChangeSet(deletions: Array(content.shown.indices))
        }
        address = moved
        let old = content
        let newPositions = try align(to: value.nestedElements)
        var modified: Set<ObjectKey> = []
        for case (let before, let after?) in newPositions.enumerated()
        where old.values[before] != content.values[after] { modified.insert(old.numbers[before]) }
        var changes = SequenceDifference.changes(
            from: old.shown.map { old.numbers[$0] },
            to: content.shown.map { content.numbers[$0] }, isTouched: modified.contains)
        lostDetails = changes.deletions.map { detail(old.shown[$0], old) }
        // The numbers of elements are not object keys.
        changes.deletedKeys = []
        changes.insertedKeys = []
        changes.modifiedKeys = []
        return changes
    }

    /// Replaces the elements; unchanged ones keep their numbers.
    ///
    /// Returns the new positions of the old elements.
    private mutating func align(to elements: (keys: [String], values: [Value])) throws -> [Int?] {
        let old = content
        let newPositions: [Int?]
        if address.kind == .map {
            let positions = Dictionary(
                elements.keys.enumerated().map { (TextKey($1), $0) },
                uniquingKeysWith: { first, _ in first }
            )
            newPositions = old.keys.map { positions[TextKey($0)] }
        } else {
            newPositions = ElementAlignment(from: old.values, to: elements.values).newPositions
        }
        var known = [ObjectKey?](repeating: nil, count: elements.values.count)
        for case (let before, let after?) in newPositions.enumerated() {
            known[after] = old.numbers[before]
        }
        content = Content(
            keys: elements.keys, values: elements.values, nextNumber: old.nextNumber)
        for number in known {
            if let number { content.numbers.append(number) } else { content.addNumber() }
        }
        try arrange(&content)
        return newPositions
    }
}
