import Synchronization

/// Keeps a loop running until it is released or dropped.
///
/// Valid tokens, running workers and queued writes own a hold. Release is idempotent and may happen on any thread.
package final class LoopHold: Sendable {
    private let loop: EventLoop
    private let isHeld = Atomic<Bool>(true)

    init(loop: EventLoop) {
        self.loop = loop
        loop.shared.withLock { $0.holds += 1 }
    }

    deinit { release() }

    /// Releases the hold.
    ///
    /// `run` can return after the last hold is released.
    package func release() {
        guard isHeld.exchange(false, ordering: .acquiringAndReleasing) else { return }
        loop.shared.withLock { $0.holds -= 1 }
        // The loop may be waiting in the kernel and has to check again.
        loop.signal.send()
    }
}

extension EventLoop {
    /// Keeps `run` from returning until the hold is released.
    ///
    /// Any thread.
    package func hold() -> LoopHold { LoopHold(loop: self) }
}
