import CUV
import Synchronization

/// A handler on the loop's thread that other threads can request to run.
///
/// Several requests before the call result in one call. Create it on the loop's thread. `wake` can be called on any
/// thread and in a signal handler. The loop keeps the handler until `cancel` or until the loop ends; releasing the
/// value does not cancel it.
package final class LoopWakeup: @unchecked Sendable {
    // Unchecked because: the flags are atomic, and the handler is used only on the loop's thread.
    private let isPending = Atomic<Bool>(false)
    private let isCancelled = Atomic<Bool>(false)
    private let signal: LoopSignal
    private weak var loop: EventLoop?
    private(set) var handler: (() -> Void)?

    init(loop: EventLoop, handler: @escaping () -> Void) {
        signal = loop.signal
        self.loop = loop
        self.handler = handler
    }

    /// Requests one call of the handler in a later turn.
    ///
    /// Usable on any thread; has no effect after `cancel` or after the loop has ended.
    package func wake() {
        if isCancelled.load(ordering: .relaxed) { return }
        if !isPending.exchange(true, ordering: .acquiringAndReleasing) { signal.send() }
    }

    /// Requests a call from a libuv callback on the loop's thread.
    ///
    /// No signal is necessary, because the loop checks its wake-ups after its callbacks.
    func wakeFromLoop() { isPending.store(true, ordering: .releasing) }

    /// Cancels the wake-up, on any thread.
    ///
    /// A running call on the loop's thread completes.
    package func cancel() {
        if isCancelled.exchange(true, ordering: .acquiringAndReleasing) { return }
        guard let loop else { return }
        if loop.isOnLoop {
            forget(on: loop)
        } else {
            loop.post { [self] in forget(on: loop) }
        }
    }

    private func forget(on loop: EventLoop) {
        loop.wakeups.removeAll { $0 === self }
        handler = nil
    }

    /// Whether a call is pending.
    var isAwaited: Bool { isPending.load(ordering: .acquiring) }

    func takePending() -> Bool {
        isPending.exchange(false, ordering: .acquiringAndReleasing)
            && !isCancelled.load(ordering: .acquiring)
    }
}

extension EventLoop {
    /// Registers a handler that any thread can request to run.
    ///
    /// Call it on the loop's thread.
    package func makeWakeup(_ handler: @escaping () -> Void) -> LoopWakeup {
        attach()
        let wakeup = LoopWakeup(loop: self, handler: handler)
        wakeups.append(wakeup)
        return wakeup
    }
}

/// The one libuv handle that other threads and signal handlers may use.
///
/// The object outlives the loop: sending a signal after the loop has ended has no effect. `send` takes no lock and
/// allocates no memory, so signal handlers can call it.
final class LoopSignal: @unchecked Sendable {
    // Unchecked because: `uv_async_send` is libuv's only thread-safe call, and the two atomics ensure that no call is
    // in progress when the handle is closed.
    private let handle: UnsafeMutablePointer<uv_async_t>
    private let senders = Atomic<Int>(0)
    private let isOpen = Atomic<Bool>(true)
    private let isFreed = Atomic<Bool>(false)

    init(loop: UnsafeMutablePointer<uv_loop_t>) throws(LoopError) {
        handle = .allocate(capacity: 1)
        let status = uv_async_init(loop, handle, { _ in })
        if status != 0 { handle.deallocate() }
        try LoopError.check(status, "uv_async_init")
        uv_unref(UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self))
    }

    /// Makes the loop's thread check its queues.
    ///
    /// Usable on any thread and in signal handlers.
    func send() {
        senders.add(1, ordering: .sequentiallyConsistent)
        if isOpen.load(ordering: .sequentiallyConsistent) { uv_async_send(handle) }
        senders.subtract(1, ordering: .sequentiallyConsistent)
    }

    func reference(_ keepsAlive: Bool) {
        let handle = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
        if keepsAlive { uv_ref(handle) } else { uv_unref(handle) }
    }

    /// Waits until the last call of `send` has returned; later calls do not reach libuv.
    ///
    /// The loop closes the handle itself.
    func close() {
        isOpen.store(false, ordering: .sequentiallyConsistent)
        while senders.load(ordering: .sequentiallyConsistent) != 0 { sched_yield() }
    }

    /// Frees the memory once, after libuv has released the handle.
    func free() {
        if !isFreed.exchange(true, ordering: .acquiringAndReleasing) { handle.deallocate() }
    }
}

extension UnsafeMutablePointer<uv_handle_t> {
    /// Excludes this handle from those that keep `uv_run` running.
    func unreference() { uv_unref(self) }
}
