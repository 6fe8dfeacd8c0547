import CUV
import Synchronization

/// A thread of its own with an event loop: what one script runs on.
///
/// The body is called on the thread with the attached loop and decides when to run it; after it has returned, the loop
/// is closed and the thread ends. SIGINT and the other signals of a terminal are blocked on it: they belong to the main
/// thread. The stack has 16 MiB, twice that of a main thread: Lua stops a recursion through C at 200 levels, and a level
/// through a binding, an observer and a write has some ten Swift frames.
package final class LoopThread: Sendable {
    /// The stack of a thread when none is asked for, in bytes.
    package static let defaultStackSize = 16 << 20

    /// The full name; the kernel shows its first 15 bytes.
    package let name: String
    /// The thread's loop; jobs may be posted at once.
    package let loop: EventLoop

    private struct State {
        var thread: uv_thread_t?
    }
    private let state = Mutex(State())

    /// Starts the thread.
    ///
    /// Fails when the system gives no thread or no file descriptors.
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
        let status = withMainThreadSignalsBlocked {
            uv_thread_create_ex(
                &thread, &options,
                { argument in
                    // Because: the reference was made for this call, and libuv hands it back untouched.
                    Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue().run()
                }, start.toOpaque())
        }
        if status != 0 { start.release() }
        try LoopError.check(status, "uv_thread_create_ex")
        let started = thread
        state.withLock { $0.thread = started }
    }

    /// The name of the calling thread as the system's tools show it.
    package static var currentKernelName: String { kernelNameOfCurrentThread() }

    /// Calls the body with SIGINT let through on this thread, for programs that are started in it.
    ///
    /// A child inherits the mask of the thread that starts it, and one that cannot be interrupted is a nuisance.
    package static func allowingInterrupts<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let before = unblockTerminalInterrupt()
        defer { restore(before) }
        return try body()
    }

    /// Waits for the thread's end.
    ///
    /// Returns at once when somebody has joined it already; never call it on the thread.
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
        // Nobody will join it: let the system clean up when it ends.
        if let thread = state.withLock({ $0.thread }) { detach(thread) }
    }
}

/// What a new thread needs to know.
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
        nameCurrentThread(name)
        unblockInterruptSignal()
        loop.attach()
        body(loop)
        loop.close()
    }
}
