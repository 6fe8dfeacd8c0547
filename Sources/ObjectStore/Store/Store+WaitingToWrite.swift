import ColumnStorage

// Waiting for the write lock of the file, which another thread or process holds.
extension Store {
    /// Returns whether a queued write can begin without blocking the thread; if not, `notify` is called later.
    func isWriteTurn(_ notify: (@Sendable () -> Void)? = nil) -> Bool {
        if let turn = queue.turn {
            switch turn.standing {
            case .ready: return true
            case .waiting: return false
            case .over: queue.didLapse()
            }
        }
        let file = view.snapshot.file
        guard file.isLocked else { return true }
        queue.turn = try? file.takeTicket(
            patience: queue.patience, notify: notify ?? anyThreadWakeup)
        // because: only a closed file has no queue, and the write then throws.
        return queue.turn == nil
    }

    /// Waits for the write lock if the wait can be interrupted; returns nil if the lock seems to be free.
    ///
    /// The ticket of a queued write is used, because the queue must not wait for a thread that waits for the lock.
    /// Throws the errors of the wait handler, and `closed`.
    func awaitWriteLock() throws -> WriteLockTicket? {
        let file = view.snapshot.file
        guard queue.turn != nil || (waitHandler != nil && file.isLockedForLong),
            !file.isLockedHere
        else { return nil }
        var turn = queue.takeTurn()
        do {
            while true {
                let waiting =
                    try turn
                    ?? StoreError.wrapping { () throws(StorageError) in
                        try file.takeTicket(patience: queue.patience, notify: {})
                    }
                turn = waiting
                switch waiting.wait(atMost: 20_000_000) {
                case .ready:
                    queue.didBegin()
                    return waiting
                case .waiting: try waitHandler?()
                case .over: turn = nil
                }
            }
        } catch {
            turn?.withdraw()
            // The ticket of the queued writes was used here, so they need a new one.
            if !queue.isEmpty { requestTurn() }
            throw error
        }
    }
}
