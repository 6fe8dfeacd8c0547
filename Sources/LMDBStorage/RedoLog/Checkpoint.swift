import CLMDB
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Advancing the checkpoint, and beginning and ending a log; all functions need LMDB's write lock. The process that
// writes a header also holds the system's lock on the log, which a checkpoint in the background keeps.
extension RedoLog {
    /// The minimum time between the beginnings of two checkpoints, in nanoseconds.
    private static let pause: UInt64 = 100_000_000
    /// The time between two checks of the log's name by commits without a record, in nanoseconds.
    private static let nameCheckPause: UInt64 = 1_000_000

    /// Advances the checkpoint if many versions or many bytes of records follow it.
    ///
    /// If no commit waits for the device, an old checkpoint is advanced too.
    @inline(__always)
    func advance(_ newest: UInt64, isWaiting: Bool) throws(StorageError) {
        guard isWaiting, let pin, newest &- pin.version < checkpointLag, end >= start,
            end - start < Self.usualSize
        else {
            return try advanceIfDue(newest, isWaiting ? checkpointLag : 1)
        }
    }

    private func advanceIfDue(_ newest: UInt64, _ checkpointLag: UInt64) throws(StorageError) {
        collect()
        guard let pin, let file else { return }
        let now = MonotonicClock.nanoseconds
        if now &- nameChecked >= Self.nameCheckPause {
            nameChecked = now
            guard file.isInPlace else { return try replaceLog(newest) }
        }
        let lag = newest &- pin.version
        let used = end >= start ? end - start : LogFile.end - start + end - LogFile.base
        guard lag >= checkpointLag || used >= Self.usualSize else { return }
        // Commits without a flush are frequent, so a later checkpoint shares its cost among more of them.
        guard now &- checkpointBegun >= Self.pause || lag >= urgentLag || used >= Self.usualSize
        else {
            return
        }
        if hasFailedFlush { return try restart(newest) }
        if !hasSpareMap { disable() }
        if checkpointer.isBusy {
            if lag < maxLag { return }
            checkpointer.finish()
            collect()
            return
        }
        guard Platform.lockFile(file.descriptor, LOCK_EX | LOCK_NB) else {
            if lag >= maxLag { try restart(newest) }
            return
        }
        guard let sequence = try file.header(id: id)?.sequence else {
            // Another program has overwritten the log.
            _ = Platform.lockFile(file.descriptor, LOCK_UN)
            return try replaceLog(newest)
        }
        guard let next = try? LogPin.hold(environment, dataPath) else {
            _ = Platform.lockFile(file.descriptor, LOCK_UN)
            if lag >= maxLag { try restart(newest) }
            return
        }
        guard next.version == newest,
            let header = header(newest, start: end, sequence: sequence + 1)
        else {
            next.release()
            _ = Platform.lockFile(file.descriptor, LOCK_UN)
            return
        }
        checkpointBegun = now
        file.recordPins((pin.version, next.version))
        checkpointer.begin(LogCheckpoint(header: header, pin: next, file: file, data: data))
    }

    /// Processes the result of a completed checkpoint.
    func collect() {
        guard let (done, error) = checkpointer.result() else { return }
        if let error {
            done.pin.release()
            if let pin { file?.recordPins((pin.version, 0)) }
            if error.call == LogCheckpoint.flushing { hasFailedFlush = true }
            return
        }
        assert(
            done.pin.version == done.header.version, "a checkpoint pins the version of its header")
        pin?.release()
        pin = done.pin
        checkpoint = done.header.version
        start = done.header.start
        file?.recordPins((done.pin.version, 0))
    }

    /// Returns the header for the newest version; nil if the data file cannot be read.
    private func header(_ newest: UInt64, start: Int, sequence: UInt64) -> LogHeader? {
        var stat = MDB_stat()
        mdb_env_stat(environment, &stat)
        let pageSize = Int(stat.ms_psize)
        // because: without the headers there is no checkpoint, or the caller throws the system's error.
        guard let metas = try? FileHeader.metas(data, pageSize: pageSize) else { return nil }
        return LogHeader(
            id: id, salt: salt, sequence: sequence, version: newest, start: start,
            pageSize: pageSize, metas: metas, tables: tables)
    }

    /// Flushes the data file to the device, and sets the checkpoint of a log without records to the newest version.
    func restart(_ newest: UInt64) throws(StorageError) {
        checkpointer.finish()
        collect()
        guard let file else { return try activate(newest) }
        guard Platform.lockFile(file.descriptor, LOCK_EX) else {
            throw StorageError(rawCode: errno, call: "flock", file: file.path)
        }
        defer { _ = Platform.lockFile(file.descriptor, LOCK_UN) }
        guard file.isInPlace, let sequence = try file.header(id: id)?.sequence else {
            return try activate(newest, isLocked: true)
        }
        try flushData()
        let next = try LogPin.hold(environment, dataPath)
        salt = .random(in: 1 ... .max)
        var marker = try LogMarker.read(data)
        marker.salt = salt
        // A process that reads the salt before the header detects that records are missing.
        guard marker.write(data),
            let header = header(newest, start: LogFile.base, sequence: sequence + 1)
        else {
            next.release()
            throw StorageError(rawCode: errno, call: "pwrite", file: dataPath)
        }
        do throws(StorageError) {
            try file.write(header)
        } catch {
            salt = 0
            next.release()
            throw error
        }
        take(next, newest)
    }

    /// Begins a new log after another program has removed or changed the log.
    ///
    /// If that fails, for example without space or permission, or because the name belongs to a file that cannot be a
    /// log, the data file becomes complete without a log, and `id` is 0.
    func replaceLog(_ newest: UInt64) throws(StorageError) {
        do throws(StorageError) {
            try activate(newest)
        } catch {
            if failure != nil { throw error }
            pace.pause(1000)
            try finish()
        }
    }

    /// Begins a log: flushes the data file to the device, and writes the log's identity to it.
    func activate(_ newest: UInt64, isLocked: Bool = false) throws(StorageError) {
        checkpointer.finish()
        collect()
        let log: LogFile
        if isLocked, let file, file.isInPlace {
            log = file
        } else {
            log = try LogFile(of: dataPath, isMade: true)
        }
        let isLockedHere = isLocked && log === file
        if !isLockedHere, !Platform.lockFile(log.descriptor, LOCK_EX) {
            throw StorageError(rawCode: errno, call: "flock", file: log.path)
        }
        defer { if !isLockedHere { _ = Platform.lockFile(log.descriptor, LOCK_UN) } }
        try log.prepare(upTo: LogFile.base + 1)
        try flushData()
        // The last header of a replaced log remains until the marker has the identity of the new one.
        let sequence = (try log.header(id: LogMarker.read(data).id)?.sequence ?? 0) + 1
        let next = try LogPin.hold(environment, dataPath)
        id = .random(in: 1 ... .max)
        salt = .random(in: 1 ... .max)
        var isDone = false
        defer {
            if !isDone {
                next.release()
                id = 0
            }
        }
        guard let header = header(newest, start: LogFile.base, sequence: sequence) else {
            throw StorageError(rawCode: errno, call: "pread", file: dataPath)
        }
        try log.write(header)
        DraftCopy.flushFolder(of: log.path)
        var status = stat()
        guard fstat(data, &status) == 0,
            LogMarker(
                id: id, salt: salt, boot: .present, device: UInt64(status.st_dev),
                inode: UInt64(status.st_ino)
            ).write(data)
        else { throw StorageError(rawCode: errno, call: "pwrite", file: dataPath) }
        try flushData()
        isDone = true
        file = log
        take(next, newest)
        checkpointer.watch(true)
    }

    private func take(_ next: LogPin, _ newest: UInt64) {
        pin?.release()
        pin = next
        checkpoint = newest
        version = newest
        start = LogFile.base
        end = LogFile.base
        last = 0
        preparedEnd = 0
        file?.flushes.reset()
        file?.recordPins((next.version, 0))
    }

    /// Ends the log: flushes the data file, which is then complete without the log.
    func finish() throws(StorageError) {
        checkpointer.finish()
        collect()
        trimData()
        try flushData()
        guard LogMarker().write(data) else {
            throw StorageError(rawCode: errno, call: "pwrite", file: dataPath)
        }
        try flushData()
        detach()
    }

    /// Flushes the data file; the caller holds the write lock.
    ///
    /// After an error, the system counts pages as written that the device does not have, but keeps them in memory. They are
    /// therefore all written and flushed again. If that fails too, no data can be written any more.
    private func flushData() throws(StorageError) {
        if !hasFailedFlush, Platform.flush(data) { return }
        hasFailedFlush = true
        do throws(StorageError) {
            try rewriteData()
        } catch {
            fail(error)
            throw error
        }
        hasFailedFlush = false
    }

    private func rewriteData() throws(StorageError) {
        let used = Environment.usedBytes(environment)
        let step = 1 << 20
        for offset in stride(from: 0, to: used, by: step) {
            // Free pages may be missing at the end of the file.
            let size = min(step, used - offset, Int(lseek(data, 0, SEEK_END)) - offset)
            guard size > 0, let bytes = try Platform.read(data, size, at: offset) else { break }
            guard pwrite(data, bytes, size, off_t(offset)) == size else {
                throw StorageError(rawCode: errno, call: "pwrite", file: dataPath)
            }
        }
        guard Platform.flush(data) else {
            throw StorageError(rawCode: errno, call: "fdatasync", file: dataPath)
        }
    }

    // MARK: Ending a log

    /// Returns the versions that processes pin only for the log, without reading them.
    func pinnedVersions() -> Set<ForeignReader> {
        guard let marker = try? LogMarker.read(data), marker.id != 0,
            let log = try? LogFile(of: dataPath, isMade: false, isWritten: false)
        else { return [] }
        return log.recordedPins()
    }

    /// Ends the log, or the participation of this process in it, if the write lock is free.
    ///
    /// This process must not have an open write. Returns false if another process has one.
    func finishIfUnused() -> Bool {
        guard checkpointer.isWatched else { return true }
        guard isFree() else { return false }
        var begun: OpaquePointer?
        guard mdb_txn_begin(environment, nil, 0, &begun) == 0 else { return false }
        defer { mdb_txn_abort(begun) }
        // Another process has written in the meantime.
        guard !checkpointer.isUnderWay else { return false }
        // The file now belongs to another program.
        guard PathVerifier.isNewest(FileVersion.of(begun) - 1, in: environment) else {
            detach()
            return true
        }
        guard id != 0 else { return true }
        let others = file?.recordedPins().contains {
            $0.process != getpid() && (kill($0.process, 0) == 0 || errno != ESRCH)
        }
        do throws(StorageError) {
            let marker = try LogMarker.read(data)
            if marker.id == id, others != true { try finish() } else { detach() }
        } catch { detach() }
        return true
    }

    /// Removes the log file if no process needs it; called after the environment was closed.
    func removeFile() {
        guard let file, file.isInPlace else { return }
        // This process may have another file open that replaced the data file, and the locks of that file must not be
        // lost.
        if access(dataPath, F_OK) != 0 || isDataInPlace { LogRecovery.removeUnused(dataPath) }
    }

    /// Ends the participation of this object after LMDB has ended the use of the environment.
    func retire() {
        checkpointer.stop()
        detach()
    }

    /// Ends the participation of this process before the environment is closed.
    func close() {
        checkpointer.stop()
        collect()
        if !finishIfUnused() { detach() }
        var open = stat()
        var named = stat()
        isDataInPlace =
            fstat(data, &open) == 0 && stat(dataPath, &named) == 0
            && open.st_dev == named.st_dev && open.st_ino == named.st_ino
    }
}

/// A checkpoint in progress: the version is pinned and the header is created, but neither is on the device yet.
struct LogCheckpoint: @unchecked Sendable {
    // Unchecked because: only the thread that holds the write lock uses the pin.
    let header: LogHeader
    let pin: LogPin
    let file: LogFile
    let data: Int32

    /// The call in errors that report that the device has not written the data.
    static let flushing = "flushing the data file"

    /// Flushes the data file and then the header to the device, and releases the log's lock.
    func complete() -> StorageError? {
        defer { _ = Platform.lockFile(file.descriptor, LOCK_UN) }
        guard Platform.flush(data) else {
            return StorageError(rawCode: errno, call: Self.flushing, file: file.path)
        }
        do throws(StorageError) {
            try file.write(header)
            return nil
        } catch {
            return error
        }
    }
}

/// The background thread of a log: completes checkpoints, and ends a log that is no longer written.
///
/// The first task starts the thread.
final class Checkpointer: @unchecked Sendable {
    // Unchecked because: `monitor` guards all following properties.
    weak var log: RedoLog?
    private let monitor = Monitor()
    private var thread: pthread_t?
    private var isStopping = false
    private var checkpoint: LogCheckpoint?
    private var isAtWork = false
    private var done: (LogCheckpoint, StorageError?)?
    private var isWatching = false

    /// The interval of the check for recent writes, in nanoseconds.
    private static let round = 250_000_000
    /// The number of rounds without a write before a checkpoint.
    private static let patience = 4

    /// Starts or stops the check for recent writes.
    func watch(_ isOn: Bool) {
        monitor.withLock {
            if isWatching == isOn { return }
            isWatching = isOn
            if isOn { start() }
            monitor.broadcast()
        }
    }

    /// Completes a checkpoint in the background.
    ///
    /// The function returns at once. No other checkpoint may be in progress.
    func begin(_ next: LogCheckpoint) {
        monitor.withLock {
            assert(!isAtWork && done == nil, "one checkpoint is in progress at a time")
            done = nil
            isAtWork = true
            checkpoint = next
            start()
            monitor.broadcast()
            if thread == nil {
                checkpoint = nil
                done = (next, next.complete())
                isAtWork = false
            }
        }
    }

    /// Whether a checkpoint is running, or its result was not read yet.
    var isBusy: Bool { monitor.withLock { isAtWork || done != nil } }

    /// Whether a checkpoint is in progress.
    var isUnderWay: Bool { monitor.withLock { isAtWork } }

    /// Whether the thread checks for recent writes.
    var isWatched: Bool { monitor.withLock { isWatching } }

    /// Waits for the checkpoint in progress.
    ///
    /// If the thread has not begun it, it is completed here, because the thread may be waiting for the write lock that
    /// the caller holds.
    func finish() {
        monitor.withLock {
            if let next = checkpoint {
                checkpoint = nil
                done = (next, next.complete())
                isAtWork = false
                monitor.broadcast()
            }
            while isAtWork { monitor.wait() }
        }
    }

    /// Returns the result of the last checkpoint, but only once.
    func result() -> (LogCheckpoint, StorageError?)? {
        monitor.withLock {
            defer { done = nil }
            return done
        }
    }

    /// Completes the last request and ends the thread.
    func stop() {
        monitor.lock()
        isStopping = true
        let running = thread
        thread = nil
        monitor.broadcast()
        monitor.unlock()
        if let running { pthread_join(running, nil) }
        monitor.withLock { isStopping = false }
    }

    /// Starts the thread; the caller holds the monitor.
    private func start() {
        guard thread == nil, !isStopping else { return }
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var started = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        if pthread_create(&started, nil, checkpointerMain, context) == 0 {
            thread = started
        } else {
            Unmanaged<Checkpointer>.fromOpaque(context).release()
        }
    }

    fileprivate func run() {
        var looked: UInt64 = 0
        var quiet = 0
        var commits = -1
        monitor.lock()
        while true {
            if let next = checkpoint {
                checkpoint = nil
                var error: StorageError?
                monitor.withoutLock { error = next.complete() }
                done = (next, error)
                isAtWork = false
                monitor.broadcast()
                continue
            }
            if isStopping { break }
            let now = MonotonicClock.nanoseconds
            if isWatching, now &- looked >= UInt64(Self.round) {
                looked = now
                let present = log?.commits.load(ordering: .relaxed) ?? 0
                quiet = present == commits ? quiet + 1 : 0
                commits = present
                if quiet >= Self.patience {
                    quiet = 0
                    monitor.withoutLock { _ = log?.finishIfUnused() }
                    continue
                }
            }
            if isWatching { pause() } else { monitor.wait() }
        }
        monitor.unlock()
    }

    private func pause() {
        monitor.wait(atMost: Self.round) { !isStopping && checkpoint == nil && isWatching }
    }
}

private func checkpointerMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<Checkpointer>.fromOpaque(context).takeRetainedValue().run() }
    return nil
}
