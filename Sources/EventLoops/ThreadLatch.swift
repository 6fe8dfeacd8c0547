import CUV

/// An event that occurs once, for which threads can wait without a loop.
package final class ThreadLatch: @unchecked Sendable {
    // Unchecked because: `isOpened` is used only under the mutex, and libuv's two handles are thread-safe.
    private let mutex: UnsafeMutablePointer<uv_mutex_t>
    private let condition: UnsafeMutablePointer<uv_cond_t>
    private var isOpened = false

    /// Creates a closed latch.
    package init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        uv_mutex_init(mutex)
        uv_cond_init(condition)
    }

    deinit {
        uv_cond_destroy(condition)
        uv_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Opens the latch permanently.
    ///
    /// Usable on any thread. Idempotent.
    package func open() {
        uv_mutex_lock(mutex)
        isOpened = true
        uv_cond_broadcast(condition)
        uv_mutex_unlock(mutex)
    }

    /// Waits until the latch is open, up to a time limit.
    ///
    /// Returns whether it is open.
    package func wait(atMost time: Duration) -> Bool {
        let (seconds, attoseconds) = max(time, .zero).components
        // Limiting the wait to one day is harmless, because callers wait again.
        let nanoseconds =
            UInt64(min(seconds, 86_400)) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
        uv_mutex_lock(mutex)
        defer { uv_mutex_unlock(mutex) }
        let deadline = uv_hrtime() &+ nanoseconds
        while !isOpened {
            let now = uv_hrtime()
            if now >= deadline { return false }
            uv_cond_timedwait(condition, mutex, deadline - now)
        }
        return true
    }
}
