import ColumnStorage

/// The rows of a query over rows that may stand several times, or in an order of their own: a list, set or map,
/// backlinks through lists, or the rows before a limit; filtered, sorted or with each value once.
struct WindowedRows: OrderedRows {
    private let rules: RowRules
    /// The query that starts from a sequence; nil after a limit.
    private let query: Query?
    /// The rows before the limit, which precede these.
    private var preceding: (any OrderedRows)?
    private let sequence: ObservedSequence
    private var arranged: ArrangedRows

    /// The rows of a query that starts from a sequence.
    init(
        _ rules: RowRules, _ source: ObservedSequence.Source, _ query: Query, in view: StoreView
    ) {
        let sequence = ObservedSequence(source, of: query, in: view)
        let rows = sequence.numbers(
            inOrder: QueryEvaluator.keys(of: rules.membersInFirstOrder, in: view))
        let order = RowReader(view, sequence).order(rules.firstOrder)
        self.init(rules, query, nil, sequence, rows.map(order.coded), view)
    }

    /// The rows of what a query does to other rows.
    init(_ rules: RowRules, behind rows: any OrderedRows, in view: StoreView) {
        let sequence = ObservedSequence(.rows, (0..<rows.count).map(rows.key))
        let admits = rules.membership(in: view)
        let members = sequence.numbers().filter { admits(sequence.object($0)) }
        let order = RowReader(view, sequence).order(rules.firstOrder)
        self.init(rules, nil, rows, sequence, order.sorted(members), view)
    }

    private init(
        _ rules: RowRules, _ query: Query?, _ preceding: (any OrderedRows)?,
        _ sequence: ObservedSequence, _ rows: [CodedKey], _ view: StoreView
    ) {
        self.rules = rules
        self.query = query
        self.preceding = preceding
        self.sequence = sequence
        arranged = ArrangedRows(
            rules, KeyBitmap(ascending: rows.map(\.key).sorted()), inOrder: rows,
            RowReader(view, sequence))
    }

    var count: Int { arranged.count }

    static func cost(_ rules: RowRules, _ source: ObservedSequence.Source) -> String {
        let rows = rules.isPlain ? UnsortedRows.cost : SortedRows.cost(rules)
        guard case .list(_, _, _, let kind) = source else { return rows }
        let name = kind == .map ? "map" : "list"
        return "follows the edits of the \(name), \(rules.isPlain ? "and " : "")\(rows)"
    }

    /// The cost in addition to the rows before a limit.
    static func costBehindLimit(_ rules: RowRules) -> String {
        "behind the limit "
            + (rules.isPlain ? UnsortedRows.cost : SortedRows.cost(rules))
    }

    var cost: String {
        guard let preceding else { return Self.cost(rules, sequence.source) }
        return "\(preceding.cost); \(Self.costBehindLimit(rules))"
    }

    func key(at position: Int) -> ObjectKey { sequence.object(arranged.row(at: position)) }

    mutating func advance(along step: VersionStep, modified: KeySet) -> CollectionChangeSet {
        guard let change = follow(step) else { return rebuild(step, modified) }
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

    /// Advances the sequence; nil if it has to be read again.
    private mutating func follow(_ step: VersionStep) -> ObservedSequence.Step? {
        let changes = preceding?.advance(along: step, modified: KeySet())
        guard let changes else { return sequence.advance(along: step) }
        return sequence.advance(by: changes)
    }

    /// The effect of a step on the members, in numbers of elements.
    private func delta(_ change: ObservedSequence.Step, _ step: VersionStep) -> RowDelta {
        let matches = rules.membership(in: step.new)
        func admits(_ number: ObjectKey) -> Bool {
            sequence.isObject(number) && matches(sequence.object(number))
        }
        var delta = RowDelta()
        delta.left = change.removed.filter(arranged.isMember)
        delta.entered = change.added.filter(admits)
        var touched = rules.dependencies.touchedRows(in: step)
        if let changes = step.changes(of: rules.table) {
            // An object that is there again under its old key may have other values.
            touched.formUnion(changes.inserted.intersection(changes.deleted))
        }
        let added = Set(change.added)
        let moved = Array(change.labelsBefore.keys)
        for number in KeySet(unordered: sequence.numbers(of: touched) + moved)
        where !added.contains(number) {
            delta.add(number, was: arranged.isMember(number), is: admits(number))
        }
        return delta
    }

    private mutating func rebuild(_ step: VersionStep, _ modified: KeySet) -> CollectionChangeSet {
        let before = arranged.rows().map(sequence.object)
        if let preceding {
            self = WindowedRows(rules, behind: preceding, in: step.new)
        } else if let query {
            self = WindowedRows(rules, sequence.source, query, in: step.new)
        }
        let after = arranged.rows().map(sequence.object)
        return SequenceDifference.changes(from: before, to: after, isTouched: modified.contains)
    }
}
