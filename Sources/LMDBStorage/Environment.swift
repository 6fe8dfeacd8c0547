import CLMDB
import Synchronization
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// LMDBStorage: files, transactions, tables and cursors; bytes in, bytes out.
//
// The module does not interpret the bytes. It ensures that callers follow LMDB's rules:
//
// * A file is opened only once in each process (EnvironmentRegistry): closing any descriptor of the locked file would
//   release the process's POSIX locks.
// * All tables are opened together with the file. LMDB forbids opening tables from two transactions at once, and a
//   transaction cannot use a handle that was opened after it began.
// * A read transaction can be used on any thread, one at a time (MDB_NOTLS). A write transaction belongs to the thread
//   that began it until its end.
// * Addresses of committed data are valid while the read transaction exists; addresses of data read through a write
//   transaction are valid only until the next change. Neither kind of address leaves this package.
// * Cursors are closed before their transaction ends.
//
// Every failure that a file, another process or the machine can cause is a thrown StorageError.

/// The point at which a commit is on the device.
package enum Durability: Sendable {
    /// A commit is on the device when it returns.
    case full
    /// A commit survives the process; a background thread flushes it to the device shortly after.
    ///
    /// A power failure leaves the file in the state of an earlier commit.
    case async
    /// Commits are never flushed: a power failure may damage the file.
    case memory
}

/// The options with which a file is opened.
package struct EnvironmentOptions: Sendable {
    /// The maximum size of the file.
    ///
    /// The size only reserves address space.
    package var mapSize: Int
    /// The maximum number of simultaneous read transactions of all processes.
    package var maxReaders: Int
    /// Whether writes are refused; the file may then be on a read-only device.
    package var readOnly: Bool
    /// Whether pages are changed in the map, and a new file is not flushed.
    ///
    /// A small commit without a flush then takes less than half the time.
    ///
    /// Do not use it for files that are flushed often: a flush write-protects each page again, and a commit takes more
    /// than twice as long. The map is not written to if a page may move on the device (``MapReservation``).
    package var writesThroughMap: Bool
    /// Whether LMDB alone ensures durability, without a redo log.
    package var isPlain: Bool

    /// The default maximum size of a file: 1 TiB, or less with a sanitizer, which takes most of the address space.
    package static let usualMapSize = isSanitized ? 1 << 32 : 1 << 40

    private static var isSanitized: Bool {
        #if SANITIZER
            true
        #else
            false
        #endif
    }

    /// Creates options; the defaults are 1 TiB, 4096 readers, and writable.
    package init(
        mapSize: Int = usualMapSize, maxReaders: Int = 4096, readOnly: Bool = false,
        writesThroughMap: Bool = false, isPlain: Bool = false
    ) {
        self.mapSize = mapSize
        self.maxReaders = maxReaders
        self.readOnly = readOnly
        self.writesThroughMap = writesThroughMap
        self.isPlain = isPlain
    }
}

/// The order of the keys in a table.
package enum KeyOrder: Sendable {
    /// The order of the bytes.
    case bytes
    /// The order of native 64-bit unsigned integers.
    case integers
}

/// The name and order of a table that is opened with the file.
package struct TableName: Sendable {
    package var name: String
    package var order: KeyOrder

    package init(_ name: String, _ order: KeyOrder) {
        self.name = name
        self.order = order
    }
}

/// An open file: LMDB's environment with all its tables.
///
/// ``EnvironmentRegistry`` returns environments.
///
/// The class is `Sendable` because LMDB synchronizes the handle, and the other properties are immutable or atomic.
package final class Environment: Sendable {
    /// The path of the file, with all symbolic links resolved.
    package var path: String { location.path }
    /// The name of the file in errors: the path with which it was first opened.
    package var name: String { location.name }
    let location: FileLocation
    /// Whether the file cannot be written through this environment.
    package let isReadOnly: Bool
    // because: all threads may use LMDB's environment.
    nonisolated(unsafe) package let pointer: OpaquePointer
    package let tables: [Table]
    private let names: [TableName]
    let options: EnvironmentOptions
    let writerThread = Atomic<UInt>(0)
    /// The lock file; nil if no other process can write, or this one cannot.
    let lockRegion: LockRegion?
    /// The lock file of a writable or read-only environment, with the numbers with which this process uses the file.
    let markedRegion: LockRegion?
    /// The lock file before LMDB has opened it; nil if it has no name, or this process cannot write to it.
    let lockFile: EnvironmentRegistry.Identity?
    /// The verifier of the file's path; nil if the file has no name or cannot be written.
    let pathVerifier: PathVerifier?
    /// The descriptor that holds the lock on the data file; negative for none.
    private let claim: Int32
    /// The size of the open write.
    let openWrite: OpenWrite
    let undo = UndoLog()
    /// A number that identifies the file in this process, also when it is opened again: the hash of its path.
    ///
    /// A file that no other process can find has a number of its own.
    package let fileNumber: UInt64
    private static let privateFiles = Atomic<UInt64>(0)
    let writeQueue = WriteLockQueue()
    let readers = Mutex(ReaderBook())
    /// The checksums of all values.
    let seals: ValueSeals
    /// Whether this process has committed to the file without a flush.
    let isUnflushed = Atomic<Bool>(false)
    /// The number of bytes that this process has put.
    private let writtenBytes = Atomic<Int>(0)
    /// The bytes of the newest version when this process opened the file.
    private let usedAtOpening: Int
    /// The changes of the open write, for the redo log.
    let changes = ChangeRecorder()
    /// The redo log; nil if LMDB alone ensures durability: for files that only this process can open, files that cannot
    /// be written, and all files if LMDB's headers have another layout than ``LMDBFormat`` describes.
    let log: RedoLog?
    let replacement: ReplacementGuard
    /// The verification of pages before LMDB reads them.
    let pages: PageGuard
    /// The error of the open write, or of the one before it, after which it cannot continue; 0 if there is none.
    let writeFailure = Atomic<Int32>(0)
    let overwritten = OverwrittenHeader()
    /// The environment that this one replaces; its readers continue.
    private let retired: Environment?

    /// Opens or creates the file.
    ///
    /// Only the registry calls this, while it holds its lock. `isVerified` is true if all pages were verified.
    init(
        _ location: FileLocation, options: EnvironmentOptions, tables names: [TableName],
        isVerified: Bool = true
    ) throws(StorageError) {
        retired = nil
        self.names = names
        self.location = location
        let path = location.path
        let isPrivate = location.isAnonymous
        fileNumber =
            isPrivate
            ? Self.privateFiles.add(1, ordering: .relaxed).newValue
            : Array(path.utf8).withUnsafeBytes { ValueSeal.hash($0) } | 1 << 63
        self.options = options
        self.isReadOnly = options.readOnly
        let sizeBefore = Platform.size(of: path)
        if isPrivate {
            try LockRegion.reserveSpaceForPrivate(path)
            lockFile = nil
        } else {
            lockFile = try LockRegion.reserveSpace(of: path, isWritten: !options.readOnly)
        }
        pointer = try Self.openEnvironment(path, options, names.count, isPrivate: isPrivate)
        usedAtOpening = Self.usedBytes(pointer)
        let region = isPrivate || options.readOnly ? nil : LockRegion(of: path, pointer)
        lockRegion = region
        markedRegion =
            options.readOnly && lockFile != nil && !isPrivate
            ? LockRegion(of: path, pointer) : region
        let reservation = MapReservation(pointer, path, isInMemory: isPrivate)
        seals = ValueSeals(tables: names.map(\.name), isInPlace: reservation != nil)
        openWrite = OpenWrite(
            pointer, tableCount: names.count, isInMemory: isPrivate, reservation)
        var claimed: Int32 = -1
        let isKnown: Bool
        do throws(StorageError) {
            isKnown = try LMDBFormat.isKnown(pointer)
            if let region { claimed = try DataFileClaim.take(path, region) }
            tables = try Self.openTables(pointer, names, path, isReadOnly: options.readOnly)
            pathVerifier = isPrivate || options.readOnly ? nil : try PathVerifier(pointer, path)
            // A process that was killed still holds the version that it read: while others have the file open, no write
            // would reuse pages that were freed since then.
            if region != nil {
                var dead: Int32 = 0
                try check(mdb_reader_check(pointer, &dead), "mdb_reader_check", path)
            }
            if region?.isTaken == false,
                reservation != nil || sizeBefore >= EnvironmentOptions.usualMapSize
            {
                MapReservation.trim(pointer)
            }
        } catch {
            // The file may belong to another program.
            if region?.isTaken == false, reservation != nil {
                MapReservation.trim(pointer, minimum: sizeBefore)
            }
            markedRegion?.closeFile()
            mdb_env_close(pointer)
            if claimed >= 0 { Glibc.close(claimed) }
            throw error
        }
        claim = claimed
        let replacement = ReplacementGuard(pointer, table: names[0].name, isKnown: isKnown)
        self.replacement = replacement
        pages = PageGuard(pointer, location, names.map(\.name), isVerified: isVerified)
        log =
            isPrivate || options.readOnly || options.isPlain || !isKnown
            ? nil
            : RedoLog(pointer, path: path, tables: names.map(\.name), recorder: changes) {
                !(region?.isTaken ?? false) && !replacement.isReplaced
            }
    }

    /// Opens the file of an environment that LMDB no longer uses, and retires that one; see ``OpenFile``.
    ///
    /// Throws `replaced` if the path does not lead to the file.
    init(after failed: Environment) throws(StorageError) {
        retired = failed
        names = failed.names
        location = failed.location
        fileNumber = failed.fileNumber
        options = failed.options
        isReadOnly = false
        (lockFile, lockRegion, markedRegion) =
            (failed.lockFile, failed.lockRegion, failed.markedRegion)
        claim = failed.claim
        let path = location.path
        guard failed.pathVerifier?.isAtPath == true, failed.hasItsLockFile else {
            throw StorageError(.replaced, call: "stat", file: path)
        }
        failed.log?.retire()
        try lockRegion?.keepOpen(path)
        do throws(StorageError) {
            pointer = try Self.openEnvironment(path, options, names.count, isPrivate: false)
        } catch {
            lockRegion?.renewLocks()
            throw error
        }
        // From here on, a failure leaves the new environment open, because closing it would free reader slots.
        try failed.overwritten.restore(pointer, path)
        usedAtOpening = failed.usedAtOpening
        let reservation = MapReservation(pointer, path, isInMemory: false)
        seals = ValueSeals(tables: names.map(\.name), isInPlace: reservation != nil)
        openWrite = OpenWrite(
            pointer, tableCount: names.count, isInMemory: false, reservation)
        tables = try Self.openTables(pointer, names, path, isReadOnly: false)
        pathVerifier = try PathVerifier(pointer, path)
        let (isKnown, region) = (try LMDBFormat.isKnown(pointer), lockRegion)
        let replacement = ReplacementGuard(pointer, table: names[0].name, isKnown: isKnown)
        self.replacement = replacement
        pages = PageGuard(
            pointer, location, names.map(\.name), isVerified: failed.pages.isComplete)
        log =
            failed.log == nil
            ? nil
            : RedoLog(pointer, path: path, tables: names.map(\.name), recorder: changes) {
                !(region?.isTaken ?? false) && !replacement.isReplaced
            }
        if failed.log?.hasFailedFlush == true { log?.hasFailedFlush = true }
        isUnflushed.store(failed.isUnflushed.load(ordering: .relaxed), ordering: .relaxed)
        writtenBytes.store(failed.writtenBytes.load(ordering: .relaxed), ordering: .relaxed)
    }

    /// Whether the file can be opened again while this environment has readers: it has a name and a lock file.
    var canBeRetired: Bool { !location.isAnonymous && !isReadOnly && lockRegion != nil }

    /// Opens the file of another environment for writes that are rolled back.
    init(scratchOf live: Environment, tables names: [TableName]) throws(StorageError) {
        retired = nil
        self.names = names
        location = live.location
        fileNumber = live.fileNumber
        seals = ValueSeals(tables: names.map(\.name), isInPlace: false)
        options = live.options
        isReadOnly = false
        lockRegion = nil
        markedRegion = nil
        lockFile = nil
        pathVerifier = nil
        claim = -1
        replacement = ReplacementGuard()
        pointer = try Self.openScratch(of: live, tableCount: names.count)
        usedAtOpening = 0
        openWrite = OpenWrite(pointer, tableCount: names.count, isInMemory: false, nil)
        do throws(StorageError) {
            tables = try Self.openTables(pointer, names, live.location.path, isReadOnly: true)
        } catch {
            mdb_env_close(pointer)
            throw error
        }
        pages = PageGuard(
            pointer, location, names.map(\.name), isVerified: live.pages.isComplete)
        log = nil
    }

    private static func openEnvironment(
        _ path: String, _ options: EnvironmentOptions, _ tableCount: Int, isPrivate: Bool
    ) throws(StorageError) -> OpaquePointer {
        var writesMap =
            options.writesThroughMap && !options.readOnly
            && MapReservation.isSupported(path, mapSize: options.mapSize, isShared: !isPrivate)
        var mapSize = options.mapSize
        let minimum = min(options.mapSize, 1 << 30)
        while true {
            var flags: Int32 = options.readOnly ? MDB_RDONLY : 0
            if writesMap { flags |= MDB_WRITEMAP }
            do throws(StorageError) {
                return try RawEnvironment(
                    path, named: path, flags: flags, mapSize: mapSize, tableCount: tableCount,
                    maxReaders: options.maxReaders, mode: 0o600
                ).pointer
            } catch {
                if writesMap {
                    // The file may not be as large as its map even for a moment, or the address space is too small.
                    writesMap = false
                    continue
                }
                // An address space limit may be below the large default; a smaller map is then tried.
                guard error.rawCode == ENOMEM, mapSize / 2 >= minimum else {
                    // The header of the data file was verified before.
                    if !isPrivate, [MDB_INVALID, MDB_VERSION_MISMATCH].contains(error.rawCode) {
                        throw StorageError(.damaged, call: StorageError.lockContent, file: path)
                    }
                    throw error
                }
                mapSize /= 2
            }
        }
    }

    private static func openTables(
        _ environment: OpaquePointer, _ names: [TableName], _ path: String, isReadOnly: Bool
    ) throws(StorageError) -> [Table] {
        // A read transaction is enough, so opening a file needs no write lock.
        var begun: OpaquePointer?
        try check(
            mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &begun), "mdb_txn_begin", path)
        do throws(StorageError) {
            let tables = try FileCreation.open(names, flags: 0, in: begun, path: path)
            for (name, table) in zip(names, tables) {
                // LMDB reads the order from the file and ignores the requested one.
                var flags: UInt32 = 0
                try check(mdb_dbi_flags(begun, table.dbi, &flags), "mdb_dbi_flags", path)
                let isOrdered = flags & UInt32(MDB_INTEGERKEY) != 0
                guard isOrdered == (name.order == .integers) else {
                    throw StorageError(
                        .damaged, call: "the order of table \(name.name)", file: path)
                }
            }
            try check(mdb_txn_commit(begun), "mdb_txn_commit", path)
            return tables
        } catch {
            mdb_txn_abort(begun)
            guard error.rawCode == MDB_NOTFOUND else { throw error }
            throw StorageError(.notAStore, call: "mdb_dbi_open", file: path)
        }
    }

    /// Returns the version of the newest commit of any process.
    ///
    /// Takes a few memory reads.
    package func latestVersion() -> UInt64 { FileVersion.newest(pointer) }

    /// Whether a thread of this process or another process probably holds the write lock.
    ///
    /// The result is a hint, which takes two loads.
    package var isLocked: Bool {
        writeQueue.isTaken || lockRegion?.isTaken ?? false
    }

    /// Whether a writer of any process waits for the write lock that the caller holds.
    var isAwaitedByWriters: Bool { writeQueue.isAwaited || lockRegion?.isAwaited ?? false }

    /// Whether the write lock is probably held by a write of this process that began within a time in nanoseconds.
    package func isLocked(lessThan nanoseconds: Int) -> Bool {
        writeQueue.isTaken && writeQueue.isHeld(lessThan: nanoseconds)
    }

    /// The process that holds the write lock; nil if it is free, or if the process is not known.
    package var lockHolder: LockHolder? { lockRegion?.holder }

    /// Whether another thread or process probably holds the write lock.
    @inline(__always)
    package var isLockedByOthers: Bool {
        let writer = writerThread.load(ordering: .relaxed)
        if writer == 0 { return lockRegion?.isTaken ?? false }
        return writer != ThreadIdentity.current.number
    }

    /// Whether the lock file that LMDB has opened still has its name.
    var hasItsLockFile: Bool { lockFile == nil || LockFile.identity(of: path) == lockFile }

    /// Whether the path still leads to the file.
    package var isInPlace: Bool { pathVerifier?.isAtPath ?? true }

    /// Whether another program has changed the file, as far as this process has noticed, or it has no headers.
    package var isReplaced: Bool { replacement.isReplaced }

    /// Whether a reader keeps the pages of its version; not for a file on a device that cannot be written.
    package var pinsVersions: Bool { lockRegion != nil }

    /// Returns the layout of a version, for ``contains(_:_:)``; nil if it is not the newest one.
    package func layout(of version: UInt64) -> MappedHeaders.Layout? {
        replacement.layout(of: version)
    }

    /// Whether the file has its headers, and a version has the layout that was read before.
    @inline(__always)
    package func contains(_ version: UInt64, _ layout: MappedHeaders.Layout?) -> Bool {
        replacement.contains(version, layout)
    }

    /// Returns the error for a file that another program has changed, and ends all writing to it.
    package func replaced() -> StorageError {
        replacement.recordReplacement()
        return StorageError(.replaced, call: "read", file: name)
    }

    /// The file that another process reads from after every commit, and closes when it ends.
    package var commitSignalPath: String { path + "-lock" }

    /// Notifies other processes that have the file open of a new version.
    func callOthers() { lockRegion?.callOthers() }

    /// Whether the calling thread holds the write lock.
    package var isLockedHere: Bool {
        writerThread.load(ordering: .relaxed) == ThreadIdentity.current.number
    }

    /// Returns whether another thread or process holds the write lock at each of several checks.
    ///
    /// Twenty checks take one or two milliseconds; most writes take less.
    package func isLocked(forChecks checks: Int) -> Bool {
        for _ in 0..<checks {
            guard isLockedByOthers else { return false }
            usleep(50)
        }
        return isLockedByOthers
    }

    /// Returns the number of bytes of the used pages, and the maximum size of the file.
    package func size() -> (used: Int, limit: Int) {
        var info = MDB_envinfo()
        mdb_env_info(pointer, &info)
        return (Self.usedBytes(pointer), Int(info.me_mapsize))
    }

    /// Returns the number of bytes of the pages up to the last one of the newest version.
    static func usedBytes(_ environment: OpaquePointer) -> Int {
        var info = MDB_envinfo()
        mdb_env_info(environment, &info)
        var statistics = MDB_stat()
        mdb_env_stat(environment, &statistics)
        return (Int(info.me_last_pgno) + 1) * Int(statistics.ms_psize)
    }

    /// Returns the oldest version that a read transaction of this process reads; nil if there is none.
    package func oldestVersion() -> UInt64? { heldVersions().min() }

    /// Returns the versions that read transactions of this process read.
    package func heldVersions() -> [UInt64] {
        readers.withLock { $0.versions } + (retired?.heldVersions() ?? [])
    }

    /// Frees the reader slots of processes that have ended.
    ///
    /// Returns the number of freed slots.
    @discardableResult  // because: most callers only need the slots to be free
    package func clearStaleReaders() throws(StorageError) -> Int {
        var dead: Int32 = 0
        try check(mdb_reader_check(pointer, &dead), "mdb_reader_check", path)
        return Int(dead)
    }

    /// Writes a compact copy of the newest version to `destination`.
    ///
    /// `isReplacing` allows overwriting another file, which no process may have open.
    ///
    /// The copy has its final name only when it is complete. Throws `exists`, `inUse`, `diskFull`, `permission`,
    /// `notFound`, and `notCopied` if a page or a value of the file is damaged.
    package func copyCompacted(
        to destination: String, versions: VersionLocation, isReplacing: Bool = false
    ) throws(StorageError) {
        try copyCompacted(
            to: destination, versions: versions, isReplacing: isReplacing, from: pointer)
    }

    /// Writes a compact copy of the newest version that `source` has, which is this environment or a copy of it.
    func copyCompacted(
        to destination: String, versions: VersionLocation, isReplacing: Bool,
        from source: OpaquePointer
    ) throws(StorageError) {
        let target = try FileLocation(destination)
        do throws(StorageError) {
            try copyCompacted(to: target.path, versions, isReplacing: isReplacing, from: source)
        } catch {
            throw error.named(target).named(location)
        }
    }

    /// Writes a compact copy of the newest version into an open file.
    package func copyCompacted(
        to file: borrowing AnonymousFile, versions: VersionLocation
    ) throws(StorageError) {
        guard !isReplaced else { throw replaced() }
        try FileCopy(original: name, destination: name, versions: versions)
            .write(pointer, to: file.descriptor, path: file.handle.path)
    }

    private func copyCompacted(
        to path: String, _ versions: VersionLocation, isReplacing: Bool, from source: OpaquePointer
    ) throws(StorageError) {
        guard !isReplaced else { throw replaced() }
        let copy = FileCopy(original: name, destination: path, versions: versions)
        var descriptor: mdb_filehandle_t = -1
        try check(mdb_env_get_fd(pointer, &descriptor), "mdb_env_get_fd", name)
        // A file without a name has the system's rights for such files, not those that a user has chosen.
        var own: FileAccess?
        if !location.isAnonymous {
            own = FileAccess(of: descriptor)
            guard own != nil else { throw StorageError(rawCode: errno, call: "fstat", file: name) }
        }
        try ReservedName.check(path)
        var present = stat()
        if stat(path, &present) == 0,
            EnvironmentRegistry.Identity(present) == EnvironmentRegistry.Identity(descriptor)
        {
            throw StorageError(.exists, call: StorageError.original, file: path)
        }
        guard isReplacing, access(path, F_OK) == 0 else {
            return try copy.make(of: source, access: own, isReplacing: isReplacing)
        }
        try EnvironmentRegistry.excluding(path) { () throws(StorageError) in
            var status = stat()
            if stat(path, &status) == 0 {
                try FileCopy.requireFile(status, path)
                try FileLocation.requireOneName(status, path)
            }
            let hasLock = access(path + "-lock", F_OK) == 0
            let lock = hasLock ? try FileLock(of: path) : nil
            defer { lock?.release() }
            try copy.make(of: source, access: own, isReplacing: true)
            unlink(LogFile.path(of: path))
            if hasLock { try FileCompaction.announce(path) }
        }
    }

    /// Counts a change of a write that puts some bytes, or that removes an entry for 0 bytes.
    ///
    /// Records the value that the caller wrote into reserved memory before. `isNew` means that the key has no value yet.
    /// Returns an error code, or 0.
    @inline(__always)
    func prepareChange(of bytes: Int, isNew: Bool, in transaction: OpaquePointer?) -> Int32 {
        if seals.isLent { finishLent() }
        return openWrite.count(bytes, isNew: isNew, in: transaction)
    }

    /// Records the value that the caller wrote into reserved memory.
    @inline(never)
    private func finishLent() {
        seals.finishLent()
        if changes.isLent { changes.finishLent() }
    }

    /// Returns the error for a value whose checksum is wrong.
    @inline(never)
    func damage(_ table: UInt32) -> StorageError {
        if replacement.isReplaced { return replaced() }
        return StorageError(.damaged, call: "a value has changed since it was written", file: name)
    }

    /// Throws unless `code`, the result of beginning a transaction, is 0.
    func checkBegin(_ code: Int32) throws(StorageError) {
        guard code != 0 else { return }
        if isReplaced { throw replaced() }
        throw StorageError(rawCode: code, call: "mdb_txn_begin", file: name)
    }

    /// Returns the error for a code of a call within a transaction.
    ///
    /// After a failure in a write, LMDB refuses all calls; the error is then that of the first failure.
    @inline(never)
    func failure(_ code: Int32, _ call: String) -> StorageError {
        if replacement.isReplaced { return replaced() }
        var code = code
        switch code {
        case MDB_BAD_TXN:
            let first = writeFailure.load(ordering: .relaxed)
            if first != 0 { code = first }
        case MDB_MAP_FULL, MDB_TXN_FULL, ENOSPC, EDQUOT, EFBIG, EIO, ENOMEM:
            // LMDB reports a short write as an input/output error.
            code = Platform.cause(of: code, writing: path)
            writeFailure.store(code, ordering: .relaxed)
        default: break
        }
        return StorageError(rawCode: code, call: call, file: name)
    }

    /// Counts the bytes of a write that is about to be committed; only the holder of the write lock changes the number.
    func countWrittenBytes() {
        let sum = writtenBytes.load(ordering: .relaxed) &+ openWrite.bytes
        writtenBytes.store(sum, ordering: .relaxed)
    }

    /// Writes the checksum of all pages if the write lock is free and the checksum takes little time.
    private func seal(_ verifier: PathVerifier) {
        var descriptor: mdb_filehandle_t = -1
        mdb_env_get_fd(pointer, &descriptor)
        guard !isLocked, verifier.isAtPath else { return }
        // because: without the seal, a verification is only less thorough.
        if case .seal(let seal) = try? FileSeal.read(descriptor), seal.version == latestVersion() {
            return
        }
        let used = size().used
        let written = max(writtenBytes.load(ordering: .relaxed), used - usedAtOpening)
        guard FileSeal.isWorthwhile(descriptor, size: used, written: written) else { return }
        var begun: OpaquePointer?
        guard mdb_txn_begin(pointer, nil, 0, &begun) == 0 else { return }
        defer { mdb_txn_abort(begun) }
        guard PathVerifier.isNewest(FileVersion.of(begun) - 1, in: pointer) else { return }
        let isFlushed = !isUnflushed.load(ordering: .relaxed)
        _ = try? FileSeal.compute(descriptor, isFlushed: isFlushed)?.write(descriptor)
    }

    /// Closes the file.
    ///
    /// Only the registry calls this, after the last lease was released.
    func close() {
        log?.close()
        let isReplaced = replacement.isReplaced
        if lockRegion?.isTaken == false, openWrite.reservation != nil, !isReplaced {
            MapReservation.trim(pointer)
        }
        if !isReadOnly, !isReplaced, lockRegion != nil, let pathVerifier { seal(pathVerifier) }
        markedRegion?.closeFile()
        closeMap()
        // LMDB keeps the memory of all changed pages until here.
        if writtenBytes.load(ordering: .relaxed) >= Platform.largeWriteBytes {
            Platform.returnFreedMemory()
        }
        if claim >= 0 { Glibc.close(claim) }
        log?.removeFile()
    }

    /// Closes LMDB's environment, and then the retired ones.
    private func closeMap() {
        readers.withLock { parked in
            assert(parked.versions.isEmpty, "all readers have ended before the file is closed")
            for reader in parked.spare { mdb_txn_abort(reader.pointer) }
            parked.spare = []
        }
        replacement.end()
        mdb_env_close(pointer)
        retired?.closeMap()
    }
}

/// Throws unless `code` is 0.
@inline(__always)
func check(
    _ code: Int32, _ call: @autoclosure () -> String, _ file: @autoclosure () -> String
) throws(StorageError) {
    if code != 0 { throw StorageError(rawCode: code, call: call(), file: file()) }
}

/// Throws unless `code` is 0; for calls within a transaction.
@inline(__always)
func check(
    _ code: Int32, _ call: @autoclosure () -> String, _ environment: Unmanaged<Environment>
) throws(StorageError) {
    if code != 0 { throw environment._withUnsafeGuaranteedRef { $0.failure(code, call()) } }
}
