#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The system's lock on a data file that all processes share which have the file open.
///
/// The lock file's name comes from the data file's. Where a file was renamed while it was open, a process that opens it
/// under the new name would use another lock file. The lock on the data file itself shows that others have it open, and
/// LMDB's lock on the lock file whether they use the same one.
enum DataFileClaim {
    /// Returns a descriptor that holds the lock; negative where the file system has no such locks.
    ///
    /// After LMDB has opened the file. Throws `inUse` if others have it open with another lock file.
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

    /// Others hold the lock for themselves while they open the file or make a copy of it, which takes no longer.
    private static let attempts = 60
    private static let pause: UInt32 = 5_000
}
