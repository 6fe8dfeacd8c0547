#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A checkpoint that is on its way: the version is held, the header is made, and the device has neither yet.
struct LogCheckpoint: @unchecked Sendable {
    // Unchecked because: only the holder of the write lock uses the pin.
    let header: LogHeader
    let pin: LogPin
    let file: LogFile
    let data: Int32

    /// How the error is called that says that the device has not taken the data.
    static let flushing = "flushing the data file"

    /// Brings the data file to the device, then the header; gives the log's lock back.
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

/// Works for a log behind the writers' backs: moves checkpoints on, and ends a log that is no longer written.
///
/// One thread, which the first task starts.
final class Checkpointer: @unchecked Sendable {
    // Unchecked because: `monitor` guards everything below it.
    weak var log: RedoLog?
    private let monitor = Monitor()
    private var thread: pthread_t?
    private var isStopping = false
    private var checkpoint: LogCheckpoint?
    private var isAtWork = false
    private var done: (LogCheckpoint, StorageError?)?
    private var isWatching = false

    /// How often is looked whether anybody still writes.
    private static let round = 250_000_000
    /// The number of rounds without a write before a checkpoint.
    private static let patience = 4

    /// Asks to look whether anybody still writes, or to stop that.
    func watch(_ isOn: Bool) {
        monitor.withLock {
            if isWatching == isOn { return }
            isWatching = isOn
            if isOn { start() }
            monitor.broadcast()
        }
    }

    /// Completes a checkpoint.
    ///
    /// Returns at once; only while none is under way.
    func begin(_ next: LogCheckpoint) {
        monitor.withLock {
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

    /// Whether a checkpoint is running, or has ended and its result has not been read yet.
    var isBusy: Bool { monitor.withLock { isAtWork || done != nil } }

    /// Whether a checkpoint is under way.
    var isUnderWay: Bool { monitor.withLock { isAtWork } }

    /// Whether it looks if anybody still writes.
    var isWatched: Bool { monitor.withLock { isWatching } }

    /// Waits for the checkpoint that is under way.
    ///
    /// One that the thread has not begun is completed here: the thread may be waiting for the write lock, which the
    /// caller has.
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

    /// The result of the last checkpoint, returned once.
    func result() -> (LogCheckpoint, StorageError?)? {
        monitor.withLock {
            defer { done = nil }
            return done
        }
    }

    /// Serves the last request and ends the thread.
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

    /// Starts the thread; with the monitor.
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
            let now = Platform.monotonicNanoseconds()
            if isWatching, now &- looked >= UInt64(Self.round) {
                looked = now
                let present = log?.commits.load(ordering: .relaxed) ?? 0
                quiet = present == commits ? quiet + 1 : 0
                commits = present
                if quiet >= Self.patience {
                    quiet = 0
                    monitor.withoutLock { _ = log?.rest() }
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
