extension NotificationDispatcher {
    /// Calls every observer that has not seen the version that is current at the start.
    ///
    /// Observers added in the meantime wait for the next delivery.
    func deliver() {
        guard !isClosed else { return }
        cleanGeneration = store.view.generation
        depth += 1
        let wasInWrite = isDeliveringInWrite
        isDeliveringInWrite = store.isInWrite
        defer {
            isDeliveringInWrite = wasInWrite
            depth -= 1
            if depth == 0 { settle() }
        }
        if owesDidChange {
            owesDidChange = false
            callStoreObservers(.didChange, except: [])
        }
        guard !tracked.isEmpty else { return }
        // Commits of a handler belong to the next delivery: a write delivers pending changes to all observers when it
        // begins.
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

    /// Ends all observers with an error, because the store can no longer be read.
    func fail(_ error: any Error) {
        for observer in observers.values.sorted(by: { $0.number < $1.number })
        where observer.isActive && !isClosed {
            let call = failure(of: observer, error)
            observer.end()
            if let call { run(call, of: observer) }
        }
    }

    /// Moves an observer that deliveries skip to the current version.
    ///
    /// All changes since its last call are reported as one change.
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

    /// Moves one observer to the current version, before the other observers.
    func serveNow(_ observer: Observer) {
        let version = store.view.version
        guard !isClosed, observer.isActive, observer.isTracked,
            observer.base.map({ $0 < version }) ?? true
        else { return }
        serve(observer)
    }

    private func serve(_ observer: Observer) {
        // Releasing the previous reason can wait until after the call.
        let lastReason = observer.makeReason
        defer { withExtendedLifetime(lastReason) {} }
        let outer = deliveredSchema
        deliveredSchema = nil
        defer { deliveredSchema = outer }
        let call: Observer.Call?
        do {
            call = try prepare(observer)
        } catch {
            call = failure(of: observer, error)
        }
        if observer.isFinished { observer.end() }
        if let call { run(call, of: observer) }
    }

    /// Returns the call of an observer that cannot be updated to the current version.
    ///
    /// If the evaluation could not be done, the observer stays at the version that it has seen, and the next version is
    /// compared with that one. If the observed data no longer exists, the observation ends.
    func failure(of observer: Observer, _ error: any Error) -> Observer.Call? {
        var error = StoreError(error)
        if deliveredSchema != nil, [.unknownClass, .unknownProperty].contains(error.code) {
            error = StoreError(.schemaChanged, error.message)
        }
        if !observer.isProbe { report(error, observer) }
        if !error.isOfEvaluation { observer.isFinished = true }
        if observer.isFinished || !observer.staysAfterError {
            move(observer)
        } else {
            observer.didFail(at: store.view.version)
        }
        return observer.failed(error)
    }

    /// Moves the observer to the current version, and returns the call to make.
    private func prepare(_ observer: Observer) throws -> Observer.Call? {
        let target = try presentView()
        guard let base = observer.base, let step = try step(from: base) else {
            // After an error, the observer still waits for its first call.
            let call = try observer.begin(in: target)
            move(observer)
            return call
        }
        if step.changes.schemaChanged { deliveredSchema = store.lastSchemaEvent }
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
            // The reads of a handler are not dependencies of a reaction that waits for the handler.
            if let scope = store.readScope, scope.reaction != nil {
                try scope.tracking(nil, call)
            } else {
                try call()
            }
        } catch {
            // The handler began a write and did not end it; no other code would end it.
            if !isClosed, !wasInWrite, store.isInWrite {
                do { try store.cancelWrite() } catch { report(error, observer) }
            }
            report(error, observer)
        }
        observer.statistics.handling.add(watch.microseconds)
        (current, callRound) = outer
    }

    /// Calls the store's own observers, except the silenced ones.
    ///
    /// Nested calls are ignored: a handler that writes does not receive its own write.
    func callStoreObservers(_ notification: StoreNotification, except silenced: [Observer]) {
        guard !isCallingStoreObservers, !isClosed else { return }
        if owesSchema, notification == .didChange {
            owesSchema = false
            callStoreObservers(.schema, except: silenced)
        }
        guard !storeObservers.isEmpty else { return }
        isCallingStoreObservers = true
        // Handlers of `refresh_required` may call `refresh`.
        let isDelivery = notification != .refreshRequired
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

    /// Releases the data of the outermost delivery after its end.
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
