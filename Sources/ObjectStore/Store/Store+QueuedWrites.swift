/// A write that waits for its turn.
struct QueuedWrite {
    let body: () throws -> Void
    let completion: ((any Error)?) -> Void
}

/// The writes of a store that wait for their turn, first come first served.
struct WriteQueue {
    /// After so many turns in which another thread was writing the next write waits for the lock
    /// itself, so that it is not passed over for ever.
    static let patience = 32

    var writes: [QueuedWrite] = []
    var missedTurns = 0
}

extension Store {
    /// Runs `body` in a write transaction of its own, soon, on the store's thread; returns at once.
    ///
    /// Queued writes run in the order in which they were queued, one in a turn of the event loop, so
    /// that observers and timers get theirs. While another thread of the process writes, a write
    /// waits without keeping the event loop; a writer in another process is waited for.
    /// `completion` is called with nil after the commit, or with the error that rolled the write
    /// back; with `closed` if the store is closed before.
    ///
    /// Throws `closed`, `wrong_thread`, `read_only`, `invalid_argument` (the thread has no event loop).
    public func writeAsync(
        _ body: @escaping () throws -> Void, completion: @escaping ((any Error)?) -> Void
    ) throws {
        try check()
        guard !isReadOnly else {
            throw StoreError(
                .readOnly, "the store was opened read-only; open it without read_only to write")
        }
        guard scheduler.canDeliver else {
            throw StoreError(
                .invalidArgument, "a queued write needs a thread with an event loop that can run it"
            )
        }
        queue.writes.append(QueuedWrite(body: body, completion: completion))
        requestTurn()
    }

    /// Runs the next queued write, if it can run now.
    func runQueuedWrite() {
        guard !queue.writes.isEmpty, !isClosed, !isInWrite, !notifications.isDelivering else {
            return
        }
        if view.snapshot.file.isBeingWritten, queue.missedTurns < WriteQueue.patience {
            queue.missedTurns += 1
            return awaitWriteLock()
        }
        queue.missedTurns = 0
        let next = queue.writes.removeFirst()
        if !queue.writes.isEmpty { requestTurn() }
        do {
            try write { try next.body() }
            next.completion(nil)
        } catch {
            next.completion(error)
        }
    }

    /// Tells the writes that can never run any more.
    func abandonQueuedWrites() {
        let abandoned = queue.writes
        queue.writes = []
        for write in abandoned {
            write.completion(
                StoreError(.closed, "the store was closed before a queued write could run"))
        }
    }
}
