import SystemCalls

/// A position in the queue of this process for a file's write lock, which does not block a thread.
///
/// When the ticket is ready, begin a write with it. The ticket lapses if it is not used soon: a busy thread must not
/// block other writers, and the thread that owns the ticket might itself wait for the lock.
///
/// Any thread may use a ticket.
package final class WriteLockTicket: @unchecked Sendable {
    // Unchecked because: the queue's monitor guards `state`; the rest is constant.

    /// The state of a ticket.
    package enum Status: Sendable {
        /// The ticket is waiting for the lock.
        case waiting
        /// The ticket has the lock: a write that begins with it need not wait.
        case ready
        /// The ticket has lapsed, or was canceled.
        case ended
    }

    private enum State {
        case waiting
        case ready(OpaquePointer)
        /// Acquiring the lock failed; a write that begins with the ticket throws the error.
        case failed
        /// A write uses the transaction.
        case taken(OpaquePointer)
        case ending(OpaquePointer, isCommit: Bool)
        case ended(Int32)
    }

    private var state = State.waiting
    let queue: WriteLockQueue
    /// The time for which a ready ticket waits to be used, in nanoseconds.
    let patience: Int
    let notify: @Sendable () -> Void

    init(_ queue: WriteLockQueue, patience: Int, notify: @escaping @Sendable () -> Void) {
        self.queue = queue
        self.patience = patience
        self.notify = notify
    }

    /// The current state.
    package var status: Status { queue.monitor.withLock { currentStatus } }

    /// Waits until the ticket is no longer waiting, or for a time in nanoseconds, and returns the state.
    package func wait(atMost nanoseconds: Int) -> Status {
        queue.monitor.withLock {
            queue.monitor.wait(atMost: nanoseconds) { currentStatus == .waiting }
            return currentStatus
        }
    }

    /// Cancels the ticket, unless a write has already begun with it.
    package func withdraw() {
        queue.monitor.withLock {
            switch state {
            case .waiting:
                queue.remove(self)
                state = .ended(0)
            case .ready(let transaction):
                state = .ending(transaction, isCommit: false)
                queue.monitor.broadcast()
            case .failed, .taken, .ending, .ended: break
            }
        }
    }

    private var currentStatus: Status {
        switch state {
        case .waiting: .waiting
        case .ready, .failed: .ready
        case .taken, .ending, .ended: .ended
        }
    }

    /// Returns the open transaction of a ready ticket; nil if the ticket is not ready.
    func take() -> OpaquePointer? {
        queue.monitor.withLock {
            guard case .ready(let transaction) = state else { return nil }
            state = .taken(transaction)
            queue.monitor.broadcast()
            return transaction
        }
    }

    /// Ends the transaction of the ticket on the thread that holds the lock, and returns LMDB's error code.
    func end(isCommit: Bool) -> Int32 {
        queue.monitor.withLock {
            guard case .taken(let transaction) = state else { return 0 }
            state = .ending(transaction, isCommit: isCommit)
            queue.monitor.broadcast()
            while true {
                if case .ended(let code) = state { return code }
                queue.monitor.wait()
            }
        }
    }

    // MARK: Transitions by the queue, which holds the monitor

    /// Whether no write has begun with the ready ticket.
    var isUnused: Bool { if case .ready = state { true } else { false } }

    /// Marks the ticket as ready, with the open transaction that holds the lock.
    func didAcquire(_ transaction: OpaquePointer) {
        state = .ready(transaction)
        queue.monitor.broadcast()
    }

    /// Marks the ticket as failed: its writer acquires the lock itself, and throws if that fails.
    func didFail() {
        state = .failed
        queue.monitor.broadcast()
    }

    /// Lapses the ticket if no write has begun with it; returns the transaction, which the queue aborts.
    func lapse() -> OpaquePointer? {
        guard case .ready(let transaction) = state else { return nil }
        state = .ended(0)
        return transaction
    }

    /// Waits until the write or the cancellation requests the end; returns the transaction to end.
    func awaitEnd() -> (transaction: OpaquePointer, isCommit: Bool)? {
        while case .taken = state { queue.monitor.wait() }
        guard case .ending(let transaction, let isCommit) = state else { return nil }
        return (transaction, isCommit)
    }

    /// Notifies the thread that waits for the end; `code` is LMDB's result.
    func didEnd(_ code: Int32) {
        state = .ended(code)
        queue.monitor.broadcast()
    }
}
