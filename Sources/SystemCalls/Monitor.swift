#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A lock with a condition, for the few cases in which one thread waits for another.
///
///     let count = monitor.withLock {
///         while queue.isEmpty { monitor.wait() }
///         return queue.count
///     }
package final class Monitor: @unchecked Sendable {
    // Unchecked because both objects are designed for use by several threads, and never move in memory.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition = Condition()

    package init() {
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    package func lock() { pthread_mutex_lock(mutex) }

    package func unlock() { pthread_mutex_unlock(mutex) }

    /// Runs `body` while holding the lock.
    @inlinable
    package func withLock<Result>(_ body: () -> Result) -> Result {
        lock()
        defer { unlock() }
        return body()
    }

    /// Runs `body` without the lock, which the caller holds before and after.
    @inlinable
    package func withoutLock(_ body: () -> Void) {
        unlock()
        defer { lock() }
        body()
    }

    /// Wakes all threads that wait without a condition of their own.
    package func broadcast() { condition.broadcast() }

    /// Releases the lock, waits for a broadcast, and acquires the lock again.
    package func wait() { wait(for: condition) }

    /// Releases the lock, waits for a broadcast of a condition, and acquires the lock again.
    package func wait(for condition: Condition) { pthread_cond_wait(condition.pointer, mutex) }

    /// Waits for at most this many nanoseconds, and only while `isWorthIt` returns true.
    package func wait(atMost nanoseconds: Int, while isWorthIt: () -> Bool) {
        wait(for: condition, atMost: nanoseconds, while: isWorthIt)
    }

    /// Waits for a condition for at most this many nanoseconds, and only while `isWorthIt` returns true.
    package func wait(
        for condition: Condition, atMost nanoseconds: Int, while isWorthIt: () -> Bool
    ) {
        let condition = condition.pointer
        var code: Int32 = 0
        #if canImport(Darwin)
            var rest = timespec(
                tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
            while code == 0, isWorthIt() {
                code = pthread_cond_timedwait_relative_np(condition, mutex, &rest)
            }
        #else
            var end = timespec()
            clock_gettime(CLOCK_MONOTONIC, &end)
            let sum = end.tv_nsec + nanoseconds % 1_000_000_000
            end.tv_sec += nanoseconds / 1_000_000_000 + sum / 1_000_000_000
            end.tv_nsec = sum % 1_000_000_000
            while code == 0, isWorthIt() { code = pthread_cond_timedwait(condition, mutex, &end) }
        #endif
    }
}

/// A condition of a monitor, for threads that are woken separately.
package final class Condition: @unchecked Sendable {
    // Unchecked because the object is designed for use by several threads, and never moves in memory.
    fileprivate let pointer: UnsafeMutablePointer<pthread_cond_t>

    package init() {
        pointer = .allocate(capacity: 1)
        #if canImport(Darwin)
            pthread_cond_init(pointer, nil)
        #else
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            // Setting the system clock must not prolong a wait.
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(pointer, &attributes)
            pthread_condattr_destroy(&attributes)
        #endif
    }

    deinit {
        pthread_cond_destroy(pointer)
        pointer.deallocate()
    }

    /// Wakes all threads that wait for the condition.
    package func broadcast() { pthread_cond_broadcast(pointer) }
}

/// An event that occurs once, for which threads can wait.
package final class ThreadLatch: @unchecked Sendable {
    // Unchecked because: the monitor protects the flag.
    private let monitor = Monitor()
    private var isOpened = false

    /// Creates a closed latch.
    package init() {}

    /// Opens the latch permanently.
    ///
    /// Usable on any thread. Idempotent.
    package func open() {
        monitor.withLock {
            isOpened = true
            monitor.broadcast()
        }
    }

    /// Waits until the latch is open, up to a time limit.
    ///
    /// Returns whether it is open.
    package func wait(atMost time: Duration) -> Bool {
        let (seconds, attoseconds) = max(time, .zero).components
        // Limiting the wait to one day is harmless, because callers wait again.
        let nanoseconds =
            Int(min(seconds, 86_400)) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        return monitor.withLock {
            monitor.wait(atMost: nanoseconds) { !isOpened }
            return isOpened
        }
    }
}
