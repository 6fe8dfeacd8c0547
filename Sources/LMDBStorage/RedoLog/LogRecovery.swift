import CLMDB

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
        // because: an unused log does no harm.
        if let marker = try? LogMarker.read(descriptor), marker.id == 0 { unlink(log) }
    }

    private static func open(_ path: String, _ flags: Int32) throws(StorageError) -> Int32 {
        let descriptor = Platform.openDescriptor(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError(rawCode: errno, call: "open", file: path) }
        return descriptor
    }

    private static func isWhole(_ path: String) throws(StorageError) -> Bool {
        let descriptor = try open(path, O_RDONLY)
        defer { close(descriptor) }
        let marker = try LogMarker.read(descriptor)
        return marker.id == 0 || marker.isOfThisRun(descriptor)
    }

    /// Throws unless the file can be read without a recovery.
    private static func look(_ path: String) throws(StorageError) {
        let descriptor = try open(path, O_RDONLY)
        defer { close(descriptor) }
        let marker = try LogMarker.read(descriptor)
        var log: LogFile?
        do throws(StorageError) {
            log = try LogFile(of: path, isMade: false, isWritten: false)
        } catch {
            guard error.code == .notFound else { throw error }
        }
        if try log?.header(id: marker.id) != nil {
            throw StorageError(.needsRecovery, call: LogFile.path(of: path), file: path)
        }
        try verify(path)
    }

    private static func recover(_ path: String) throws(StorageError) {
        let descriptor = try open(path, O_RDWR)
        defer { close(descriptor) }
        let marker = try LogMarker.read(descriptor)
        let log = try LogFile.ifPresent(of: path)
        if let log, let header = try log.header(id: marker.id) {
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

/// Applies the records of a log to its checkpoint, while no other process has the data file open.
struct LogReplay {
    let path: String
    let data: Int32
    let log: LogFile
    let header: LogHeader

    /// Recovers the data file up to the last version with a complete record.
    ///
    /// The log does not change, so the recovery can be repeated if the power fails in the meantime: the pages of the
    /// checkpoint are not overwritten, because all records are applied in one transaction. Throws `diskFull`,
    /// `damaged`.
    func run() throws(StorageError) {
        let records = try records()
        if records.last?.record.kind != .direct {
            let last = records.last?.record.version ?? header.version
            if let lost = try newestVersion(after: last) {
                throw StorageError(
                    .damaged,
                    call:
                        "its log has the commits up to version \(lost), but version \(last + 1) is damaged there",
                    file: path)
            }
        }
        if let last = records.last, last.record.kind == .direct {
            let parity = Int(last.record.version & 1)
            let present = try FileHeader.meta(data, at: parity * header.pageSize)
            // All data was on the device before the header was written.
            if present?.version == last.record.version { return }
        }
        let present = try FileHeader.metas(data, pageSize: header.pageSize)
        // A process that closed the file while others used the log has sealed a version that the recovery stores again.
        let seal = try FileSeal.read(data)
        guard FileHeader.restore(header.metas, data, pageSize: header.pageSize),
            FileSeal.remove(data)
        else { throw StorageError(rawCode: errno, call: "pwrite", file: path) }
        do throws(StorageError) {
            // Later commits may have overwritten the pages that the older header describes.
            try number(header.version, from: header.version)
            try verifyCheckpoint()
        } catch {
            // The log may be damaged and not the file, which stays as it was found.
            if let present { _ = FileHeader.restore(present, data, pageSize: header.pageSize) }
            if case .seal(let seal) = seal { _ = seal.write(data) }
            throw error
        }
        let changes = records.filter { $0.record.kind == .changes }
        if let newest = changes.last?.record.version {
            try apply(changes)
            try number(newest)
        }
        guard Platform.flush(data) else {
            throw StorageError(rawCode: errno, call: "fdatasync", file: path)
        }
    }

    /// Throws `damaged` unless the pages of the checkpoint are valid.
    private func verifyCheckpoint() throws(StorageError) {
        // The older header of the log is valid if the newer one was being written; if the newer one was damaged later,
        // the pages of the older one may have been overwritten.
        let isOlder = try log.hasTornHeader
        do throws(StorageError) {
            try PageVerifier.requireWhole(data, path: path)
            try PageVerifier.requireSound(data, path: path)
        } catch {
            throw isOlder ? tornHeader : error
        }
        if isOlder, try !PageVerifier.faultsAsItIs(path: path, atMost: 1).isEmpty {
            throw tornHeader
        }
    }

    private var tornHeader: StorageError {
        StorageError(.damaged, call: "its log's header is damaged", file: path)
    }

    private typealias Found = (record: LogRecord, content: Int)

    /// Returns the complete records, each of the version after that of the previous record.
    private func records() throws(StorageError) -> [Found] {
        var found: [Found] = []
        var version = header.version
        var end = header.start
        while let (offset, record) = try log.find(version &+ 1, after: end, salt: header.salt),
            try isWhole(record, at: offset)
        {
            found.append((record, offset + LogRecord.size))
            // No record follows a version without changes in the log.
            if record.kind == .direct { break }
            version += 1
            end = offset + record.extent
        }
        return found
    }

    /// Returns the newest version with a complete record in the ring that was written when the record of the version
    /// after `last` was on the device; nil if there is none.
    ///
    /// Records that share a flush reach the device in any order, so after a power failure they can follow a missing one.
    private func newestVersion(after last: UInt64) throws(StorageError) -> UInt64? {
        // The file may be larger if another program has changed it.
        let count = min(Int(lseek(log.descriptor, 0, SEEK_END)), LogFile.end) - LogFile.base
        guard count > LogRecord.size else { return nil }
        let bytes = try Platform.read(log.descriptor, count, at: LogFile.base)
        return bytes?.withUnsafeBytes { ring in
            var newest: UInt64?
            var offset = 0
            // A ring of headers without records must not take longer than reading it several times.
            var rest = 16 * count
            while offset + LogRecord.size <= count {
                let head = UnsafeRawBufferPointer(rebasing: ring[offset..<offset + LogRecord.size])
                if let record = LogRecord(head), record.salt == header.salt,
                    record.version > last &+ 1 &+ record.unflushed,
                    record.version > newest ?? 0,
                    offset + LogRecord.size + record.length <= count, rest > 0
                {
                    rest -= record.length
                    let end = offset + LogRecord.size + record.length
                    let all = UnsafeRawBufferPointer(rebasing: ring[offset..<end])
                    if LogRecord.sum(all) == record.checksum { newest = record.version }
                }
                offset += 8
            }
            return newest
        } ?? nil
    }

    private func isWhole(_ record: LogRecord, at offset: Int) throws(StorageError) -> Bool {
        let size = LogRecord.size + record.length
        let bytes = try Platform.read(log.descriptor, size, at: offset)
        return bytes?.withUnsafeBytes { LogRecord.sum($0) == record.checksum } ?? false
    }

    // MARK: Applying

    private func apply(_ records: [Found]) throws(StorageError) {
        let environment = try open()
        defer { mdb_env_close(environment) }
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, 0, &transaction), "mdb_txn_begin", path)
        do throws(StorageError) {
            guard FileVersion.of(transaction) == header.version + 1 else {
                throw StorageError(.damaged, call: "the log's version", file: path)
            }
            let tables = try tables(transaction)
            for (record, content) in records {
                guard let bytes = try Platform.read(log.descriptor, record.length, at: content)
                else {
                    throw StorageError(.damaged, call: "reading the log", file: path)
                }
                let result = bytes.withUnsafeBytes { bytes -> Result<Void, StorageError> in
                    do throws(StorageError) {
                        return .success(try apply(bytes, transaction, tables))
                    } catch {
                        return .failure(error)
                    }
                }
                try result.get()
            }
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        var code = mdb_txn_commit(transaction)
        code = Platform.cause(of: code, writing: path)
        try check(code, "mdb_txn_commit", path)
        guard Platform.flush(data) else {
            throw StorageError(rawCode: errno, call: "fdatasync", file: path)
        }
    }

    /// Opens the data file for writing without LMDB's locks.
    private func open() throws(StorageError) -> OpaquePointer {
        var status = stat()
        guard fstat(data, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "fstat", file: path)
        }
        var space = 2 * Int(status.st_size) + 1 << 30
        while true {
            do throws(StorageError) {
                return try RawEnvironment(
                    path, named: path, flags: MDB_NOLOCK | MDB_NOSYNC, mapSize: space,
                    tableCount: header.tables.count + 1, mode: 0o644
                ).pointer
            } catch {
                guard error.rawCode == ENOMEM, space > Int(status.st_size) + 1 << 25 else {
                    throw error
                }
                space = Int(status.st_size) + (space - Int(status.st_size)) / 2
            }
        }
    }

    /// Returns LMDB's current numbers of the tables, by their numbers at the time of the log.
    private func tables(_ transaction: OpaquePointer?) throws(StorageError) -> [UInt32] {
        var tables: [UInt32] = [0, Table.names.dbi]
        for name in header.tables {
            var table: UInt32 = 0
            try check(mdb_dbi_open(transaction, name, 0, &table), "mdb_dbi_open", path)
            tables.append(table)
        }
        return tables
    }

    private func apply(
        _ changes: UnsafeRawBufferPointer, _ transaction: OpaquePointer?, _ tables: [UInt32]
    ) throws(StorageError) {
        var rest = changes
        while !rest.isEmpty {
            guard let change = RecordedChange(&rest), change.table > 0, change.table < tables.count
            else { throw StorageError(.damaged, call: "reading the log", file: path) }
            let table = tables[change.table]
            var key = MDB_val(change.key)
            switch change.kind {
            case .put:
                var value = MDB_val(change.value)
                try check(mdb_put(transaction, table, &key, &value, 0), "mdb_put", path)
            case .delete:
                let code = mdb_del(transaction, table, &key, nil)
                if code != MDB_NOTFOUND { try check(code, "mdb_del", path) }
            }
        }
    }

    /// Sets the version of the data file to that of the last record, because LMDB has only counted one version.
    private func number(_ version: UInt64) throws(StorageError) {
        guard version != header.version + 1 else { return }
        try number(version, from: header.version + 1)
    }

    /// Sets the version of the content that LMDB has stored as version `present`, in both headers.
    private func number(_ version: UInt64, from present: UInt64) throws(StorageError) {
        let parity = Int(present & 1)
        guard FileHeader.number(data, pageSize: header.pageSize, from: parity, as: version) else {
            throw StorageError(rawCode: errno, call: "pwrite", file: path)
        }
    }
}

/// A change in a record.
struct RecordedChange {
    let kind: ChangeRecorder.Change
    /// LMDB's number of the table.
    let table: Int
    let key: UnsafeRawBufferPointer
    let value: UnsafeRawBufferPointer

    /// Removes the next change from `rest` and decodes it; nil if there is no valid change.
    init?(_ rest: inout UnsafeRawBufferPointer) {
        guard rest.count >= ChangeRecorder.headSize else { return nil }
        let head = rest.loadUnaligned(as: UInt64.self)
        guard let kind = ChangeRecorder.Change(rawValue: UInt8(truncatingIfNeeded: head)) else {
            return nil
        }
        let valueStart = ChangeRecorder.headSize + Int(head >> 16 & 0xFFFF)
        let end = valueStart + Int(head >> 32)
        guard end <= rest.count else { return nil }
        self.kind = kind
        table = Int(head >> 8 & 0xFF)
        key = UnsafeRawBufferPointer(rebasing: rest[ChangeRecorder.headSize..<valueStart])
        value = UnsafeRawBufferPointer(rebasing: rest[valueStart..<end])
        rest = UnsafeRawBufferPointer(rebasing: rest[end...])
    }
}
