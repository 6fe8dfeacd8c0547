import CLMDB

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
    private var turns: [WriteLockTicket] = []
    private var isServed = false

    /// The mark of a lock that the queue's thread holds for a ticket that has not been used yet.
    private static let unclaimed: UInt = 1

    /// Adds a ticket; `notify` is called on another thread when the ticket is ready or has lapsed.
    func join(
        _ lease: EnvironmentLease, patience: Int, notify: @escaping @Sendable () -> Void
    ) -> WriteLockTicket {
        let turn = WriteLockTicket(self, patience: patience, notify: notify)
        monitor.withLock {
            turns.append(turn)
            if !isServed { isServed = start(lease) }
            if !isServed {
                // If the thread cannot be started, writers wait for the lock themselves.
                leave(turn)
                turn.state = .failed
            }
        }
        if turn.standing != .waiting { notify() }
        return turn
    }

    /// Removes a waiting ticket; the caller holds the monitor.
    func leave(_ turn: WriteLockTicket) { turns.removeAll { $0 === turn } }

    private func start(_ lease: EnvironmentLease) -> Bool {
        let context = Unmanaged.passRetained(LineService(line: self, lease: lease)).toOpaque()
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
        guard pthread_create(&thread, nil, lineMain, context) == 0 else {
            Unmanaged<LineService>.fromOpaque(context).release()
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
        while !turns.isEmpty {
            var begun: OpaquePointer?
            monitor.withoutLock { _ = mdb_txn_begin(environment.pointer, nil, 0, &begun) }
            guard let turn = turns.first else {
                // All tickets have been canceled meanwhile.
                if let begun { monitor.withoutLock { mdb_txn_abort(begun) } }
                continue
            }
            turns.removeFirst()
            if let begun {
                environment.writerThread.store(Self.unclaimed, ordering: .relaxed)
                turn.state = .ready(begun)
            } else {
                turn.state = .failed
            }
            monitor.broadcast()
            monitor.withoutLock { turn.notify() }
            if begun != nil { attend(turn, environment) }
        }
        isServed = false
        monitor.unlock()
    }

    /// Waits until the ticket was used and its write ended, or until it lapses, and ends its transaction.
    private func attend(_ turn: WriteLockTicket, _ environment: Environment) {
        monitor.wait(atMost: turn.patience) {
            if case .ready = turn.state { true } else { false }
        }
        if case .ready(let transaction) = turn.state {
            turn.state = .ended(0)
            environment.writerThread.store(0, ordering: .relaxed)
            monitor.withoutLock {
                mdb_txn_abort(transaction)
                turn.notify()
            }
            return
        }
        while case .taken = turn.state { monitor.wait() }
        guard case .ending(let transaction, let isCommit) = turn.state else { return }
        environment.writerThread.store(0, ordering: .relaxed)
        var code: Int32 = 0
        monitor.withoutLock {
            if isCommit { code = mdb_txn_commit(transaction) } else { mdb_txn_abort(transaction) }
        }
        turn.state = .ended(code)
        monitor.broadcast()
    }
}

/// The objects that the queue's thread keeps alive.
private final class LineService {
    let line: WriteLockQueue
    let lease: EnvironmentLease

    init(line: WriteLockQueue, lease: EnvironmentLease) {
        self.line = line
        self.lease = lease
    }

    func run() { line.serve(lease.environment) }
}

#if canImport(Darwin)
    private func lineMain(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<LineService>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
#else
    private func lineMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let context { Unmanaged<LineService>.fromOpaque(context).takeRetainedValue().run() }
        return nil
    }
#endif
