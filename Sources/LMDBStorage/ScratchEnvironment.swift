import CLMDB
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
            entries[identity] = Entry(environment: environment, leases: 1)
            return EnvironmentLease(environment, identity)
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
        var created: OpaquePointer?
        try check(mdb_env_create(&created), "mdb_env_create", live.name)
        // because: mdb_env_create succeeded.
        let pointer = created!
        var code = mdb_env_set_mapsize(pointer, live.size().limit)
        if code == 0 { code = mdb_env_set_maxdbs(pointer, UInt32(max(tableCount, 1))) }
        if code == 0 {
            code = mdb_env_open(
                pointer, path, UInt32(MDB_NOSUBDIR | MDB_NOTLS | MDB_NOLOCK | MDB_NOSYNC), 0)
        }
        if code == 0 { code = forbidWriting(pointer, path) }
        guard code == 0 else {
            mdb_env_close(pointer)
            throw StorageError(rawCode: code, call: "mdb_env_open", file: live.name)
        }
        return pointer
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
