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
