import ColumnStorage

/// A write that waits in the queue of a store.
final class QueuedWrite {
    let body: () throws -> Void
    let completion: ((any Error)?) -> Void

    /// Creates a queued write.
    init(
        body: @escaping () throws -> Void, completion: @escaping ((any Error)?) -> Void
    ) {
        self.body = body
        self.completion = completion
    }
}

/// The queued writes of a store, in the order in which they run.
struct WriteQueue {
    /// The writes; those that have run are nil.
    private var writes: [QueuedWrite?] = []
    /// The index of the next write.
    private var next = 0
    /// The ticket for the write lock while another writer holds it.
    var ticket: WriteLockTicket?
    /// The number of consecutive tickets that lapsed because the thread was busy.
    private(set) var lapses = 0

    var isEmpty: Bool { next == writes.count }

    mutating func append(_ write: QueuedWrite) { writes.append(write) }

    /// Removes the next write in constant time on average; nil for an empty queue.
    mutating func removeFirst() -> QueuedWrite? {
        guard !isEmpty else { return nil }
        let write = writes[next]
        writes[next] = nil
        next += 1
        // Moving the remaining writes costs at most as much as the writes that have run since the last move.
        if next > writes.count / 2 {
            writes.removeFirst(next)
            next = 0
        }
        return write
    }

    /// Removes all writes and returns them in their order.
    mutating func removeAll() -> [QueuedWrite] {
        defer {
            writes = []
            next = 0
        }
        return writes[next...].compactMap(\.self)
    }

    /// The time in nanoseconds for which the lock is reserved for a busy thread.
    ///
    /// The time grows with each lapse, so that a thread that is always busy eventually receives the lock.
    var patience: Int { 3_000_000 << min(lapses, 8) }

    mutating func didLapse() {
        ticket = nil
        lapses += 1
    }

    /// Removes the ticket from the queue and returns it.
    mutating func removeTicket() -> WriteLockTicket? {
        defer { ticket = nil }
        return ticket
    }

    mutating func didBegin() { lapses = 0 }
}

extension Store {
    /// Queues `body` to run in its own write transaction on the store's thread, and returns immediately.
    ///
    /// Queued writes run in the order in which they were queued, one in each turn of the event loop, so observers and
    /// timers also run. While another thread or process writes, a queued write does not block the event loop; the
    /// writes of one process run in the order in which they began to wait. `completion` is called with nil after the
    /// commit, or with the error that rolled the write back; the error is `closed` if the store was closed before.
    ///
    /// Throws `closed`, `wrong_thread`, `read_only`, `invalid_argument` (the thread has no event loop).
    public func writeAsync(
        _ body: @escaping () throws -> Void, completion: @escaping ((any Error)?) -> Void
    ) throws {
        try check()
        guard !isReadOnly else {
            throw StoreError.readOnlyStore
        }
        guard scheduler.canDeliver else {
            throw StoreError(
                .invalidArgument, "a queued write needs a thread with an event loop that can run it"
            )
        }
        queue.append(QueuedWrite(body: body, completion: completion))
        requestTurn()
    }

    /// Runs the next queued write, if it can run without waiting.
    func runQueuedWrite() {
        guard !queue.isEmpty, !isClosed, !isInWrite, !notifications.isDelivering else {
            return
        }
        guard canBeginWrite(), let next = queue.removeFirst() else { return }
        if !queue.isEmpty { requestTurn() }
        do {
            try write { try next.body() }
            next.completion(nil)
        } catch {
            next.completion(error)
        }
    }

    /// Fails the queued writes, which can no longer run.
    func abandonQueuedWrites() {
        queue.removeTicket()?.withdraw()
        for write in queue.removeAll() {
            write.completion(
                StoreError(.closed, "the store was closed before a queued write could run"))
        }
    }
}
