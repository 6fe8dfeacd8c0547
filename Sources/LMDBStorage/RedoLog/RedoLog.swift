import CLMDB
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// A durable commit appends one record to the log and waits for that; LMDB writes the pages of the data file behind it and
// the system brings them to the device when it likes, in any order. What makes that safe:
//
// * The log's header names a version, the checkpoint, that was complete on the device when the header was written, and
//   contains LMDB's own headers of that time. Before the first commit after the checkpoint, every process that writes
//   pins that version or an older one with a read transaction (LogPin), so that none of its pages is overwritten.
// * After a power failure the data file is therefore the checkpoint plus pages that do not matter, once LMDB's headers
//   are restored. The records after the checkpoint are then applied again (LogRecovery).
// * A commit that does not wait for the device has no record: it reaches the device with the next checkpoint, which
//   follows within a tenth of a second, or a second if it was the last commit.
// * While the machine runs, the system has the whole file, and the log is not needed: the writes of a killed process
//   are there.
// * A data file with a log contains the log's identity (LogMarker). The marker is removed when all is on the device: at
//   closing, and after a while without writes. Then the data file is complete alone.
//
// Only the thread that holds LMDB's write lock may use what is here, except that Checkpointer's thread finishes a
// checkpoint that was begun.

/// The log of an open environment.
final class RedoLog: CommitStrategy, @unchecked Sendable {
    // Unchecked because: LMDB's write lock guards everything that is not constant.

    let environment: OpaquePointer
    let dataPath: String
    /// LMDB's descriptor of the data file.
    let data: Int32
    private let page: MarkerPage
    let tables: [String]
    let recorder: ChangeRecorder
    let checkpointer: Checkpointer
    /// Whether the write lock seems to be free.
    let isFree: @Sendable () -> Bool
    var pace = CommitPace()

    var file: LogFile?
    /// The log that this process takes part in; 0 for none.
    var id: UInt64 = 0
    var salt: UInt64 = 0
    /// The version that the device has whole, as far as this process knows.
    var checkpoint: UInt64 = 0
    /// Where the records behind the checkpoint begin.
    var start = LogFile.base
    /// The newest version that the log knows of, and where the last record ends; 0 where that must be looked up.
    var version: UInt64 = 0
    /// The newest version that has no record.
    var unrecorded: UInt64 = 0
    var end = LogFile.base
    var pin: LogPin?
    /// For how many commits there is no log after one that was too much for it.
    var greatPause = 16
    /// Whether a write has found no space, in the log or elsewhere: the next write ends the log.
    private var isTight = false
    /// Whether the path led to the data file when it was closed.
    var isDataInPlace = false
    private static let spareBytes = 256 << 20
    /// Why nothing can be written any more.
    private var failure: StorageError?
    /// How many commits this process has made.
    let commits = Atomic<Int>(0)

    /// How far the pin may lag before the checkpoint advances: the pages that these versions freed cannot be reused
    /// meanwhile.
    var usualLag: UInt64 = 64
    /// How far it may lag before the next checkpoint follows the last one at once.
    ///
    /// Twice this many versions of a small store's seven or eight pages are 32 MiB that its file grows by, and a list of
    /// free pages that each later commit takes longer to keep; more of them did not make commits faster.
    var hastyLag: UInt64 = 512
    /// The number of bytes of records that may follow the checkpoint.
    static let usualSize = 4 << 20
    /// When the last checkpoint was begun.
    var checkpointBegun: UInt64 = 0
    /// How far it may lag while the checkpoint is being moved.
    var greatestLag: UInt64 = 1024

    init(
        _ environment: OpaquePointer, _ dataPath: String, _ tables: [String],
        _ recorder: ChangeRecorder, isFree: @escaping @Sendable () -> Bool
    ) {
        self.isFree = isFree
        self.environment = environment
        self.dataPath = dataPath
        self.tables = tables
        self.recorder = recorder
        var descriptor: mdb_filehandle_t = -1
        mdb_env_get_fd(environment, &descriptor)
        data = descriptor
        page = MarkerPage(descriptor)
        checkpointer = Checkpointer()
        checkpointer.log = self
    }

    // MARK: A write

    /// Decides, with the write lock, how the write that has begun will be committed.
    func begin(_ durability: Durability, newest: UInt64) throws(StorageError) -> CommitMode {
        if let failure { throw failure }
        if id != 0, durability != .memory, version == newest, pin != nil, !isTight,
            isStill(page.marker)
        {
            try moveOn(newest, isWaiting: durability == .full)
        } else if let mode = try beginUnpinned(durability, newest) {
            return mode
        }
        guard durability == .full else { return .checkpointed }
        // No record can follow a version that has none, but for the checkpoint.
        if unrecorded > checkpoint { collect() }
        if unrecorded > checkpoint { try restart(newest) }
        recorder.begin()
        return .logged
    }

    private func isStill(_ marker: LogMarker) -> Bool { marker.id == id && marker.salt == salt }

    /// Begins if this process does not have a pin at the log's end; nil if it then does.
    private func beginUnpinned(
        _ durability: Durability, _ newest: UInt64
    ) throws(StorageError) -> CommitMode? {
        let marker = page.marker
        if id != 0 && marker.id != id { leave() }
        guard durability != .memory, !isTight else {
            // A process that writes without a log must not reuse pages that another process's log needs.
            if marker.id != 0 { try settle() }
            isTight = false
            return durability == .memory ? .unflushed : .direct
        }
        if marker.id == 0 {
            guard pace.isSustained(), hasSpareMap else { return .direct }
            do throws(StorageError) {
                try activate(newest)
            } catch {
                // No space for a log, no permission, or no slot: LMDB works without a log.
                pace.pause(1000)
                if failure != nil { throw error }
                return .direct
            }
            return nil
        }
        try join(marker, newest, isRecording: durability == .full)
        return nil
    }

    /// Finds the log's end, and gets a pin.
    private func join(
        _ marker: LogMarker, _ newest: UInt64, isRecording: Bool = true
    ) throws(StorageError) {
        collect()
        if file == nil { file = try LogFile.ifPresent(of: dataPath) }
        guard let file, file.isInPlace, let header = file.header(id: marker.id),
            header.salt == marker.salt, header.version <= newest
        else {
            // Gone, or left by a process that was killed at the wrong moment: all is here while the machine runs.
            return try activate(newest)
        }
        if id != marker.id || salt != header.salt || header.version > version || version > newest {
            // What this process knew has been written over.
            id = marker.id
            salt = header.salt
            version = header.version
            end = header.start
        }
        checkpoint = header.version
        start = header.start
        guard let pin, pin.version <= checkpoint else { return try restart(newest) }
        if try !findEnd(newest, file) {
            guard !isRecording else { return try restart(newest) }
            pass(newest)
        }
        checkpointer.watch(true)
        try moveOn(newest, isWaiting: isRecording)
    }

    /// Follows the records to that of the newest version; false if a version has none.
    private func findEnd(_ newest: UInt64, _ file: LogFile) throws(StorageError) -> Bool {
        while version < newest {
            guard let (place, record) = file.place(of: version &+ 1, after: end, salt: salt),
                record.kind == .changes
            else { return false }
            version += 1
            end = place + record.extent
        }
        // A record behind it belongs to a commit that did not happen.
        while let (place, _) = file.place(of: newest &+ 1, after: end, salt: salt) {
            try file.void(at: place)
        }
        return true
    }

    /// Releases this process's part: the log has ended, or is another one.
    func leave() {
        checkpointer.finish()
        collect()
        if let pin {
            pin.release()
            file?.notePins((0, 0))
        }
        pin = nil
        id = 0
        version = 0
        checkpointer.watch(false)
    }

    // MARK: The commit

    /// Writes the record of the version that is about to be committed, and waits for the device.
    ///
    /// Throws `diskFull` and what the device says; nothing is in the log then.
    func write(_ new: UInt64) throws(StorageError) {
        if recorder.isLent { recorder.settle() }
        commits.wrappingAdd(1, ordering: .relaxed)
        guard !recorder.isEmpty, let file else { return }
        if !recorder.isIncomplete {
            let record = recorder.record
            let extent = LogRecord.extent(record.count - LogRecord.size)
            if let place = try place(for: extent, before: new) {
                try append(record, .changes, new, at: place, file)
                version = new
                end = place + extent
                return
            }
        }
        // Too much for a record: it goes the direct way. Records cannot follow this version, and more of its size may: the
        // log ends with it.
        isTight = true
        pace.pause(greatPause)
        guard let place = try place(for: LogRecord.extent(0), before: new) else {
            throw StorageError(rawCode: ENOSPC, call: "pwrite", file: dataPath)
        }
        version = 0
        try append(recorder.head, .direct, new, at: place, file)
        mdb_env_set_flags(environment, UInt32(MDB_NOSYNC), 0)
    }

    /// Notes a version that has no record.
    func pass(_ new: UInt64) {
        commits.wrappingAdd(1, ordering: .relaxed)
        version = new
        unrecorded = new
    }

    private func append(
        _ record: UnsafeMutableRawBufferPointer, _ kind: LogRecord.Kind, _ new: UInt64,
        at place: Int, _ file: LogFile
    ) throws(StorageError) {
        LogRecord.seal(record, kind, version: new, salt: salt)
        do throws(StorageError) {
            try file.write(UnsafeRawBufferPointer(record), at: place)
            try file.flush()
        } catch {
            void(place)
            throw error
        }
    }

    /// The offset of the next record: after the last one, or at the ring's beginning; nil if the device is full.
    private func place(for extent: Int, before new: UInt64) throws(StorageError) -> Int? {
        if let place = try freePlace(extent) { return place }
        // The ring is full, or the device has no space for more of it: restart the ring.
        try restart(new - 1)
        return try freePlace(extent)
    }

    private func freePlace(_ extent: Int) throws(StorageError) -> Int? {
        guard let file else { return nil }
        collect()
        // Records are between start and end, or before end and after start once the ring was restarted.
        let isWrapped = end < start || (end == start && version != checkpoint)
        let limit = isWrapped ? start : LogFile.end
        var place: Int?
        if end + extent <= limit { place = end }
        if place == nil, !isWrapped, LogFile.base + extent <= start { place = LogFile.base }
        guard let place else { return nil }
        do throws(StorageError) {
            try file.prepare(upTo: place + extent)
        } catch {
            guard error.code == .diskFull else { throw error }
            return nil
        }
        return place
    }

    /// Invalidates the record of a commit that LMDB has refused.
    ///
    /// LMDB has released the write lock already.
    func withdraw() {
        var begun: OpaquePointer?
        guard mdb_txn_begin(environment, nil, 0, &begun) == 0 else { return }
        defer { mdb_txn_abort(begun) }
        version = 0
        let marker = LogMarker.read(data)
        guard id != 0, marker.id == id else { return }
        do throws(StorageError) {
            try join(marker, UInt64(mdb_txn_id(begun)) - 1)
            try file?.flush()
        } catch { fail(error) }
        relax()
    }

    /// Lets the next writes use the pages that the log reserves, and write without the log, because space ran out.
    func relax() {
        isTight = true
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

    /// Makes the record void that the device has not taken.
    private func void(_ place: Int) {
        do throws(StorageError) {
            try file?.void(at: place)
            try file?.flush()
        } catch {
            // The device may have the record, which would come back after a power failure: nothing may follow it.
            fail(error)
        }
    }

    /// Notes that the device has failed to take what the system already counts as written.
    func fail(_ error: StorageError) { failure = error }
}
