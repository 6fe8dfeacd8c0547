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
