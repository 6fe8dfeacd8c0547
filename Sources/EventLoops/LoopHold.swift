import Synchronization

/// Keeps a loop running until the hold is released.
///
/// For example, a valid observer token, a running worker and a queued write each have a hold. Releasing a hold is
/// idempotent, and possible on any thread.
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
    /// `run` can return after the last hold was released.
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
    /// Usable on any thread.
    package func hold() -> LoopHold { LoopHold(loop: self) }
}
