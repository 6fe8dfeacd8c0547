import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Replaces a file by a compact copy.
///
/// No process may have the file open: it would continue to use the old file. LMDB marks an open file by a lock on the
/// first byte of its lock file. An exclusive lock on that byte keeps other processes from opening the file; they wait
/// in the meantime.
package enum FileCompaction {
    /// Compacts the file, and returns its size before and after.
    ///
    /// Throws `inUse`, `diskFull`, `permission`, `notFound`, `notAStore`; the file is then unchanged.
    package static func compact(
        path: String, versions: VersionLocation
    ) throws(StorageError) -> (before: Int, after: Int) {
        let location = try FileLocation(path)
        do throws(StorageError) {
            return try EnvironmentRegistry.excluding(location.path) { () throws(StorageError) in
                try replace(location.path, versions)
            }
        } catch {
            throw error.named(location)
        }
    }

    /// Removes the unfinished copies and the work folders of this process, which is about to end.
    package static func removeUnfinishedCopies() {
        DraftCopy.removeOwn()
        WorkFolder.removeOwn()
    }

    private static func replace(
        _ path: String, _ versions: VersionLocation
    ) throws(StorageError) -> (before: Int, after: Int) {
        guard access(path, W_OK) == 0 else {
            throw StorageError(rawCode: errno, call: StorageError.writing, file: path)
        }
        let lock = try FileLock(of: path)
        defer { lock.release() }
        let descriptor = Platform.openDescriptor(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw StorageError(rawCode: errno, call: "open", file: path)
        }
        defer { close(descriptor) }
        try LogRecovery.prepare(path, lock)
        try PageVerifier.requireWhole(descriptor, path: path)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "fstat", file: path)
        }
        try FileLocation.requireOneName(status, path)
        guard status.st_size > 0, !FileHeader.isUnfinished(descriptor) else {
            return (Int(status.st_size), Int(status.st_size))
        }
        let before = Platform.takenBytes(status)
        let environment = try RawEnvironment(path, named: path)
        defer { environment.close() }
        try FileCopy(original: path, destination: path, versions: versions)
            .make(of: environment.pointer, access: FileAccess(status), isReplacing: true)
        unlink(LogFile.path(of: path))
        try announce(path)
        guard stat(path, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "stat", file: path)
        }
        return (before, Int(status.st_size))
    }

    /// Makes LMDB set up the lock file again for the processes that wait to open the file.
    static func announce(_ path: String) throws(StorageError) {
        var created: OpaquePointer?
        try check(mdb_env_create(&created), "mdb_env_create", path)
        // because: mdb_env_create succeeded.
        let environment = created!
        defer { mdb_env_close(environment) }
        // Otherwise LMDB would map as much as the file's header states. It maps at least the pages of the file.
        try check(mdb_env_set_mapsize(environment, 1 << 20), "mdb_env_set_mapsize", path)
        try check(
            mdb_env_set_maxreaders(environment, UInt32(EnvironmentOptions().maxReaders)),
            "mdb_env_set_maxreaders", path)
        try check(
            mdb_env_open(environment, path, UInt32(MDB_NOSUBDIR | MDB_NOTLS), 0o644),
            "mdb_env_open", path)
    }
}

/// An exclusive lock on LMDB's lock file: no other process has the data file open in the meantime.
///
/// No environment of this process may have the file open, because its own lock would be lost.
struct FileLock {
    private let descriptor: Int32

    /// Acquires the lock; throws `inUse` with the name of the process that has the file open.
    init(of path: String) throws(StorageError) {
        guard access(path, F_OK) == 0 else {
            throw StorageError(rawCode: errno, call: "open", file: path)
        }
        var descriptor = try LockFile.open(of: path)
        var range = Self.firstByte
        var isLocked = Platform.controlLock(descriptor, F_SETLK, &range) == 0
        // The previous holder may have removed the lock file.
        while isLocked, LockFile.identity(of: path) != EnvironmentRegistry.Identity(descriptor) {
            close(descriptor)
            descriptor = try LockFile.open(of: path)
            range = Self.firstByte
            isLocked = Platform.controlLock(descriptor, F_SETLK, &range) == 0
        }
        self.descriptor = descriptor
        if isLocked {
            do throws(StorageError) {
                // LMDB maps the lock file when the file is announced.
                try LockRegion.reserveSpace(descriptor, of: path)
            } catch {
                close(descriptor)
                throw error
            }
            return
        }
        let code = errno
        range = Self.firstByte
        let isKnown = Platform.controlLock(descriptor, F_GETLK, &range) == 0
        close(descriptor)
        guard code == EAGAIN || code == EACCES else {
            throw StorageError(rawCode: code, call: "fcntl", file: path + "-lock")
        }
        let owner = isKnown && range.l_type != F_UNLCK ? "process \(range.l_pid)" : "a process"
        throw StorageError(.inUse, call: owner, file: path)
    }

    /// Returns whether no process has the file open, if this process may read the lock.
    static func isFree(of path: String) -> Bool {
        let descriptor = Platform.openDescriptor(
            path + "-lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == ENOENT }
        defer { close(descriptor) }
        var range = firstByte
        return Platform.controlLock(descriptor, F_GETLK, &range) == 0 && range.l_type == F_UNLCK
    }

    static var firstByte: flock {
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = 0
        range.l_len = 1
        return range
    }

    func release() { close(descriptor) }
}
