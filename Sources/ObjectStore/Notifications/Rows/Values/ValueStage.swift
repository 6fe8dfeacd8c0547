import ColumnStorage

/// The values after one stage of ``ValueRules``, updated element by element.
struct ValueStage {
    private let rules: ValueRules
    private var firsts: FirstValues?
    private var ordered: OrderedKeys

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
        ordered = try OrderedKeys(inOrder: reader.order(ascending: rules.ascending).sorted(numbers))
    }

    var count: Int { min(rules.limit ?? .max, ordered.keys.count) }

    /// Returns the element at a position below `count`.
    func number(at position: Int) -> ObjectKey { ordered.keys.key(at: position) }

    /// Returns all elements in order.
    func numbers() -> [ObjectKey] { Array(ordered.keys.keys().prefix(count)) }

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
        let oldCount = ordered.keys.count
        let changes = try ordered.change(
            delta, modified: reporting.intersection(KeySet(unordered: delta.stayed)),
            before: before.order(ascending: rules.ascending),
            after: after.order(ascending: rules.ascending))
        guard let limit = rules.limit else { return changes }
        return changes.limited(
            to: limit, oldCount: oldCount, newCount: ordered.keys.count,
            keyAtNew: ordered.keys.key)
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
        let removed = Set(changes.deletedKeys)
        let come = Set(changes.insertedKeys)
        self.init(
            left: changes.deletedKeys.filter { !come.contains($0) },
            entered: changes.insertedKeys.filter { !removed.contains($0) },
            stayed: changes.insertedKeys.filter(removed.contains) + changes.modifiedKeys)
    }
}
