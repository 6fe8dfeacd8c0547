import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
            let now = Platform.monotonicNanoseconds()
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
