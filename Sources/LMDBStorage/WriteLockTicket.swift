/// A position in the queue of this process for a file's write lock, which does not block its thread.
///
/// When its turn has come, begin a write with it. It expires if that does not happen soon: a busy thread must not keep
/// the lock from others, and the thread that holds the ticket might itself wait for the lock.
///
/// May be used on any thread.
package final class WriteLockTicket: @unchecked Sendable {
    // Unchecked because: the queue's monitor guards `state`; the rest is constant.

    /// The state of a turn.
    package enum Standing: Sendable {
        /// The turn has not come yet.
        case waiting
        /// Its turn has come: a write that begins with it need not wait.
        case ready
        /// The turn has expired, or was canceled.
        case over
    }

    enum State {
        case waiting
        case ready(OpaquePointer)
        /// Acquiring the lock failed; a write that begins with the ticket throws the error.
        case failed
        case taken(OpaquePointer)
        case ending(OpaquePointer, isCommit: Bool)
        case ended(Int32)
    }

    var state = State.waiting
    let line: WriteLockQueue
    /// How long the turn waits to be used, in nanoseconds.
    let patience: Int
    let notify: @Sendable () -> Void

    init(_ line: WriteLockQueue, patience: Int, notify: @escaping @Sendable () -> Void) {
        self.line = line
        self.patience = patience
        self.notify = notify
    }

    /// The present state.
    package var standing: Standing { line.monitor.withLock { present } }

    /// The state once the ticket no longer waits, or after a time in nanoseconds.
    package func wait(atMost nanoseconds: Int) -> Standing {
        line.monitor.withLock {
            line.monitor.wait(atMost: nanoseconds) { present == .waiting }
            return present
        }
    }

    /// Gives the turn up; one that was taken is not.
    package func withdraw() {
        line.monitor.withLock {
            switch state {
            case .waiting:
                line.leave(self)
                state = .ended(0)
            case .ready(let transaction):
                state = .ending(transaction, isCommit: false)
                line.monitor.broadcast()
            default: break
            }
        }
    }

    private var present: Standing {
        switch state {
        case .waiting: .waiting
        case .ready, .failed: .ready
        case .taken, .ending, .ended: .over
        }
    }

    /// The open transaction, if the turn has come; nil if it cannot be had this way.
    func take() -> OpaquePointer? {
        line.monitor.withLock {
            guard case .ready(let transaction) = state else { return nil }
            state = .taken(transaction)
            line.monitor.broadcast()
            return transaction
        }
    }

    /// Ends the transaction that was taken, on the thread that has the lock; LMDB's code.
    func end(isCommit: Bool) -> Int32 {
        line.monitor.withLock {
            guard case .taken(let transaction) = state else { return 0 }
            state = .ending(transaction, isCommit: isCommit)
            line.monitor.broadcast()
            while true {
                if case .ended(let code) = state { return code }
                line.monitor.wait()
            }
        }
    }
}
