import CLMDB
import Synchronization
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// The life of a commit, from taking the write lock to waking the observers:
//
//  1. The write lock is acquired in the order of requests (WriteLockQueue), by this thread or earlier by the queue's.
//  2. The path must still lead to the open file, both files must have the same newest version (PathVerifier), and the
//     version that the writer reads must still be in the file.
//  3. The redo log decides how the commit will reach the device (CommitMode), and may begin a checkpoint.
//  4. The changes are made in copies of pages that only LMDB knows, and recorded for the log (TransactionHandle, Cursor).
//  5. `commit` writes the record of the changes to the log and waits until it is on the device. If other writers wait for
//     the write lock or have just written, it waits after 6 instead, and shares a flush with them (FlushGroup).
//  6. LMDB writes the changed pages and then the header of the new version, and releases the lock. From then on every
//     process sees the commit.
//  7. The other processes are notified, and then the observers of this process.
//
// Until 6, a failure rolls back: no version contains the pages, and a record that was written is invalidated. If the
// header was not written, LMDB ends the use of its environment, and the file is opened again (OpenFile). After 6, only the
// shared flush can fail.

/// The way in which an open write reaches the device.
enum CommitMode {
    /// LMDB flushes pages and header in the commit.
    case direct
    /// The redo log has a record of the commit.
    case logged
    /// The next checkpoint of the redo log flushes the commit.
    case checkpointed
    /// The commit is never flushed.
    case unflushed
}

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
    @exclusivity(unchecked) private var pointer: OpaquePointer?
    private let ticket: WriteLockTicket?
    private let mode: CommitMode
    /// The bytes that the write had put when it ended.
    @exclusivity(unchecked) private var endedBytes = 0

    /// Begins a write of `user`; waits for the file's write lock, unless `ticket` is ready.
    ///
    /// With `isFirst`, other writers that wait are passed. `isUnchanged` returns whether the file still contains what the
    /// caller has read. Throws `replaced`, and `writeInProgress` if this thread already holds the lock.
    package init(
        _ lease: EnvironmentLease, durability: Durability, ticket: WriteLockTicket? = nil,
        by user: LockUser = .unnamed, isFirst: Bool = false, isUnchanged: () -> Bool = { true }
    ) throws(StorageError) {
        self.lease = lease
        var environment = lease.environment
        guard !environment.isReadOnly else {
            throw StorageError(.readOnly, call: "begin write", file: environment.name)
        }
        let this = ThreadIdentity.current.number
        // LMDB's lock is not recursive: the thread would wait for itself permanently.
        guard environment.writerThread.load(ordering: .relaxed) != this else {
            throw StorageError(.writeInProgress, call: "begin write", file: environment.name)
        }
        var begun = ticket?.take()
        self.ticket = begun == nil ? nil : ticket
        // The environment does not change while its write lock is held.
        environment = lease.environment
        while begun == nil {
            environment.writeQueue.enter(user, isFirst: isFirst)
            let code = mdb_txn_begin(environment.pointer, nil, 0, &begun)
            if code != 0 { environment.writeQueue.leave() }
            if code == MDB_PANIC {
                try lease.replace(environment)
                environment = lease.environment
            } else {
                try environment.checkBegin(code)
            }
        }
        self.environment = environment
        let newest = FileVersion.of(begun) - 1
        do throws(StorageError) {
            guard isUnchanged(), !environment.isReplaced else { throw environment.replaced() }
            var extent = FileExtent.unknown
            if let verifier = environment.pathVerifier { extent = try verifier.verify(newest) }
            try environment.openWrite.begin(environment.path, extent)
            mode = try environment.commitMode(durability, newest: newest)
        } catch {
            Self.abort(begun, self.ticket, environment)
            throw error.named(environment.location)
        }
        assert(
            self.ticket != nil || environment.writerThread.load(ordering: .relaxed) == 0,
            "a file has one write at a time")
        pointer = begun
        environment.seals.forget()
        if mode == .unflushed { environment.isUnflushed.store(true, ordering: .relaxed) }
        environment.writeFailure.store(0, ordering: .relaxed)
        environment.writerThread.store(this, ordering: .relaxed)
    }

    deinit { abort() }

    /// Calls `body` before values in all tables may get other addresses, until the transaction ends.
    ///
    /// Otherwise, only a change of a table moves its own values.
    package func whenPagesMove(_ body: @autoclosure () -> () -> Void) {
        environment.openWrite.willMove = body()
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
    /// Cursors must be closed. After an error the file is unchanged, unless the device has failed to write a flush that
    /// several writers share, and the data file after it.
    package func commit() throws(StorageError) {
        guard let ended = pointer else {
            throw StorageError(.closed, call: "commit", file: environment.name)
        }
        var refused = environment.prepareChange(of: 0, isNew: true, in: ended)
        if environment.replacement.isReplaced { refused = StorageError.replacedCode }
        if refused != 0 {
            let error = environment.failure(refused, "fallocate")
            abort()
            throw error
        }
        pointer = nil
        environment.undo.end()
        environment.countWrittenBytes()
        endedBytes = environment.openWrite.bytes
        let lease = lease.take()
        defer { withExtendedLifetime(lease) {} }
        environment.writerThread.store(0, ordering: .relaxed)
        let log = environment.log
        assert(
            log != nil || mode == .direct || mode == .unflushed,
            "only a log makes commits durable without LMDB")
        var unflushed: UnflushedCommit?
        do throws(StorageError) {
            // Without other writers, the record is flushed before a reader sees the commit.
            switch mode {
            case .logged:
                unflushed = try log?.write(
                    FileVersion.of(ended), isAwaited: environment.isAwaitedByWriters)
            case .checkpointed: log?.skip(FileVersion.of(ended))
            case .direct, .unflushed: break
            }
        } catch {
            environment.openWrite.end(isCommitted: false)
            Self.abort(ended, ticket, environment)
            throw error.named(environment.location)
        }
        // The next write may begin as soon as LMDB has released the lock.
        environment.openWrite.end(isCommitted: true)
        environment.overwritten.keep(
            environment.replacement.headers, before: FileVersion.of(ended))
        var code: Int32
        if let ticket {
            code = ticket.end(isCommit: true)
        } else {
            code = mdb_txn_commit(ended)
            environment.writeQueue.leave()
        }
        if code != 0 {
            code = Platform.cause(of: code, writing: environment.path)
            if environment.hasPanicked { try lease?.replace(environment) }
            (lease?.environment ?? environment).didNotCommit(
                mode, isOutOfSpace: [ENOSPC, EDQUOT, EFBIG].contains(code))
            try check(code, "mdb_txn_commit", environment.name)
        }
        // If this process dies before this call, closing the lock file notifies the other processes.
        defer { environment.callOthers() }
        guard let unflushed else { return }
        do throws(StorageError) { try log?.flush(unflushed) } catch {
            throw error.named(environment.location)
        }
    }

    /// Rolls back the changes.
    ///
    /// Has no effect after the end.
    package func abort() {
        guard let ended = pointer else { return }
        pointer = nil
        environment.undo.end()
        endedBytes = environment.openWrite.bytes
        environment.openWrite.end(isCommitted: false)
        environment.seals.forget()
        environment.writerThread.store(0, ordering: .relaxed)
        let hasFailed = environment.writeFailure.load(ordering: .relaxed) != 0
        if mode == .logged { environment.log?.rollBack(isOutOfSpace: hasFailed) }
        if hasFailed { environment.removeUnusedPages() }
        Self.abort(ended, ticket, environment)
        lease = nil
    }

    /// Returns the memory of an ended large write to the system, after its buffers were freed.
    ///
    /// The heap would keep it for other blocks. Takes some milliseconds after a large write, otherwise nothing.
    package func returnMemory() {
        if endedBytes >= Platform.largeWriteBytes { Platform.returnFreedMemory() }
    }

    /// Aborts LMDB's transaction on the thread that holds the lock.
    private static func abort(
        _ transaction: OpaquePointer?, _ ticket: WriteLockTicket?, _ environment: Environment
    ) {
        if let ticket {
            _ = ticket.end(isCommit: false)
        } else {
            mdb_txn_abort(transaction)
            environment.writeQueue.leave()
        }
    }
}

extension Environment {
    /// Decides how the write that has begun will reach the device; `newest` is the version before it.
    fileprivate func commitMode(
        _ durability: Durability, newest: UInt64
    ) throws(StorageError) -> CommitMode {
        let mode: CommitMode
        if let log {
            mode = try log.begin(durability, newest: newest)
        } else {
            // Without a flush, pages and headers would be written in any order, so `async` equals `full`.
            if pathVerifier != nil { try LogMarker.endIfPresent(pointer, path) }
            mode = durability == .memory ? .unflushed : .direct
        }
        // Flushing is an option of the environment that LMDB reads at the commit; the write lock guards it.
        try check(
            mdb_env_set_flags(pointer, UInt32(MDB_NOSYNC), mode == .direct ? 0 : 1),
            "mdb_env_set_flags", name)
        return mode
    }

    /// Whether LMDB has ended the use of the environment.
    fileprivate var hasPanicked: Bool {
        var begun: OpaquePointer?
        let code = mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &begun)
        mdb_txn_abort(begun)
        return code == MDB_PANIC
    }

    /// Restores the log and the file after LMDB has refused a commit and released the write lock.
    fileprivate func didNotCommit(_ mode: CommitMode, isOutOfSpace: Bool) {
        if isOutOfSpace {
            var begun: OpaquePointer?
            if mdb_txn_begin(pointer, nil, 0, &begun) == 0 {
                removeUnusedPages()
                mdb_txn_abort(begun)
            }
        }
        if mode == .logged || mode == .checkpointed {
            if mode == .logged, !isOutOfSpace { log?.hasFailedFlush = true }
            log?.withdraw()
        }
    }
}
