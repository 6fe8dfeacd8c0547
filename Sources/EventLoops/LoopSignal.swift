import CUV
import Synchronization

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
        while senders.load(ordering: .sequentiallyConsistent) != 0 { yieldThread() }
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
