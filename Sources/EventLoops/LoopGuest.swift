import CUV

/// An event loop of a library that runs inside this loop.
///
/// The guest needs a descriptor that becomes readable when it has work, such as an epoll descriptor. All functions are
/// called on the loop's thread, in its turns.
package struct LoopGuest {
    /// A descriptor that becomes readable when the guest has work.
    package let descriptor: Int32
    /// Returns the maximum time until the guest's next call; nil without a limit.
    package let timeout: () -> Duration?
    /// Returns whether the guest keeps the loop running.
    package let isAlive: () -> Bool
    /// Runs the guest's due work, without waiting.
    package let run: () -> Void
    /// Called after the loop has waited, so that the guest can update its cached time.
    package let didWait: () -> Void

    /// Creates a guest from its functions.
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

/// A guest and its state in a loop.
final class HostedGuest {
    let guest: LoopGuest
    private unowned let loop: EventLoop
    private var handle: UnsafeMutablePointer<uv_poll_t>?
    private var isRunning = false
    private var isWatching = false

    init(_ guest: LoopGuest, in loop: EventLoop) throws(LoopError) {
        self.guest = guest
        self.loop = loop
        let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        let status = uv_poll_init(loop.handle, handle, guest.descriptor)
        if status != 0 { handle.deallocate() }
        try LoopError.check(status, "uv_poll_init")
        loop.own(handle)
        handle.pointee.data = nil
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self).unreference()
        self.handle = handle
    }

    /// Whether the guest keeps the loop running.
    var isAlive: Bool { guest.isAlive() }

    /// Runs the guest's part of a turn; has no effect while the guest is already running.
    func runTurn() {
        guard !isRunning, guest.isAlive() else { return }
        isRunning = true
        guest.run()
        isRunning = false
    }

    /// Returns the maximum time that the loop can wait for the kernel; nil without a limit.
    ///
    /// While the guest itself waits inside one of its calls, its events are not processed.
    func prepareToWait() -> Duration? {
        watch(!isRunning)
        return isRunning || !guest.isAlive() ? nil : guest.timeout()
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

    /// Stops using the descriptor, before the guest closes it.
    func end() {
        guard let handle else { return }
        self.handle = nil
        loop.closeHandle(handle)
    }
}

extension EventLoop {
    /// Adds a guest permanently.
    ///
    /// Throws the system's error if its descriptor cannot be watched.
    package func host(_ guest: LoopGuest) throws(LoopError) {
        attach()
        let hosted = try HostedGuest(guest, in: self)
        guests.append(hosted)
    }

    /// Removes all guests before they release their resources.
    package func endGuests() {
        preconditionOnLoop()
        for guest in guests { guest.end() }
        guests = []
    }
}
