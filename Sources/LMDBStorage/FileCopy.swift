import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The location of a file's newest version number.
///
/// The number is the greatest key of a table, or the value of an entry in the table of names, whichever is greater.
package struct VersionLocation: Sendable {
    let table: TableName
    let name: String
    let newest: @Sendable (UnsafeRawBufferPointer) -> UInt64?

    /// Creates a location; `name` is the key of the entry, and `newest` decodes its value.
    package init(
        table: TableName, name: String,
        newest: @escaping @Sendable (UnsafeRawBufferPointer) -> UInt64?
    ) {
        self.table = table
        self.name = name
        self.newest = newest
    }
}

/// Creates compact copies of files, which have their final names only when they are complete and on the device.
///
/// A copy has the same content and the same version as the original; LMDB alone would number its version 1.
struct FileCopy {
    /// The name of the original in errors.
    let original: String
    /// The final path of the copy, without symbolic links; for a copy without a path, its name in errors.
    let destination: String
    /// The location of the version number in the copy.
    let versions: VersionLocation

    /// Copies an open environment, and sets the access rights of the copy.
    ///
    /// The rights are `access` or, if the copy replaces another file, the rights of that file. Overwriting requires
    /// `isReplacing`. Readers and writers of any process continue in the meantime. Throws `exists`, `diskFull`,
    /// `permission`, `notFound`, and `notCopied` if a page or a value of the original is damaged.
    func make(
        of environment: OpaquePointer, access source: FileAccess?, isReplacing: Bool
    ) throws(StorageError) {
        var status = stat()
        let isPresent = stat(destination, &status) == 0
        if isPresent { try Self.requireFile(status, destination) }
        let present = isPresent ? FileAccess(status) : nil
        if !isReplacing && isPresent {
            throw StorageError(.exists, call: "copy", file: destination)
        }
        DraftCopy.removeAbandoned(of: destination)
        let draft = try DraftCopy(beside: destination, mode: 0o600)
        do throws(StorageError) {
            try write(environment, to: draft.descriptor, path: draft.path)
        } catch {
            guard error.code == .damaged else { throw error }
            throw damage(environment, draft, error.call)
        }
        // The checksums of the values are compared in the copy, because it is read for the seal anyway.
        guard
            let seal = FileSeal.compute(draft.descriptor, isFlushed: true, verifiesValues: true)
        else { throw damage(environment, draft, "its pages") }
        guard seal.write(draft.descriptor) else { throw failure("pwrite") }
        let isOpen = (present ?? source)?.apply(to: draft.descriptor) ?? true
        guard isOpen, fsync(draft.descriptor) == 0 else { throw failure("fsync") }
        try draft.publish(as: destination, isReplacing: isReplacing)
    }

    /// Returns the error for an original with a damaged page or value, which it names if possible.
    private func damage(
        _ environment: OpaquePointer, _ draft: DraftCopy, _ what: String
    ) -> StorageError {
        var descriptor: mdb_filehandle_t = -1
        mdb_env_get_fd(environment, &descriptor)
        var what = what
        for file in [descriptor, draft.descriptor] {
            if let fault = try? PageVerifier.faults(of: file, path: original, atMost: 1).first {
                what = fault
                break
            }
        }
        return StorageError(.notCopied, call: what, file: original)
    }

    /// Throws `exists` for a folder, a device or a pipe, which a copy must not replace.
    static func requireFile(_ status: stat, _ path: String) throws(StorageError) {
        let kind = status.st_mode & S_IFMT
        guard kind != S_IFREG else { return }
        throw StorageError(
            .exists, call: kind == S_IFDIR ? StorageError.folder : StorageError.irregular,
            file: path)
    }

    /// Copies an open environment into an open file; `path` is nil for a file without a name.
    func write(
        _ environment: OpaquePointer, to descriptor: Int32, path known: String?
    ) throws(StorageError) {
        let path: String
        if let known {
            path = known
        } else {
            path = try DescriptorPath.of(descriptor, file: destination)
        }
        try verifyPages(of: environment)
        var code = MeasuredCopy.write(environment, to: descriptor)
        // LMDB reports a short write as an input/output error.
        code = Platform.cause(of: code, writing: path)
        try check(code, "mdb_env_copyfd2", destination)
        try PageVerifier.requireWhole(descriptor, path: destination)
        if let version = try newestVersion(path) { try number(descriptor, version) }
    }

    /// Throws `damaged` unless every page is valid: copying a file in which a page refers to itself would never end.
    private func verifyPages(of environment: OpaquePointer) throws(StorageError) {
        var descriptor: mdb_filehandle_t = -1
        try check(mdb_env_get_fd(environment, &descriptor), "mdb_env_get_fd", destination)
        // The pages of the version remain valid while it is read.
        var begun: OpaquePointer?
        try check(
            mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &begun), "mdb_txn_begin",
            destination)
        defer { mdb_txn_abort(begun) }
        let version = UInt64(mdb_txn_id(begun))
        guard let (meta, index) = FileHeader.newest(descriptor), meta.version == version else {
            // Another process has committed, so the pages that it could read are valid.
            return
        }
        guard var walk = PageWalk(descriptor, meta, PageWalk.Options()) else {
            throw StorageError(rawCode: ENOMEM, call: "mmap", file: original)
        }
        walk.run(header: index)
        guard walk.isSound else {
            throw StorageError(.damaged, call: "its pages", file: original)
        }
    }

    /// Reads the version number in the copy's content.
    private func newestVersion(_ path: String) throws(StorageError) -> UInt64? {
        let environment = try RawEnvironment(path, named: destination)
        defer { environment.close() }
        var transaction: OpaquePointer?
        try check(
            mdb_txn_begin(environment.pointer, nil, UInt32(MDB_RDONLY), &transaction),
            "mdb_txn_begin", destination)
        defer { mdb_txn_abort(transaction) }
        let greatest = try greatestKey(transaction)
        let named = try namedVersion(transaction)
        guard let greatest else { return named }
        return max(greatest, named ?? 0)
    }

    private func greatestKey(_ transaction: OpaquePointer?) throws(StorageError) -> UInt64? {
        var table: UInt32 = 0
        let code = mdb_dbi_open(
            transaction, versions.table.name, UInt32(MDB_INTEGERKEY), &table)
        if code == MDB_NOTFOUND { return nil }
        try check(code, "mdb_dbi_open", destination)
        var cursor: OpaquePointer?
        try check(mdb_cursor_open(transaction, table, &cursor), "mdb_cursor_open", destination)
        defer { mdb_cursor_close(cursor) }
        var key = MDB_val()
        var value = MDB_val()
        guard mdb_cursor_get(cursor, &key, &value, MDB_LAST) == 0, key.mv_size == 8 else {
            return nil
        }
        return key.mv_data.loadUnaligned(as: UInt64.self)
    }

    private func namedVersion(_ transaction: OpaquePointer?) throws(StorageError) -> UInt64? {
        var names: UInt32 = 0
        try check(mdb_dbi_open(transaction, nil, 0, &names), "mdb_dbi_open", destination)
        var value = MDB_val()
        let code = Array(versions.name.utf8).withUnsafeBytes { bytes in
            var key = MDB_val(bytes)
            return mdb_get(transaction, names, &key, &value)
        }
        if code == MDB_NOTFOUND { return nil }
        try check(code, "mdb_get", destination)
        let stored = UnsafeRawBufferPointer(value)
        return versions.newest(
            UnsafeRawBufferPointer(rebasing: stored[..<max(0, stored.count - ValueSeal.size)]))
    }

    /// Sets the version of the copy: the meta page for the version's parity describes it, and the other one describes
    /// the previous version with the same content.
    private func number(_ descriptor: Int32, _ version: UInt64) throws(StorageError) {
        guard version > 1, let meta = FileHeader.meta(descriptor, at: 0) else { return }
        // The second header describes the content of the copy.
        guard FileHeader.number(descriptor, pageSize: meta.pageSize, from: 1, as: version) else {
            throw failure("pwrite")
        }
    }

    private func failure(_ call: String) -> StorageError {
        StorageError(rawCode: errno, call: call, file: destination)
    }
}

/// A file that LMDB has opened for reading without its locks; only for files that do not change in the meantime.
struct RawEnvironment {
    let pointer: OpaquePointer

    /// Opens a file; `name` is its name in errors.
    init(_ path: String, named name: String, tableCount: Int = 4) throws(StorageError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "stat", file: name)
        }
        var created: OpaquePointer?
        try check(mdb_env_create(&created), "mdb_env_create", name)
        // because: mdb_env_create succeeded.
        pointer = created!
        var code = mdb_env_set_mapsize(pointer, Int(status.st_size))
        if code == 0 { code = mdb_env_set_maxdbs(pointer, UInt32(max(tableCount, 1))) }
        if code == 0 {
            code = mdb_env_open(
                pointer, path, UInt32(MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS), 0)
        }
        if code != 0 {
            mdb_env_close(pointer)
            throw StorageError(rawCode: code, call: "mdb_env_open", file: name)
        }
    }

    func close() { mdb_env_close(pointer) }
}
