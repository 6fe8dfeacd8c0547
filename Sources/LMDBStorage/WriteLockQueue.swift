import CLMDB
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The queue of this process for a file's write lock, in the order of requests; waiting blocks no thread.
///
/// LMDB's lock blocks the thread that requests it, and belongs to the thread that acquired it. So while the queue is
/// not empty, a separate thread acquires the lock for the first ticket, and ends the transaction when that ticket is
/// done. The thread keeps the file open until the queue is empty, which may be after all other handles are closed.
final class WriteLockQueue: @unchecked Sendable {
    // Unchecked because: `monitor` guards all following properties and the states of the tickets.
    let monitor = Monitor()
    private var tickets: [WriteLockTicket] = []
    private var isServed = false

    /// The mark of a lock that the queue's thread holds for a ticket that has not been used yet.
    private static let unclaimed: UInt = 1

    /// Adds a ticket; `notify` is called on another thread when the ticket is ready or has lapsed.
    func takeTicket(
        _ lease: EnvironmentLease, patience: Int, notify: @escaping @Sendable () -> Void
    ) -> WriteLockTicket {
        let ticket = WriteLockTicket(self, patience: patience, notify: notify)
        monitor.withLock {
            tickets.append(ticket)
            if !isServed { isServed = start(lease) }
            if !isServed {
                // If the thread cannot be started, writers wait for the lock themselves.
                remove(ticket)
                ticket.didFail()
            }
        }
        if ticket.status != .waiting { notify() }
        return ticket
    }

    /// Removes a waiting ticket; the caller holds the monitor.
    func remove(_ ticket: WriteLockTicket) { tickets.removeAll { $0 === ticket } }

    private func start(_ lease: EnvironmentLease) -> Bool {
        let context = Unmanaged.passRetained(QueueService(queue: self, lease: lease)).toOpaque()
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        guard pthread_create(&thread, nil, queueMain, context) == 0 else {
            Unmanaged<QueueService>.fromOpaque(context).release()
            return false
        }
        #if canImport(Darwin)
            if let thread { pthread_detach(thread) }
        #else
            pthread_detach(thread)
        #endif
        return true
    }

    /// Serves the tickets on the queue's thread until the queue is empty.
    fileprivate func serve(_ environment: Environment) {
        monitor.lock()
        while !tickets.isEmpty {
            var begun: OpaquePointer?
            monitor.withoutLock { _ = mdb_txn_begin(environment.pointer, nil, 0, &begun) }
            guard let ticket = tickets.first else {
                // All tickets have been canceled in the meantime.
                if let begun { monitor.withoutLock { mdb_txn_abort(begun) } }
                continue
            }
            tickets.removeFirst()
            if let begun {
                environment.writerThread.store(Self.unclaimed, ordering: .relaxed)
                ticket.didAcquire(begun)
            } else {
                ticket.didFail()
            }
            monitor.withoutLock { ticket.notify() }
            if begun != nil { awaitEnd(of: ticket, environment) }
        }
        isServed = false
        monitor.unlock()
    }

    /// Waits until the ticket was used and its write ended, or until it lapses, and ends its transaction.
    private func awaitEnd(of ticket: WriteLockTicket, _ environment: Environment) {
        monitor.wait(atMost: ticket.patience) { ticket.isUnused }
        if let transaction = ticket.lapse() {
            environment.writerThread.store(0, ordering: .relaxed)
            monitor.withoutLock {
                mdb_txn_abort(transaction)
                ticket.notify()
            }
            return
        }
        guard let (transaction, isCommit) = ticket.awaitEnd() else { return }
        environment.writerThread.store(0, ordering: .relaxed)
        var code: Int32 = 0
        monitor.withoutLock {
            if isCommit { code = mdb_txn_commit(transaction) } else { mdb_txn_abort(transaction) }
        }
        ticket.didEnd(code)
    }
}

/// The objects that the queue's thread keeps alive.
private final class QueueService {
    let queue: WriteLockQueue
    let lease: EnvironmentLease

    init(queue: WriteLockQueue, lease: EnvironmentLease) {
        self.queue = queue
        self.lease = lease
    }

    func run() { queue.serve(lease.environment) }
}

#if canImport(Darwin)
    private func queueMain(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<QueueService>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
#else
    private func queueMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let context { Unmanaged<QueueService>.fromOpaque(context).takeRetainedValue().run() }
        return nil
    }
#endif

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

    /// Waits while the ticket is waiting, for at most a time in nanoseconds, and returns the state.
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
