import ColumnStorage

extension Store {
    /// Reverses the last transaction of any process in a new one.
    ///
    /// Returns the version that was reversed.
    ///
    /// Observers receive the new transaction like any write. Objects that the transaction deleted return with their
    /// values and their old keys, so that links and handles to them are valid again; objects that it created are
    /// deleted. Another call reverses the transaction before that one. A transaction that changed nothing is skipped.
    /// The file records which transactions were undone, so other threads, other processes and later sessions can
    /// continue.
    ///
    /// Takes time in proportion to the changes of the transaction. Throws `out_of_range` if the transaction is no
    /// longer kept, `invalid_argument` if it has changed the schema or was written without history, and the errors of
    /// ``beginWrite(timeout:)`` and ``commitWrite(withoutNotifying:)``; the store is then unchanged.
    @discardableResult  // because callers see the undone changes in the data
    package func undo() throws -> UInt64 {
        try reverse { history in
            let now = try history.state(of: view.version)
            try checkReversible(now.state, "undo", history)
            let before = try history.state(of: now.state - 1)
            return (
                [now.state],
                Restoration(state: before.state, redoable: now.redoable + [view.version + 1])
            )
        }
    }

    /// Repeats the transaction that the last ``undo()`` reversed, as a new transaction.
    ///
    /// Returns the version of the reversed undo. Each ``undo()`` can be redone once, until another transaction commits.
    /// Throws the errors of ``undo()``, and `invalid_argument` if no transaction can be redone.
    @discardableResult  // because callers see the redone changes in the data
    package func redo() throws -> UInt64 {
        try reverse { history in
            let now = try history.state(of: view.version)
            guard let undone = now.redoable.last else {
                throw StoreError(
                    .invalidArgument,
                    "there is nothing to redo: the last transaction is not an undo")
            }
            try checkReversible(undone, "redo", history)
            let after = try history.state(of: undone - 1)
            return ([undone], Restoration(state: after.state, redoable: now.redoable.dropLast()))
        }
    }

    /// Restores the state of an earlier version as one new commit.
    ///
    /// Observers receive the commit like any write; objects keep their keys. One ``redo()`` reverses the restoration.
    /// Takes time in proportion to the changes since that version. Throws `out_of_range` for a version that is not kept
    /// or does not exist, `invalid_argument` for the current version and if a commit since then cannot be reversed, and
    /// the errors of ``beginWrite(timeout:)`` and ``commitWrite(withoutNotifying:)``; the store is then unchanged.
    ///
    /// `finish` runs in the transaction, before the commit.
    package func restore(_ version: UInt64, finish: () throws -> Void = {}) throws {
        try check()
        guard version != self.version else {
            throw StoreError(.invalidArgument, "the store already shows version \(version)")
        }
        try reverse(finish: finish) { history in
            let present = view.version
            guard version < present else {
                throw StoreError(
                    .outOfRange, "there is no version \(version) yet; the store shows \(present)")
            }
            let reversed = try reversals(from: present, to: version, history)
            let (now, then) = (try history.state(of: present), try history.state(of: version))
            return (
                reversed,
                Restoration(state: then.state, redoable: now.redoable + [present + 1])
            )
        }
    }

    /// Returns the fewest versions whose reversal, in this order, leads from the data of one version to that of
    /// another.
    ///
    /// Undone and redone versions are skipped, because they have the data of an older version. The reversal of an undo
    /// repeats the undone changes.
    private func reversals(
        from present: UInt64, to version: UInt64, _ history: VersionHistory
    ) throws -> [UInt64] {
        var members: [UInt64: [UInt64]] = [:]
        var states: [UInt64: UInt64] = [:]
        var next = present
        while true {
            let state = try history.state(of: next).state
            states[next] = state
            members[state, default: []].append(next)
            guard next > 0, let entry = try history.entry(next), entry.isReversible else { break }
            next -= 1
        }
        guard let start = states[present], let goal = states[version] else {
            for version in stride(from: present, to: version, by: -1) {
                try checkReversible(version, "undo", history)
            }
            throw StoreError(.outOfRange, "version \(version) is no longer kept")
        }
        var reached: [UInt64: (from: UInt64, by: UInt64)] = [:]
        var queue = [start]
        var position = 0
        while position < queue.count, reached[goal] == nil, goal != start {
            let state = queue[position]
            position += 1
            for member in members[state] ?? [] where member > next {
                guard let before = states[member - 1], before != start, reached[before] == nil
                else { continue }
                reached[before] = (state, member)
                queue.append(before)
            }
        }
        var way: [UInt64] = []
        var current = goal
        while current != start, let step = reached[current] {
            way.append(step.by)
            current = step.from
        }
        guard current == start else {
            throw StoreError(
                .outOfRange, "version \(version) cannot be reached by reversing commits")
        }
        return way.reversed()
    }

    private func checkReversible(
        _ version: UInt64, _ verb: String, _ history: VersionHistory
    ) throws {
        guard let entry = try history.entry(version) else {
            let oldest = try history.oldestEntry()
            let reason =
                try history.entry(oldest) == nil
                ? "the history contains no transactions"
                : "the oldest version in the history is \(oldest)"
            throw StoreError(.outOfRange, "there is nothing to \(verb): \(reason)")
        }
        guard !entry.isReversible else { return }
        throw StoreError(
            .invalidArgument,
            "cannot \(verb): \(try history.reason(before: version)), which is not reversible"
        )
    }

    /// Reverses versions, the newest first, in one new transaction, and returns the first of them.
    @discardableResult  // because a caller that passes the version knows it
    private func reverse(
        finish: () throws -> Void = {},
        _ choose: (VersionHistory) throws -> (versions: [UInt64], Restoration)
    ) throws -> UInt64 {
        try beginWrite()
        do {
            guard !isClosed, let session = view.snapshot.write, session.isUntouched else {
                throw StoreError(
                    .alreadyInWrite,
                    "an observer has already made changes in the transaction; try again")
            }
            let (versions, restoration) = try choose(VersionHistory(snapshot: view.snapshot))
            view.recordChange()
            inserterCache.releaseInserters()
            try StoreError.wrapping { () throws(StorageError) in
                for version in versions { try session.revert(version: version) }
            }
            session.restoration = restoration
            try finish()
            try commitWrite()
            return versions.first ?? view.version
        } catch {
            if !isClosed, isInWrite { try cancelWrite() }
            throw error
        }
    }
}
