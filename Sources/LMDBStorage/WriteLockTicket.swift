/// A place in the line of those in this process who wait for a file's write lock without keeping their thread.
///
/// When its turn has come, it is taken by beginning a write with it. It lapses when that is not done soon: the lock
/// must not be kept from others by somebody who is busy, and the thread that it comes to might itself wait for the lock.
///
/// May be used on any thread.
package final class WriteLockTicket: @unchecked Sendable {
    // Unchecked because: the line's monitor guards `state`; the rest is constant.

    /// How it stands with a turn.
    package enum Standing: Sendable {
        /// It has not come yet.
        case waiting
        /// It has come: whoever begins a write with it need not wait.
        case ready
        /// It is over: it was not taken in time, or was given up.
        case over
    }

    enum State {
        case waiting
        case ready(OpaquePointer)
        /// The lock could not be taken; a write that is begun will say why.
        case failed
        case taken(OpaquePointer)
        case ending(OpaquePointer, isCommit: Bool)
        case ended(Int32)
    }

    var state = State.waiting
    let line: WriteLockQueue
    /// How long the turn waits to be taken, in nanoseconds.
    let patience: Int
    let notify: @Sendable () -> Void

    init(_ line: WriteLockQueue, patience: Int, notify: @escaping @Sendable () -> Void) {
        self.line = line
        self.patience = patience
        self.notify = notify
    }

    /// How it stands now.
    package var standing: Standing { line.monitor.withLock { present } }

    /// How it stands when it no longer waits, or after a time in nanoseconds.
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
