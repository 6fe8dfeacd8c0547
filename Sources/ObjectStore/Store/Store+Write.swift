import ColumnStorage

extension Store {
    /// Runs `body` in a write transaction and commits when it returns; its result is returned.
    ///
    /// An error in `body` rolls everything back and is thrown again, unchanged. If `body` has itself
    /// committed or cancelled, nothing more happens. Waits while another thread or process writes.
    /// Errors: as for ``beginWrite()`` and ``commitWrite(withoutNotifying:)``.
    @discardableResult  // because most writes are made for what they change
    public func write<Result>(
        withoutNotifying silenced: [NotificationToken] = [], _ body: () throws -> Result
    ) throws -> Result {
        try beginWrite()
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
    /// Waits while another thread or process writes.
    ///
    /// Throws `already_in_write`, `read_only`, `closed`, `wrong_thread`, `disk_full`, `limit_exceeded`
    /// (observers keep triggering each other), `too_many_versions` (more are kept alive than the
    /// store allows).
    public func beginWrite() throws {
        try check()
        try ReadOnlySection.check()
        guard !isReadOnly else {
            throw StoreError.readOnlyStore
        }
        guard !isInWrite else {
            guard notifications.isDelivering else {
                throw StoreError(
                    .alreadyInWrite,
                    "a write transaction is open already; commit or cancel it first")
            }
            throw StoreError(
                .alreadyInWrite,
                "a write transaction is open already: this handler is called at the beginning of a write; "
                    + "change objects in it without a write of your own",
                program: "or write later, in a task", script: "or write later, with write_async")
        }
        try view.requireSound()
        try notifications.checkRounds()
        try openWrite()
        notifications.deliver()
        guard configuration.maximumLiveVersions != nil, !isClosed, isInWrite else { return }
        do {
            try checkLiveVersions()
        } catch {
            try cancelWrite()
            throw error
        }
    }

    private func openWrite() throws {
        let turn = try awaitWriteLock()
        let left = try StoreError.wrapping { () throws(StorageError) in
            try view.snapshot.beginWrite(turn)
        }
        do {
            if let left { try didLeave(left) }
            try checkRole()
        } catch {
            view.snapshot.cancelWrite()
            throw error
        }
    }

    /// Commits the open write transaction; the silenced tokens do not receive it.
    ///
    /// If another thread or process commits in the same moment, so that the store moves over both commits at once, they
    /// receive both: no observer misses the changes of others.
    ///
    /// When it returns, the data is as safe as the store's durability says, and the store's own
    /// `did_change` observers have been called. Throws `not_in_write`, `invalid_argument` for a token
    /// of another store (the write stays open), `disk_full` (the write is rolled back), `closed`,
    /// `wrong_thread`.
    public func commitWrite(withoutNotifying silenced: [NotificationToken] = []) throws {
        try checkOpen(to: "commit")
        try notifications.checkOwn(silenced)
        inserterCache.didEndTransaction()
        let keepingLeft = notifications.needsPresentVersion
        let before = view.version
        let left: Snapshot?
        do {
            left = try commitSnapshot(keepingLeft: keepingLeft)
        } catch {
            // because: the caller needs the reason why the commit failed, not that the file can then not even be read.
            try? didRollBack()
            throw error
        }
        view.noteChange()
        let leftView = left.map { StoreView(schema: committedSchema, snapshot: $0, isFrozen: true) }
        didCommitSchema()
        settleOutcome(isCommitted: true)
        noteCommit(after: before)
        // Another process may have committed again already.
        if view.version > before + 1 { followSchema() }
        notifications.didCommit(leaving: leftView, silencing: silenced)
        if notifications.hasWork { requestTurn() }
        requestMissedTurn()
    }

    /// Rolls the open write transaction back.
    ///
    /// Throws `not_in_write`, `closed`, `wrong_thread`.
    public func cancelWrite() throws {
        try checkOpen(to: "cancel")
        inserterCache.didEndTransaction()
        view.snapshot.cancelWrite()
        try didRollBack()
    }

    /// The session of the open write transaction, for a change of `what`.
    func writing(_ what: @autoclosure () -> String) throws -> WriteSession {
        let session = try requireWrite(what())
        try view.requireSound()
        // The changes of a failed write are lost anyway, and would only take more memory.
        if session.hasFailed { try throwFailure(of: session) }
        view.noteChange()
        return session
    }

    @inline(never)  // to keep the path of each change short
    private func throwFailure(of session: WriteSession) throws {
        try StoreError.wrapping(session.requireNoFailure)
    }

    /// Throws `not_in_write` outside a write transaction; for operations that may find nothing to change.
    @discardableResult  // because most callers only need the check
    package func requireWrite(_ what: @autoclosure () -> String) throws -> WriteSession {
        try ReadOnlySection.check()
        guard let session = try openSession() else {
            throw StoreError.needsWrite(what())
        }
        return session
    }

    /// Throws `not_in_write` if there is no transaction that could be ended.
    private func checkOpen(to end: String) throws {
        try ReadOnlySection.check()
        guard !isMigrating else {
            throw StoreError(
                .alreadyInWrite,
                "a migration cannot \(end): it commits when its function returns, and is rolled back "
                    + "by an error")
        }
        guard try openSession() == nil else { return }
        throw StoreError(
            .notInWrite, "there is no write transaction to \(end); begin a write first")
    }

    private func openSession() throws -> WriteSession? {
        try check()
        return view.snapshot.write
    }

    /// Follows a transaction that was rolled back; if it changed the schema, the old one holds again.
    func didRollBack() throws {
        view.noteChange()
        settleOutcome(isCommitted: false)
        requestMissedTurn()
        let stored = try SchemaCatalog.bytes(view.snapshot) ?? []
        if schemaBeforeWrite != nil || stored != catalog { try adopt(stored) }
    }
}
