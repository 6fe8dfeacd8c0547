import CUV

/// Another event loop that runs inside of this one: that of a library which brings its own.
///
/// What it needs is a descriptor that becomes readable when it has something to do, as epoll's is. Everything is called on
/// the loop's thread, in its turns.
package struct LoopGuest {
    /// Becomes readable when the guest has something to do.
    package let descriptor: Int32
    /// How long the guest may be left alone; nil for ever.
    package let timeout: () -> Duration?
    /// Whether the guest has something that keeps the loop running.
    package let isAlive: () -> Bool
    /// Does what is due, without waiting.
    package let run: () -> Void
    /// Called when the loop has waited: time has passed.
    package let didWait: () -> Void

    /// Describes a guest.
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

/// A guest in the hands of its loop.
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

    /// The guest's part of a turn; not again while it is under way.
    func takeTurn() {
        guard !isRunning, guest.isAlive() else { return }
        isRunning = true
        guest.run()
        isRunning = false
    }

    /// How long the loop may wait for the kernel; nil for ever.
    ///
    /// While the guest itself is waiting inside one of its calls, nobody would take what it has to do.
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

    /// Lets go of the descriptor, which the guest is about to close.
    func end() {
        guard let handle else { return }
        self.handle = nil
        loop.closeHandle(handle)
    }
}

extension EventLoop {
    /// Takes a guest in, for good.
    ///
    /// Throws what the system says when it cannot watch its descriptor.
    package func host(_ guest: LoopGuest) throws(LoopError) {
        attach()
        let hosted = try HostedGuest(guest, in: self)
        guests.append(hosted)
    }

    /// Lets all guests go, before they close what they are made of.
    package func endGuests() {
        preconditionOnLoop()
        for guest in guests { guest.end() }
        guests = []
    }
}
