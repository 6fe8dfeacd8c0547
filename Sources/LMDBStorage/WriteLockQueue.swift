import CLMDB
import Synchronization
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A store as a writer: its name in messages, and the handler of its long waits.
package final class LockUser: Sendable {
    /// The name of the writer in messages, such as `actor Cattery`.
    package let name: String
    /// The time in nanoseconds after which a wait is long.
    package let patience: Int
    /// Receives the description of the writer that holds the lock, once in each long wait.
    package let didWaitLong: @Sendable (_ holder: String) -> Void

    package init(
        _ name: String, patience: Int = 1_000_000_000,
        didWaitLong: @escaping @Sendable (_ holder: String) -> Void = { _ in }
    ) {
        self.name = name
        self.patience = patience
        self.didWaitLong = didWaitLong
    }

    /// A writer without a name.
    package static let unnamed = LockUser("a thread of this process")
}

/// The queue of this process for a file's write lock: threads and tickets, in the order of requests.
///
/// The lock of LMDB is not fair: its next owner would often be the thread that has just released it. So each writer
/// first waits for its turn here. A thread blocks until its turn; a ticket blocks no thread.
///
/// LMDB's lock blocks the thread that requests it, and belongs to the thread that acquired it. So a separate thread
/// acquires the lock for a ticket, and ends the transaction when that ticket is done. It exists while tickets wait, and
/// keeps the file open, which may be after all other handles are closed. A ticket whose code cannot run, because other
/// writers block all threads that could run it, lapses after its short patience, and the next writer has its turn. When
/// the code of the ticket finally runs, it blocks its thread for the present write, and is the next one.
final class WriteLockQueue: @unchecked Sendable {
    // Unchecked because: `monitor` guards all following properties and the states of the tickets.
    let monitor = Monitor()
    private var waiting: [Waiter] = []
    /// The writer whose turn it is, and the beginning of its turn on the monotonic clock.
    private var holder: (user: LockUser, since: UInt64)?
    /// The ticket whose turn has begun, until the queue's thread serves it.
    private var admitted: WriteLockTicket?
    private var isServed = false
    /// Whether it is the turn of a writer; written under the monitor, and read as a hint.
    private let hasHolder = Atomic<Bool>(false)

    private enum Waiter {
        case thread(BlockedThread)
        case ticket(WriteLockTicket)
    }

    /// A thread that waits for its turn, and is woken alone.
    private final class BlockedThread {
        let user: LockUser
        let turn = Condition()
        var hasTurn = false
        init(_ user: LockUser) { self.user = user }
    }

    /// The mark of a lock that the queue's thread holds for a ticket that has not been used yet.
    private static let unclaimed: UInt = 1

    /// Whether a writer of this process probably has the lock.
    var isTaken: Bool { hasHolder.load(ordering: .relaxed) }

    /// Whether a writer of this process waits for its turn.
    var isAwaited: Bool { monitor.withLock { !waiting.isEmpty } }

    private func describeHolder() -> String? {
        holder.map {
            "\($0.user.name), for \(Double(MonotonicClock.nanoseconds - $0.since) / 1e9) s"
        }
    }

    /// Whether the writer of this process that has the lock, if any, has had it for less than a time in nanoseconds.
    func isHeld(lessThan nanoseconds: Int) -> Bool {
        monitor.withLock {
            holder.map { MonotonicClock.nanoseconds - $0.since < nanoseconds } ?? true
        }
    }

    // MARK: Threads

    /// Waits until it is the turn of the calling thread; `isFirst` passes the other waiting writers.
    func enter(_ user: LockUser, isFirst: Bool) {
        monitor.lock()
        defer { monitor.unlock() }
        guard holder != nil || !waiting.isEmpty else { return take(user) }
        let thread = BlockedThread(user)
        waiting.insert(.thread(thread), at: isFirst ? 0 : waiting.count)
        monitor.wait(for: thread.turn, atMost: user.patience) { !thread.hasTurn }
        if !thread.hasTurn, let text = describeHolder() {
            monitor.withoutLock { user.didWaitLong(text) }
        }
        while !thread.hasTurn { monitor.wait(for: thread.turn) }
        assert(holder?.user === user, "the turn is that of the waiting thread")
    }

    /// Ends the turn of the calling thread.
    func leave() { monitor.withLock { endTurn() } }

    private func take(_ user: LockUser) {
        assert(holder == nil, "one writer has its turn at a time")
        holder = (user, MonotonicClock.nanoseconds)
        hasHolder.store(true, ordering: .relaxed)
    }

    /// Ends a turn and begins the next one; the caller holds the monitor.
    private func endTurn() {
        assert(holder != nil, "a turn ends once")
        holder = nil
        guard !waiting.isEmpty else { return hasHolder.store(false, ordering: .relaxed) }
        begin(waiting.removeFirst())
    }

    private func begin(_ next: Waiter) {
        switch next {
        case .thread(let thread):
            take(thread.user)
            thread.hasTurn = true
            thread.turn.broadcast()
        case .ticket(let ticket):
            take(ticket.user)
            assert(admitted == nil, "one ticket is admitted at a time")
            admitted = ticket
            monitor.broadcast()
        }
    }

    // MARK: Tickets

    /// Adds a ticket; `notify` is called on another thread when the ticket is ready or has lapsed.
    func takeTicket(
        _ lease: EnvironmentLease, _ user: LockUser, patience: Int,
        notify: @escaping @Sendable () -> Void
    ) -> WriteLockTicket {
        let ticket = WriteLockTicket(self, user, patience: patience, notify: notify)
        monitor.withLock {
            if !isServed { isServed = start(lease) }
            if !isServed {
                // If the thread cannot be started, the ticket's writer waits for its turn itself.
                ticket.didFail()
            } else if holder == nil {
                begin(.ticket(ticket))
            } else {
                waiting.append(.ticket(ticket))
            }
        }
        if ticket.status != .waiting { notify() }
        return ticket
    }

    /// Removes a waiting ticket; the caller holds the monitor.
    func remove(_ ticket: WriteLockTicket) {
        waiting.removeAll { if case .ticket(let other) = $0 { other === ticket } else { false } }
        monitor.broadcast()
    }

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

    /// Serves the tickets on the queue's thread while tickets wait.
    fileprivate func serve(_ environment: Environment) {
        monitor.lock()
        while let ticket = nextTicket() {
            var begun: OpaquePointer?
            monitor.withoutLock { _ = mdb_txn_begin(environment.pointer, nil, 0, &begun) }
            if ticket.isCanceled {
                if let begun { monitor.withoutLock { mdb_txn_abort(begun) } }
            } else if let begun {
                environment.writerThread.store(Self.unclaimed, ordering: .relaxed)
                ticket.didAcquire(begun)
                monitor.withoutLock { ticket.notify() }
                awaitEnd(of: ticket, environment)
            } else {
                ticket.didFail()
                monitor.withoutLock { ticket.notify() }
            }
            endTurn()
        }
        isServed = false
        monitor.unlock()
    }

    /// Waits for the turn of a ticket, and reports long waits; nil if no ticket is waiting.
    private func nextTicket() -> WriteLockTicket? {
        while admitted == nil {
            let tickets = waiting.compactMap {
                if case .ticket(let ticket) = $0 { ticket } else { nil }
            }
            guard !tickets.isEmpty else { return nil }
            guard let ticket = tickets.first(where: { !$0.isReported }) else {
                monitor.wait()
                continue
            }
            let waited = Int((ContinuousClock.now - ticket.begin) / .nanoseconds(1))
            if waited < ticket.user.patience {
                monitor.wait(atMost: ticket.user.patience - waited) {
                    admitted == nil && !ticket.isCanceled
                }
            } else {
                ticket.isReported = true
                guard let text = describeHolder() else { continue }
                monitor.withoutLock { ticket.user.didWaitLong(text) }
            }
        }
        return admitted.take()
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
    // Unchecked because: the queue's monitor guards `state`; and `isReported`; the rest is constant.

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
    let user: LockUser
    /// The time for which a ready ticket waits to be used, in nanoseconds.
    let patience: Int
    let notify: @Sendable () -> Void
    /// The beginning of the wait.
    let begin = ContinuousClock.now
    /// Whether the wait was reported as a long one.
    var isReported = false

    init(
        _ queue: WriteLockQueue, _ user: LockUser, patience: Int,
        notify: @escaping @Sendable () -> Void
    ) {
        self.queue = queue
        self.user = user
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
            guard case .taken(let transaction) = state else {
                assertionFailure("the write of a ticket ends once")
                return 0
            }
            state = .ending(transaction, isCommit: isCommit)
            queue.monitor.broadcast()
            while true {
                if case .ended(let code) = state { return code }
                queue.monitor.wait()
            }
        }
    }

    // MARK: Transitions by the queue, which holds the monitor

    /// Whether the ticket was canceled before the lock was acquired.
    var isCanceled: Bool { if case .ended = state { true } else { false } }

    /// Whether no write has begun with the ready ticket.
    var isUnused: Bool { if case .ready = state { true } else { false } }

    /// Marks the ticket as ready, with the open transaction that holds the lock.
    func didAcquire(_ transaction: OpaquePointer) {
        assert(currentStatus == .waiting, "a ticket acquires the lock while it waits")
        state = .ready(transaction)
        queue.monitor.broadcast()
    }

    /// Marks the ticket as failed: its writer acquires the lock itself, and throws if that fails.
    func didFail() {
        assert(currentStatus == .waiting, "a ticket fails while it waits")
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
        guard case .ending(let transaction, let isCommit) = state else {
            assertionFailure("a used ticket ends with its transaction")
            return nil
        }
        return (transaction, isCommit)
    }

    /// Notifies the thread that waits for the end; `code` is LMDB's result.
    func didEnd(_ code: Int32) {
        state = .ended(code)
        queue.monitor.broadcast()
    }
}
