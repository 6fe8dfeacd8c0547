import ColumnStorage

// The interface for a host that runs a store on an actor.
extension Store {
    /// Returns a separate view of the current version, which any thread may read, one at a time.
    ///
    /// Inside a write transaction it shows the version before the write. Throws `closed`, `wrong_thread`.
    package func separateView(for holder: VersionHolder = VersionHolder()) throws -> StoreView {
        try check()
        let snapshot = try StoreError.wrapping(
            view.snapshot.frozen().shared().snapshot(of: view.snapshot.file))
        guard let snapshot else {
            throw StoreError(.closed, "the store was closed; open it again to use it")
        }
        let pin = coordinator.pins.add(.frozen, holder, version: snapshot.version)
        return StoreView(schema: committedSchema, snapshot: snapshot, isFrozen: true, pin: pin)
    }

    /// Returns a separate view of a frozen version, which any thread may read, one at a time.
    package func separateView(of frozen: StoreView) throws -> StoreView {
        try check()
        let snapshot = try StoreError.wrapping(
            frozen.snapshot.shared().snapshot(of: frozen.snapshot.file))
        guard let snapshot else {
            throw StoreError(.closed, "the store was closed; open it again to use it")
        }
        let pin = coordinator.pins.add(.frozen, VersionHolder(), version: snapshot.version)
        return StoreView(schema: frozen.schema, snapshot: snapshot, isFrozen: true, pin: pin)
    }

    /// Returns a view of the same frozen version for the store's own thread: the store's latest frozen view, if it has
    /// that version.
    package func sharedView(of frozen: StoreView) throws -> StoreView {
        if let known = latestFrozen, known.version == frozen.version, !known.isClosed {
            return known
        }
        let made = try separateView(of: frozen)
        latestFrozen = made
        return made
    }

    /// A function that returns the newest version in the file, on any thread; nil in memory, where no other process
    /// commits.
    package var newestVersion: (@Sendable () -> UInt64)? {
        guard path != nil, !isClosed else { return nil }
        return { [file = view.snapshot.file] in file.latestVersion() }
    }

    /// Keeps the file open while the result exists.
    ///
    /// Throws `closed`.
    package func fileHold() throws -> FileHold {
        try check()
        return try StoreError.wrapping(view.snapshot.file.hold())
    }

    /// Returns whether a write can begin without waiting for another writer.
    ///
    /// If not, the store joins the queue for the write lock, and calls `notify` on any thread when the result may have
    /// changed.
    package func isWriteReady(notify: @escaping @Sendable () -> Void) -> Bool {
        canBeginWrite(notify)
    }

    /// Leaves the queue for the write lock.
    package func withdrawFromWriteQueue() {
        guard queue.isEmpty else { return }
        queue.removeTicket()?.withdraw()
    }
}
