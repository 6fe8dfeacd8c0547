import LMDBStorage
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// ColumnStorage: tables of typed columns in clusters on LMDB.
//
// A ColumnFile is one open file, shared by all threads. A Snapshot is one version of it on one thread; it has a
// TableReader for each table and, between beginWrite and commit, a WriteSession. The layout of the file is described at
// FileTables and LeafFormat.
//
// Reads access the map directly through a directory of leaf addresses per table. These rules keep the addresses valid:
//
// * An address points into a committed page, which the snapshot's read transaction protects, or into memory of the open
//   write. Addresses of pages that the write has created are never kept: these pages move.
// * Pages move when a neighbor on them is rewritten, so a commit invalidates every address of all tables that share the
//   shard. The file records the version that last changed each shard. Moving to another version increments the epoch of
//   a table whose shard is newer, which invalidates its directory at once.
// * Reads inside a write read committed pages of the version before the write, unpacked leaves, and copies of the
//   leaves that the write has flushed.
//
// A snapshot and its parts are confined to one thread, and no callback enters them while a property is changed. Their
// stored properties are `@exclusivity(unchecked)`, because the checks at run time would be a tenth of the instructions
// of a small commit.
//
// No contents of a file can crash this code: leaves are checked when their address is stored, and every read of damaged
// data throws `damaged`. A change that must read damaged data makes the whole write fail.

/// The options with which a file of columns is opened.
package struct FileOptions: Sendable {
    /// The point at which commits reach the device.
    package var durability: Durability
    /// Whether writes are refused.
    package var isReadOnly: Bool
    /// The maximum size of the file; it only reserves address space.
    package var mapSize: Int
    /// The maximum number of simultaneous snapshots of all processes.
    package var maxReaders: Int
    /// The minimum number of versions whose change sets and replaced values are kept.
    ///
    /// With 0, no replaced values are kept, which makes commits slightly faster.
    package var historyLimit: Int
    /// The number of pages of a table of index blocks from which bulk changes are stored beside them; see
    /// ``IndexLevels``.
    var minRunPages = 1 << 13
    /// Whether writes are recorded in the history and old entries are removed; false for copies that revert versions.
    var keepsHistory = true

    /// Creates options; the defaults are durable, writable, 1 TiB, 4096 readers and 100 versions.
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
/// It can be shared between threads. The file is released by ``close()`` or with the last reference; open snapshots
/// keep the data that they read.
package final class ColumnFile: Sendable {
    /// The path, or the name of an in-memory file.
    package let path: String
    /// Whether the file exists only in memory.
    package let isInMemory: Bool
    /// The options with which the file was opened.
    package let options: FileOptions
    /// Whether this process cannot write to the file.
    package let isReadOnly: Bool
    /// The identity of the open file, which all openings of it in this process share.
    package let identity: ObjectIdentifier
    /// A number that identifies the file in this process, also when it is opened again.
    package let number: UInt64
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
        identity = lease.fileIdentity
        number = lease.environment.fileNumber
        tables = FileTables(lease.environment)
        try FileFormat.check(self)
    }

    /// Opens a file, or creates it if it does not exist.
    ///
    /// A file that is already open in this process is shared.
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

    /// Opens a file in memory.
    ///
    /// The file exists while this process has it open.
    ///
    /// The same name refers to the same file, with the history limit and size of the first open.
    package static func openInMemory(
        named name: String, historyLimit: Int = 100, size: Int? = nil
    ) throws(StorageError) -> ColumnFile {
        try InMemoryFiles.open(name, historyLimit, size)
    }

    /// Opens a file without a path.
    static func open(
        _ file: borrowing AnonymousFile, named name: String,
        options: FileOptions = FileOptions(durability: .memory)
    ) throws(StorageError) -> ColumnFile {
        let lease = try EnvironmentRegistry.open(
            file, named: name, options: options.environment, tables: FileTables.names,
            entries: [FileFormat.entry])
        return try ColumnFile(name, options, lease, isInMemory: true)
    }

    /// Opens the file a second time, for writes that are rolled back; see ``VersionRewind``.
    static func scratch(of file: ColumnFile) throws(StorageError) -> ColumnFile {
        let lease = try EnvironmentRegistry.openScratch(of: file.lease(), tables: FileTables.names)
        var options = FileOptions(durability: .memory, historyLimit: 0)
        options.keepsHistory = false
        return try ColumnFile(file.path, options, lease, isInMemory: file.isInMemory)
    }

    /// Returns another handle of a file in memory that is already open in this process.
    static func shareInMemory(
        _ name: String, _ options: FileOptions, _ lease: EnvironmentLease
    ) throws(StorageError) -> ColumnFile {
        try ColumnFile(name, options, lease, isInMemory: true)
    }

    /// Releases the file.
    ///
    /// The file is unmapped once no snapshot and no other handle in this process uses it; a file in memory is then
    /// deleted.
    package func close() { held.withLock { $0 = nil } }

    /// Whether a thread of this process or another process probably holds the write lock.
    ///
    /// This is a hint: a write may have to wait even if the lock seems to be free.
    package var isLocked: Bool { environment?.isLocked ?? false }

    /// Whether the write lock is probably held by a write of this process that began within a time in nanoseconds.
    package func isLocked(lessThan nanoseconds: Int) -> Bool {
        environment?.isLocked(lessThan: nanoseconds) ?? false
    }

    /// Returns whether another thread or process holds the write lock at each of several checks.
    ///
    /// This is a hint. It takes a few memory reads if the lock is free; otherwise twenty checks take a millisecond or
    /// two, which is longer than most writes take.
    package func isLocked(forChecks checks: Int) -> Bool {
        guard let environment, environment.isLockedByOthers else { return false }
        return environment.isLocked(forChecks: checks)
    }

    /// Whether the calling thread holds the write lock.
    package var isLockedHere: Bool { environment?.isLockedHere ?? false }

    /// The process that holds the write lock; nil if it is free, or if the process is not known.
    package var lockHolder: LockHolder? { environment?.lockHolder }

    /// Joins the queue for the write lock without waiting.
    ///
    /// `notify` is called on another thread when the ticket is ready. The ticket lapses, with another call, if no write
    /// begins with it within `patience` nanoseconds. Throws `closed`.
    package func takeTicket(
        by user: LockUser, patience: Int, notify: @escaping @Sendable () -> Void
    ) throws(StorageError) -> WriteLockTicket {
        try lease().takeTicket(by: user, patience: patience, notify: notify)
    }

    /// Throws `replaced` if the path leads to another file, or to none.
    package func requireInPlace() throws(StorageError) {
        if environment?.isInPlace == false {
            throw StorageError(.replaced, call: "stat", file: path)
        }
    }

    /// Returns a lease of the open file, which keeps it open.
    ///
    /// Throws `closed`.
    package func lease() throws(StorageError) -> EnvironmentLease {
        guard let lease = held.withLock({ $0 }) else {
            throw StorageError(.closed, call: "use", file: path)
        }
        return lease
    }

    private var environment: Environment? { held.withLock { $0?.environment } }

    /// Returns the version of the newest commit of any process; 0 after the file was closed.
    ///
    /// Takes a few memory reads.
    package func latestVersion() -> UInt64 {
        // The lease keeps the map, even if another thread closes the file now.
        let lease = held.withLock { $0 }
        return withExtendedLifetime(lease) { lease?.environment.latestVersion() ?? 0 }
    }

    /// The file that another process reads from after every commit, and closes when it ends.
    ///
    /// A watch on accesses to this path reports every commit. An access is only a hint: the version may be unchanged.
    package var commitSignalPath: String { environment?.commitSignalPath ?? path }

    /// Returns the number of used bytes and the maximum; zeros after the file was closed.
    package func size() -> (used: Int, limit: Int) { environment?.size() ?? (0, 0) }

    /// Writes a compact copy of the newest version, even while other processes write.
    ///
    /// The copy has its final name only when it is complete. `isReplacing` allows overwriting another file that is not
    /// open. Throws `exists`, `inUse`, `diskFull`, `permission`, `notFound`.
    package func copyCompacted(
        to destination: String, isReplacing: Bool = false
    ) throws(StorageError) {
        try lease().environment.copyCompacted(
            to: destination, versions: FileTables.versions, isReplacing: isReplacing)
    }

    /// Holds the newest version for a later copy; this process must have the write lock.
    package func holdVersion() throws(StorageError) -> HeldVersion {
        try HeldVersion(lease(), versions: FileTables.versions)
    }

    /// Runs `body`, which opens the file and closes it, and leaves no lock file if there was none before.
    package static func leavingNoLockFile<Result>(
        of path: String, _ body: () throws -> Result
    ) rethrows -> Result {
        let hadLockFile = LockFile.exists(of: path)
        defer { if !hadLockFile { LockFile.removeUnused(of: path) } }
        return try body()
    }

    /// Returns the path of the file that a symbolic link leads to; any other path unchanged.
    package static func pathBehindLink(_ path: String) -> String {
        FileLocation.pathBehindLink(path)
    }

    /// Throws `reservedName` or `exists` for a path at which a file of another format must not be written: a store, its
    /// lock file or its log.
    package static func requireNoStore(path: String) throws(StorageError) {
        try ReservedName.requireNoStore(path)
    }

    /// Creates a folder for working copies of a file, in the folder of the file.
    package static func workFolder(beside path: String) throws(StorageError) -> WorkFolder {
        try WorkFolder(beside: path)
    }

    /// Replaces a file with a compact copy, and returns its size in bytes before and after.
    ///
    /// Throws `inUse` if any process has the file open, `diskFull`, `permission`, `notFound`, `notAStore`; the file is
    /// then unchanged.
    package static func compact(path: String) throws(StorageError) -> (before: Int, after: Int) {
        try FileCompaction.compact(path: path, versions: FileTables.versions)
    }

    /// Returns whether a file has no bytes or no tables.
    package static func isEmpty(path: String) throws(StorageError) -> Bool {
        let size = try EnvironmentRegistry.size(path)
        if size == 0 { return true }
        guard size <= 1 << 20 else { return false }
        do throws(StorageError) {
            guard try PageVerifier.faults(path: path, atMost: 1).isEmpty else { return false }
            try open(path: path, options: FileOptions(isReadOnly: true)).close()
        } catch {
            if error.code == .empty { return true }
        }
        return false
    }

    /// Removes the unfinished copies of this process, which is about to end.
    package static func removeUnfinishedCopies() { FileCompaction.removeUnfinishedCopies() }

    /// Returns the number of bytes of the file, and the number that its newest version uses.
    ///
    /// Reads the list of free pages.
    package func space() throws(StorageError) -> (total: Int, used: Int) {
        try lease().environment.space()
    }

    /// Whether this is the only handle of the file in this process.
    package var isOnlyUse: Bool { held.withLock { $0?.isOnlyOne ?? false } }

    /// Shows other processes that this one uses the file with a number, such as the version of its schema, until the
    /// result is released; nil while a program prevents it.
    package func mark(_ number: UInt64) throws(StorageError) -> FileMark? {
        try lease().environment.mark(number)
    }

    /// Prevents programs from beginning to use the file with a number, until the result is released; nil if another
    /// process uses it, or this one more often than `own` times.
    package func exclude(_ number: UInt64, except own: Int) throws(StorageError) -> FileExclusion? {
        try lease().environment.exclude(number, except: own)
    }

    /// Returns the other processes that have the file open, in the order of their numbers.
    package func otherUsers() throws(StorageError) -> [FileUser] {
        try lease().environment.otherUsers()
    }

    /// Returns the versions in use: by this process, and by other processes with their ids.
    package func heldVersions() throws(StorageError) -> (
        own: [UInt64], foreign: [(process: Int32, version: UInt64)]
    ) {
        let environment = try lease().environment
        return (
            environment.heldVersions(),
            try environment.foreignReaders().map { ($0.process, $0.version) }
        )
    }

    /// Returns for each version the number of bytes of the file that cannot be reused while the version is in use.
    ///
    /// Reads the list of free pages.
    package func bytesKept(by versions: [UInt64]) throws(StorageError) -> [Int] {
        try lease().environment.freedBytes(after: versions)
    }

    /// Returns the oldest version that a snapshot of this process reads.
    func oldestVersion() -> UInt64? { environment?.oldestVersion() }
}

extension FileOptions {
    var environment: EnvironmentOptions {
        EnvironmentOptions(
            mapSize: mapSize, maxReaders: maxReaders, readOnly: isReadOnly,
            writesThroughMap: durability == .memory)
    }
}

extension ColumnFile {
    /// Returns a snapshot of the file's data at an older version, in a separate file without a path.
    ///
    /// The file exists as long as the snapshot. Later versions are reverted one after the other in the copy, so the
    /// original keeps no pages for it. Returns nil if one of them does not keep its old values, or has changed the
    /// schema; `definitions` are the current schema. Copies the file's used pages and reverts the changes of the
    /// versions. Throws `diskFull`, `damaged`, `closed`.
    package func copy(
        asOf version: UInt64, _ definitions: [TableDefinition]
    ) throws(StorageError) -> Snapshot? {
        let live = try lease().environment
        let size = live.size().used
        let file = try AnonymousFile(size: size)
        try live.copyCompacted(to: file, versions: FileTables.versions)
        var options = FileOptions(
            durability: .memory, mapSize: 2 * size + 1 << 28, maxReaders: 64)
        options.keepsHistory = false
        let copy = try ColumnFile.open(
            file, named: "version \(version) of \(self.path)", options: options)
        let snapshot = try Snapshot(copy)
        try snapshot.configure(definitions)
        let newest = snapshot.version
        for reversed in stride(from: newest, to: version, by: -1) {
            guard let entry = try snapshot.historyEntry(reversed), !entry.changes.schemaChanged,
                entry.keepsOldValues || entry.changes.isEmpty
            else { return nil }
            if entry.changes.isEmpty { continue }
            _ = try snapshot.beginWrite()
            guard let write = snapshot.write else { break }
            do throws(StorageError) {
                try write.revert(version: reversed)
            } catch {
                snapshot.cancelWrite()
                throw error
            }
            try snapshot.commit()
        }
        return try snapshot.frozen()
    }
}

/// The in-memory files of this process by name.
enum InMemoryFiles {
    /// An open file, which exists as long as a handle of it.
    private struct Known: Sendable {
        weak let environment: Environment?
        let identity: EnvironmentRegistry.Identity
        let options: FileOptions

        var share: EnvironmentLease? {
            environment.flatMap { EnvironmentRegistry.share($0, identity) }
        }
    }

    private static let files = Mutex<[String: Known]>([:])

    /// The address space of one file, which is its maximum size.
    ///
    /// A process has address space for about a thousand files.
    private static let largest = min(64 << 30, EnvironmentOptions.usualMapSize)
    private static let minimum = 1 << 30

    /// The default size, which is the memory of the machine.
    private static var usualSize: Int {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        return max(minimum, min(largest, pages * sysconf(Int32(_SC_PAGESIZE))))
    }

    static func open(
        _ name: String, _ historyLimit: Int, _ size: Int?
    ) throws(StorageError) -> ColumnFile {
        let result = files.withLock { files -> Result<ColumnFile, StorageError> in
            do throws(StorageError) {
                if let known = files[name], let lease = known.share {
                    return .success(
                        try ColumnFile.shareInMemory(name, known.options, lease))
                }
                files = files.filter { $0.value.environment != nil }
                let options = FileOptions(
                    durability: .memory, mapSize: size ?? usualSize, historyLimit: historyLimit)
                let file = try ColumnFile.open(AnonymousFile(), named: name, options: options)
                let lease = try file.lease()
                files[name] = Known(
                    environment: lease.environment, identity: lease.identity, options: options)
                return .success(file)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
