import CLMDB
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// An entry that every new file has.
package struct InitialEntry: Sendable {
    let table: Int
    let key: [UInt8]
    let value: [UInt8]

    /// Creates an entry; `table` is an index into the tables of the file.
    package init(table: Int, key: [UInt8], value: [UInt8]) {
        self.table = table
        self.key = key
        self.value = value
    }
}

/// Creates files that have their final names only when they are complete.
///
/// If the process is killed or the power fails at any time, there is either no file or a complete one.
struct FileCreation {
    let path: String
    let tables: [TableName]
    let entries: [InitialEntry]
    /// Whether the file must be on the device before it has its final name.
    let isFlushed: Bool

    /// Creates the file, unless another process has created it in the meantime.
    func create() throws(StorageError) {
        try ReservedName.check(path)
        DraftCopy.removeAbandoned(of: path)
        let draft = try DraftCopy(beside: path, mode: 0o666)
        try fill(draft)
        do throws(StorageError) {
            try draft.publish(as: path, isReplacing: false)
        } catch {
            guard error.code == .exists else { throw error }
        }
    }

    /// Replaces an empty file, and keeps its access rights.
    ///
    /// Has no effect if another process has replaced it in the meantime. This process must not have the file open.
    /// Throws `inUse` if another process has it open.
    func complete() throws(StorageError) {
        let lock = try FileLock(of: path)
        defer { lock.release() }
        let descriptor = Platform.openDescriptor(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError(rawCode: errno, call: "open", file: path) }
        defer { close(descriptor) }
        guard FileHeader.isEmpty(descriptor) else { return }
        let draft = try DraftCopy(beside: path, mode: 0o600)
        try fill(draft)
        FileAccess(of: descriptor)?.apply(to: draft.descriptor)
        try draft.publish(as: path, isReplacing: true)
        try FileCompaction.announce(path)
    }

    private func fill(_ draft: DraftCopy) throws(StorageError) {
        let code = Platform.allocate(
            draft.descriptor, path, keepsSize: true, from: 0, to: Self.usualSize)
        if [ENOSPC, EDQUOT, EFBIG].contains(code) {
            throw StorageError(rawCode: code, call: "fallocate", file: path)
        }
        try write(to: draft.descriptor, draft.path)
        _ = try FileSeal.compute(draft.descriptor, isFlushed: isFlushed)?.write(draft.descriptor)
        // Without this truncation, the reserved space after the end would remain.
        var status = stat()
        guard fstat(draft.descriptor, &status) == 0,
            ftruncate(draft.descriptor, status.st_size) == 0
        else { throw StorageError(rawCode: errno, call: "ftruncate", file: path) }
        guard isFlushed else { return }
        guard fsync(draft.descriptor) == 0 else {
            throw StorageError(rawCode: errno, call: "fsync", file: path)
        }
    }

    /// The map size of a new file, which is more than it needs.
    private static let usualSize = 64 << 10

    /// Writes the tables and the first entries into an empty open file, which LMDB opens by `target`.
    func write(to descriptor: Int32, _ target: String) throws(StorageError) {
        let environment = try RawEnvironment(
            target, named: path, flags: MDB_NOLOCK | MDB_NOSYNC, tableCount: tables.count,
            mode: 0o600)
        defer { environment.close() }
        var created: [Table] = []
        // There are two commits, because files of earlier builds also have their first data in the third version.
        try Self.commit(environment.pointer, path) { (transaction) throws(StorageError) in
            created = try Self.open(tables, flags: MDB_CREATE, in: transaction, path: path)
        }
        if LMDBFormat.isKnownRelease {
            guard let (meta, index) = try FileHeader.newest(descriptor),
                FileHeader.number(
                    descriptor, pageSize: meta.pageSize, from: index, as: meta.version)
            else { throw StorageError(rawCode: errno, call: "pwrite", file: path) }
        }
        try Self.commit(environment.pointer, path) { (transaction) throws(StorageError) in
            try Self.put(entries, into: created, names: tables, in: transaction, path: path)
            try Self.freePage(transaction, path)
        }
    }

    /// Replaces the page with the names of the tables, so that the list of free pages has a record.
    ///
    /// If the list is empty, and a commit puts a record that is longer than half a page, LMDB searches the new root of
    /// the list before it has an entry. It takes old bytes of that page for a record if they are a number less than that
    /// of the transaction, and the pages of other data for free ones. No later commit leaves the list empty.
    static func freePage(_ transaction: OpaquePointer?, _ path: String) throws(StorageError) {
        var names: UInt32 = 0
        try check(mdb_dbi_open(transaction, nil, 0, &names), "mdb_dbi_open", path)
        var byte: UInt8 = 0
        let code = withUnsafeMutablePointer(to: &byte) { byte in
            var key = MDB_val(mv_size: 1, mv_data: byte)
            var value = key
            let code = mdb_put(transaction, names, &key, &value, 0)
            return code == 0 ? mdb_del(transaction, names, &key, nil) : code
        }
        try check(code, "mdb_put", path)
    }

    /// Commits the changes of `body`.
    static func commit(
        _ environment: OpaquePointer, _ path: String,
        _ body: (OpaquePointer?) throws(StorageError) -> Void
    ) throws(StorageError) {
        var begun: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, 0, &begun), "mdb_txn_begin", path)
        do throws(StorageError) { try body(begun) } catch {
            mdb_txn_abort(begun)
            throw error
        }
        var code = mdb_txn_commit(begun)
        code = Platform.cause(of: code, writing: path)
        try check(code, "mdb_txn_commit", path)
    }

    /// Opens tables in a transaction.
    static func open(
        _ names: [TableName], flags: Int32, in transaction: OpaquePointer?, path: String
    ) throws(StorageError) -> [Table] {
        var tables: [Table] = []
        for name in names {
            var dbi: UInt32 = 0
            let order = name.order == .integers ? MDB_INTEGERKEY : 0
            try check(
                mdb_dbi_open(transaction, name.name, UInt32(flags | order), &dbi), "mdb_dbi_open",
                path)
            tables.append(Table(dbi: dbi))
        }
        assert(
            tables.indices.allSatisfy { tables[$0].dbi == UInt32($0) + 2 },
            "LMDB numbers the tables in their order, from 2")
        return tables
    }

    static func put(
        _ entries: [InitialEntry], into tables: [Table], names: [TableName],
        in transaction: OpaquePointer?, path: String
    ) throws(StorageError) {
        for entry in entries {
            let code = entry.key.withUnsafeBytes { key in
                entry.value.withUnsafeBytes { value in
                    var wrapped = MDB_val(key)
                    var space = MDB_val(mv_size: value.count + ValueSeal.size, mv_data: nil)
                    let code = mdb_put(
                        transaction, tables[entry.table].dbi, &wrapped, &space,
                        UInt32(MDB_RESERVE))
                    guard code == 0 else { return code }
                    let stored = UnsafeMutableRawBufferPointer(
                        start: space.mv_data, count: space.mv_size)
                    stored.copyMemory(from: value)
                    ValueSeal.write(
                        to: stored, ValueSeal.hash(key: key),
                        ValueSeal.seed(names[entry.table].name))
                    return code
                }
            }
            try check(code, "mdb_put", path)
        }
    }
}
