import ColumnStorage

// Waiting for the write lock of the file, which another thread or process has.
extension Store {
    /// Whether a queued write can begin without keeping the thread; if not, there will be a turn when it can.
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
        queue.turn = try? file.lineUp(patience: queue.patience, notify: notify ?? anyThreadWakeup)
        // because: only a closed file has no line, and a write then says so.
        return queue.turn == nil
    }

    /// Waits until a write can begin, as far as the wait can be ended; nil when the lock seems to be free.
    ///
    /// A queued write lends its turn: the line must not wait for a thread that waits for it. Throws what the
    /// wait handler throws, and `closed`.
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
                        try file.lineUp(patience: queue.patience, notify: {})
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
            // Queued writes had their turn taken away.
            if !queue.isEmpty { requestTurn() }
            throw error
        }
    }
}
