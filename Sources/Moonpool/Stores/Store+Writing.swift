import ObjectStore

extension Store {
    /// Runs `body` in a write transaction and commits when it returns.
    ///
    /// Waits for other writers without blocking the actor, in the order of the calls. Then `body` runs without
    /// suspension on the actor. An error of `body`, or of the first failed assignment, rolls back the write and is
    /// thrown.
    ///
    /// - Parameters:
    ///   - silenced: Tokens of this store whose observers do not receive this commit.
    ///   - timeout: The longest wait for other writers; without it, the wait has no limit.
    ///   - body: Changes objects. Its result is returned.
    /// - Throws: `CancellationError` if the task is canceled while it waits; `timed_out`, `read_only`, `closed`, `disk_full`,
    ///   `already_in_write`, `too_many_versions`, and the errors of `body`.
    @discardableResult  // because most writes have no result
    nonisolated(nonsending) public func write<R>(
        withoutNotifying silenced: [NotificationToken] = [], timeout: Duration? = nil,
        _ body: (Transaction) throws -> R
    ) async throws -> R {
        try await waitForTurn(timeout)
        return try writeNow(withoutNotifying: silenced, body)
    }

    /// Runs `body` in a write transaction and commits when it returns.
    ///
    /// See `write`.
    nonisolated(nonsending) public func write(
        withoutNotifying silenced: [NotificationToken] = [], timeout: Duration? = nil,
        _ body: (Transaction) throws -> Void
    ) async throws {
        try await waitForTurn(timeout)
        try writeNow(withoutNotifying: silenced, body)
    }

    nonisolated(nonsending) private func waitForTurn(_ timeout: Duration?) async throws {
        guard let scheduling = context.scheduling else { return }
        scheduling.adopt(#isolation)
        let signal = scheduling.signal
        let number = scheduling.writers.join()
        let end = timeout.map { ContinuousClock.now.advanced(by: $0) }
        let alarm = end.map { end in
            Task {
                try? await Task.sleep(until: end)
                signal.resumeAll()
            }
        }
        defer {
            alarm?.cancel()
            scheduling.writers.leave(number)
            signal.resumeAll()
        }
        while true {
            let count = signal.count
            guard !Task.isCancelled else {
                if scheduling.writers.isFirst(number) { engine.withdrawFromWriteQueue() }
                throw CancellationError()
            }
            if engine.isClosed
                || scheduling.writers.isFirst(number)
                    && engine.isWriteReady(notify: { signal.resumeAll() })
            {
                return
            }
            if let end, let timeout, end <= .now {
                if scheduling.writers.isFirst(number) { engine.withdrawFromWriteQueue() }
                throw engine.writeTimedOut(after: timeout / .seconds(1))
            }
            await signal.wait(after: count)
        }
    }

    /// Runs `body` in a write transaction and commits when it returns.
    ///
    /// Blocks the thread while it waits for other writers.
    ///
    /// It otherwise equals `write`.
    @discardableResult  // because most writes have no result
    public func writeNow<R>(
        withoutNotifying silenced: [NotificationToken] = [], timeout: Duration? = nil,
        _ body: (Transaction) throws -> R
    ) throws -> R {
        let transaction = Transaction(self)
        let engine = engine
        try engine.beginWrite(timeout: timeout.map { $0 / .seconds(1) })
        context.forgetFailure()
        defer { transaction.end() }
        do {
            let result = try body(transaction)
            try context.checkFailure()
            try engine.endWrite(withoutNotifying: silenced.compactMap(\.engineToken))
            return result
        } catch {
            context.forgetFailure()
            if !engine.isClosed, engine.isInWrite { try engine.cancelWrite() }
            throw error
        }
    }

    /// Runs `body` in a write transaction and commits when it returns.
    ///
    /// See ``writeNow(withoutNotifying:timeout:_:)``.
    public func writeNow(
        withoutNotifying silenced: [NotificationToken] = [], timeout: Duration? = nil,
        _ body: (Transaction) throws -> Void
    ) throws {
        let run: (Transaction) throws -> Bool = {
            try body($0)
            return true
        }
        try writeNow(withoutNotifying: silenced, timeout: timeout, run)
    }

    /// Schedules a write transaction with `body` on the store's actor, and returns immediately.
    ///
    /// Use it in handlers of observers, which cannot wait. `completion` receives nil after the commit, or the error
    /// that rolled the write back. It does not throw; a store that cannot write passes its error to `completion`.
    public func enqueueWrite(
        on isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping (Transaction) throws -> Void,
        completion: @escaping ((any Error)?) -> Void = { _ in }
    ) {
        context.scheduling?.adopt(isolation)
        do {
            guard context.scheduling?.actor != nil else {
                throw StoreError(
                    .invalidArgument,
                    "a queued write needs a store that belongs to an actor; use write or writeNow")
            }
            let context = context
            try engine.writeAsync(
                {
                    let transaction = Transaction(Store(context))
                    defer { transaction.end() }
                    context.forgetFailure()
                    try body(transaction)
                    try context.checkFailure()
                }, completion: completion)
        } catch {
            completion(error)
        }
    }
}

/// The queue of the asynchronous writes of one store, in the order of the calls.
struct WriterQueue {
    /// The number of the first write that has not left the queue.
    private var first = 1
    private var lastNumber = 0
    /// The writes that have left the queue before an earlier one.
    private var left: Set<Int> = []

    /// Joins the queue, and returns the write's number.
    mutating func join() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Returns whether all earlier writes have left the queue.
    func isFirst(_ number: Int) -> Bool { number == first }

    /// Leaves the queue, in constant time on average.
    mutating func leave(_ number: Int) {
        assert(number <= lastNumber, "only a write that has joined the queue leaves it")
        guard number >= first else { return }
        left.insert(number)
        while left.remove(first) != nil { first += 1 }
    }
}
