import CLMDB
import Synchronization
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// A durable commit appends one record to the log and waits until it is on the device. LMDB then writes the pages of the
// data file, and the system writes them to the device at any time and in any order. While other writers wait for the
// write lock or alternate with this one, the order differs: LMDB commits, the lock is released, and then the writer waits
// for a flush that it shares with the others (FlushGroup). This is safe for these reasons:
//
// * The log's header names a version, the checkpoint, that was complete on the device when the header was written, and
//   contains LMDB's own headers of that time. Before the first commit after the checkpoint, every process that writes
//   pins that version or an older one with a read transaction (LogPin), so that its pages are not overwritten.
// * After a power failure, the data file with LMDB's headers restored is therefore the checkpoint plus pages that do
//   not matter. The records after the checkpoint are then applied again (LogRecovery).
// * A commit that does not wait for the device has no record: it reaches the device with the next checkpoint, which
//   follows within a tenth of a second, or a second if it was the last commit.
// * While the machine runs, the system has the whole file, and the log is not needed: the writes of a killed process
//   are not lost.
// * A data file with a log contains the log's identity (LogMarker). The marker is removed when all data is on the
//   device: on closing, and after some time without writes. The data file is then complete without the log.
// * Recovery reads the log by its name. Each durable commit therefore verifies that the log still has its name and its
//   last record before it appends a record, and other commits verify the name at intervals.
//
// Only the thread that holds LMDB's write lock may use the log, except that the thread of Checkpointer completes a
// checkpoint.

/// The log of an open environment.
final class RedoLog: @unchecked Sendable {
    // Unchecked because: LMDB's write lock guards everything that is not constant.

    let environment: OpaquePointer
    let dataPath: String
    /// LMDB's descriptor of the data file.
    let data: Int32
    private let page: MarkerPage
    let tables: [String]
    let recorder: ChangeRecorder
    let checkpointer: Checkpointer
    /// Returns whether the write lock seems to be free.
    let isFree: @Sendable () -> Bool
    var pace = CommitPace()
    private var turns = WriterTurns()

    var file: LogFile?
    /// The identity of the log in which this process participates; 0 for none.
    var id: UInt64 = 0
    var salt: UInt64 = 0
    /// The version that is complete on the device, as far as this process knows.
    var checkpoint: UInt64 = 0
    /// The offset of the records after the checkpoint.
    var start = LogFile.base
    /// The newest version in the log, and the end of its last record; 0 if these must be looked up.
    var version: UInt64 = 0
    /// The newest version without a record.
    var unrecorded: UInt64 = 0
    var end = LogFile.base
    /// The offset of the newest version's record; 0 if it has no record in the log.
    var last = 0
    /// The size that the log is known to have during a commit.
    var preparedEnd = 0
    /// The time of the last check of the log's name by a commit without a record.
    var nameChecked: UInt64 = 0
    var pin: LogPin?
    /// The number of commits without a log after a write that was too large for the log.
    var commitsWithoutLog = 16
    /// Whether a write found no space, in the log or elsewhere, so that the next write ends the log.
    private var hasNoSpace = false
    /// Whether the path led to the data file when the file was closed.
    var isDataInPlace = false
    private static let spareBytes = 256 << 20
    /// The size to which this process has enlarged the data file; 0 if it has not.
    private var dataSize = 0
    /// Whether the data file is written through its map, whose space MapReservation determines.
    private let isMapWritten: Bool
    /// The number of bytes by which the data file is enlarged.
    private static let spareSize = 1 << 20
    /// Whether the device has failed to write data that the system counts as written.
    var hasFailedFlush = false
    /// The reason why data can no longer be written.
    private(set) var failure: StorageError?
    /// The number of commits of this process.
    let commits = Atomic<Int>(0)

    /// The number of versions after the pin at which the checkpoint advances; the pages that these versions freed
    /// cannot be reused until then.
    var checkpointLag: UInt64 = 64
    /// The number of versions after the pin at which the next checkpoint begins immediately.
    ///
    /// The file of a small store grows by seven or eight pages with each version, and so by 32 MiB with twice this
    /// number of versions. A longer list of free pages also slows down each later commit. A higher number does not make
    /// commits faster.
    var urgentLag: UInt64 = 512
    /// The size in bytes of the records after the checkpoint at which the checkpoint advances.
    static let usualSize = 4 << 20
    /// The time at which the last checkpoint began.
    var checkpointBegun: UInt64 = 0
    /// The maximum number of versions after the pin while a checkpoint is in progress.
    var maxLag: UInt64 = 1024

    init(
        _ environment: OpaquePointer, path dataPath: String, tables: [String],
        recorder: ChangeRecorder, isFree: @escaping @Sendable () -> Bool
    ) {
        self.isFree = isFree
        self.environment = environment
        self.dataPath = dataPath
        self.tables = tables
        self.recorder = recorder
        var descriptor: mdb_filehandle_t = -1
        mdb_env_get_fd(environment, &descriptor)
        data = descriptor
        var flags: UInt32 = 0
        mdb_env_get_flags(environment, &flags)
        isMapWritten = flags & UInt32(MDB_WRITEMAP) != 0
        page = MarkerPage(descriptor)
        checkpointer = Checkpointer()
        checkpointer.log = self
    }

    // MARK: A write

    /// Decides how the write that has begun will be committed; `newest` is the version before it.
    ///
    /// The caller holds the write lock. Throws the reason if data can no longer be written.
    func begin(_ durability: Durability, newest: UInt64) throws(StorageError) -> CommitMode {
        if let failure { throw failure }
        if id != 0, durability != .memory, version == newest, pin != nil, !hasNoSpace,
            isStill(try page.marker)
        {
            try advance(newest, isWaiting: durability == .full)
        } else if let mode = try beginUnpinned(durability, newest) {
            return mode
        }
        // No record can follow a version without one, except the checkpoint.
        if durability == .full, id != 0, unrecorded > checkpoint {
            collect()
            if unrecorded > checkpoint {
                try file?.isInPlace == true ? restart(newest) : replaceLog(newest)
            }
        }
        // Another program has removed the log, and no other one can be created.
        guard id != 0 else { return .direct }
        assert(pin != nil && file != nil, "a process with a log pins a version")
        assert(version == newest, "the log continues after the newest version")
        guard durability == .full else { return .checkpointed }
        enlargeData()
        recorder.begin()
        return .logged
    }

    /// Makes the data file larger than the next commits need.
    ///
    /// A commit that changes the size of the data file changes its metadata. The log's metadata is usually in the same block
    /// of the device, which each flush of the log would then write in addition to the record.
    private func enlargeData() {
        let used = Environment.usedBytes(environment)
        guard used + Self.spareSize / 8 > dataSize, !isMapWritten, Platform.largestFile == nil
        else { return }
        var status = stat()
        guard fstat(data, &status) == 0 else { return }
        dataSize = max(Int(status.st_size), used + Self.spareSize)
        // because: without this, commits only take longer.
        if dataSize > Int(status.st_size) { _ = ftruncate(data, off_t(dataSize)) }
    }

    /// Truncates the data file to its content, at the end of the log.
    func trimData() {
        let used = Environment.usedBytes(environment)
        guard dataSize > used, !isMapWritten else { return }
        dataSize = 0
        // because: without this, the file only remains larger.
        _ = ftruncate(data, off_t(used))
    }

    private func isStill(_ marker: LogMarker) -> Bool { marker.id == id && marker.salt == salt }

    /// Begins a write of a process without a pin at the end of the log; returns nil if the process has such a pin
    /// afterward.
    private func beginUnpinned(
        _ durability: Durability, _ newest: UInt64
    ) throws(StorageError) -> CommitMode? {
        let marker = try page.marker
        if id != 0 && marker.id != id { detach() }
        guard durability != .memory, !hasNoSpace else {
            // A process that writes without a log must not reuse pages that the log of another process needs.
            if marker.id != 0 { try finish() }
            hasNoSpace = false
            return durability == .memory ? .unflushed : .direct
        }
        if marker.id == 0 {
            guard pace.isSustained(), hasSpareMap else { return .direct }
            do throws(StorageError) {
                try activate(newest)
            } catch {
                // Without space, permission or a reader slot for a log, LMDB works without one.
                pace.pause(1000)
                if failure != nil { throw error }
                return .direct
            }
            return nil
        }
        try attach(marker, newest, isRecording: durability == .full)
        return nil
    }

    /// Finds the end of the log, and pins a version.
    private func attach(
        _ marker: LogMarker, _ newest: UInt64, isRecording: Bool = true
    ) throws(StorageError) {
        collect()
        // Another process may have replaced a log that had lost its name.
        if id != marker.id, file?.isInPlace != true {
            file = try LogFile.ifPresent(of: dataPath)
        }
        guard let file, file.isInPlace, let header = try file.header(id: marker.id),
            header.salt == marker.salt, header.version <= newest
        else {
            // The log was removed, or a process was killed while it created the log; all data exists until the machine
            // restarts.
            return try replaceLog(newest)
        }
        if id != marker.id || salt != header.salt || header.version > version || version > newest {
            // The records that this process knew were overwritten.
            id = marker.id
            salt = header.salt
            version = header.version
            end = header.start
            last = 0
        }
        checkpoint = header.version
        start = header.start
        guard let pin, pin.version <= checkpoint else { return try restart(newest) }
        if try !findEnd(newest, file) {
            guard !isRecording else { return try restart(newest) }
            skip(newest)
        }
        checkpointer.watch(true)
        try advance(newest, isWaiting: isRecording)
    }

    /// Reads the records up to that of the newest version; returns false if a version has none.
    private func findEnd(_ newest: UInt64, _ file: LogFile) throws(StorageError) -> Bool {
        while version < newest {
            guard let (offset, record) = try file.find(version &+ 1, after: end, salt: salt),
                record.kind == .changes
            else { return false }
            version += 1
            end = offset + record.extent
            last = offset
        }
        // A record after it belongs to a commit that did not happen.
        while let (offset, _) = try file.find(newest &+ 1, after: end, salt: salt) {
            try file.void(at: offset)
        }
        return true
    }

    /// Ends the participation of this process, because the log has ended or was replaced.
    func detach() {
        checkpointer.finish()
        collect()
        if let pin {
            pin.release()
            file?.recordPins((0, 0))
        }
        pin = nil
        id = 0
        version = 0
        checkpointer.watch(false)
    }

    // MARK: The commit

    /// Writes the record of the version that is about to be committed, and waits until it is on the device.
    ///
    /// If another writer waits or has just written, the record is not flushed; the caller then calls ``flush(_:)`` with the
    /// result after the commit. Throws `diskFull` and the errors of the device; the log then has no record.
    func write(_ new: UInt64, isAwaited: Bool) throws(StorageError) -> UnflushedCommit? {
        assert(
            recorder.isRecording || recorder.isIncomplete, "a logged write is recorded")
        defer { recorder.end() }
        if recorder.isLent { recorder.finishLent() }
        commits.wrappingAdd(1, ordering: .relaxed)
        guard !recorder.isEmpty else { return nil }
        let isAlternating = turns.areShared(at: new)
        try requireLog(new - 1)
        guard id != 0, let file else {
            flushDirectly()
            return nil
        }
        if !recorder.isIncomplete {
            let record = recorder.record
            let extent = LogRecord.extent(record.count - LogRecord.size)
            if let offset = try offset(for: extent, before: new) {
                let isShared = isAwaited || isAlternating || file.flushes.isInUse
                let appended = try append(
                    record, .changes, version: new, at: offset, to: file, isFlushed: !isShared)
                version = new
                end = offset + extent
                last = offset
                return isShared
                    ? UnflushedCommit(record: appended, file: file, id: id, salt: salt) : nil
            }
        }
        // The write is too large for a record, so it is flushed directly. Records cannot follow this version, and more
        // writes of this size may come, so the log ends with it.
        hasNoSpace = true
        pace.pause(commitsWithoutLog)
        guard let offset = try offset(for: LogRecord.extent(0), before: new) else {
            throw StorageError(rawCode: ENOSPC, call: "pwrite", file: dataPath)
        }
        version = 0
        _ = try append(
            recorder.head, .direct, version: new, at: offset, to: file, isFlushed: true)
        flushDirectly()
        return nil
    }

    /// Waits until the record of a commit is on the device; the caller no longer holds the write lock.
    ///
    /// If a flush of the log fails, the data file is flushed instead. Throws the error of the device if that fails too: the
    /// commit is then in the file, but a power failure may remove it.
    func flush(_ commit: UnflushedCommit) throws(StorageError) {
        if commit.file.flush(commit.record, isCommitted: true) == 0 { return }
        var begun: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, 0, &begun), "fdatasync", commit.file.path)
        defer { mdb_txn_abort(begun) }
        let marker = try LogMarker.read(data)
        // Otherwise, the data file has been flushed for another log, or for none.
        guard marker.id == commit.id, marker.salt == commit.salt else { return }
        if let failure { throw failure }
        try restart(FileVersion.of(begun) - 1)
    }

    /// Makes LMDB flush the open write when it commits it.
    private func flushDirectly() { mdb_env_set_flags(environment, UInt32(MDB_NOSYNC), 0) }

    /// Begins a new log if no recovery would find a record that is appended to this one, because another program has
    /// renamed, replaced, deleted, truncated or overwritten it.
    ///
    /// `newest` is the version before the open write. If no log can be created, `id` is 0 afterward. Takes two system
    /// calls.
    private func requireLog(_ newest: UInt64) throws(StorageError) {
        if let file, let size = file.sizeInPlace, size >= end,
            try hasLast(file)
        {
            preparedEnd = size
            if file.flushes.isBroken { try restart(newest) }
        } else {
            try replaceLog(newest)
        }
    }

    /// Whether the log still has its last record.
    private func hasLast(_ file: LogFile) throws(StorageError) -> Bool {
        if last == 0 { return true }
        return try file.record(at: last, salt: salt)?.version == version
    }

    /// Records that a version has no record.
    func skip(_ new: UInt64) {
        commits.wrappingAdd(1, ordering: .relaxed)
        version = new
        unrecorded = new
        last = 0
    }

    private func append(
        _ record: UnsafeMutableRawBufferPointer, _ kind: LogRecord.Kind, version new: UInt64,
        at offset: Int, to file: LogFile, isFlushed: Bool
    ) throws(StorageError) -> FlushGroup.Record {
        let durable = max(checkpoint, file.flushes.durableVersion)
        LogRecord.seal(
            record, kind, version: new, unflushed: new - min(new, durable + 1), salt: salt)
        do throws(StorageError) {
            try file.write(UnsafeRawBufferPointer(record), at: offset)
            let appended = file.flushes.append(new)
            if isFlushed {
                try check(file.flush(appended, isCommitted: false), "fdatasync", file.path)
            }
            return appended
        } catch {
            void(offset)
            throw error
        }
    }

    /// Returns the offset of the next record: after the last one, or at the beginning of the ring; nil if the device is
    /// full.
    private func offset(for extent: Int, before new: UInt64) throws(StorageError) -> Int? {
        if let offset = try freeOffset(extent) { return offset }
        // The ring is full, or the device has no space to extend it, so the ring is restarted.
        try restart(new - 1)
        return try freeOffset(extent)
    }

    private func freeOffset(_ extent: Int) throws(StorageError) -> Int? {
        guard let file else { return nil }
        collect()
        // Records are between start and end or, after the ring was restarted, before end and after start.
        let isWrapped = end < start || (end == start && version != checkpoint)
        let limit = isWrapped ? start : LogFile.end
        var offset: Int?
        if end + extent <= limit { offset = end }
        if offset == nil, !isWrapped, LogFile.base + extent <= start { offset = LogFile.base }
        guard let offset else { return nil }
        assert(
            offset >= LogFile.base && offset + extent <= LogFile.end, "the ring has the record")
        guard offset + extent > preparedEnd else { return offset }
        do throws(StorageError) {
            try file.prepare(upTo: offset + extent)
        } catch {
            guard error.code == .diskFull else { throw error }
            return nil
        }
        return offset
    }

    /// Invalidates the record of a commit that LMDB has refused and for which it has already released the write lock.
    func withdraw() {
        var begun: OpaquePointer?
        guard mdb_txn_begin(environment, nil, 0, &begun) == 0 else { return }
        defer { mdb_txn_abort(begun) }
        version = 0
        do throws(StorageError) {
            let marker = try LogMarker.read(data)
            guard marker.id != 0 else { return }
            try attach(marker, FileVersion.of(begun) - 1)
            try file?.flush()
        } catch { fail(error) }
        disable()
    }

    /// Drops the recorded changes of a write that is rolled back; `isOutOfSpace` is true if the write found no space.
    func rollBack(isOutOfSpace: Bool) {
        recorder.end()
        if isOutOfSpace { disable() }
    }

    /// Ends the log after space ran out, so that the next writes can use the pages that the log reserves.
    func disable() {
        hasNoSpace = true
        pace.pause(1000)
    }

    /// Whether the map has plenty of space for pages that cannot be reused at once.
    var hasSpareMap: Bool {
        var info = MDB_envinfo()
        mdb_env_info(environment, &info)
        var statistics = MDB_stat()
        mdb_env_stat(environment, &statistics)
        let used = (Int(info.me_last_pgno) + 1) * Int(statistics.ms_psize)
        return Int(info.me_mapsize) - used >= Self.spareBytes
    }

    /// Invalidates a record that the device has not written.
    private func void(_ offset: Int) {
        do throws(StorageError) {
            try file?.void(at: offset)
            try file?.flush()
        } catch {
            // The device may have the record, which would be applied after a power failure, so no record may follow it.
            fail(error)
        }
    }

    /// Records that the device failed to write data that cannot be written again.
    func fail(_ error: StorageError) { failure = error }
}

/// A visible commit whose record may not be on the device yet, and the log that contains it.
struct UnflushedCommit {
    let record: FlushGroup.Record
    let file: LogFile
    let id: UInt64
    let salt: UInt64
}

/// Detects whether several threads or processes write alternately.
///
/// A writer that has just returned from its flush, or tests the lock before it blocks, does not wait for the lock. Without
/// this, the present writer would hold the lock during its flush, and the others could not share it.
struct WriterTurns {
    private var last: (thread: UInt, version: UInt64, time: UInt64) = (0, 0, 0)
    /// The number of commits that still share flushes.
    private var rest = 0

    /// A commit of another writer counts if this process commits before and after it within this time in nanoseconds.
    private static let gap: UInt64 = 500_000_000
    /// The number of commits that share flushes after one that counts.
    private static let shared = 8

    /// Counts the commit of a version by the calling thread, and returns whether another writer has committed recently.
    mutating func areShared(at version: UInt64) -> Bool {
        let (thread, time) = (ThreadIdentity.current.number, MonotonicClock.nanoseconds)
        let isClose = time &- last.time < Self.gap
        let isOther = last.thread != thread || last.version + 1 != version
        rest = !isClose ? 0 : isOther ? Self.shared : max(0, rest - 1)
        last = (thread, version, time)
        return rest > 0
    }
}

/// Detects whether commits follow one another so closely that a redo log is worthwhile: beginning and ending a log
/// costs as much as several commits without one.
struct CommitPace {
    /// The number of consecutive commits after which a log begins.
    var threshold = 4
    private var last: UInt64 = 0
    private var count = 0

    /// The maximum time in nanoseconds between two consecutive commits.
    private static let gap: UInt64 = 500_000_000

    /// Counts a commit that begins, and returns whether enough commits have followed one another closely.
    mutating func isSustained() -> Bool {
        let now = MonotonicClock.nanoseconds
        count = now &- last < Self.gap ? count + 1 : 1
        last = now
        return count > threshold
    }

    /// Resets the count, and ignores a number of further commits.
    mutating func pause(_ commits: Int) { count = -commits }
}
