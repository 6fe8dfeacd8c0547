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
