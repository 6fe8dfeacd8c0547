#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Recovers a data file that was being written when the machine stopped, before it is opened.
enum LogRecovery {
    /// The maximum time to wait for another process that recovers the file, in milliseconds.
    private static let patience = 60_000

    /// Recovers the file at `path`, if it is not complete.
    ///
    /// This process must not have the file open. For a complete file, the function reads only a few bytes. Throws
    /// `needsRecovery` if the file is not complete and may not be written, `damaged` if its log is missing and the file
    /// is not complete without it, `diskFull`, `permission`, `inUse`.
    static func prepare(_ path: String, isWritable: Bool) throws(StorageError) {
        var rest = patience
        while try !isWhole(path) {
            guard isWritable else { return try look(path) }
            do throws(StorageError) {
                let lock = try FileLock(of: path)
                defer { lock.release() }
                // Processes that waited for the lock must not find the old content of the lock file.
                if try prepare(path, lock) { try FileCompaction.announce(path) }
                return
            } catch {
                // Another process is recovering the file, or has opened it since.
                guard error.code == .inUse, rest > 0 else { throw error }
                rest -= 10
                usleep(10_000)
            }
        }
    }

    /// Recovers the file for a caller that holds the lock and announces the file afterward.
    ///
    /// Returns whether a recovery was necessary. Does not call LMDB, because opening and closing the lock file would
    /// release the lock.
    @discardableResult  // because a compaction announces the file in any case
    static func prepare(_ path: String, _ lock: borrowing FileLock) throws(StorageError) -> Bool {
        guard try !isWhole(path) else { return false }
        try recover(path)
        return true
    }

    /// Removes a file's log if no process has the file open and the file is complete without the log.
    ///
    /// This process must not have the file open.
    static func removeUnused(_ path: String) {
        let log = LogFile.path(of: path)
        guard access(log, F_OK) == 0 else { return }
        if access(path, F_OK) != 0 {
            unlink(log)
            return
        }
        guard access(path + "-lock", F_OK) == 0, let lock = try? FileLock(of: path) else { return }
        defer { lock.release() }
        let descriptor = Platform.openDescriptor(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        if LogMarker.read(descriptor).id == 0 { unlink(log) }
    }

    private static func open(_ path: String, _ flags: Int32) throws(StorageError) -> Int32 {
        let descriptor = Platform.openDescriptor(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError(rawCode: errno, call: "open", file: path) }
        return descriptor
    }

    private static func isWhole(_ path: String) throws(StorageError) -> Bool {
        let descriptor = try open(path, O_RDONLY)
        defer { close(descriptor) }
        let marker = LogMarker.read(descriptor)
        return marker.id == 0 || marker.isOfThisRun(descriptor)
    }

    /// Throws unless the file can be read without a recovery.
    private static func look(_ path: String) throws(StorageError) {
        let descriptor = try open(path, O_RDONLY)
        defer { close(descriptor) }
        let marker = LogMarker.read(descriptor)
        var log: LogFile?
        do throws(StorageError) {
            log = try LogFile(of: path, isMade: false, isWritten: false)
        } catch {
            guard error.code == .notFound else { throw error }
        }
        if log?.header(id: marker.id) != nil {
            throw StorageError(.needsRecovery, call: LogFile.path(of: path), file: path)
        }
        try verify(path)
    }

    private static func recover(_ path: String) throws(StorageError) {
        let descriptor = try open(path, O_RDWR)
        defer { close(descriptor) }
        let marker = LogMarker.read(descriptor)
        let log = try LogFile.ifPresent(of: path)
        if let log, let header = log.header(id: marker.id) {
            try LogReplay(path: path, data: descriptor, log: log, header: header).run()
        } else {
            try verify(path)
        }
        guard LogMarker().write(descriptor), Platform.flush(descriptor) else {
            throw StorageError(rawCode: errno, call: "pwrite", file: path)
        }
        log?.remove()
    }

    /// Throws unless the file is valid although its log is missing, as a copy without its log may be.
    private static func verify(_ path: String) throws(StorageError) {
        guard try PageVerifier.faultsAsItIs(path: path, atMost: 1).isEmpty else {
            throw StorageError(
                .damaged, call: "it was being written, and its log is missing", file: path)
        }
    }
}
