import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The open environments of this process: one per file, shared by everybody who opens it.
///
/// Files are told apart by device and inode, so that two paths to one file meet.
package enum EnvironmentRegistry {
    package struct Identity: Hashable, Sendable {
        var device: UInt64
        var inode: UInt64
    }

    struct Entry: Sendable {
        var environment: Environment
        var leases: Int
    }

    /// What errors call the process that has a file open, where it is this one.
    static let thisProcess = "this process"

    static let entries = Mutex<[Identity: Entry]>([:])

    /// Opens the file or shares the environment that is open already.
    ///
    /// Safe from every thread.
    ///
    /// The first one to open a file decides its map size. A file that is open for reading only
    /// cannot be opened for writing as well, except where the first one could have written too.
    package static func open(
        path: String, options: EnvironmentOptions, tables: [TableName], unlinkAtOnce: Bool = false
    ) throws(StorageError) -> EnvironmentLease {
        let result = entries.withLock { entries -> Result<EnvironmentLease, StorageError> in
            while true {
                do throws(StorageError) {
                    return .success(try open(path, options, tables, unlinkAtOnce, &entries))
                } catch {
                    guard error.rawCode == EMFILE, Platform.allowMoreDescriptors() else {
                        return .failure(error)
                    }
                }
            }
        }
        return try result.get()
    }

    private static func open(
        _ path: String, _ options: EnvironmentOptions, _ tables: [TableName], _ unlinkAtOnce: Bool,
        _ entries: inout [Identity: Entry]
    ) throws(StorageError) -> EnvironmentLease {
        var options = options
        if options.readOnly { options.writesThroughMap = false }
        let exists = access(path, F_OK) == 0
        // A writable file is opened writable even for a reader, so that a writer can join later.
        if options.readOnly && exists && access(path, W_OK) == 0
            && access(Platform.folder(of: path), W_OK) == 0
        {
            options.readOnly = false
        }
        let (descriptor, isMade) = try find(path, making: !options.readOnly && !exists)
        // Closing this descriptor is harmless: LMDB's POSIX locks are on the lock file.
        defer { close(descriptor) }
        let identity = try identity(of: descriptor, path)
        // What another process has made meanwhile is never removed.
        var isOwn = unlinkAtOnce || isMade
        if let entry = entries[identity] {
            entries[identity]?.leases += 1
            return EnvironmentLease(entry.environment, identity)
        }
        if !options.readOnly && exists && access(path, W_OK) != 0 {
            throw StorageError(rawCode: errno, call: "open", file: path)
        }
        do throws(StorageError) {
            if !unlinkAtOnce {
                try LogRecovery.prepare(path, isWritable: !options.readOnly)
            }
            try FileHeader.check(descriptor, path: path)
            let environment = try Environment(
                path: path, options: options, tables: tables, isPrivate: unlinkAtOnce)
            // A compaction may have put another file in this one's place before LMDB had it.
            guard unlinkAtOnce || Self.identity(of: path) == identity else {
                environment.close()
                isOwn = false
                return try open(path, options, tables, unlinkAtOnce, &entries)
            }
            entries[identity] = Entry(environment: environment, leases: 1)
            if unlinkAtOnce {
                unlink(path)
                unlink(path + "-lock")
            }
            return EnvironmentLease(environment, identity)
        } catch {
            if isOwn {
                unlink(path)
                unlink(path + "-lock")
            }
            throw error
        }
    }

    /// A descriptor of the file at a path, which is made where there is none if `making` says so.
    private static func find(
        _ path: String, making: Bool
    ) throws(StorageError) -> (descriptor: Int32, isMade: Bool) {
        let flags = making ? O_RDWR | O_CREAT | O_EXCL : O_RDONLY
        var descriptor = Platform.openDescriptor(path, flags | O_CLOEXEC, 0o644)
        let isMade = making && descriptor >= 0
        if descriptor < 0 && errno == EEXIST {
            descriptor = Platform.openDescriptor(path, O_RDONLY | O_CLOEXEC)
        }
        guard descriptor >= 0 else {
            throw StorageError(rawCode: errno, call: "open", file: path)
        }
        return (descriptor, isMade)
    }

    private static func identity(
        of descriptor: Int32, _ path: String
    ) throws(StorageError) -> Identity {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "fstat", file: path)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(.notAStore, call: StorageError.irregular, file: path)
        }
        return Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    /// The size of the device that a folder lies on; 0 if it is not known.
    package static func deviceSize(_ folder: String) -> Int { Platform.deviceSize(folder) }

    /// Another share of an environment, while it is open.
    package static func share(_ environment: Environment, _ identity: Identity) -> EnvironmentLease?
    {
        entries.withLock { entries in
            guard entries[identity]?.environment === environment else { return nil }
            entries[identity]?.leases += 1
            return EnvironmentLease(environment, identity)
        }
    }

    /// Runs something that must not happen while the file is open in this process.
    ///
    /// Nobody here opens a file meanwhile. Throws `inUse` if it is open.
    static func excluding<Result>(
        _ path: String, _ body: () throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        let result = entries.withLock { entries -> Swift.Result<Result, StorageError> in
            if let identity = identity(of: path), entries[identity] != nil {
                return .failure(StorageError(.inUse, call: thisProcess, file: path))
            }
            do throws(StorageError) {
                return .success(try body())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private static func identity(of path: String) -> Identity? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    fileprivate static func release(_ identity: Identity) {
        entries.withLock { entries in
            guard var entry = entries[identity] else { return }
            entry.leases -= 1
            if entry.leases > 0 {
                entries[identity] = entry
            } else {
                // Closed under the lock: nobody may open the file a second time meanwhile.
                entries[identity] = nil
                entry.environment.close()
            }
        }
    }
}

/// A share of an open environment.
///
/// The last one that goes closes the file.
package final class EnvironmentLease: Sendable {
    /// The shared environment; valid while the lease lives.
    package let environment: Environment
    package let identity: EnvironmentRegistry.Identity

    /// Whether nobody else in this process has the file open.
    package var isOnlyOne: Bool {
        EnvironmentRegistry.entries.withLock { $0[identity]?.leases == 1 }
    }

    /// Lines up for the write lock; `notify` is called on another thread when the turn has come, or has lapsed.
    ///
    /// It lapses when it is not taken within `patience` nanoseconds.
    package func lineUp(
        patience: Int, notify: @escaping @Sendable () -> Void
    ) -> WriteLockTicket {
        environment.line.join(self, patience: patience, notify: notify)
    }

    init(_ environment: Environment, _ identity: EnvironmentRegistry.Identity) {
        self.environment = environment
        self.identity = identity
    }

    deinit { EnvironmentRegistry.release(identity) }
}
