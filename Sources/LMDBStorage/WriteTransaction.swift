import CLMDB
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The one write that a file can have at a time, over all processes.
///
/// Dropping it aborts it.
///
/// Belongs to the thread that began it until it has ended. One that was begun with a turn has its lock on the thread of
/// the line, which then ends it.
package final class WriteTransaction {
    package let environment: Environment
    // Given back at the end: whoever still holds the transaction then must not keep the file mapped.
    private var lease: EnvironmentLease?
    private let durability: Durability
    private var pointer: OpaquePointer?
    private let turn: WriteTurn?

    /// Waits for the file's write lock, unless `turn` has come, and begins.
    ///
    /// Throws `writeInProgress` when this thread has it.
    package init(
        _ lease: EnvironmentLease, durability: Durability, turn: WriteTurn? = nil
    ) throws(StorageError) {
        self.lease = lease
        self.durability = durability
        let environment = lease.environment
        self.environment = environment
        guard !environment.isReadOnly else {
            throw StorageError(.readOnly, call: "begin write", file: environment.path)
        }
        let this = Platform.currentThread
        // LMDB's lock is not recursive: the same thread would wait for itself for ever.
        guard environment.writerThread.load(ordering: .relaxed) != this else {
            throw StorageError(.writeInProgress, call: "begin write", file: environment.path)
        }
        var begun = turn?.take()
        self.turn = begun == nil ? nil : turn
        if begun == nil {
            try check(
                mdb_txn_begin(environment.pointer, nil, 0, &begun), "mdb_txn_begin",
                environment.path)
        }
        // Flushing is a setting of the environment, read at commit; the write lock guards it.
        let code = mdb_env_set_flags(
            environment.pointer, UInt32(MDB_NOSYNC), durability == .full ? 0 : 1)
        if code != 0 {
            if let turn = self.turn { _ = turn.end(isCommit: false) } else { mdb_txn_abort(begun) }
            throw StorageError(
                rawCode: code, call: "mdb_env_set_flags", file: environment.path)
        }
        pointer = begun
        environment.writeFailure.store(0, ordering: .relaxed)
        environment.writerThread.store(this, ordering: .relaxed)
    }

    deinit { abort() }

    /// Whether it can still be used.
    package var isOpen: Bool { pointer != nil }

    /// Access to the tables.
    @inline(__always)
    package var handle: TransactionHandle {
        // because: nobody writes after the end; the owner drops its references first.
        TransactionHandle(pointer: pointer!, environment: Unmanaged.passUnretained(environment))
    }

    /// Makes the changes the newest version.
    ///
    /// Cursors must be closed. On error nothing has changed.
    package func commit() throws(StorageError) {
        guard let ended = pointer else {
            throw StorageError(.closed, call: "commit", file: environment.path)
        }
        pointer = nil
        let lease = lease.take()
        defer { withExtendedLifetime(lease) {} }
        environment.writerThread.store(0, ordering: .relaxed)
        // Others look again a few times: if this process dies right after the commit, nobody else tells them.
        environment.callOthers()
        var code = turn?.end(isCommit: true) ?? mdb_txn_commit(ended)
        // LMDB calls a write that was cut short an input/output error.
        if code == EIO, Platform.hasNoRoom(environment.path) { code = ENOSPC }
        try check(code, "mdb_txn_commit", environment.path)
        environment.callOthers()
        if durability == .async { environment.flusher.request(environment.pointer) }
    }

    /// Forgets the changes.
    ///
    /// Does nothing after the end.
    package func abort() {
        guard let ended = pointer else { return }
        pointer = nil
        environment.writerThread.store(0, ordering: .relaxed)
        if let turn { _ = turn.end(isCommit: false) } else { mdb_txn_abort(ended) }
        lease = nil
    }
}
