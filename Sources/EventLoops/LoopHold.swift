import Synchronization

/// Keeps a loop running as long as it is neither released nor dropped.
///
/// What a valid token, a running worker or a queued write owns. Release is idempotent and may happen on any thread.
package final class LoopHold: Sendable {
    private let loop: EventLoop
    private let isHeld = Atomic<Bool>(true)

    init(loop: EventLoop) {
        self.loop = loop
        loop.shared.withLock { $0.holds += 1 }
    }

    deinit { release() }

    /// Lets the loop go; the last one to do so lets `run` return.
    package func release() {
        guard isHeld.exchange(false, ordering: .acquiringAndReleasing) else { return }
        loop.shared.withLock { $0.holds -= 1 }
        // The loop may be waiting in the kernel and has to look again.
        loop.signal.send()
    }
}

extension EventLoop {
    /// Keeps `run` from returning until the hold is released.
    ///
    /// Any thread.
    package func hold() -> LoopHold { LoopHold(loop: self) }
}
