#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
