import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The lock file next to a data file: its access rights and its kind.
///
/// LMDB opens the lock file by its path and follows links. The lock file is therefore created here, and refused if it
/// is not a regular file with one name. At each opening it gets the mode of the data file, so that users who can read and
/// write the data file can do the same with the lock file.
package enum LockFile {
    /// Opens the lock file of the data file at a path, and creates it if it does not exist.
    ///
    /// This process must not have the file open, because closing the descriptor ends LMDB's locks. Throws
    /// `foreignCompanion`, `permission`, `diskFull`.
    static func open(of path: String) throws(StorageError) -> Int32 {
        let lock = path + "-lock"
        var descriptor = Platform.openDescriptor(
            lock, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        let isNew = descriptor >= 0
        if !isNew, [EACCES, EPERM, EROFS].contains(errno) {
            throw StorageError(rawCode: errno, call: StorageError.lockCreation, file: path)
        }
        if !isNew, errno == EEXIST {
            descriptor = Platform.openDescriptor(
                lock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
        guard descriptor >= 0 else {
            if errno == ELOOP { throw foreign(lock, "a symbolic link") }
            if errno == EISDIR { throw foreign(lock, "a folder") }
            throw StorageError(rawCode: errno, call: "open", file: lock)
        }
        do throws(StorageError) {
            try requireOwn(descriptor, lock, of: path)
        } catch {
            close(descriptor)
            throw error
        }
        FileAccess(at: path)?.applyToCompanion(descriptor)
        return descriptor
    }

    /// The file that has the name of the lock file; nil if there is none.
    static func identity(of path: String) -> EnvironmentRegistry.Identity? {
        var status = stat()
        guard lstat(path + "-lock", &status) == 0 else { return nil }
        return EnvironmentRegistry.Identity(status)
    }

    /// Whether the lock file of the data file at a path exists.
    package static func exists(of path: String) -> Bool {
        guard let location = try? FileLocation(path) else { return false }
        return identity(of: location.path) != nil
    }

    /// Removes the lock file of the data file at a path, unless a process has the file open.
    ///
    /// The lock file contains no data. A process that opens the file in the meantime notices that its lock file has
    /// lost its name, and opens the file again.
    package static func removeUnused(of path: String) {
        guard let location = try? FileLocation(path), identity(of: location.path) != nil else {
            return
        }
        // because: if the file is in use or cannot be written, its lock file stays.
        try? EnvironmentRegistry.excluding(location.path) { () throws(StorageError) in
            let lock = try FileLock(of: location.path)
            defer { lock.release() }
            unlink(location.lockPath)
        }
    }

    /// Whether this process can write the lock file of the data file at a path, or create it.
    static func isWritable(_ path: String) -> Bool {
        let lock = path + "-lock"
        if access(lock, W_OK) == 0 { return true }
        return errno == ENOENT && access(Platform.folder(of: path), W_OK) == 0
    }

    /// Throws `foreignCompanion` unless an open lock file or log is a regular file with one name, of a user who may
    /// write the data file.
    ///
    /// In a folder that all users share, another user can create a file with this name first. Commits would then be
    /// written to a file that this user can read and change.
    static func requireOwn(
        _ descriptor: Int32, _ path: String, of data: String
    ) throws(StorageError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "fstat", file: path)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw foreign(path, "not a regular file") }
        guard status.st_nlink <= 1 else { throw foreign(path, "a hard link to another file") }
        guard try !FileHeader.isStore(descriptor) else { throw foreign(path, "another store") }
        guard let access = FileAccess(at: data), !access.permits(FileAccess(status)) else { return }
        throw foreign(path, "a file of another user")
    }

    /// Throws `foreignCompanion` for a path that does not lead to a regular file with one name, or leads to another
    /// store; the file does not have to exist.
    static func requireOwn(at path: String, of data: String) throws(StorageError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        let kind = status.st_mode & S_IFMT
        guard kind != S_IFLNK else { throw foreign(path, "a symbolic link") }
        guard kind != S_IFDIR else { throw foreign(path, "a folder") }
        guard kind == S_IFREG else { throw foreign(path, "not a regular file") }
        let descriptor = Platform.openDescriptor(
            path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard status.st_nlink <= 1 else { throw foreign(path, "a hard link to another file") }
            return
        }
        defer { close(descriptor) }
        try requireOwn(descriptor, path, of: data)
    }

    static func foreign(_ path: String, _ what: String) -> StorageError {
        StorageError(.foreignCompanion, call: what, file: path)
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

/// The system's shared lock on a data file; every process that has the file open holds it.
///
/// The lock file's name is derived from that of the data file. If a file was renamed while it was open, a process that
/// opens it under the new name would use another lock file. The lock on the data file itself shows that other processes
/// have it open, and LMDB's lock on the lock file shows whether they use the same lock file.
enum DataFileClaim {
    /// Returns a descriptor that holds the lock; negative if the file system does not support it.
    ///
    /// Call it after LMDB has opened the file. Throws `inUse` if other processes have it open with another lock file.
    static func take(_ path: String, _ region: LockRegion) throws(StorageError) -> Int32 {
        let descriptor = Platform.openDescriptor(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return -1 }
        for attempt in 0..<attempts {
            if Platform.lockFile(descriptor, LOCK_EX | LOCK_NB) {
                if Platform.lockFile(descriptor, LOCK_SH | LOCK_NB) { return descriptor }
            } else if errno != EWOULDBLOCK {
                close(descriptor)
                return -1
            } else if region.isOpenElsewhere,
                Platform.lockFile(descriptor, LOCK_SH | LOCK_NB)
            {
                return descriptor
            }
            if attempt > 2 { usleep(pause) }
        }
        close(descriptor)
        throw StorageError(.inUse, call: "another process, under another name", file: path)
    }

    /// The maximum number of attempts; other processes hold an exclusive lock only while they open or copy the file.
    private static let attempts = 60
    private static let pause: UInt32 = 5_000
}
