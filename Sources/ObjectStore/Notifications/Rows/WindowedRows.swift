import ColumnStorage

/// The rows of a query over a sequence in which a row may occur several times, or which has its own order.
///
/// The sequence is a list, set or map, backlinks through lists, or the rows of an earlier stage. The rows may be filtered,
/// sorted or distinct.
struct WindowedRows: OrderedRows {
    private let rules: RowRules
    /// The query that starts with a sequence; nil for a later stage.
    private let query: Query?
    /// The rows of the stage before, from which these are computed.
    private var preceding: (any OrderedRows)?
    private let sequence: ObservedSequence
    private var arranged: ArrangedRows

    /// Creates the rows of a query that starts with a sequence.
    init(
        _ rules: RowRules, _ source: ObservedSequence.Source, _ query: Query, in view: StoreView
    ) throws {
        let sequence = try ObservedSequence(source, of: query, in: view)
        let rows = try sequence.numbers(
            inOrder: QueryEvaluator.keys(of: rules.membersInFirstOrder, in: view))
        let order = try RowReader(view, sequence).order(rules.firstOrder)
        try self.init(
            rules, query: query, preceding: nil, sequence: sequence, rows: rows.map(order.coded),
            in: view)
    }

    /// Creates the rows of a later stage, from the rows of the stage before.
    init(_ rules: RowRules, after rows: any OrderedRows, in view: StoreView) throws {
        let sequence = ObservedSequence(.rows, (0..<rows.count).map(rows.key))
        let admits = try rules.membership(in: view)
        let members = try sequence.numbers().filter { try admits(sequence.object($0)) }
        let order = try RowReader(view, sequence).order(rules.firstOrder)
        try self.init(
            rules, query: nil, preceding: rows, sequence: sequence, rows: order.sorted(members),
            in: view)
    }

    private init(
        _ rules: RowRules, query: Query?, preceding: (any OrderedRows)?, sequence: ObservedSequence,
        rows: [CodedKey], in view: StoreView
    ) throws {
        assert((query == nil) != (preceding == nil), "the rows have one source")
        self.rules = rules
        self.query = query
        self.preceding = preceding
        self.sequence = sequence
        arranged = try ArrangedRows(
            rules, KeyBitmap(ascending: rows.map(\.key).sorted()), inOrder: rows,
            RowReader(view, sequence))
    }

    var count: Int { arranged.count }

    func key(at position: Int) -> ObjectKey { sequence.object(arranged.row(at: position)) }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        guard let change = try follow(step) else { return try rebuild(step, modified) }
        let wanted = KeySet(unordered: sequence.numbers(of: modified))
        var changes = try arranged.change(
            delta(change, step), modified: wanted,
            before: RowReader(step.old, sequence, labelsBefore: change.labelsBefore),
            after: RowReader(step.new, sequence))
        changes.deletedKeys = changes.deletedKeys.map(sequence.object)
        changes.insertedKeys = changes.insertedKeys.map(sequence.object)
        changes.modifiedKeys = changes.modifiedKeys.map(sequence.object)
        sequence.forget(change.removed)
        return changes
    }

    /// Updates the sequence for a step; nil if it has to be read again.
    private mutating func follow(_ step: VersionStep) throws -> ObservedSequence.Step? {
        let changes = try preceding?.advance(along: step, modified: KeySet())
        guard let changes else { return try sequence.advance(along: step) }
        return try sequence.advance(by: changes)
    }

    /// Returns the effect of a step on the members, by the numbers of elements.
    private func delta(_ change: ObservedSequence.Step, _ step: VersionStep) throws -> RowDelta {
        let matches = try rules.membership(in: step.new)
        func admits(_ number: ObjectKey) throws -> Bool {
            try sequence.isObject(number) && matches(sequence.object(number))
        }
        var delta = RowDelta()
        delta.left = change.removed.filter(arranged.isMember)
        delta.entered = try change.added.filter(admits)
        var touched = try rules.dependencies.touchedRows(in: step)
        if let changes = step.changes(of: rules.table) {
            // An object that was deleted and created again with the same key may have other values.
            touched.formUnion(changes.inserted.intersection(changes.deleted))
        }
        let added = Set(change.added)
        let moved = Array(change.labelsBefore.keys)
        for number in KeySet(unordered: sequence.numbers(of: touched) + moved)
        where !added.contains(number) {
            try delta.add(number, was: arranged.isMember(number), is: admits(number))
        }
        return delta
    }

    private mutating func rebuild(_ step: VersionStep, _ modified: KeySet) throws
        -> CollectionChangeSet
    {
        let before = arranged.rows().map(sequence.object)
        if let preceding {
            self = try WindowedRows(rules, after: preceding, in: step.new)
        } else if let query {
            self = try WindowedRows(rules, sequence.source, query, in: step.new)
        }
        let after = arranged.rows().map(sequence.object)
        return SequenceDifference.changes(from: before, to: after, isTouched: modified.contains)
    }
}
