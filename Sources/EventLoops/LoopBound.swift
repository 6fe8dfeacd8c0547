import Synchronization

/// A value that can be passed to any thread, but is usable only on its loop's thread.
///
/// Access on another thread traps. The value is also released on the loop's thread: if the last reference is released
/// on another thread, the value is posted to the loop. If the loop has ended, no race is possible, and the value is
/// released on the current thread.
package final class LoopBound<Value>: @unchecked Sendable {
    // Unchecked because: the value is accessible only through `value`, which checks the thread.
    private let loop: EventLoop
    // Nil only during deinit, when the value is being posted to the loop.
    private var stored: Value?

    /// Creates a reference to a value, on the loop's thread.
    package init(_ value: Value, on loop: EventLoop) {
        loop.preconditionOnLoop()
        self.loop = loop
        stored = value
    }

    deinit {
        if loop.isOnLoop { return }
        // The value is moved, not copied: a reference that remained here could be released on this thread, after the
        // parcel.
        let parcel = Parcel(value: stored.take())
        loop.post { _ = parcel }
    }

    /// The value.
    ///
    /// Traps on threads other than the loop's.
    package var value: Value {
        get {
            loop.preconditionOnLoop()
            // because: only `deinit` removes the value.
            return stored!
        }
        set {
            loop.preconditionOnLoop()
            stored = newValue
        }
    }

    private struct Parcel: @unchecked Sendable {
        // Unchecked because: no code uses the value; it is moved to the loop only to be released.
        let value: Value?
    }
}

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
        loop.shared.withLock { shared in
            assert(shared.holds > 0, "a hold is released once")
            shared.holds -= 1
        }
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
