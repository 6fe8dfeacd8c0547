import Glibc

/// A thread of the system that a test has started.
///
/// Ends on its own if nobody waits for it.
public final class RunningThread {
    private var thread: pthread_t?

    /// Runs `body` once on a thread of its own.
    @discardableResult
    public init(_ body: @escaping @Sendable () -> Void) {
        final class Job {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var started = pthread_t()
        let code = pthread_create(
            &started, nil,
            { argument in
                // because: the creator has retained it for this thread.
                Unmanaged<Job>.fromOpaque(argument!).takeRetainedValue().body()
                return nil
            }, Unmanaged.passRetained(Job(body)).toOpaque())
        precondition(code == 0, "a test cannot start a thread: error \(code)")
        thread = started
    }

    deinit { if let thread { pthread_detach(thread) } }

    /// Returns when the thread has ended.
    public func wait() {
        guard let ended = thread else { return }
        thread = nil
        pthread_join(ended, nil)
    }
}
