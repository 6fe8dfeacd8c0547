import CLMDB
import SystemCalls

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
/// A copy has the same content and the same version as the original; LMDB alone would number its version 1, and leave its
/// list of free pages empty (``FileCreation/freePage(_:_:)``).
struct FileCopy {
    /// The name of the original in errors.
    let original: String
    /// The final path of the copy, without symbolic links; for a copy without a path, its name in errors.
    let destination: String
    /// The location of the version number in the copy.
    let versions: VersionLocation

    /// Copies an open environment, and sets the access rights of the copy.
    ///
    /// The rights are those of the file that the copy replaces, or `access`, or the default rights of a new file.
    /// Overwriting requires `isReplacing`. Readers and writers of any process continue in the meantime. Throws `exists`, `diskFull`,
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
        let access = present ?? source
        // Until the copy has the rights of its original, no other user may read it.
        let draft = try DraftCopy(beside: destination, mode: access == nil ? 0o666 : 0o600)
        do throws(StorageError) {
            try write(environment, to: draft.descriptor, path: draft.path)
        } catch {
            guard error.code == .damaged else { throw error }
            throw damage(environment, draft, error.call)
        }
        // The checksums of the values are compared in the copy, because it is read for the seal anyway.
        guard
            let seal = try FileSeal.compute(draft.descriptor, isFlushed: true, verifiesValues: true)
        else { throw damage(environment, draft, "its pages") }
        guard seal.write(draft.descriptor) else { throw failure("pwrite") }
        let isOpen = access?.apply(to: draft.descriptor) ?? true
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
        var code = mdb_env_copyfd2(environment, descriptor, UInt32(MDB_CP_COMPACT))
        // LMDB reports a short write as an input/output error.
        code = Platform.cause(of: code, writing: path)
        try check(code, "mdb_env_copyfd2", destination)
        try PageVerifier.requireWhole(descriptor, path: destination)
        // The last commit of the copy has the version of the original.
        try number(descriptor, max(2, try newestVersion(path) ?? 2) - 1)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("fstat") }
        let copy = try RawEnvironment(
            path, named: destination, flags: MDB_NOLOCK | MDB_NOSYNC,
            mapSize: Int(status.st_size) + 1 << 20)
        defer { copy.close() }
        try FileCreation.commit(copy.pointer, destination) { (transaction) throws(StorageError) in
            try FileCreation.freePage(transaction, destination)
        }
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
        let version = FileVersion.of(begun)
        guard let (meta, index) = try FileHeader.newest(descriptor), meta.version == version else {
            // Another process has committed, so the pages that it could read are valid.
            return
        }
        var walk = try PageWalk(descriptor, meta, PageWalk.Options())
        walk.run(header: index)
        guard walk.isSound else {
            throw StorageError(.damaged, call: "its pages", file: original)
        }
    }

    /// Reads the version number in the copy's content.
    private func newestVersion(_ path: String) throws(StorageError) -> UInt64? {
        let environment = try RawEnvironment(reading: path, named: destination)
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
        guard let meta = try FileHeader.meta(descriptor, at: 0) else { return }
        // The second header describes the content of the copy.
        guard FileHeader.number(descriptor, pageSize: meta.pageSize, from: 1, as: version) else {
            throw failure("pwrite")
        }
    }

    private func failure(_ call: String) -> StorageError {
        StorageError(rawCode: errno, call: call, file: destination)
    }
}

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
        guard status.st_size > 0 else { return (0, 0) }
        let before = Platform.takenBytes(status)
        let environment = try RawEnvironment(reading: path, named: path)
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
        // Otherwise LMDB would map as much as the file's header states. It maps at least the pages of the file.
        try RawEnvironment(
            path, named: path, flags: 0, mapSize: 1 << 20,
            maxReaders: EnvironmentOptions().maxReaders, mode: 0o644
        ).close()
    }
}

/// Copies one version of a file byte by byte, without LMDB, while other processes may write.
///
/// Writers do not overwrite pages of the newest version, nor those of a version that a reader holds.
struct FileSnapshot {
    private let data: Int32
    private let path: String
    private let headers: [[UInt8]]
    private let pageSize: Int
    private let size: Int
    let version: UInt64

    /// Reads the headers of the newest version.
    ///
    /// Throws `notAStore`.
    init(of data: Int32, path: String) throws(StorageError) {
        guard let first = try FileHeader.meta(data, at: 0),
            let headers = try FileHeader.metas(data, pageSize: first.pageSize)
        else { throw StorageError(.notAStore, call: "file header", file: path) }
        let second = try FileHeader.meta(data, at: first.pageSize)
        self.data = data
        self.path = path
        self.headers = headers
        pageSize = first.pageSize
        size = (Int(clamping: max(first.lastPage, second?.lastPage ?? 0)) &+ 1) * pageSize
        version = max(first.version, second?.version ?? 0)
    }

    /// Writes a copy of the newest version into an empty open file, without a lock.
    ///
    /// The copy is valid if the newest version is still the same at the end. Throws `inUse` if other processes commit
    /// continuously, `diskFull`, and `damaged`.
    static func copyNewest(
        of data: Int32, path: String, to copy: Int32
    ) throws(StorageError) {
        for attempt in 0..<40 {
            let snapshot = try FileSnapshot(of: data, path: path)
            try snapshot.write(to: copy)
            if try FileSnapshot(of: data, path: path).version == snapshot.version { return }
            usleep(UInt32(attempt) * 2_000)
        }
        throw StorageError(
            .inUse,
            call:
                "a process that commits continuously, and there is no permission to write the lock file",
            file: path)
    }

    /// Writes the copy into an empty open file.
    ///
    /// Throws `diskFull`, `damaged`.
    func write(to copy: Int32) throws(StorageError) {
        try copyBytes(to: copy)
        guard FileHeader.restore(headers, copy, pageSize: pageSize), LogMarker().write(copy) else {
            throw StorageError(rawCode: errno, call: "pwrite", file: path)
        }
    }

    private func copyBytes(to copy: Int32) throws(StorageError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var offset = 0
        while offset < size {
            let read = pread(
                data, buffer.baseAddress, min(buffer.count, size - offset), off_t(offset))
            // Pages that a transaction allocated and freed may be missing at the end of the file.
            if read == 0 { return }
            guard read > 0 else { throw StorageError(rawCode: errno, call: "pread", file: path) }
            var done = 0
            while done < read {
                let written = pwrite(
                    copy, buffer.baseAddress! + done, read - done, off_t(offset + done))
                guard written > 0 else {
                    throw StorageError(rawCode: errno, call: "pwrite", file: path)
                }
                done += written
            }
            offset += read
        }
    }
}

/// A version of an open file that can be copied after later commits.
package final class HeldVersion {
    private let reader: ReadTransaction
    private let versions: VersionLocation
    private let snapshot: FileSnapshot

    /// Holds the newest version.
    ///
    /// This process must have the write lock, so that the version remains the newest one in the meantime.
    package init(_ lease: EnvironmentLease, versions: VersionLocation) throws(StorageError) {
        self.versions = versions
        reader = try ReadTransaction(lease)
        let environment = reader.environment
        var descriptor: mdb_filehandle_t = -1
        try check(
            mdb_env_get_fd(environment.pointer, &descriptor), "mdb_env_get_fd", environment.name)
        snapshot = try FileSnapshot(of: descriptor, path: environment.name)
        assert(snapshot.version == reader.version, "another process has committed")
    }

    /// Replaces a file that no process has open by a compact copy of the version.
    ///
    /// Takes space for two copies in the meantime. Throws the errors of
    /// ``Environment/copyCompacted(to:versions:isReplacing:)``.
    package func copyCompacted(to destination: String) throws(StorageError) {
        let environment = reader.environment
        let draft = try DraftCopy(beside: try FileLocation(destination).path, mode: 0o600)
        try snapshot.write(to: draft.descriptor)
        let copy = try RawEnvironment(reading: draft.path, named: environment.name)
        defer { copy.close() }
        try environment.copyCompacted(
            to: destination, versions: versions, isReplacing: true, from: copy.pointer)
    }
}
