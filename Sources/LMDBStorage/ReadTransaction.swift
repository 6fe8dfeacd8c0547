import CLMDB

/// A transaction that was reset: it keeps its reader slot and can be renewed cheaply.
struct ParkedReader: @unchecked Sendable {
    // because: a reset transaction under MDB_NOTLS belongs to nobody.
    let pointer: OpaquePointer
}

/// One version of the file, held in place for reading. The last reference lets the version go.
///
/// May be made on one thread and released on another; used by one at a time.
package final class ReadTransaction {
    package let environment: Environment
    private let lease: EnvironmentLease
    private var pointer: OpaquePointer?
    /// The version that this transaction reads.
    package private(set) var version: UInt64

    /// Begins reading the newest version.
    package init(_ lease: EnvironmentLease) throws(StorageError) {
        self.lease = lease
        environment = lease.environment
        let begun = try Self.begin(environment)
        pointer = begun
        version = UInt64(mdb_txn_id(begun))
    }

    deinit { end() }

    private static func begin(_ environment: Environment) throws(StorageError) -> OpaquePointer {
        if let parked = environment.readers.withLock({ $0.popLast() }) {
            let code = mdb_txn_renew(parked.pointer)
            if code == 0 { return parked.pointer }
            mdb_txn_abort(parked.pointer)
        }
        var begun: OpaquePointer?
        var code = mdb_txn_begin(environment.pointer, nil, UInt32(MDB_RDONLY), &begun)
        if code == MDB_READERS_FULL {
            // Slots of processes that were killed count until somebody looks.
            try environment.clearStaleReaders()
            code = mdb_txn_begin(environment.pointer, nil, UInt32(MDB_RDONLY), &begun)
        }
        try check(code, "mdb_txn_begin", environment.path)
        // because: mdb_txn_begin succeeded.
        return begun!
    }

    /// Access to the tables.
    @inline(__always)
    package var handle: TransactionHandle {
        // because: nobody reads after `end`; the owner drops its references first.
        TransactionHandle(pointer: pointer!, environment: Unmanaged.passUnretained(environment))
    }

    /// Moves to the newest version. Everything read so far becomes invalid.
    package func renew() throws(StorageError) {
        guard let pointer else {
            throw StorageError(.closed, call: "renew", file: environment.path)
        }
        mdb_txn_reset(pointer)
        let code = mdb_txn_renew(pointer)
        if code != 0 {
            mdb_txn_abort(pointer)
            self.pointer = nil
            throw StorageError(rawCode: code, call: "mdb_txn_renew", file: environment.path)
        }
        version = UInt64(mdb_txn_id(pointer))
    }

    /// Lets the version go now instead of with the last reference.
    package func end() {
        guard let ended = pointer else { return }
        pointer = nil
        mdb_txn_reset(ended)
        let isParked = environment.readers.withLock { parked in
            if parked.count >= 8 { return false }
            parked.append(ParkedReader(pointer: ended))
            return true
        }
        if !isParked { mdb_txn_abort(ended) }
    }
}
