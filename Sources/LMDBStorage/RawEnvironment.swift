import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// LMDB's handle of an open file, without the rules of ``Environment``.
///
/// Files that no other process changes in the meantime are used directly through it: to create, copy, compact or recover
/// them.
struct RawEnvironment {
    let pointer: OpaquePointer

    /// Opens a file with LMDB's flags; `name` is its name in errors.
    ///
    /// Without `mapSize`, the map has LMDB's default size; it is never smaller than the content of the file.
    init(
        _ path: String, named name: String, flags: Int32, mapSize: Int? = nil, tableCount: Int = 4,
        maxReaders: Int? = nil, mode: mode_t = 0
    ) throws(StorageError) {
        var created: OpaquePointer?
        try check(mdb_env_create(&created), "mdb_env_create", name)
        // because: mdb_env_create succeeded.
        pointer = created!
        var code: Int32 = 0
        if let mapSize { code = mdb_env_set_mapsize(pointer, mapSize) }
        if code == 0 { code = mdb_env_set_maxdbs(pointer, UInt32(max(tableCount, 1))) }
        if code == 0, let maxReaders { code = mdb_env_set_maxreaders(pointer, UInt32(maxReaders)) }
        if code == 0 {
            code = mdb_env_open(pointer, path, UInt32(MDB_NOSUBDIR | MDB_NOTLS | flags), mode)
        }
        if code != 0 {
            mdb_env_close(pointer)
            throw StorageError(
                rawCode: Platform.cause(of: code, writing: path), call: "mdb_env_open", file: name)
        }
    }

    /// Opens a file for reading, without LMDB's locks.
    init(reading path: String, named name: String) throws(StorageError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "stat", file: name)
        }
        try self.init(
            path, named: name, flags: MDB_RDONLY | MDB_NOLOCK, mapSize: Int(status.st_size))
    }

    func close() { mdb_env_close(pointer) }
}
