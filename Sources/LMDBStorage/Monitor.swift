#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A lock with a condition, for the few places where one thread waits for another.
final class Monitor: @unchecked Sendable {
    // Unchecked because: both are made for threads to share, and never move.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        #if canImport(Darwin)
            pthread_cond_init(condition, nil)
        #else
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            // A wait must not grow when the system's clock is set.
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(condition, &attributes)
            pthread_condattr_destroy(&attributes)
        #endif
    }

    deinit {
        pthread_mutex_destroy(mutex)
        pthread_cond_destroy(condition)
        mutex.deallocate()
        condition.deallocate()
    }

    func lock() { pthread_mutex_lock(mutex) }

    func unlock() { pthread_mutex_unlock(mutex) }

    /// Runs something with the lock, which is held before and after.
    func withLock<Result>(_ body: () -> Result) -> Result {
        lock()
        defer { unlock() }
        return body()
    }

    /// Runs something without the lock, which is held before and after.
    func withoutLock(_ body: () -> Void) {
        unlock()
        defer { lock() }
        body()
    }

    /// Wakes all waiting threads.
    func broadcast() { pthread_cond_broadcast(condition) }

    /// Waits, without the lock meanwhile, for a broadcast.
    func wait() { pthread_cond_wait(condition, mutex) }

    /// Waits while `condition` holds, at most for a time.
    func wait(atMost nanoseconds: Int, while isWorthIt: () -> Bool) {
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
