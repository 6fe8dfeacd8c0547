import ColumnStorage

/// Code that runs again, or counts as out of date, when data that it read has changed.
///
/// While the code runs, the stores of its scope record what it reads: properties of objects, the rows of queries,
/// aggregates, and computed values. One observer for each of those stores watches exactly these reads. Reads are
/// recorded again with each run. Confined to the thread of the stores.
package class Reaction: ReadRecorder {
    let scope: ReadScope
    /// The observers, by store.
    fileprivate private(set) var observers: [ObjectIdentifier: ReactionObserver] = [:]
    /// The reads of the current run.
    private var recording: Recording?
    /// The computed values that the last run read, with their revisions.
    private var computed: [ObjectIdentifier: (value: Computed, revision: Int)] = [:]
    /// A counter that is incremented when the observed data has become other data.
    private(set) var interestsRevision = 0
    /// The effects that the last run created, which end before the next run.
    private var children: [Effect] = []
    /// Whether the reaction has ended.
    package private(set) var isDisposed = false
    /// The number of runs and their durations.
    package internal(set) var statistics = ObserverStatistics()
    /// The reason for the last run.
    package fileprivate(set) var reason: DeliveryReason?

    private struct Recording {
        /// The stores that were read, with their versions at the first read.
        var stores: [ObjectIdentifier: (store: Store, reads: StoreReads, version: UInt64)] = [:]
        var computed: [ObjectIdentifier: (value: Computed, revision: Int)] = [:]
    }

    /// The description of the reaction in errors.
    var title: String { "an observer of read values" }

    init(_ scope: ReadScope) { self.scope = scope }

    deinit { for observer in observers.values { observer.end() } }

    /// Ends the reaction and the effects inside it.
    ///
    /// Another call has no effect.
    package func dispose() {
        guard !isDisposed else { return }
        isDisposed = true
        endChildren()
        for observer in observers.values { observer.end() }
        observers = [:]
        for entry in computed.values { entry.value.remove(reader: self) }
        computed = [:]
    }

    func endChildren() {
        let ended = children
        children = []
        for child in ended { child.dispose() }
    }

    func adopt(_ child: Effect) {
        assert(child.parent == nil, "an effect has one parent")
        children.append(child)
        child.parent = self
    }

    /// The reaction that created this one.
    private weak var parent: Reaction?

    /// Updates the enclosing reactions first, which may end this one.
    fileprivate func catchUpParents() {
        guard let parent, !parent.isRunning else { return }
        parent.catchUpParents()
        parent.catchUp()
    }

    /// Returns the call to make after a change of the recorded reads, if any.
    func didChange() -> Observer.Call? { nil }

    /// Whether any read was recorded.
    package var hasDependencies: Bool { observers.values.contains { $0.isActive } }

    /// Whether the reads of the current run are being recorded.
    var isRunning: Bool { recording != nil }

    // MARK: Recording

    /// Runs the code, records its reads, and observes them from now on.
    ///
    /// The reads before an error are also observed: a change of them causes the next attempt.
    func record<Result>(_ body: () throws -> Result) rethrows -> Result {
        let outer = recording
        recording = Recording()
        defer {
            let finished = recording
            recording = outer
            if let finished, !isDisposed { watch(finished) }
        }
        return try scope.tracking(self, body)
    }

    private func watch(_ recording: Recording) {
        for (id, entry) in computed where recording.computed[id] == nil {
            entry.value.remove(reader: self)
            interestsRevision += 1
        }
        for (id, entry) in recording.computed where computed[id] == nil {
            entry.value.add(reader: self)
            interestsRevision += 1
        }
        computed = recording.computed
        var stores = recording.stores
        for store in storesOfComputed where stores[ObjectIdentifier(store)] == nil {
            stores[ObjectIdentifier(store)] = (store, StoreReads(), store.version)
        }
        for (id, observer) in observers where stores[id] == nil {
            observer.end()
            observers[id] = nil
            interestsRevision += 1
        }
        for (id, entry) in stores where !entry.store.isClosed {
            let (store, reads) = (entry.store, entry.reads)
            // Commits of the run itself count as changes if they affect data that the run had read before.
            let isStale =
                store.version != entry.version && observers[id]?.isTracked != true
                && reads.hasChanged(since: entry.version, in: store)
            if let observer = observers[id], observer.isActive, !isStale {
                if observer.watch(reads) { interestsRevision += 1 }
                continue
            }
            interestsRevision += 1
            let last = observers[id]
            let observer = ReactionObserver(self, reads, store.notifications)
            observers[id] = observer
            store.notifications.enter(observer, seen: isStale ? nil : store.version)
            last?.end()
        }
    }

    /// The stores that the computed values depend on.
    private var storesOfComputed: [Store] {
        computed.values.flatMap { entry in
            entry.value.observers.values.compactMap { $0.dispatcher?.store }
        }
    }

    /// Observes other data, because a computed value that was read depends on other data now.
    func computedDependsOnOtherData() {
        guard !isDisposed, !isRunning else { return }
        interestsRevision += 1
        for store in storesOfComputed
        where observers[ObjectIdentifier(store)] == nil && !store.isClosed {
            let observer = ReactionObserver(self, StoreReads(), store.notifications)
            observers[ObjectIdentifier(store)] = observer
            store.notifications.enter(observer, seen: store.version)
        }
        for observer in observers.values { observer.refile() }
    }

    package override func recordRead(
        of store: Store, _ table: TableID, _ key: ObjectKey, _ column: ColumnID?
    ) {
        update(store) { $0.add(table, key, column) }
    }

    /// Records that a property of many objects is read.
    func recordRead(of store: Store, _ table: TableID, wholeColumn column: ColumnID) {
        update(store) { $0.add(table, wholeColumn: column) }
    }

    override func recordRead(of store: Store, existenceOf reference: ObjectReference) {
        update(store) { $0.add(existenceOf: reference.key, in: reference.table) }
    }

    override func recordLookup(of store: Store, _ lookup: StoreReads.Lookup, by value: Value) {
        update(store) { $0.add(lookup) }
    }

    override func recordRead(of store: Store, _ hold: LiveNodeHold, _ key: LiveNodeKey) {
        update(store) { $0.add(hold, key) }
    }

    /// Records that a computed value is read.
    func recordRead(of value: Computed) {
        recording?.computed[ObjectIdentifier(value)] = (value, value.revision)
    }

    private func update(_ store: Store, _ change: (inout StoreReads) -> Void) {
        guard recording != nil else { return }
        let id = ObjectIdentifier(store)
        // The reads are changed in place, because the entry is the only owner.
        if recording?.stores[id] == nil {
            recording?.stores[id] = (store, StoreReads(), store.version)
        }
        change(&recording!.stores[id]!.reads)  // because: the line above created it
    }

    // MARK: Observing

    /// Returns the changes of a store after which the reaction runs again.
    fileprivate func interests(in store: Store, _ own: StoreReads) -> ObserverInterests {
        var interests = own.interests
        for entry in computed.values {
            if let observer = entry.value.observers[ObjectIdentifier(store)] {
                interests.formUnion(observer.interests)
            }
        }
        return interests
    }

    /// Updates the computed values, and returns whether one of those that were read has changed.
    fileprivate func hasChangedComputed() -> Bool {
        var isChanged = false
        for entry in computed.values {
            entry.value.refresh()
            if entry.value.revision != entry.revision { isChanged = true }
        }
        return isChanged
    }

    /// Moves the observers to the current versions of their stores, which calls ``didChange()`` if needed.
    func catchUp() {
        for observer in observers.values { observer.dispatcher?.serveNow(observer) }
    }

    /// The stores that the last run read, in any order.
    package var stores: [Store] { observers.values.compactMap { $0.dispatcher?.store } }

    /// The reaction's dependencies, by their names in the schema.
    package var dependencies: [String] {
        observers.values.flatMap { observer -> [String] in
            guard let schema = observer.dispatcher?.store.schema else { return [] }
            return observer.interests.names(in: schema)
        }.sorted()
    }

    fileprivate func didEnd(_ observer: ReactionObserver) {
        guard !isDisposed, !isRunning, !hasDependencies else { return }
        didLoseDependencies()
    }

    /// Called when no dependency can change again, because the stores were closed.
    func didLoseDependencies() {}
}

/// Observes the data that a reaction has read from one store.
final class ReactionObserver: Observer {
    private weak var reaction: Reaction?
    private var reads: StoreReads

    init(_ reaction: Reaction, _ reads: StoreReads, _ dispatcher: NotificationDispatcher) {
        self.reaction = reaction
        self.reads = reads
        super.init(name: "", dispatcher: dispatcher)
        isProbe = true
    }

    override var title: String { reaction?.title ?? super.title }

    /// False, because the reaction runs again in the current version and throws the error there.
    override var staysAfterError: Bool { false }

    override var interests: ObserverInterests {
        guard let reaction, let store = dispatcher?.store else { return ObserverInterests() }
        return reaction.interests(in: store, reads)
    }

    /// Observes the data that the last run has read; returns whether it is other data than before.
    func watch(_ next: StoreReads) -> Bool {
        let isSame = reads.hasSameInterests(as: next)
        reads = next
        // The dependencies of computed values are not compared here.
        if !isSame || reaction?.readsComputed == true { refile() }
        return !isSame
    }

    func refile() { dispatcher?.file(self) }

    override func release() {
        reads = StoreReads()
        if let reaction { reaction.didEnd(self) }
    }

    /// Returns a call, because the run itself has changed data that it had read.
    override func begin(in view: StoreView) throws -> Call? { reaction?.didChange() }

    override func advance(along step: VersionStep) throws -> Call? {
        guard let reaction, let dispatcher else { return nil }
        reaction.catchUpParents()
        guard isActive else { return nil }
        let change = try reads.change(in: step)
        var isChanged = change != nil
        let seen = step.old.version
        for hold in reads.nodes.values {
            dispatcher.serveNow(hold.node)
            if hold.node.changedAt > seen { isChanged = true }
        }
        if reaction.hasChangedComputed() { isChanged = true }
        guard isChanged else { return nil }
        explain(change ?? ChangeCauses(), step)
        return reaction.didChange()
    }

    private func explain(_ change: ChangeCauses, _ step: VersionStep) {
        let causes = change.named(in: step.new.schema)
        reaction?.reason = DeliveryReason(
            previousVersion: step.old.version, version: step.new.version, causes: causes,
            rowCount: causes.count)
    }

    override func failed(_ error: StoreError) -> Call? { reaction?.didChange() }
}

extension Reaction {
    fileprivate var readsComputed: Bool { !computed.isEmpty }
}

/// Code that runs immediately, and again after each commit that changes data that it has read.
///
/// The code runs once for each commit. Effects that are created while the code runs belong to the effect and end before
/// it runs again. The effect lasts until ``dispose()``, or until its dependencies can no longer change. An effect is
/// confined to the thread of the stores.
package final class Effect: Reaction {
    private var body: (() throws -> Void)?
    override var title: String { givenTitle }
    private let givenTitle: String
    private let report: (any Error) -> Void
    /// Called once after the effect has ended.
    package var endHandler: (() -> Void)?

    /// Creates an effect and runs its code.
    ///
    /// `report` receives the errors of later runs. Throws the error of the first run; the effect has then ended.
    package init(
        in scope: ReadScope, title: String = "an effect", report: @escaping (any Error) -> Void,
        _ body: @escaping () throws -> Void
    ) throws {
        givenTitle = title
        self.report = report
        self.body = body
        super.init(scope)
        scope.reaction?.adopt(self)
        do {
            try run()
        } catch {
            dispose()
            throw error
        }
        if !hasDependencies { dispose() }
    }

    private func run() throws {
        guard let body else { return }
        endChildren()
        let watch = Stopwatch()
        defer { statistics.handling.add(watch.microseconds) }
        try record(body)
    }

    override func didChange() -> Observer.Call? {
        guard !isDisposed, !isRunning else { return nil }
        return { [weak self] in
            guard let self, !isDisposed else { return }
            do { try run() } catch { report(error) }
            if !hasDependencies { dispose() }
        }
    }

    override func didLoseDependencies() { dispose() }

    package override func dispose() {
        guard !isDisposed else { return }
        super.dispose()
        body = nil
        let handler = endHandler
        endHandler = nil
        handler?()
    }
}
