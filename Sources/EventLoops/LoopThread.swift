import CUV
import Synchronization
import SystemCalls

/// A thread with its own event loop, on which one script runs.
///
/// The body is called on the thread with the attached loop, and decides when to run the loop. After the body returns,
/// the loop is closed and the thread ends. SIGINT and the other terminal signals are blocked, because they belong to
/// the main thread. The stack has 16 MiB, twice the size of a main thread's: Lua stops a recursion through C at 200
/// levels, and a level through a binding, an observer and a write has about ten Swift frames.
package final class LoopThread: Sendable {
    /// The default stack size of a thread, in bytes.
    package static let defaultStackSize = 16 << 20

    /// The full name; the kernel shows its first 15 bytes.
    package let name: String
    /// The loop of the thread.
    ///
    /// Jobs can be posted immediately.
    package let loop: EventLoop

    private struct State {
        var thread: uv_thread_t?
    }
    private let state = Mutex(State())

    /// Starts the thread.
    ///
    /// Throws if the system cannot create a thread or has no file descriptors left.
    package init(
        name: String, stackSize: Int = LoopThread.defaultStackSize,
        clock: any LoopClock = SystemClock(),
        body: @escaping @Sendable (EventLoop) -> Void
    ) throws(LoopError) {
        let loop = try EventLoop(clock: clock)
        self.name = name
        self.loop = loop
        let start = Unmanaged.passRetained(Start(name: name, loop: loop, body: body))
        var thread = uv_thread_t()
        var options = uv_thread_options_t()
        options.flags = UInt32(UV_THREAD_HAS_STACK_SIZE.rawValue)
        options.stack_size = stackSize
        let status = Signals.withMainThreadSignalsBlocked {
            uv_thread_create_ex(
                &thread, &options,
                { argument in
                    // Because: the reference was retained for this call, and libuv passes it unchanged.
                    Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue().run()
                }, start.toOpaque())
        }
        if status != 0 { start.release() }
        try LoopError.check(status, "uv_thread_create_ex")
        let started = thread
        state.withLock { $0.thread = started }
    }

    /// Waits for the thread to end.
    ///
    /// Returns immediately if the thread was already joined. Never call it on the thread itself.
    package func join() {
        let thread = state.withLock { state in
            defer { state.thread = nil }
            return state.thread
        }
        guard var thread else { return }
        precondition(!loop.isOnLoop, "a thread cannot wait for its own end")
        uv_thread_join(&thread)
    }

    deinit {
        // The thread will not be joined, so the system releases it when it ends.
        if let thread = state.withLock({ $0.thread }) { pthread_detach(thread) }
    }
}

/// The arguments of a new thread.
private final class Start: Sendable {
    let name: String
    let loop: EventLoop
    let body: @Sendable (EventLoop) -> Void

    init(name: String, loop: EventLoop, body: @escaping @Sendable (EventLoop) -> Void) {
        self.name = name
        self.loop = loop
        self.body = body
    }

    func run() {
        ThreadIdentity.nameCurrent(name)
        // The signal stops a running script.
        Signals.unblock(SIGURG)
        loop.attach()
        body(loop)
        loop.close()
    }
}
