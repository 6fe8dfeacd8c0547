import LMDBStorage
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// ColumnStorage: tables of typed columns in clusters on LMDB.
//
// A ColumnFile is one open file, shared by all threads. A Snapshot is one version of it as one thread
// sees it; it lends a TableReader per table and, between beginWrite and commit, a WriteSession.
// The layout of the file is described at FileTables and LeafFormat.
//
// Reads go straight to the map through a directory of leaf addresses per table. Rules that keep those
// addresses right:
//
// * An address points into a committed page, which the snapshot's read transaction protects, or into memory of the open
//   write. Addresses of pages that the write has created are never kept: these pages move.
// * Pages move when a neighbor on them is rewritten, so a commit invalidates every address of all tables that share the
//   shard. The file records the version that last changed each shard. Moving to another version increments the epoch of
//   a table whose shard is newer, which invalidates its directory at once.
// * Reads inside a write read committed pages of the version before the write, unpacked leaves, and copies of the
//   leaves that the write has flushed.
//
// A snapshot and all that belongs to it are confined to one thread, and nothing calls back into them while
// a property is changed. Their stored properties say `@exclusivity(unchecked)`, because the checks at run
// time cost a small commit a tenth of its instructions.
//
// Nothing here crashes on what a file contains: leaves are checked when their address is taken; what
// is damaged reads as empty and is noted in `Snapshot.damage`.

/// How a file of columns is opened.
package struct FileOptions: Sendable {
    /// When commits reach the device.
    package var durability: Durability
    /// Refuse writes.
    package var isReadOnly: Bool
    /// The largest size of the file; address space only.
    package var mapSize: Int
    /// Snapshots that may exist at once, over all processes.
    package var maxReaders: Int
    /// For how many versions the change sets, and the values before them, are kept at least.
    ///
    /// With 0 no values are kept, which makes commits a little cheaper.
    package var historyLimit: Int
    /// Whether writes are added to the history in full, and old entries removed; not for copies that go back in it.
    var keepsHistory = true

    /// The defaults: durable, writable, 1 TiB, 4096 readers, 100 versions.
    package init(
        durability: Durability = .full, isReadOnly: Bool = false,
        mapSize: Int = EnvironmentOptions.usualMapSize, maxReaders: Int = 4096,
        historyLimit: Int = 100
    ) {
        self.durability = durability
        self.isReadOnly = isReadOnly
        self.mapSize = mapSize
        self.maxReaders = maxReaders
        self.historyLimit = historyLimit
    }
}

/// One open file.
///
/// Safe to share between threads. The file is released by ``close()`` or with the last reference; snapshots that are
/// still open keep what they read.
package final class ColumnFile: Sendable {
    /// The path, or the name of an in-memory file.
    package let path: String
    /// Whether it lives in memory only.
    package let isInMemory: Bool
    /// How it was opened.
    package let options: FileOptions
    /// Whether this process cannot write to the file.
    package let isReadOnly: Bool
    /// The same for all openings of one file in this process, while one of them lives.
    package let identity: ObjectIdentifier
    package let tables: FileTables
    private let held: Mutex<EnvironmentLease?>

    private init(
        _ path: String, _ options: FileOptions, _ lease: EnvironmentLease, isInMemory: Bool
    ) throws(StorageError) {
        self.path = path
        self.options = options
        held = Mutex(lease)
        self.isInMemory = isInMemory
        isReadOnly = options.isReadOnly || lease.environment.isReadOnly
        identity = ObjectIdentifier(lease.environment)
        tables = FileTables(lease.environment)
        try FileFormat.check(self)
    }

    /// Opens a file, or creates it.
    ///
    /// A file that is open already in this process is shared.
    ///
    /// Throws `notAStore`, `newerFormat`, `damaged`, `permission`, `notFound`.
    package static func open(
        path: String, options: FileOptions = FileOptions()
    ) throws(StorageError) -> ColumnFile {
        let lease = try EnvironmentRegistry.open(
            path: path, options: options.environment, tables: FileTables.names,
            entries: [FileFormat.entry])
        return try ColumnFile(path, options, lease, isInMemory: false)
    }

    /// Opens a file without a path.
    ///
    /// It exists while this process has it open.
    ///
    /// The same name means the same file, with the history limit and size of the first open.
    package static func openInMemory(
        named name: String, historyLimit: Int = 100, size: Int? = nil
    ) throws(StorageError) -> ColumnFile {
        try InMemoryFiles.open(name, historyLimit, size)
    }

    /// Opens a file that no path leads to.
    static func open(
        _ file: borrowing AnonymousFile, named name: String,
        options: FileOptions = FileOptions(durability: .memory)
    ) throws(StorageError) -> ColumnFile {
        let lease = try EnvironmentRegistry.open(
            file, named: name, options: options.environment, tables: FileTables.names,
            entries: [FileFormat.entry])
        return try ColumnFile(name, options, lease, isInMemory: true)
    }

    /// The file opened a second time, for writes that are rolled back; see ``VersionRewind``.
    static func scratch(of file: ColumnFile) throws(StorageError) -> ColumnFile {
        let lease = try EnvironmentRegistry.openScratch(of: file.lease(), tables: FileTables.names)
        var options = FileOptions(durability: .memory, historyLimit: 0)
        options.keepsHistory = false
        return try ColumnFile(file.path, options, lease, isInMemory: file.isInMemory)
    }

    /// Another handle of a file in memory that is already open in this process.
    static func shareInMemory(
        _ name: String, _ options: FileOptions, _ lease: EnvironmentLease
    ) throws(StorageError) -> ColumnFile {
        try ColumnFile(name, options, lease, isInMemory: true)
    }

    /// Releases the file.
    ///
    /// It is unmapped once no snapshot and no other handle in this process uses it; a file in memory is removed then.
    package func close() { held.withLock { $0 = nil } }

    /// Whether a thread of this process, or another process, seems to hold the write lock.
    ///
    /// A hint: a write that finds the lock free may still have to wait.
    package var isLocked: Bool { environment?.isLocked ?? false }

    /// Whether another thread or process has held the write lock for longer than most writes take.
    ///
    /// A hint. Costs a few loads if the lock is free, otherwise a millisecond or two.
    package var isLockedForLong: Bool {
        guard let environment, environment.isLockedByOthers else { return false }
        return environment.isLockedForLong()
    }

    /// Whether the calling thread has the write lock.
    package var isLockedHere: Bool { environment?.isLockedHere ?? false }

    /// Lines up for the write lock without waiting; `notify` is called on another thread when the turn has come.
    ///
    /// It lapses, with another call, when no write is begun with it within `patience` nanoseconds. Throws `closed`.
    package func lineUp(
        patience: Int, notify: @escaping @Sendable () -> Void
    ) throws(StorageError) -> WriteLockTicket {
        try lease().lineUp(patience: patience, notify: notify)
    }

    /// The share of the open file.
    ///
    /// Throws `closed`.
    package func lease() throws(StorageError) -> EnvironmentLease {
        guard let lease = held.withLock({ $0 }) else {
            throw StorageError(.closed, call: "use", file: path)
        }
        return lease
    }

    private var environment: Environment? { held.withLock { $0?.environment } }

    /// The version of the newest commit of any process; 0 once closed.
    ///
    /// A few loads from the map.
    package func latestVersion() -> UInt64 {
        // The lease keeps the map, also where another thread closes the file now.
        let lease = held.withLock { $0 }
        return withExtendedLifetime(lease) { lease?.environment.latestVersion() ?? 0 }
    }

    /// The file that another process reads from after every commit, and closes when it ends.
    ///
    /// A watch on accesses to this path reports every commit. An access is a hint: the version may be the same.
    package var commitSignalPath: String { environment?.commitSignalPath ?? path }

    /// How many bytes the file uses, and how many it may; zeros once closed.
    package func size() -> (used: Int, limit: Int) { environment?.size() ?? (0, 0) }

    /// Waits until every commit so far is on the device.
    package func sync() throws(StorageError) { try lease().environment.sync() }

    /// Writes a compact copy of the newest version, also while others write; it appears when it is whole.
    ///
    /// `isReplacing` allows replacing another file that is not open. Throws `exists`, `inUse`, `diskFull`,
    /// `permission`, `notFound`.
    package func copyCompacted(
        to destination: String, isReplacing: Bool = false
    ) throws(StorageError) {
        try lease().environment.copyCompacted(
            to: destination, versions: FileTables.versions, isReplacing: isReplacing)
    }

    /// Runs `body`, which opens the file and closes it, and leaves no lock file if there was none before.
    package static func leavingNoLockFile<Result>(
        of path: String, _ body: () throws -> Result
    ) rethrows -> Result {
        let hadLockFile = LockFile.exists(of: path)
        defer { if !hadLockFile { LockFile.removeUnused(of: path) } }
        return try body()
    }

    /// Creates a folder for working copies of a file, in the folder of the file.
    package static func workFolder(beside path: String) throws(StorageError) -> WorkFolder {
        try WorkFolder(beside: path)
    }

    /// Puts a compact copy in a file's place; its size in bytes before and after.
    ///
    /// Throws `inUse` if anybody has it open, `diskFull`, `permission`, `notFound`, `notAStore`; the
    /// file is as it was then.
    package static func compact(path: String) throws(StorageError) -> (before: Int, after: Int) {
        try FileCompaction.compact(path: path, versions: FileTables.versions)
    }

    /// Whether a file is empty, or the creation of its tables did not finish.
    package static func isEmpty(path: String) throws(StorageError) -> Bool {
        let (size, isUnfinished) = try EnvironmentRegistry.look(path)
        if isUnfinished { return true }
        guard size <= 1 << 20 else { return false }
        do throws(StorageError) {
            guard try PageVerifier.faults(path: path, atMost: 1).isEmpty else { return false }
            try open(path: path, options: FileOptions(isReadOnly: true)).close()
        } catch {
            if error.code == .empty { return true }
        }
        return false
    }

    /// Lets the process end with a message when pages of an open file can no longer be read.
    package static func explainLostPages(as program: StaticString, exitStatus: Int32) {
        LostPages.explain(as: program, status: exitStatus)
    }

    /// Removes the copies that this process, which is about to end, has begun and not finished.
    package static func removeUnfinishedCopies() { FileCompaction.removeUnfinishedCopies() }

    /// How many bytes the file has, and how many of them its newest version uses.
    ///
    /// Costs a look at the list of free pages.
    package func space() throws(StorageError) -> (total: Int, used: Int) {
        try lease().environment.space()
    }

    /// Whether this is the only handle of the file in this process.
    package var isOnlyUse: Bool { held.withLock { $0?.isOnlyOne ?? false } }

    /// The versions that are held: by this process, and by others with the number of the process.
    package func heldVersions() throws(StorageError) -> (
        own: [UInt64], foreign: [(process: Int32, version: UInt64)]
    ) {
        let environment = try lease().environment
        return (
            environment.heldVersions(),
            try environment.foreignReaders().map { ($0.process, $0.version) }
        )
    }

    /// For each version: the bytes of the file that cannot be reused while that version is read.
    ///
    /// Costs a look at the list of free pages.
    package func bytesKept(by versions: [UInt64]) throws(StorageError) -> [Int] {
        try lease().environment.freedBytes(after: versions)
    }

    /// The oldest version that a snapshot of this process reads.
    func oldestVersion() -> UInt64? { environment?.oldestVersion() }
}

extension FileOptions {
    var environment: EnvironmentOptions {
        EnvironmentOptions(
            mapSize: mapSize, maxReaders: maxReaders, readOnly: isReadOnly,
            writesThroughMap: durability == .memory)
    }
}
