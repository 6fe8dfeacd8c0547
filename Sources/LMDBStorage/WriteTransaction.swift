import CLMDB
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A write transaction; a file can have only one at a time, in all processes.
///
/// Releasing it aborts the write.
///
/// The transaction belongs to the thread that began it. If it began with a ticket, the queue's thread holds the lock
/// and ends the transaction.
package final class WriteTransaction {
    package let environment: Environment
    // The lease is released at the end, because remaining references to the transaction must not keep the file mapped.
    private var lease: EnvironmentLease?
    private let durability: Durability
    @exclusivity(unchecked) private var pointer: OpaquePointer?
    private let ticket: WriteLockTicket?
    private let mode: CommitMode

    /// Begins a write; waits for the file's write lock, unless `ticket` is ready.
    ///
    /// Throws `writeInProgress` if this thread already holds the lock.
    package init(
        _ lease: EnvironmentLease, durability: Durability, ticket: WriteLockTicket? = nil
    ) throws(StorageError) {
        self.lease = lease
        self.durability = durability
        let environment = lease.environment
        self.environment = environment
        guard !environment.isReadOnly else {
            throw StorageError(.readOnly, call: "begin write", file: environment.name)
        }
        let this = Platform.currentThread
        // LMDB's lock is not recursive: the thread would wait for itself permanently.
        guard environment.writerThread.load(ordering: .relaxed) != this else {
            throw StorageError(.writeInProgress, call: "begin write", file: environment.name)
        }
        var begun = ticket?.take()
        self.ticket = begun == nil ? nil : ticket
        if begun == nil {
            try check(
                mdb_txn_begin(environment.pointer, nil, 0, &begun), "mdb_txn_begin",
                environment.name)
        }
        do throws(StorageError) {
            let status = try environment.pathVerifier?.verify()
            try environment.pathVerifier?.requireNewest(
                UInt64(mdb_txn_id(begun)) - 1, in: environment.pointer)
            try environment.reservation?.begin(begun, status)
            mode = try Self.decide(environment, durability, begun)
        } catch {
            if let ticket = self.ticket {
                _ = ticket.end(isCommit: false)
            } else {
                mdb_txn_abort(begun)
            }
            throw error.named(environment.location)
        }
        pointer = begun
        environment.dirtyPages?.begin(begun)
        environment.seals.forget()
        if mode == .unflushed { environment.isUnflushed.store(true, ordering: .relaxed) }
        environment.writeFailure.store(0, ordering: .relaxed)
        environment.writerThread.store(this, ordering: .relaxed)
    }

    /// Decides how the write that has begun will reach the device.
    private static func decide(
        _ environment: Environment, _ durability: Durability, _ begun: OpaquePointer?
    ) throws(StorageError) -> CommitMode {
        let mode = try environment.commits.begin(
            durability, newest: UInt64(mdb_txn_id(begun)) - 1)
        // Flushing is an option of the environment that is read at commit; the write lock guards it.
        try check(
            mdb_env_set_flags(
                environment.pointer, UInt32(MDB_NOSYNC), mode == .direct ? 0 : 1),
            "mdb_env_set_flags", environment.name)
        return mode
    }

    deinit { abort() }

    /// Calls `body` before values in all tables may get other addresses, until the transaction ends.
    ///
    /// Otherwise, only a change of a table moves its own values.
    package func whenPagesMove(_ body: @autoclosure () -> () -> Void) {
        if let dirtyPages = environment.dirtyPages { dirtyPages.willMove = body() }
    }

    /// Whether the transaction can still be used.
    package var isOpen: Bool { pointer != nil }

    /// The handle for access to the tables.
    @inline(__always)
    package var handle: TransactionHandle {
        // because: the owner drops its references before it ends the transaction, so no change follows.
        TransactionHandle(pointer: pointer!, environment: Unmanaged.passUnretained(environment))
    }

    /// Commits the changes as the newest version.
    ///
    /// Cursors must be closed. After an error the file is unchanged.
    package func commit() throws(StorageError) {
        guard let ended = pointer else {
            throw StorageError(.closed, call: "commit", file: environment.name)
        }
        let failed = environment.prepareChange(of: 0, nil, in: ended)
        guard failed == 0 else {
            let error = environment.failure(failed, "fallocate")
            abort()
            throw error
        }
        pointer = nil
        environment.countPages(of: ended)
        environment.dirtyPages?.end(ended)
        let lease = lease.take()
        defer { withExtendedLifetime(lease) {} }
        environment.writerThread.store(0, ordering: .relaxed)
        let version = UInt64(mdb_txn_id(ended))
        do throws(StorageError) {
            // The data is flushed before the commit becomes visible, so no reader sees a commit that may still be lost.
            try environment.commits.prepare(version, mode)
        } catch {
            if let ticket { _ = ticket.end(isCommit: false) } else { mdb_txn_abort(ended) }
            throw error.named(environment.location)
        }
        var code = ticket?.end(isCommit: true) ?? mdb_txn_commit(ended)
        // LMDB reports a short write as an input/output error.
        code = Platform.cause(of: code, writing: environment.path)
        if [ENOSPC, EDQUOT, EFBIG].contains(code) {
            DiskReservation.reclaimWithLock(environment.pointer)
        }
        if code != 0 { environment.commits.commitFailed(mode) }
        try check(code, "mdb_txn_commit", environment.name)
        // If this process dies before this call, closing the lock file notifies the other processes.
        environment.callOthers()
    }

    /// Rolls back the changes.
    ///
    /// Has no effect after the end.
    package func abort() {
        guard let ended = pointer else { return }
        pointer = nil
        environment.dirtyPages?.end(ended)
        environment.seals.forget()
        environment.writerThread.store(0, ordering: .relaxed)
        let hasFailed = environment.writeFailure.load(ordering: .relaxed) != 0
        environment.commits.rollBack(mode, isOutOfSpace: hasFailed)
        if hasFailed { DiskReservation.reclaim(environment.pointer) }
        if let ticket { _ = ticket.end(isCommit: false) } else { mdb_txn_abort(ended) }
        lease = nil
    }
}
