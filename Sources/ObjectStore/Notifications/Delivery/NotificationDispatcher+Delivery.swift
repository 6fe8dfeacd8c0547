extension NotificationDispatcher {
    /// Calls every observer that has not seen the version that is present at the start.
    ///
    /// Observers that are added meanwhile wait for the next delivery.
    func deliver() {
        guard !isClosed else { return }
        cleanGeneration = store.view.generation
        depth += 1
        defer {
            depth -= 1
            if depth == 0 { settle() }
        }
        if owesDidChange {
            owesDidChange = false
            callStoreObservers(.didChange, except: [])
        }
        guard !tracked.isEmpty else { return }
        // What a handler commits from here on is for the next delivery: its begin has served all observers.
        let version = store.view.version
        for observer in tracked.inOrder {
            guard !isClosed else { return }
            if observer.isActive, observer.isTracked, observer.base.map({ $0 < version }) ?? true,
                !observer.isWithheld
            {
                serve(observer)
            }
        }
    }

    /// Moves an observer that deliveries pass by to the present version; all changes since its last call are one change.
    func pull(_ observer: Observer) {
        guard !isClosed else { return }
        if depth == 0 { cleanGeneration = store.view.generation }
        depth += 1
        defer {
            depth -= 1
            if depth == 0 { settle() }
        }
        serveNow(observer)
    }

    /// Moves one observer to the present version, before its turn.
    func serveNow(_ observer: Observer) {
        let version = store.view.version
        guard !isClosed, observer.isActive, observer.isTracked,
            observer.base.map({ $0 < version }) ?? true
        else { return }
        serve(observer)
    }

    private func serve(_ observer: Observer) {
        // The reason for the last call is released after the next call, which need not wait for that.
        let lastReason = observer.makeReason
        defer { withExtendedLifetime(lastReason) {} }
        let call: Observer.Call?
        do {
            call = try prepare(observer)
        } catch {
            move(observer)
            call = failure(of: observer, error)
        }
        if observer.isFinished { observer.end() }
        if let call { run(call, of: observer) }
    }

    /// The last call of an observer that cannot be moved.
    func failure(of observer: Observer, _ error: any Error) -> Observer.Call? {
        if !observer.isProbe { report(error, observer) }
        return observer.failed(
            error as? StoreError ?? StoreError(.invalidQuery, String(describing: error)))
    }

    /// Moves the observer to the present version.
    private func prepare(_ observer: Observer) throws -> Observer.Call? {
        let target = try presentView()
        guard let base = observer.base, let step = step(from: base) else {
            move(observer)
            return try observer.begin(in: target)
        }
        let watch = Stopwatch()
        let call = try observer.advance(along: step)
        observer.statistics.finding.add(watch.microseconds)
        move(observer)
        if step.changes.schemaChanged { file(observer) }
        if call != nil, target.version > base + 1 {
            observer.statistics.coalescedCommits += Int(clamping: target.version - base - 1)
        }
        observer.delay?.wasServed(withCall: call != nil)
        return call
    }

    func run(_ call: Observer.Call, of observer: Observer) {
        let outer = (current, callRound)
        let wasInWrite = store.isInWrite
        current = observer
        callRound = pendingRound
        let watch = Stopwatch()
        do {
            // What a handler reads is nothing that a reaction waiting for it has read.
            if let scope = store.readScope, scope.reaction != nil {
                try scope.tracking(nil, call)
            } else {
                try call()
            }
        } catch {
            // A write that the handler began and did not end would never end.
            if !isClosed, !wasInWrite, store.isInWrite {
                do { try store.cancelWrite() } catch { report(error, observer) }
            }
            report(error, observer)
        }
        observer.statistics.handling.add(watch.microseconds)
        (current, callRound) = outer
    }

    /// Nested calls are swallowed: a handler that writes does not receive its own write.
    func callStoreObservers(_ notification: StoreNotification, except silenced: [Observer]) {
        guard !isCallingStoreObservers, !storeObservers.isEmpty, !isClosed else { return }
        isCallingStoreObservers = true
        // `refresh` is allowed where a refresh is required.
        let isDelivery = notification == .didChange
        if isDelivery { depth += 1 }
        defer {
            isCallingStoreObservers = false
            if isDelivery { depth -= 1 }
            if depth == 0 { settle() }
        }
        for observer in storeObservers {
            guard !isClosed else { return }
            guard observer.isActive, !silenced.contains(where: { $0 === observer }),
                let call = observer.call(notification, store)
            else { continue }
            run(call, of: observer)
        }
    }

    /// After the outermost delivery: nothing more is needed of what it was for.
    private func settle() {
        pending.forgetSteps()
        lastRead = nil
        cleanView = nil
        store.requestMissedTurn()
        if !isClosed, !hasWork {
            pendingRound = 0
            participants = []
        }
    }
}
