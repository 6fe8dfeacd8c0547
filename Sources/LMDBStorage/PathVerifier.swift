import CLMDB
import Synchronization
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The size of a file and its blocks of 512 bytes, as far as they were read.
enum FileExtent {
    case unknown
    /// The file is as it was when its extent was last known.
    case unchanged
    case known(size: Int, blocks: Int)
}

/// Verifies that an open data file is still the file at its path.
///
/// The commits of a process that keeps writing to a renamed, deleted or replaced file would be lost, or would conflict
/// with those of a process that has opened the file under its new name with another lock file.
///
/// Every write verifies this by looking up the path. That takes several times as long as another system call. A file
/// that is written through its map is therefore looked up only in two cases: if the system has reported a change, and
/// 20 times a second for the folders on the path.
final class PathVerifier: Sendable {
    private let path: String
    // because: the bytes are constant and freed at the end. A string would be copied for each lookup.
    nonisolated(unsafe) private let pathBytes: UnsafeMutablePointer<CChar>
    // because: all threads may use LMDB's environment.
    nonisolated(unsafe) private let environment: OpaquePointer
    private let device: UInt64
    private let inode: UInt64
    /// Reports changes of a file that is written through its map; nil if the path is looked up for each write.
    private let watch: ChangeWatch?
    /// The time of the next lookup of the path without a reported change, on the monotonic clock.
    private let nextLookup = Atomic<UInt64>(0)

    private static let pause: UInt64 = 50_000_000

    /// Creates the check for an environment's data file.
    ///
    /// Throws `replaced` if other processes have another file open under its name.
    init(_ environment: OpaquePointer, _ path: String) throws(StorageError) {
        self.path = path
        self.environment = environment
        // because: a path takes a few bytes.
        pathBytes = strdup(path)!
        var descriptor: Int32 = -1
        try check(mdb_env_get_fd(environment, &descriptor), "mdb_env_get_fd", path)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "fstat", file: path)
        }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        // Writing with system calls is reported as a change, too.
        var flags: UInt32 = 0
        mdb_env_get_flags(environment, &flags)
        watch =
            flags & UInt32(MDB_WRITEMAP) != 0 && shim_keeps_places(descriptor) != 0
            ? ChangeWatch(of: descriptor) : nil
        // Another process may have written a commit to the data file, but not yet to the lock file.
        for attempt in 0..<200 {
            if try Self.agree(environment, path) { return }
            if attempt > 10 { usleep(1_000) }
        }
        // A process that was killed while it held the lock never releases it: LMDB repairs this when the next process
        // locks.
        var begun: OpaquePointer?
        if mdb_txn_begin(environment, nil, 0, &begun) == 0 { mdb_txn_abort(begun) }
        guard try Self.agree(environment, path) else {
            throw StorageError(.replaced, call: "mdb_txn_begin", file: path)
        }
    }

    deinit { free(pathBytes) }

    /// Verifies the path, and that the version in the lock file is the newest one in the data file.
    ///
    /// The versions differ if another program has overwritten one of the two files. LMDB would combine pages of both
    /// contents. Only the owner of the write lock may call this. Throws `replaced`. Takes one or two system calls, and two
    /// loads from the map.
    @inline(__always)
    func verify(_ newest: UInt64) throws(StorageError) -> FileExtent {
        guard Self.isNewest(newest, in: environment) else { throw replaced }
        if let watch, !watch.takeChange(),
            MonotonicClock.nanoseconds < nextLookup.load(ordering: .relaxed)
        {
            return .unchanged
        }
        nextLookup.store(0, ordering: .relaxed)
        let found = try lookUp()
        if watch != nil {
            nextLookup.store(MonotonicClock.nanoseconds &+ Self.pause, ordering: .relaxed)
        }
        return .known(size: Int(found.size), blocks: Int(found.blocks))
    }

    /// Whether the path leads to the file, as far as this can be looked up.
    var isAtPath: Bool {
        do throws(StorageError) { _ = try lookUp() } catch { return error.code != .replaced }
        return true
    }

    private func lookUp() throws(StorageError) -> shim_identity {
        var found = shim_identity()
        guard shim_look_up(pathBytes, 1, &found) == 0 else {
            let code = errno
            if code == ENOENT || code == ENOTDIR { throw replaced }
            throw StorageError(rawCode: code, call: "stat", file: path)
        }
        guard found.inode == inode, found.device == device else { throw replaced }
        return found
    }

    private var replaced: StorageError { StorageError(.replaced, call: "stat", file: path) }

    /// Returns whether a version is the newest one in the data file.
    @inline(__always)
    static func isNewest(_ version: UInt64, in environment: OpaquePointer) -> Bool {
        FileVersion.newest(environment) == version
    }

    /// Returns whether the data file and the lock file have the same newest version.
    private static func agree(
        _ environment: OpaquePointer, _ path: String
    ) throws(StorageError) -> Bool {
        let before = FileVersion.newest(environment)
        var begun: OpaquePointer?
        let code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &begun)
        // because: without a free reader slot the versions cannot be compared.
        if code == MDB_READERS_FULL { return true }
        try check(code, "mdb_txn_begin", path)
        let inLock = FileVersion.of(begun)
        mdb_txn_abort(begun)
        return before <= inLock && inLock <= FileVersion.newest(environment)
    }
}
