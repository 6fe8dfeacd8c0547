import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Those in this process who wait for a file's write lock without keeping their threads, first come first served.
///
/// LMDB's lock keeps who asks for it, and belongs to the thread that got it. So while somebody is in the line, a thread
/// of its own takes the lock for the first one, and ends the transaction when that one says so. The thread holds the
/// file open until the line is empty, which may be after everybody else has closed it.
final class WriteLockQueue: @unchecked Sendable {
    // Unchecked because: `monitor` guards everything below it, and the states of the turns.
    let monitor = Monitor()
    private var turns: [WriteLockTicket] = []
    private var isServed = false

    /// Stands for the thread of a line while nobody has taken the turn.
    private static let nobody: UInt = 1

    /// Adds a turn; `notify` is called on another thread when it has come, or has lapsed.
    func join(
        _ lease: EnvironmentLease, patience: Int, notify: @escaping @Sendable () -> Void
    ) -> WriteLockTicket {
        let turn = WriteLockTicket(self, patience: patience, notify: notify)
        monitor.withLock {
            turns.append(turn)
            if !isServed { isServed = start(lease) }
            if !isServed {
                // Without a thread, whoever wants to write waits for the lock.
                leave(turn)
                turn.state = .failed
            }
        }
        if turn.standing != .waiting { notify() }
        return turn
    }

    /// Removes a turn that still waits; with the monitor.
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

    /// What the thread does: until the line is empty.
    fileprivate func serve(_ environment: Environment) {
        monitor.lock()
        while !turns.isEmpty {
            var begun: OpaquePointer?
            monitor.withoutLock { _ = mdb_txn_begin(environment.pointer, nil, 0, &begun) }
            guard let turn = turns.first else {
                // Everybody has left meanwhile.
                if let begun { monitor.withoutLock { mdb_txn_abort(begun) } }
                continue
            }
            turns.removeFirst()
            if let begun {
                environment.writerThread.store(Self.nobody, ordering: .relaxed)
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

    /// Waits for the turn to be taken and ended, or to lapse, and ends its transaction.
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

/// What the thread of a line keeps alive.
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
