import ColumnStorage

// Observers and the versions that they have seen.
extension NotificationDispatcher {
    /// Adds an observer that has seen a version; if the version is nil, its first call is pending.
    func add(_ observer: Observer, seen version: UInt64?) -> NotificationToken {
        enter(observer, seen: version)
        let token = NotificationToken(observer)
        observer.token = token
        return token
    }

    /// Adds an observer without a token.
    func enter(_ observer: Observer, seen version: UInt64?) {
        lastNumber += 1
        observer.register(as: lastNumber)
        observers[observer.number] = observer
        if observer.isEarly { earlyObservers.append(observer) }
        noteObservers()
        file(observer)
        if let version {
            observer.setBase(version)
        } else {
            tracked.insert(observer)
            store.requestTurn()
        }
    }

    func add(_ observer: StoreObserver) -> NotificationToken {
        storeObservers.append(observer)
        noteObservers()
        let token = NotificationToken(observer)
        observer.token = token
        return token
    }

    private func noteObservers() {
        let isObserving = !observers.isEmpty || !storeObservers.isEmpty
        guard isObserving != wasObserving else { return }
        wasObserving = isObserving
        isObservingHandler?(isObserving)
    }

    /// Registers an observer in the index under its dependencies, and removes earlier entries of the observer.
    func file(_ observer: Observer) {
        guard observer.isActive else { return }
        if let before = filed[observer.number] { index.remove(observer, before) }
        let interests = observer.interests
        filed[observer.number] = interests
        index.add(observer, interests)
    }

    func didEnd(_ observer: Observer) {
        defer { noteObservers() }
        if observer is StoreObserver { return storeObservers.removeAll { $0 === observer } }
        if observer.isTracked { forget(observer) }
        observers[observer.number] = nil
        if !earlyObservers.isEmpty { earlyObservers.removeAll { $0 === observer } }
        if let before = filed.removeValue(forKey: observer.number) {
            index.remove(observer, before)
        }
    }

    /// Finds the observers that a change affects, and keeps the previous version of the store for them.
    func keep(_ left: StoreView) {
        forgetSteps()
        guard !observers.isEmpty else { return }
        func track(_ observer: Observer) {
            guard !observer.isTracked, observer.isActive else { return }
            // No change affected the idle observer, so any version since its last one can be its base.
            let base = pending.firstReadable(from: observer.base ?? 0) ?? left.version
            observer.setBase(base)
            tracked.insert(observer)
            pending.enter(base)
        }
        if let changes = recorded(from: left), !changes.schemaChanged {
            index.forEachConcerned(by: changes, track)
        } else {
            observers.values.forEach(track)
        }
        pending.keep(left)
    }

    /// Removes the cached steps to the previous version of the store.
    func forgetSteps() {
        pending.forgetSteps()
        cleanView = nil
    }

    /// Records that the observer has seen the current version.
    func move(_ observer: Observer) {
        if observer.isTracked { forget(observer) }
        observer.isAnnounced = false
        observer.setBase(store.view.version)
    }

    private func forget(_ observer: Observer) {
        tracked.remove(observer)
        if let base = observer.base { pending.leave(base) }
    }

    /// Returns the current version without the uncommitted changes of an open write.
    ///
    /// A delivery starts before its write changes any data, but handlers may have written since.
    func presentView() throws -> StoreView {
        let live = store.view
        guard store.isInWrite, live.generation != cleanGeneration else { return live }
        if let cleanView, cleanView.version == live.version { return cleanView }
        let snapshot = try StoreError.wrapping(live.snapshot.frozen())
        let view = StoreView(schema: store.committedSchema, snapshot: snapshot, isFrozen: true)
        cleanView = view
        return view
    }

    /// Returns the step from a seen version to the current one; nil if the seen version is no longer readable.
    func step(from base: UInt64) throws -> VersionStep? {
        guard let old = pending.view(of: base) else { return nil }
        let new = try presentView()
        // The cached step may end in a view that a handler has changed since.
        if let known = pending.step(from: base), known.new === new { return known }
        let changes = try recorded(from: old) ?? VersionComparison.changes(from: old, to: new)
        let step = VersionStep(from: old, to: new, changes: changes)
        pending.keep(step)
        return step
    }

    /// Returns whether only columns and classes have changed since a version that the store's schema does not have.
    func isInvisible(_ left: StoreView) -> Bool {
        store.fileSchema.transition != nil && !owesSchema && recorded(from: left)?.isEmpty == true
    }

    /// Returns the changes of the store's own classes and properties.
    ///
    /// While a migration is started, the file also has those of another schema.
    func visible(_ changes: ChangeSet, from old: Schema, to new: Schema) -> ChangeSet {
        guard store.fileSchema.transition != nil || changes.schemaChanged else { return changes }
        var result = changes
        if result.schemaChanged {
            guard new.isSame(as: old) else { return changes }
            result.schemaChanged = false
        }
        for (table, changed) in changes.tables {
            guard let classSchema = new.find(table: table) else {
                result.tables.removeValue(forKey: table)
                continue
            }
            func isOwn(_ column: ColumnID) -> Bool { classSchema.property(in: column) != nil }
            var own = changed
            own.modified = changed.modified.filter { isOwn($0.key) }
            own.edits = changed.edits.filter { isOwn($0.key) }
            result.tables[table] = own.isEmpty ? nil : own
        }
        return result
    }

    /// Returns the recorded changes since a version; nil if the history does not reach back.
    private func recorded(from old: StoreView) -> ChangeSet? {
        let (base, version) = (old.version, store.view.version)
        if let lastRead, lastRead.from == base, lastRead.to == version { return lastRead.changes }
        // because: if the history cannot be read, a comparison of the versions finds the same changes.
        let found = (try? store.view.snapshot.changes(from: base, to: version)) ?? nil
        let read = found.map { visible($0, from: old.schema, to: store.committedSchema) }
        lastRead = read.map { (base, version, $0) }
        return read
    }
}
