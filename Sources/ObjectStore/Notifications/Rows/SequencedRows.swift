import ColumnStorage

/// The rows of a query over a list, or over backlinks through lists, where an object may stand
/// several times: filtered, sorted or with each value once.
struct SequencedRows: OrderedRows {
    private let rules: RowRules
    private let query: Query
    private let sequence: ObservedSequence
    private var arranged: ArrangedRows

    init(
        _ rules: RowRules, _ source: ObservedSequence.Source, _ query: Query, in view: StoreView
    ) {
        self.rules = rules
        self.query = query
        let base = Query(query.base, of: query.table)
        sequence = ObservedSequence(source, QueryEvaluator.keys(of: base, in: view))
        let rows = sequence.numbers(
            inOrder: QueryEvaluator.keys(of: rules.membersInFirstOrder, in: view))
        arranged = ArrangedRows(
            rules, KeyBitmap(ascending: rows.sorted()), inOrder: rows, RowReader(view, sequence))
    }

    var count: Int { arranged.count }

    static func cost(_ rules: RowRules, _ source: ObservedSequence.Source) -> String {
        let rows = rules.isPlain ? UnsortedRows.cost : SortedRows.cost(rules)
        guard case .list = source else { return rows }
        return "follows the edits of the list, \(rules.isPlain ? "and " : "")\(rows)"
    }
    var cost: String { Self.cost(rules, sequence.source) }

    func key(at position: Int) -> ObjectKey { sequence.object(arranged.row(at: position)) }

    mutating func advance(along step: VersionStep, modified: KeySet) -> PositionChanges {
        guard let change = sequence.advance(along: step) else { return beginAnew(step, modified) }
        let wanted = KeySet(unordered: sequence.numbers(of: modified))
        var changes = arranged.change(
            delta(change, step), modified: wanted,
            before: RowReader(step.old, sequence, labelsBefore: change.labelsBefore),
            after: RowReader(step.new, sequence))
        changes.deletedKeys = changes.deletedKeys.map(sequence.object)
        changes.insertedKeys = changes.insertedKeys.map(sequence.object)
        changes.modifiedKeys = changes.modifiedKeys.map(sequence.object)
        sequence.forget(change.removed)
        return changes
    }

    /// What a step does to the members, in numbers of elements.
    private func delta(_ change: ObservedSequence.Step, _ step: VersionStep) -> RowDelta {
        let admits = rules.membership(in: step.new)
        var delta = RowDelta()
        delta.left = change.removed.filter(arranged.isMember)
        delta.entered = change.added.filter { admits(sequence.object($0)) }
        var touched = rules.dependencies.touchedRows(in: step)
        if let changes = step.changes(of: rules.table) {
            // An object that is there again under its old key may have other values.
            touched.formUnion(changes.inserted.intersection(changes.deleted))
        }
        let added = Set(change.added)
        let moved = Array(change.labelsBefore.keys)
        for number in KeySet(unordered: sequence.numbers(of: touched) + moved)
        where !added.contains(number) {
            delta.add(
                number, was: arranged.isMember(number), is: admits(sequence.object(number)))
        }
        return delta
    }

    private mutating func beginAnew(_ step: VersionStep, _ modified: KeySet) -> PositionChanges {
        let before = arranged.rows().map(sequence.object)
        self = SequencedRows(rules, sequence.source, query, in: step.new)
        let after = arranged.rows().map(sequence.object)
        return SequenceDifference.changes(from: before, to: after, isTouched: modified.contains)
    }
}
