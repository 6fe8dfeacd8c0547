import ObjectStore
import Synchronization
import SystemCalls

/// An executor that runs an actor on its own thread.
///
/// The thread starts with the first job and ends after ``shutdown()``.
///
/// ```swift
/// actor Worker {
///     private let thread = ThreadExecutor(name: "worker")
///     nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
/// }
/// ```
public final class ThreadExecutor: SerialExecutor {
    private let thread: JobThread

    /// Creates an executor.
    ///
    /// The system shows only the first 15 bytes of the name.
    public init(name: String) { thread = JobThread(name: name) }

    deinit { thread.shutdown() }

    /// Queues a job on the thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        thread.enqueue(job, of: self)
    }

    /// Ends the thread after all queued jobs have run.
    ///
    /// Later jobs run on a new thread.
    public func shutdown() { thread.shutdown() }

    /// Returns whether the caller runs on the thread.
    public func isIsolatingCurrentContext() -> Bool? { thread.isCurrent }

    /// Ends the program unless the caller runs on the thread.
    public func checkIsolated() {
        precondition(thread.isCurrent, "this code does not run on the executor's thread")
    }
}

/// Detects commits of other processes in a store's file.
///
/// A committing process signals others by reading one byte of the lock file. If the system has no watches left, a task
/// checks ten times a second.
final class CommitWatch: Sendable {
    private struct Sources {
        var watch: AccessWatcher.Watch?
        var timer: Task<Void, Never>?
    }

    private let shown: Atomic<UInt64>
    private let sources = Mutex(Sources())

    /// Watches the file of a store; nil in memory.
    init?(_ engine: ObjectStore.Store, _ signal: StoreSignal) {
        guard let path = engine.commitSignalPath, let newest = engine.newestVersion else {
            return nil
        }
        shown = Atomic(engine.version)
        let look: @Sendable () -> Void = { [weak self, weak signal] in
            guard let self, newest() != self.shown.load(ordering: .relaxed) else { return }
            signal?.fire()
        }
        let watch = AccessWatcher.shared.watch(path, look)
        let timer: Task<Void, Never>? =
            watch != nil
            ? nil
            : Task.detached {
                while !Task.isCancelled {
                    try? await Task.sleep(for: .milliseconds(100))
                    look()
                }
            }
        sources.withLock { $0 = Sources(watch: watch, timer: timer) }
    }

    deinit { sources.withLock { $0.timer?.cancel() } }

    /// Records that the store shows a version, which needs no signal.
    func storeMoved(to version: UInt64) { shown.store(version, ordering: .relaxed) }

    /// Ends the watch.
    func cancel() {
        let old = sources.withLock { sources in
            defer { sources = Sources() }
            return sources
        }
        old.timer?.cancel()
    }
}
