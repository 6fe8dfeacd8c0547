import ColumnStorage

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
        func noteWait() throws {
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
                switch try status(of: waiting, suspending, noteWait) {
                case .ready: return waiting
                case .waiting: try noteWait()
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
        _ noteWait: () throws -> Void
    ) throws -> WriteLockTicket.Status {
        guard let suspending else { return ticket.wait(atMost: 20_000_000) }
        try suspending.suspend(checkingEvery: nil) {
            try noteWait()
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
