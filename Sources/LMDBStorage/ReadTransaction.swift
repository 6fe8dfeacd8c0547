import CLMDB
import Synchronization

#if DEBUG
    /// A hook with which tests run code between the beginning of a reader and its read of the newest version.
    struct BeginProbe: Sendable {
        static let installed = Mutex<BeginProbe?>(nil)

        /// Called once for each reader.
        var whileBeginning: @Sendable (Environment) -> Void
    }
#endif

/// A transaction that was reset: it keeps its reader slot, and renewing it takes little time.
struct ParkedReader: @unchecked Sendable {
    // because: a reset transaction under MDB_NOTLS does not belong to a thread.
    let pointer: OpaquePointer
}

/// The read transactions of one environment in this process: idle ones for reuse, and the versions in use.
struct ReaderBook: Sendable {
    /// The maximum number of idle transactions with their slots that are kept for the next readers.
    static let spareLimit = 8

    var spare: [ParkedReader] = []
    // Only a few versions are in use, so searching an array takes less time than hashing.
    private var held: [(version: UInt64, count: Int)] = []

    mutating func hold(_ version: UInt64) {
        if let index = held.lastIndex(where: { $0.version == version }) {
            held[index].count += 1
        } else {
            held.append((version, 1))
        }
    }

    mutating func letGo(_ version: UInt64) {
        guard let index = held.lastIndex(where: { $0.version == version }) else {
            assertionFailure("a reader releases a version that it holds")
            return
        }
        held[index].count -= 1
        if held[index].count == 0 { held.remove(at: index) }
    }

    var versions: [UInt64] { held.map(\.version) }
}

/// A read transaction, which pins one version of the file.
///
/// Releasing the last reference releases the version.
///
/// A transaction may be created on one thread and released on another, and is used by one thread at a time.
package final class ReadTransaction {
    // Not `package` itself, like `pinned`.
    @exclusivity(unchecked) private var current: Environment
    /// The environment that has the version.
    package var environment: Environment { current }
    private let lease: EnvironmentLease
    @exclusivity(unchecked) private var pointer: OpaquePointer?
    /// The version that this transaction reads.
    package var version: UInt64 { pinned }
    // Not `package` itself, because other modules would check for exclusive access in each read.
    @exclusivity(unchecked) private var pinned: UInt64

    /// Begins reading the newest version.
    package init(_ lease: EnvironmentLease) throws(StorageError) {
        self.lease = lease
        let (begun, environment) = try Self.begin(lease)
        current = environment
        pointer = begun
        let version = FileVersion.of(begun)
        pinned = version
        environment.readers.withLock { $0.hold(version) }
    }

    /// Reserves a reader slot without reading yet, so that ``renew()`` cannot fail for lack of a slot.
    package init(reserving lease: EnvironmentLease) throws(StorageError) {
        self.lease = lease
        pinned = 0
        let environment = lease.environment
        if let parked = environment.readers.withLock({ $0.spare.popLast() }) {
            current = environment
            pointer = parked.pointer
        } else {
            let begun = try Self.begin(lease)
            mdb_txn_reset(begun.pointer)
            (pointer, current) = begun
        }
    }

    deinit { end() }

    /// Begins to read the newest version, in the environment that the file has at this time.
    private static func begin(
        _ lease: EnvironmentLease
    ) throws(StorageError) -> (pointer: OpaquePointer, environment: Environment) {
        while true {
            let environment = lease.environment
            do throws(StorageError) {
                return (try begin(environment), environment)
            } catch {
                guard error.rawCode == MDB_PANIC else { throw error }
                try lease.replace(environment)
            }
        }
    }

    private static func begin(_ environment: Environment) throws(StorageError) -> OpaquePointer {
        if let parked = environment.readers.withLock({ $0.spare.popLast() }) {
            if renew(parked.pointer, environment) == 0 { return parked.pointer }
            mdb_txn_abort(parked.pointer)
        }
        var begun: OpaquePointer?
        var code = mdb_txn_begin(environment.pointer, nil, UInt32(MDB_RDONLY), &begun)
        if code == MDB_READERS_FULL {
            // The slots of killed processes are used until another process clears them.
            try environment.clearStaleReaders()
            code = mdb_txn_begin(environment.pointer, nil, UInt32(MDB_RDONLY), &begun)
        }
        try environment.checkBegin(code)
        // because: mdb_txn_begin succeeded.
        let pointer = begun!
        code = renewUntilNewest(pointer, environment)
        if code != 0 {
            mdb_txn_abort(pointer)
            throw StorageError(rawCode: code, call: "mdb_txn_renew", file: environment.name)
        }
        return pointer
    }

    private static func renew(_ pointer: OpaquePointer, _ environment: Environment) -> Int32 {
        let code = mdb_txn_renew(pointer)
        return code == 0 ? renewUntilNewest(pointer, environment) : code
    }

    /// Renews the transaction, and repeats this if another process or thread commits in the
    /// meantime.
    ///
    /// LMDB first reads the number of the newest version, and then copies the roots of its tables from a page that the
    /// second-next commit overwrites. A thread that is suspended in the meantime would read a later version than it
    /// reports. If the version is still the newest one afterward, its page was not overwritten. Takes one or two loads.
    private static func renewUntilNewest(_ pointer: OpaquePointer, _ environment: Environment)
        -> Int32
    {
        #if DEBUG
            BeginProbe.installed.withLock { $0 }?.whileBeginning(environment)
        #endif
        var last: (version: UInt64, newest: UInt64)?
        var isSame = 0
        while true {
            let version = FileVersion.of(pointer)
            atomicMemoryFence(ordering: .acquiring)
            let newest = environment.latestVersion()
            if newest == version {
                return environment.isReplaced ? StorageError.replacedCode : 0
            }
            // A writer that was killed at the end of its commit leaves a version that LMDB does not read until the next
            // write; until then the version does not change. Any other difference is that of another file's header.
            if let last, last == (version, newest) { isSame += 1 } else { isSame = 0 }
            if isSame == stillAttempts {
                return newest == version &+ 1 ? 0 : StorageError.replacedCode
            }
            last = (version, newest)
            mdb_txn_reset(pointer)
            let code = mdb_txn_renew(pointer)
            if code != 0 { return code }
        }
    }

    private static let stillAttempts = 16

    /// The handle for access to the tables.
    @inline(__always)
    package var handle: TransactionHandle {
        // because: the owner drops its references before it calls `end`, so no read follows.
        TransactionHandle(pointer: pointer!, environment: Unmanaged.passUnretained(environment))
    }

    /// Moves to the newest version.
    ///
    /// All results of earlier reads become invalid.
    package func renew() throws(StorageError) {
        guard let pointer else {
            throw StorageError(.closed, call: "renew", file: environment.name)
        }
        let old = version
        if old != 0 { mdb_txn_reset(pointer) }
        let before = current
        let code = lease.environment === before ? Self.renew(pointer, before) : MDB_PANIC
        if code != 0 {
            mdb_txn_abort(pointer)
            self.pointer = nil
            if old != 0 { before.readers.withLock { $0.letGo(old) } }
            guard code == MDB_PANIC else {
                throw StorageError(rawCode: code, call: "mdb_txn_renew", file: before.name)
            }
            // Addresses in the map of the retired environment stay valid.
            let (begun, environment) = try Self.begin(lease)
            (self.pointer, current) = (begun, environment)
        }
        let new = FileVersion.of(self.pointer)
        pinned = new
        current.readers.withLock { readers in
            if old != 0, code == 0 { readers.letGo(old) }
            readers.hold(new)
        }
    }

    /// Releases the version now instead of with the last reference.
    package func end() {
        guard let ended = pointer else { return }
        pointer = nil
        let version = version
        if version != 0 { mdb_txn_reset(ended) }
        let isParked = environment.readers.withLock { readers in
            if version != 0 { readers.letGo(version) }
            if readers.spare.count >= ReaderBook.spareLimit { return false }
            readers.spare.append(ParkedReader(pointer: ended))
            return true
        }
        if !isParked { mdb_txn_abort(ended) }
    }
}
