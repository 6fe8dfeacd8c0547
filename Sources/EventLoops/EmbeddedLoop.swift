import CUV

/// An event loop of a library that runs inside another loop.
///
/// The embedded loop needs a descriptor that becomes readable when it has work, such as an epoll descriptor. All
/// functions are called on the outer loop's thread, in its turns.
package struct EmbeddedLoop {
    /// A descriptor that becomes readable when the embedded loop has work.
    package let descriptor: Int32
    /// Returns the maximum time until the embedded loop's next call; nil without a limit.
    package let timeout: () -> Duration?
    /// Returns whether the embedded loop keeps the outer loop running.
    package let isAlive: () -> Bool
    /// Runs the embedded loop's due work, without waiting.
    package let run: () -> Void
    /// Called after the loop has waited, so that the embedded loop can update its cached time.
    package let didWait: () -> Void

    /// Creates a description of a loop from its functions.
    package init(
        descriptor: Int32, timeout: @escaping () -> Duration?, isAlive: @escaping () -> Bool,
        run: @escaping () -> Void, didWait: @escaping () -> Void
    ) {
        self.descriptor = descriptor
        self.timeout = timeout
        self.isAlive = isAlive
        self.run = run
        self.didWait = didWait
    }
}

/// An embedded loop and its state in another loop.
final class EmbeddedLoopPoll {
    let embedded: EmbeddedLoop
    private unowned let loop: EventLoop
    private var handle: UnsafeMutablePointer<uv_poll_t>?
    private var isRunning = false
    private var isWatching = false

    init(_ embedded: EmbeddedLoop, in loop: EventLoop) throws(LoopError) {
        self.embedded = embedded
        self.loop = loop
        let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        let status = uv_poll_init(loop.handle, handle, embedded.descriptor)
        if status != 0 { handle.deallocate() }
        try LoopError.check(status, "uv_poll_init")
        loop.own(handle)
        handle.pointee.data = nil
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self).unreference()
        self.handle = handle
    }

    /// Whether the embedded loop keeps the outer loop running.
    var isAlive: Bool { embedded.isAlive() }

    /// Runs the embedded loop's part of a turn; has no effect while the embedded loop is already running.
    func runTurn() {
        guard !isRunning, embedded.isAlive() else { return }
        isRunning = true
        embedded.run()
        isRunning = false
    }

    /// Returns the maximum time that the loop can wait for the kernel; nil without a limit.
    ///
    /// While the embedded loop itself waits inside one of its calls, its events are not processed.
    func prepareToWait() -> Duration? {
        watch(!isRunning)
        return isRunning || !embedded.isAlive() ? nil : embedded.timeout()
    }

    private func watch(_ isWanted: Bool) {
        guard let handle, isWanted != isWatching else { return }
        isWatching = isWanted
        if isWanted {
            uv_poll_start(handle, Int32(UV_READABLE.rawValue), { _, _, _ in })
        } else {
            uv_poll_stop(handle)
        }
    }

    /// Stops using the descriptor, before the embedded loop closes it.
    func end() {
        guard let handle else { return }
        self.handle = nil
        loop.closeHandle(handle)
    }
}

extension EventLoop {
    /// Adds an embedded loop permanently.
    ///
    /// Throws the system's error if its descriptor cannot be watched.
    package func embed(_ embedded: EmbeddedLoop) throws(LoopError) {
        attach()
        let poll = try EmbeddedLoopPoll(embedded, in: self)
        embeddedLoops.append(poll)
    }

    /// Removes all embedded loops before they release their resources.
    package func endEmbeddedLoops() {
        preconditionOnLoop()
        for poll in embeddedLoops { poll.end() }
        embeddedLoops = []
    }
}
