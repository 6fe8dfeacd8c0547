import Glibc

/// A system thread that a test has started.
///
/// Ends on its own if it is not waited for.
public final class RunningThread {
    private var thread: pthread_t?

    /// Runs `body` once on its own thread.
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

    /// The number of the calling thread.
    public static var currentNumber: UInt { UInt(pthread_self()) }

    /// The name of the calling thread; the system keeps 15 bytes.
    public static var currentName: String {
        guard let file = fopen("/proc/thread-self/comm", "r") else { return "" }
        defer { fclose(file) }
        var name = [CChar](repeating: 0, count: 32)
        guard fgets(&name, Int32(name.count), file) != nil else { return "" }
        return String(
            decoding: name.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) },
            as: UTF8.self)
    }
}
