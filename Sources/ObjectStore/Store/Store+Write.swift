import ColumnStorage

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
            if !isClosed, isInWrite { try commitWrite(withoutNotifying: silenced) }
            return result
        } catch {
            if !isClosed, isInWrite { try cancelWrite() }
            throw error
        }
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
        queue.didBegin()
        coordinator.writer.store(membership, ordering: .relaxed)
        view.snapshot.write?.reservedKeys = coordinator.reservedKeys
        do {
            if let left { try didLeave(left) }
            try checkRole()
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
        inserterCache.didEndTransaction()
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
        view.noteChange()
        let leftView = left.map { StoreView(schema: committedSchema, snapshot: $0, isFrozen: true) }
        didCommitSchema(after: before)
        settleOutcome(isCommitted: true)
        noteCommit(after: before)
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
        inserterCache.didEndTransaction()
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
        view.noteChange()
        inserterCache.didChangeObjects()
    }

    /// Returns a writer for the open write transaction.
    ///
    /// `what` names the changed object or property in errors. Throws `not_in_write`, `closed`, `wrong_thread`, and the
    /// error that made the write fail.
    package func writer(changing what: @autoclosure () -> String) throws -> ObjectWriter {
        let session = try requireWrite(what())
        // A failed write is rolled back, so further changes would only take memory.
        if session.hasFailed { try throwFailure(of: session) }
        view.noteChange()
        return ObjectWriter(self, session)
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
        view.noteChange()
        settleOutcome(isCommitted: false)
        coordinator.reserveKeys(view.snapshot.takeDiscardedKeys())
        requestMissedTurn()
        let stored = try SchemaCatalog.bytes(view.snapshot) ?? []
        if schemaBeforeWrite != nil || stored != catalog { try adopt(stored) }
    }
}
