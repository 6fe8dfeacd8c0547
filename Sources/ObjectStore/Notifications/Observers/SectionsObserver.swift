import ColumnStorage

/// Observes the objects of a query in sections.
///
/// All objects form one sequence, ordered by section first, which is updated like the rows of ``CollectionObserver``.
/// The changes of the sequence are then reported by section. A step takes the same time as a step of
/// ``CollectionObserver``, and one search among the sections for each touched row.
final class SectionsObserver: ReportingObserver<SectionedChange> {
    private var rules: SectionRules
    private let texts: [String]
    private let owner: ObjectReference?
    private let className: String
    private var filter: KeyPathFilter
    private var rows: (any ObservedRows)?
    private var sections = SectionSequence()
    /// Receives every change of the sequence, for the probe of a delayed observer.
    var recorder:
        ((CollectionChangeSet, _ lost: [ElementDetail], _ gained: [ElementDetail]) -> Void)?

    /// Creates an observer of sections.
    ///
    /// Throws `invalid_query` for a key path that the class does not have.
    init(
        _ rules: SectionRules, keyPaths: [String], name: String, dispatcher: NotificationDispatcher,
        schema: Schema, handler: @escaping Handler
    ) throws {
        let table = rules.base.table
        guard let elements = schema.find(table: table) else {
            throw StoreError(
                .invalidArgument, "the class of the observed sections no longer exists")
        }
        filter = try KeyPathFilter(keyPaths, class: elements, schema: schema)
        self.rules = rules
        owner = rules.base.owner(in: schema)
        texts = keyPaths
        className = elements.name
        super.init(name: name, dispatcher: dispatcher, handler: handler)
    }

    override var subject: String { "sections of '\(className)'" }

    override var interests: ObserverInterests {
        var interests = ObserverInterests()
        if let schema = dispatcher?.store.schema {
            interests.add(rules.ordered, filter, schema: schema)
            interests.add(rules.base, nil, schema: schema)
        }
        interests.add(rules.graph)
        return interests
    }

    override func cost(in schema: Schema) -> String {
        RowsFactory.cost(of: rules.ordered, schema: schema)
    }

    override func release() {
        super.release()
        recorder = nil
        rows = nil
        sections = SectionSequence()
    }

    override func begin(in view: StoreView) throws -> Call? {
        let isValid = try owner.map(view.isPresent) ?? true
        if isValid {
            let rows = try RowsFactory.rows(of: rules.ordered, in: view)
            let keys = try QueryEvaluator.keys(of: rules.base, in: view)
            let sections = try SectionSequence(inOrder: rules.keys(of: keys, in: view))
            self.rows = rows
            self.sections = sections
        } else {
            isFinished = true
        }
        return call(SectionedChange(.initial, isCollectionValid: isValid))
    }

    override func advance(along step: VersionStep) throws -> Call? {
        if try step.removes(rules.base.table, owner: owner) { return lastCall(step) }
        if step.changes.schemaChanged { try follow(step) }
        // After an error, the rows are read again in the version that the observer has seen.
        var rows = try rows ?? RowsFactory.rows(of: rules.ordered, in: step.old)
        self.rows = nil  // makes `rows` the only copy, which is then changed in place
        // Rows that may have moved to another section are updated even if no key path names the section's property.
        let movable = try rules.graph.touchedRows(in: step)
        let wanted = try filter.touchedRows(in: step)
        let positions = try rows.advance(along: step, modified: wanted.union(movable))
        // The search for the reason can fail, so it precedes the changes of this observer's state.
        let reason = try RowCauses(
            rules.ordered, values: filter.watched, schema: step.new.schema
        ).reason(
            moved: positions.deletedKeys + positions.insertedKeys,
            modified: positions.modifiedKeys, in: step)
        let change = try reportedChange(positions, movable: movable, wanted: wanted, along: step)
        self.rows = rows
        if change.isEmpty { return nil }
        makeReason = reason
        return call(change)
    }

    /// Returns the last call after the owner or a class was deleted, with all sections as deletions.
    private func lastCall(_ step: VersionStep) -> Call? {
        isFinished = true
        recorder?(CollectionChangeSet(), [], [])
        let reason = DeliveryReason(ending: owner, in: step)
        makeReason = { reason }
        return call(SectionedChange(losing: withSilentChanges(sections).count))
    }

    /// Advances the sections, and reports the changes of the sequence by section.
    private func reportedChange(
        _ positions: CollectionChangeSet, movable: KeySet, wanted: KeySet, along step: VersionStep
    ) throws -> SectionedChange {
        assert(positions.hasAllKeys, "the changes of rows have keys")
        let before = try rules.reader(in: step.old)
        let after = try rules.reader(in: step.new)
        var deleted = Array(zip(positions.deletions, positions.deletedKeys))
        var inserted = Array(zip(positions.insertions, positions.insertedKeys))
        var reported = CollectionChangeSet()
        for (index, key) in positions.modifiedKeys.enumerated() {
            if movable.contains(key), try rules.order(before(key), after(key)) != 0 {
                // The first row of a section can become the last row of the previous one without changing its position.
                deleted.append((positions.modifications[index], key))
                inserted.append((positions.modificationsNew[index], key))
            } else if wanted.contains(key) {
                reported.modifications.append(positions.modifications[index])
                reported.modificationsNew.append(positions.modificationsNew[index])
            }
        }
        deleted.sort { $0.0 < $1.0 }
        inserted.sort { $0.0 < $1.0 }
        reported.deletions = deleted.map(\.0)
        reported.insertions = inserted.map(\.0)
        let (lost, gained) = try (
            deleted.map { try before($0.1) }, inserted.map { try after($0.1) }
        )
        if let recorder, !reported.isEmpty {
            recorder(reported, lost.map(ElementDetail.section), gained.map(ElementDetail.section))
        }
        var old = sections
        sections = moved(old, losing: lost, gaining: gained)
        if let coalesced = delay?.coalescedChanges {
            old = withSilentChanges(old)
            reported = coalesced.reported().changes
        }
        return SectionedChange(reported, from: old, to: sections, rules)
    }

    /// Returns the sections at the last call, with the silent changes since then applied.
    private func withSilentChanges(_ sections: SectionSequence) -> SectionSequence {
        guard let coalesced = delay?.coalescedChanges else { return sections }
        func keys(_ details: [ElementDetail]) -> [Scalar] {
            details.compactMap { if case .section(let key) = $0 { key } else { nil } }
        }
        return moved(
            sections, losing: keys(coalesced.silentlyLost), gaining: keys(coalesced.silentlyGained))
    }

    private func moved(
        _ old: SectionSequence, losing lost: [Scalar], gaining gained: [Scalar]
    ) -> SectionSequence {
        var sections = old
        // A section that loses its last row and gains another one stays.
        for key in gained { sections.add(key, by: rules) }
        for key in lost { sections.remove(key, by: rules) }
        return sections
    }

    override func failed(_ error: StoreError) -> Call? { call(SectionedChange(.error(error))) }

    override func coverage(of object: ObjectReference, in view: StoreView) throws
        -> ObserverCoverage?
    {
        try ObserverCoverage(
            commonCoverage(keyPaths: texts), rules.base, of: className, object, in: view)
    }

    private func follow(_ step: VersionStep) throws {
        let schema = step.new.schema
        guard let elements = schema.find(table: rules.base.table) else { return }
        try rules.ordered.check(in: schema)
        filter = try KeyPathFilter(texts, class: elements, schema: schema)
        guard rules.ordered.dependsOnMixed, let remade = try? rules.remade(for: schema) else {
            return
        }
        rules = remade
        // No object had values of the added properties before the step, so the rows before the step are the same.
        if rows != nil { rows = try RowsFactory.rows(of: rules.ordered, in: step.old) }
    }
}
