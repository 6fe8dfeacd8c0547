import ColumnStorage
import Synchronization
import SystemCalls

extension Store {
    /// Runs `body` in a write transaction, commits when it returns, and returns its result.
    ///
    /// With `timeout`, a wait for other writers that takes longer than this number of seconds throws `timed_out`.
    ///
    /// An error in `body` rolls the transaction back and is rethrown unchanged. If `body` itself has committed or
    /// canceled the write, this function does neither. Waits while another thread or process writes. Throws the errors
    /// of ``beginWrite(timeout:)`` and ``commitWrite(withoutNotifying:)``.
    @discardableResult  // because most writes have no result
    public func write<Result>(
        withoutNotifying silenced: [NotificationToken] = [], timeout: Double? = nil,
        _ body: () throws -> Result
    ) throws -> Result {
        try beginWrite(timeout: timeout)
        do {
            let result = try body()
            try endWrite(withoutNotifying: silenced)
            return result
        } catch {
            if !isClosed, isInWrite { try cancelWrite() }
            throw error
        }
    }

    /// Commits the write of a body that has returned, unless the body has ended the write itself.
    ///
    /// Throws `closed` if the body has closed the store in the write, and the errors of
    /// ``commitWrite(withoutNotifying:)``.
    package func endWrite(withoutNotifying silenced: [NotificationToken] = []) throws {
        try checkWriteEnd()
        if !isClosed, isInWrite { try commitWrite(withoutNotifying: silenced) }
    }

    /// Opens a write transaction on the newest version, after observers have received all changes before it.
    ///
    /// Waits while another thread or process writes, at most for the number of seconds of `timeout`.
    ///
    /// Throws `timed_out`, `already_in_write`, `read_only`, `closed`, `wrong_thread`, `disk_full`, `limit_exceeded` (observers keep
    /// triggering each other), `too_many_versions` (more versions are pinned than the store allows), `file_replaced`.
    public func beginWrite(timeout: Double? = nil) throws {
        try check()
        try ReadOnlySection.check()
        guard !isReadOnly else {
            throw StoreError.readOnlyStore
        }
        guard !isInWrite else {
            throw alreadyInWrite(
                "a write transaction is already open", "commit or cancel it first",
                program: "change the objects in the open one")
        }
        try notifications.checkRounds()
        try openWrite(timeout)
        notifications.deliver()
        guard configuration.maximumLiveVersions != nil, !isClosed, isInWrite else { return }
        do {
            try checkLiveVersions()
        } catch {
            try cancelWrite()
            throw error
        }
    }

    private func openWrite(_ timeout: Double?) throws {
        let ticket = try awaitWriteLock(timeout)
        let left = try reportingReplacement { () throws(StorageError) in
            try view.snapshot.beginWrite(
                ticket, by: lockUser, isFirst: queue.lapses > 0, willMove)
        }
        assert(isInWrite, "the snapshot has an open write")
        queue.didBegin()
        coordinator.writer.store(membership, ordering: .relaxed)
        view.snapshot.write?.reservedKeys = coordinator.reservedKeys
        do {
            if let left { try didLeave(left) } else { try reloadSchema(after: view.version) }
            try checkRole()
            if let transition = fileSchema.transition, !transition.isReady {
                view.snapshot.write?.uncountedVersions = try MigrationProgress.read(view.snapshot)
                    .batches
            }
        } catch {
            view.snapshot.cancelWrite()
            throw error
        }
    }

    /// Commits the open write transaction; the silenced tokens do not receive the commit.
    ///
    /// If another thread or process commits at the same time, so that the store receives both commits at once, the
    /// silenced tokens receive both commits, so that no observer misses the changes of other writers.
    ///
    /// When the function returns, the commit has the durability of the store, and the store's own `did_change`
    /// observers have been called. Throws `not_in_write`, `invalid_argument` for a token of another store (the write
    /// stays open), `disk_full` (the write is rolled back), `closed`, `wrong_thread`.
    public func commitWrite(withoutNotifying silenced: [NotificationToken] = []) throws {
        try checkOpen(to: "commit")
        try notifications.checkOwn(silenced)
        inserterCache.releaseInserters()
        let keepingLeft = notifications.needsPresentVersion
        let before = view.version
        let left: Snapshot?
        do {
            left = try commitSnapshot(keepingLeft: keepingLeft, silencing: silenced)
        } catch {
            for observer in notifications.earlyObservers { observer.isAnnounced = false }
            // because: the caller needs the reason why the commit failed, not the failure to read the file afterward.
            try? didRollBack()
            throw error
        }
        view.recordChange()
        let leftView = left.map { StoreView(schema: committedSchema, snapshot: $0, isFrozen: true) }
        didCommitSchema(after: before)
        settleOutcome(isCommitted: true)
        recordCommit(after: before)
        // Another process may have committed since.
        if view.version > before + 1 { followSchema(after: before) }
        notifications.didCommit(leaving: leftView, silencing: silenced)
        if notifications.hasWork { requestTurn() }
        requestMissedTurn()
    }

    /// Rolls back the open write transaction.
    ///
    /// Throws `not_in_write`, `closed`, `wrong_thread`.
    public func cancelWrite() throws {
        try checkOpen(to: "cancel")
        inserterCache.releaseInserters()
        view.snapshot.cancelWrite()
        try didRollBack()
    }

    /// Runs `body` as a part of the open write transaction, and returns its result.
    ///
    /// An error in `body` rolls back the changes of `body` and is rethrown unchanged; the transaction stays open.
    /// Savepoints can be nested. The handles of objects that `body` has created are then permanently invalid, and no
    /// other object gets their keys. Inside `body`, the transaction cannot be ended.
    ///
    /// Takes time in proportion to the changes since the last savepoint, and a rollback in proportion to the changes of
    /// `body`. Throws `not_in_write`, `closed`, `wrong_thread`, and the errors of `body`.
    @discardableResult  // because most savepoints have no result
    public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        try ReadOnlySection.check()
        try check()
        guard let session = view.snapshot.write else {
            throw StoreError(
                .notInWrite, "a savepoint needs an open write transaction",
                program: "call it in store.write { … }",
                script: "call it in store:write(function() … end)")
        }
        let schema = SchemaState(self)
        let savepoint = try StoreError.wrapping(session.beginSavepoint())
        do {
            let result = try body()
            if view.snapshot.write === session { session.endSavepoint() }
            return result
        } catch {
            if view.snapshot.write === session {
                // because: a write that cannot be restored fails at its commit, and the caller needs the first error.
                try? session.rollBack(to: savepoint)
                session.endSavepoint()
                didRevertChanges()
                restore(schema)
            }
            throw error
        }
    }

    /// Updates the store after changes of the open write transaction were rolled back.
    func didRevertChanges() {
        view.recordChange()
        inserterCache.releaseInserters()
    }

    /// Returns a writer for the open write transaction.
    ///
    /// `what` names the changed object or property in errors. Throws `not_in_write`, `closed`, `wrong_thread`, and the
    /// error that made the write fail.
    package func writer(changing what: @autoclosure () -> String) throws -> ObjectWriter {
        let writer = try writerOfOne(changing: what())
        view.recordChange()
        return writer
    }

    /// Returns a writer for a change that is recorded where it happens, because it may be of one object only.
    ///
    /// Throws the same errors.
    func writerOfOne(changing what: @autoclosure () -> String) throws -> ObjectWriter {
        ObjectWriter(self, try requireWorkingWrite(what()))
    }

    /// Returns a writer for changing a property of one object; results that do not read the property stay current.
    ///
    /// Objects that the change creates or deletes are recorded where that happens. Throws the same errors.
    package func writer(
        changing property: Property, of key: ObjectKey, in classSchema: ClassSchema
    ) throws -> ObjectWriter {
        let kind = property.collection?.name ?? "property"
        let session = try requireWorkingWrite("\(kind) '\(property.name)'")
        view.recordChange(of: property.column, in: classSchema.table, key)
        return ObjectWriter(self, session)
    }

    private func requireWorkingWrite(_ what: @autoclosure () -> String) throws -> WriteSession {
        let session = try requireWrite(what())
        // A failed write is rolled back, so further changes would only take memory.
        if session.hasFailed { try throwFailure(of: session) }
        return session
    }

    @inline(never)  // keeps the code of each change short
    private func throwFailure(of session: WriteSession) throws {
        try StoreError.wrapping(session.requireNoFailure())
    }

    /// Throws `not_in_write` outside a write transaction; used by operations that may have no change to make.
    @discardableResult  // because most callers only need the check
    package func requireWrite(_ what: @autoclosure () -> String) throws -> WriteSession {
        try ReadOnlySection.check()
        try check()
        guard let session = view.snapshot.write else { throw StoreError.needsWrite(what()) }
        return session
    }

    /// Returns the error of a call that is not possible inside the open write transaction.
    ///
    /// In a handler that is called at the beginning of a write, which the handler did not open, the error names the ways
    /// out instead of `solution`.
    package func alreadyInWrite(
        _ fault: String, _ solution: String, program: String? = nil
    ) -> StoreError {
        guard notifications.isDeliveringInWrite else {
            return StoreError(
                .alreadyInWrite, fault, program: program ?? solution, script: solution)
        }
        return StoreError(
            .alreadyInWrite,
            "\(fault), because this handler is called at the beginning of a write; change objects directly, as part "
                + "of that write",
            program: "or do the rest later, with writeAsync or in a task",
            script: "or do the rest later, with store:write_async or moonpool.after")
    }

    /// Throws `not_in_write` if no transaction is open that can be ended.
    private func checkOpen(to end: String) throws {
        try ReadOnlySection.check()
        guard !isMigrating else {
            throw StoreError(
                .alreadyInWrite,
                "a migration cannot \(end): it commits when its function returns, and is rolled back "
                    + "by an error")
        }
        try check()
        guard view.snapshot.write?.savepointCount ?? 0 == 0 else {
            throw StoreError(
                .alreadyInWrite,
                "a savepoint cannot \(end) the write: it ends when its function returns, and is rolled "
                    + "back by an error")
        }
        guard isInWrite else {
            throw StoreError(
                .notInWrite, "there is no write transaction to \(end); begin a write first")
        }
    }

    /// Updates the store after a rollback; if the transaction changed the schema, restores the old one.
    func didRollBack() throws {
        view.recordChange()
        settleOutcome(isCommitted: false)
        coordinator.reserveKeys(view.snapshot.takeDiscardedKeys())
        requestMissedTurn()
        let stored = try SchemaCatalog.bytes(view.snapshot) ?? []
        if schemaBeforeWrite != nil || stored != catalog { try adopt(stored) }
    }
}

/// A write that waits in the queue of a store.
struct QueuedWrite {
    let body: () throws -> Void
    let completion: ((any Error)?) -> Void
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
        assert(write != nil, "the next write has not run")
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

// Waiting for the write lock of the file, which another thread or process holds.
extension Store {
    /// Returns whether a queued write can begin without blocking the thread; if not, `notify` is called later.
    func canBeginWrite(_ notify: (@Sendable () -> Void)? = nil) -> Bool {
        if let ticket = queue.ticket {
            switch ticket.status {
            case .ready: return true
            case .waiting: return false
            case .ended: queue.didLapse()
            }
        }
        let file = view.snapshot.file
        guard file.isLocked else { return true }
        // The last ticket lapsed while this code could not run, perhaps because other writers blocked all threads that
        // could run it. So it does not suspend again, but waits for a write that has just begun, as the next writer.
        if queue.lapses > 0, waitHandler == nil, file.isLocked(lessThan: 50_000_000) { return true }
        queue.ticket = try? file.takeTicket(
            by: lockUser, patience: queue.patience, notify: notify ?? anyThreadWakeup)
        // because: only a closed file has no queue, and the write then throws.
        return queue.ticket == nil
    }

    /// Waits for the write lock if the wait can be interrupted; returns nil if the lock seems to be free.
    ///
    /// On a thread that several clients share (``SuspendingScheduler``), the calling code is suspended, and the thread
    /// serves the others. The lock may therefore be held by another client of the same thread. On other threads, the
    /// wait blocks the thread.
    ///
    /// The ticket of a queued write is used, because the queue must not wait for a thread that waits for the lock.
    /// Throws the errors of the wait handler, `closed`, and `timed_out` after the number of seconds of `timeout`.
    func awaitWriteLock(_ timeout: Double? = nil) throws -> WriteLockTicket? {
        let file = view.snapshot.file
        guard queue.ticket != nil || ((waitHandler != nil || timeout != nil) && file.isLocked)
        else { return nil }
        return try awaitLock(of: file, timeout)
    }

    @inline(never)  // keeps the begin of a write without contention short
    private func awaitLock(of file: ColumnFile, _ timeout: Double?) throws -> WriteLockTicket? {
        let suspending = scheduler.suspending
        if file.isLockedHere {
            // A thread cannot wait for itself. If there is no wait, beginning the write throws an error.
            guard suspending != nil else { return nil }
        } else if queue.ticket == nil {
            let checks = suspending == nil ? Self.checksBeforeBlocking : Self.checksBeforeSuspending
            guard file.isLocked(forChecks: checks) else { return nil }
        }
        let notify: @Sendable () -> Void = if let suspending { suspending.resume } else { {} }
        let end = timeout.map { ContinuousClock.now.advanced(by: .seconds($0)) }
        func recordWait() throws {
            try waitHandler?(self)
            if let end, let timeout, end <= .now { throw writeTimedOut(after: timeout) }
        }
        var ticket = queue.removeTicket()
        do {
            while true {
                let waiting =
                    try ticket
                    ?? StoreError.wrapping(
                        file.takeTicket(by: lockUser, patience: queue.patience, notify: notify))
                ticket = waiting
                switch try status(of: waiting, suspending, recordWait) {
                case .ready: return waiting
                case .waiting: try recordWait()
                case .ended:
                    ticket = nil
                    queue.didLapse()
                }
            }
        } catch {
            ticket?.withdraw()
            // The ticket of the queued writes was used here, so they need a new one.
            if !queue.isEmpty { requestTurn() }
            throw error
        }
    }

    /// The number of checks before a thread blocks, to detect whether the lock is held for more than one or two
    /// milliseconds.
    private static let checksBeforeBlocking = 20
    /// The number of checks before code is suspended; they take a fifth of a millisecond, during which all clients
    /// wait.
    private static let checksBeforeSuspending = 2

    /// Waits until a ticket is no longer waiting, or for 20 milliseconds if the wait blocks the thread.
    private func status(
        of ticket: WriteLockTicket, _ suspending: (any SuspendingScheduler)?,
        _ recordWait: () throws -> Void
    ) throws -> WriteLockTicket.Status {
        guard let suspending else { return ticket.wait(atMost: 20_000_000) }
        try suspending.suspend(checkingEvery: nil) {
            try recordWait()
            return ticket.status != .waiting
        }
        return ticket.status
    }

    /// The error of a write that has waited too long for another writer.
    package func writeTimedOut(after seconds: Double) -> StoreError {
        StoreError(
            .timedOut,
            "the write lock of \(title) was not free within \(seconds) seconds; \(writerDescription) is writing"
        )
    }

    /// The writer that other writers wait for: a process and its program, or a script of this process.
    package var writerDescription: String {
        guard let holder = view.snapshot.file.lockHolder else { return "another process or script" }
        guard holder.isHere else {
            return "process \(holder.process)" + (holder.program.map { " (\($0))" } ?? "")
        }
        let script = coordinator.writerHolder?.script ?? ""
        return script.isEmpty
            ? "another part of this process" : "the script '\(script)' of this process"
    }
}

/// Runs user code in the middle of a store operation, during which the thread must not change any store.
///
/// The operation has validated the values that it will write. A change by the user code would invalidate this
/// validation, so every write, the start and end of transactions, schema changes, and closing throw `already_in_write`
/// on this thread. Reading is allowed.
///
/// Cost outside a section: one relaxed load for each check.
package enum ReadOnlySection {
    /// The number of sections that are running on all threads.
    private static let count = Atomic<Int>(0)
    /// The titles of the running sections of each thread, the innermost last.
    private static let titles = Mutex<[ThreadIdentity: [String]]>([:])

    /// Whether a section is running on the calling thread.
    package static var isActive: Bool { title != nil }

    /// Runs `body` as a section; `title` names the code in errors, such as "the default function of 'Dog.name'".
    package static func run<Result>(
        _ title: String, _ body: () throws -> Result
    ) rethrows -> Result {
        let thread = ThreadIdentity.current
        titles.withLock { $0[thread, default: []].append(title) }
        count.add(1, ordering: .relaxed)
        defer {
            count.subtract(1, ordering: .relaxed)
            titles.withLock { titles in
                titles[thread]?.removeLast()
                if titles[thread]?.isEmpty == true { titles[thread] = nil }
            }
        }
        return try body()
    }

    /// Throws `already_in_write` if a section is running on the calling thread.
    @inline(__always)
    package static func check() throws {
        if count.load(ordering: .relaxed) > 0 { try refuse() }
    }

    @inline(never)
    private static func refuse() throws {
        guard let title else { return }
        throw StoreError(
            .alreadyInWrite,
            "\(title) runs in the middle of a store operation: it can read stores, but it cannot change "
                + "or close them, and it cannot wait")
    }

    private static var title: String? {
        guard count.load(ordering: .relaxed) > 0 else { return nil }
        return titles.withLock { $0[.current]?.last }
    }
}
