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
// * The log's header names a version, the checkpoint, that was wholly on the device when the header was written, and
//   has LMDB's own headers as they were then. From before the first commit after it, every process that writes holds
//   that version or an older one with a read transaction (LogPin), so that no page of it is written over.
// * After a power failure the data file is therefore the checkpoint plus pages that do not matter, once LMDB's headers
//   are put back; the records behind the checkpoint are done again (LogRecovery).
// * A commit that nobody waits for has no record: it is on the device with the next checkpoint, which follows within a
//   tenth of a second, or a second when it was the last one.
// * While the machine runs, the system has the whole file, and the log is not needed: what a killed process has written
//   is there.
// * A data file with a log bears the log's identity (LogMarker). It is removed when all is on the device, at closing
//   and when nobody has written for a while; the data file is then whole alone.
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
    /// Whether nobody seems to have the write lock.
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
    /// Whether a write has found no room, in the log or elsewhere: the next one ends the log.
    private var isTight = false
    /// Whether the path led to the data file when it was closed.
    var isDataInPlace = false
    private static let room = 256 << 20
    /// Why nothing can be written any more.
    private var failure: StorageError?
    /// How many commits this process has made.
    let commits = Atomic<Int>(0)

    /// How far the pin may lag behind before the checkpoint is moved on: the pages that these versions let go of
    /// cannot be used again meanwhile.
    var usualLag: UInt64 = 64
    /// How far it may lag before the next checkpoint follows the last one at once.
    ///
    /// Twice this many versions of a small store's seven or eight pages are 32 MiB that its file grows by, and a list of
    /// free pages that each later commit takes longer to keep; more of them did not make commits faster.
    var hastyLag: UInt64 = 512
    /// How many bytes of records may lie behind the checkpoint.
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
        } else if let mode = try beginElsewise(durability, newest) {
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

    /// Begins where this process does not stand at the log's end with a pin; nil where it then does.
    private func beginElsewise(
        _ durability: Durability, _ newest: UInt64
    ) throws(StorageError) -> CommitMode? {
        let marker = page.marker
        if id != 0 && marker.id != id { leave() }
        guard durability != .memory, !isTight else {
            // Who writes without a log must not reuse pages that one counts on.
            if marker.id != 0 { try settle() }
            isTight = false
            return durability == .memory ? .unflushed : .direct
        }
        if marker.id == 0 {
            guard pace.isSustained(), hasRoom else { return .direct }
            do throws(StorageError) {
                try activate(newest)
            } catch {
                // No room for a log, no permission, no slot: LMDB can do without.
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

    /// Stands aside: the log has ended, or is another one.
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

    /// Where the next record goes: behind the last one, or at the ring's beginning; nil where the device has no room.
    private func place(for extent: Int, before new: UInt64) throws(StorageError) -> Int? {
        if let place = try freePlace(extent) { return place }
        // The ring is full, or the device has no room for more of it: start anew.
        try restart(new - 1)
        return try freePlace(extent)
    }

    private func freePlace(_ extent: Int) throws(StorageError) -> Int? {
        guard let file else { return nil }
        collect()
        // Records lie between start and end, or before end and behind start once the ring was begun again.
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

    /// Makes the record void whose commit LMDB has refused; without the write lock, which LMDB has given back.
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

    /// Lets the next writes do without the log, and with the pages that it keeps from being used again: there was no room.
    func relax() {
        isTight = true
        pace.pause(1000)
    }

    /// Whether the map has plenty of room for pages that cannot be used again at once.
    var hasRoom: Bool {
        var info = MDB_envinfo()
        mdb_env_info(environment, &info)
        var statistics = MDB_stat()
        mdb_env_stat(environment, &statistics)
        let used = (Int(info.me_last_pgno) + 1) * Int(statistics.ms_psize)
        return Int(info.me_mapsize) - used >= Self.room
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
