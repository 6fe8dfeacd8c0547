import CLMDB
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The open environments of this process: one for each file, shared by all handles.
///
/// Files are identified by device and inode, so two paths to one file share an environment.
package enum EnvironmentRegistry {
    package struct Identity: Hashable, Sendable {
        var device: UInt64
        var inode: UInt64

        init(device: UInt64, inode: UInt64) {
            self.device = device
            self.inode = inode
        }

        init(_ status: stat) {
            self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
        }

        /// Creates the identity of an open file; nil if the system does not report it.
        init?(_ descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            self.init(status)
        }
    }

    /// The options of an opening, and the contents of the file if it is created.
    private struct Request {
        let options: EnvironmentOptions
        let tables: [TableName]
        let initial: [InitialEntry]
    }

    struct Entry: Sendable {
        let file: OpenFile
        var leases = 1
    }

    /// The name of this process in errors about a file that it has open.
    static let thisProcess = "this process"

    /// The name of this process in errors about a file that was renamed since this process opened it.
    static let otherName = "this process, under another name"

    static let entries = Mutex<[Identity: Entry]>([:])

    /// Opens the file or shares its open environment; creates the file with `entries` if it does not exist.
    ///
    /// Any thread may call it.
    ///
    /// The first call that opens a file determines its map size. If the process could not write the file at that time,
    /// the file cannot be opened for writing while it is open.
    package static func open(
        path: String, options: EnvironmentOptions, tables: [TableName],
        entries initial: [InitialEntry] = []
    ) throws(StorageError) -> EnvironmentLease {
        let request = Request(options: options, tables: tables, initial: initial)
        return try retrying { (entries: inout [Identity: Entry]) throws(StorageError) in
            // A file may be replaced while it is opened.
            for _ in 0..<100 {
                let location = try FileLocation(path)
                do throws(StorageError) {
                    let lease = try open(location, request, into: &entries)
                    if let lease { return lease }
                } catch {
                    throw error.named(location)
                }
            }
            throw StorageError(.replaced, call: "open", file: path)
        }
    }

    /// Opens an anonymous file, which no other process can open.
    package static func open(
        _ file: borrowing AnonymousFile, named name: String, options: EnvironmentOptions,
        tables: [TableName], entries initial: [InitialEntry] = []
    ) throws(StorageError) -> EnvironmentLease {
        let file = file.handle
        let request = Request(options: options, tables: tables, initial: initial)
        return try retrying { (entries: inout [Identity: Entry]) throws(StorageError) in
            try open(file, named: name, request, into: &entries)
        }
    }

    private static func open(
        _ file: AnonymousFile.Handle, named name: String, _ request: Request,
        into entries: inout [Identity: Entry], isVerified: Bool = true
    ) throws(StorageError) -> EnvironmentLease {
        let identity = try identity(of: file.descriptor, name)
        var options = request.options
        options.writesThroughMap = options.writesThroughMap && file.isInMemory
        let environment = try AnonymousFile.withPath(of: file, named: name) {
            (path) throws(StorageError) in
            let location = FileLocation(anonymous: name, path: path)
            do throws(StorageError) {
                if FileHeader.isEmpty(file.descriptor) {
                    try FileCreation(
                        path: path, tables: request.tables, entries: request.initial,
                        isFlushed: false
                    ).write(to: file.descriptor, path)
                }
                return try Environment(
                    location, options: options, tables: request.tables, isVerified: isVerified)
            } catch {
                throw error.named(location)
            }
        }
        return add(environment, identity, to: &entries)
    }

    private static func add(
        _ environment: Environment, _ identity: Identity, to entries: inout [Identity: Entry]
    ) -> EnvironmentLease {
        assert(entries[identity] == nil, "a file has one environment")
        let file = OpenFile(environment)
        entries[identity] = Entry(file: file)
        return EnvironmentLease(file, identity)
    }

    /// Opens a copy of the newest version.
    ///
    /// A reader that cannot write the lock file cannot register its version, so writers would overwrite its pages.
    private static func openCopy(
        of descriptor: Int32, at location: FileLocation, options: EnvironmentOptions,
        tables: [TableName], into entries: inout [Identity: Entry], isVerified: Bool
    ) throws(StorageError) -> EnvironmentLease {
        // On a read-only device there are no writers with which the reader must register.
        if Platform.isReadOnlyDevice(descriptor) {
            let environment = try Environment(
                location, options: options, tables: tables, isVerified: isVerified)
            let identity = try identity(of: descriptor, location.path)
            return add(environment, identity, to: &entries)
        }
        let copy = try AnonymousFile(size: Platform.size(of: location.path))
        try FileSnapshot.copyNewest(of: descriptor, path: location.path, to: copy.descriptor)
        return try open(
            copy.handle, named: location.name,
            Request(options: options, tables: tables, initial: []), into: &entries,
            isVerified: isVerified)
    }

    /// Runs `body` with the entries, and again with a higher descriptor limit if the process has no descriptors left.
    static func retrying(
        _ body: (inout [Identity: Entry]) throws(StorageError) -> EnvironmentLease
    ) throws(StorageError) -> EnvironmentLease {
        let result = entries.withLock { entries -> Result<EnvironmentLease, StorageError> in
            while true {
                do throws(StorageError) {
                    return .success(try body(&entries))
                } catch {
                    guard error.rawCode == EMFILE, Platform.allowMoreDescriptors() else {
                        return .failure(error)
                    }
                }
            }
        }
        return try result.get()
    }

    /// Opens a file; nil if another file has replaced it in the meantime.
    private static func open(
        _ location: FileLocation, _ request: Request, into entries: inout [Identity: Entry]
    ) throws(StorageError) -> EnvironmentLease? {
        let path = location.path
        let tables = request.tables
        let wanted = request.options
        var options = wanted
        if options.readOnly { options.writesThroughMap = false }
        // A writable file is opened for writing even for a reader, so that a writer can share the environment later.
        if options.readOnly && access(path, W_OK) == 0
            && access(Platform.folder(of: path), W_OK) == 0
        {
            options.readOnly = false
        }
        let creation = FileCreation(
            path: path, tables: tables, entries: request.initial,
            isFlushed: !wanted.writesThroughMap)
        var descriptor = Platform.openDescriptor(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT, !wanted.readOnly {
            try creation.create()
            descriptor = Platform.openDescriptor(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        }
        guard descriptor >= 0 else {
            throw StorageError(rawCode: errno, call: "open", file: path)
        }
        // Closing this descriptor is safe, because LMDB's POSIX locks are on the lock file.
        defer { close(descriptor) }
        let identity = try identity(of: descriptor, path)
        if let entry = entries[identity] {
            // The file was renamed, so the names of the lock file and of the log would differ.
            guard entry.file.environment.path == path else {
                throw StorageError(.inUse, call: otherName, file: path)
            }
            entries[identity]?.leases += 1
            return EnvironmentLease(entry.file, identity)
        }
        if !wanted.readOnly && access(path, W_OK) != 0 {
            throw StorageError(rawCode: errno, call: StorageError.writing, file: path)
        }
        if FileHeader.isEmpty(descriptor) {
            guard !wanted.readOnly else {
                throw StorageError(.empty, call: "open", file: path)
            }
            try creation.complete()
            return nil
        }
        if !options.readOnly { try LockFile.requireOwn(at: location.logPath, of: path) }
        try LogRecovery.prepare(path, isWritable: !options.readOnly)
        try PageVerifier.requireWhole(descriptor, path: path)
        let isVerified = try PageVerifier.requireSoundAtOpening(descriptor, path: path)
        if options.readOnly, !LockFile.isWritable(path) {
            return try openCopy(
                of: descriptor, at: location, options: options, tables: tables, into: &entries,
                isVerified: isVerified)
        }
        let environment = try Environment(
            location, options: options, tables: tables, isVerified: isVerified)
        // A compaction may have replaced this file before LMDB opened it, and the lock file may have been removed.
        guard Self.identity(of: path) == identity, environment.hasItsLockFile else {
            environment.close()
            return nil
        }
        return add(environment, identity, to: &entries)
    }

    private static func identity(
        of descriptor: Int32, _ path: String
    ) throws(StorageError) -> Identity {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "fstat", file: path)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            throw StorageError(
                .notAStore, call: isFolder ? StorageError.folder : StorageError.irregular,
                file: path)
        }
        try FileLocation.requireOneName(status, path)
        return Identity(status)
    }

    /// Returns the size of a file in bytes.
    package static func size(_ path: String) throws(StorageError) -> Int {
        let location = try FileLocation(path)
        let descriptor = Platform.openDescriptor(
            location.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw StorageError(rawCode: errno, call: "open", file: path)
        }
        defer { close(descriptor) }
        _ = try identity(of: descriptor, path)
        return Int(lseek(descriptor, 0, SEEK_END))
    }

    /// Returns another lease of an environment, while it is open.
    package static func share(_ environment: Environment, _ identity: Identity) -> EnvironmentLease?
    {
        entries.withLock { entries in
            guard let file = entries[identity]?.file, file.environment === environment else {
                return nil
            }
            entries[identity]?.leases += 1
            return EnvironmentLease(file, identity)
        }
    }

    /// Runs `body` while this process does not have the file open.
    ///
    /// No other thread of this process opens a file in the meantime. Throws `inUse` if the file is
    /// open.
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
        return Identity(status)
    }

    fileprivate static func release(_ identity: Identity) {
        entries.withLock { entries in
            guard var entry = entries[identity] else { return }
            assert(entry.leases > 0, "an open file has a lease")
            entry.leases -= 1
            if entry.leases > 0 {
                entries[identity] = entry
            } else {
                // The environment is closed under the lock, so that no thread opens the file a second time in the
                // meantime.
                entries[identity] = nil
                entry.file.environment.close()
            }
        }
    }
}

/// A lease of an open environment.
///
/// Releasing the last lease closes the file.
package final class EnvironmentLease: Sendable {
    let file: OpenFile
    package let identity: EnvironmentRegistry.Identity

    /// The environment for new transactions.
    package var environment: Environment { file.environment }

    /// The identity of the open file, which all its leases share.
    package var fileIdentity: ObjectIdentifier { ObjectIdentifier(file) }

    /// Whether this is the only handle of the file in this process.
    package var isOnlyOne: Bool {
        EnvironmentRegistry.entries.withLock { $0[identity]?.leases == 1 }
    }

    /// Joins the queue for the write lock.
    ///
    /// `notify` is called on another thread when the ticket is ready or has lapsed. A ticket lapses if it is not used
    /// within `patience` nanoseconds.
    package func takeTicket(
        by user: LockUser, patience: Int, notify: @escaping @Sendable () -> Void
    ) -> WriteLockTicket {
        environment.writeQueue.takeTicket(self, user, patience: patience, notify: notify)
    }

    init(_ file: OpenFile, _ identity: EnvironmentRegistry.Identity) {
        self.file = file
        self.identity = identity
    }

    deinit { EnvironmentRegistry.release(identity) }
}

// A second environment of a file that is open already, for writes that are never committed.
//
// LMDB keeps the pages that a write changes in separate memory until it commits. A write that is rolled back has
// therefore changed neither the file nor the map, and needs no lock: it only reads pages of the version it began with.
// Three measures ensure this. The caller holds this version, or an older one, with a read transaction of the first
// environment, so that no writer reuses its pages. LMDB opens the file without its locks (MDB_NOLOCK), so that closing
// it releases none of the first environment's locks. LMDB's descriptor is also replaced by one that cannot write: a
// write that needs more pages than LMDB keeps in memory fails, instead of storing them in the file.
extension EnvironmentRegistry {
    private static let scratchCount = Atomic<UInt64>(0)

    /// Opens a file that is already open a second time, for writes that are rolled back.
    ///
    /// The environment has no locks. The caller must hold a version with a read transaction of `lease` while it uses
    /// this environment, and must not commit. Throws `procMissing`, and the system's error if the address space is
    /// limited.
    package static func openScratch(
        of lease: EnvironmentLease, tables: [TableName]
    ) throws(StorageError) -> EnvironmentLease {
        try retrying { (entries: inout [Identity: Entry]) throws(StorageError) in
            // A number that no file has.
            let number = scratchCount.add(1, ordering: .relaxed).newValue
            let identity = Identity(device: .max, inode: number)
            let environment = try Environment(scratchOf: lease.environment, tables: tables)
            return add(environment, identity, to: &entries)
        }
    }
}

extension Environment {
    /// Opens LMDB's environment of a file that another environment has open, with a descriptor that cannot write.
    static func openScratch(
        of live: Environment, tableCount: Int
    ) throws(StorageError) -> OpaquePointer {
        var descriptor: mdb_filehandle_t = -1
        try check(mdb_env_get_fd(live.pointer, &descriptor), "mdb_env_get_fd", live.name)
        // The file is opened through its descriptor, because another file may have its path by now.
        let path = try DescriptorPath.of(descriptor, file: live.name)
        let environment = try RawEnvironment(
            path, named: live.name, flags: MDB_NOLOCK | MDB_NOSYNC, mapSize: live.size().limit,
            tableCount: tableCount)
        let code = forbidWriting(environment.pointer, path)
        guard code == 0 else {
            environment.close()
            throw StorageError(rawCode: code, call: "mdb_env_open", file: live.name)
        }
        return environment.pointer
    }

    /// Replaces LMDB's descriptor by one that can only read.
    ///
    /// Returns the system's error code, or 0.
    private static func forbidWriting(_ environment: OpaquePointer, _ path: String) -> Int32 {
        var descriptor: mdb_filehandle_t = -1
        let code = mdb_env_get_fd(environment, &descriptor)
        guard code == 0 else { return code }
        let reading = Platform.openDescriptor(path, O_RDONLY | O_CLOEXEC)
        guard reading >= 0 else { return errno }
        defer { Glibc.close(reading) }
        guard dup2(reading, descriptor) == descriptor else { return errno }
        return fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 ? 0 : errno
    }
}
