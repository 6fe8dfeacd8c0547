import Glibc
import Synchronization

/// An operating system thread for observers outside of Moonpool.
final class Thread: Sendable {
    private let handle: pthread_t

    init(_ body: @escaping @Sendable () -> Void) {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var handle = pthread_t()
        let box = Unmanaged.passRetained(Box(body)).toOpaque()
        let code = pthread_create(
            &handle, nil,
            { argument in
                Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().body()
                return nil
            }, box)
        precondition(code == 0, "no thread")
        self.handle = handle
    }

    func join() { pthread_join(handle, nil) }
}

/// Wakes a waiting thread.
///
/// Several signals before it waits count once.
final class Signal: @unchecked Sendable {  // all state is guarded by the POSIX mutex
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var raised = false
    private var closed = false

    init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        defer { pthread_condattr_destroy(&attributes) }
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func raise() { change { raised = true } }
    func close() { change { closed = true } }

    private func change(_ body: () -> Void) {
        pthread_mutex_lock(mutex)
        body()
        pthread_mutex_unlock(mutex)
        // Without the lock, so that the woken thread does not block on it.
        pthread_cond_signal(condition)
    }

    /// Waits for a signal.
    ///
    /// Returns false after `close`.
    func wait() -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !raised && !closed { pthread_cond_wait(condition, mutex) }
        raised = false
        return !closed
    }

    /// Waits for a signal until a time of the monotonic clock, in nanoseconds.
    ///
    /// Returns false after that time and after `close`.
    func wait(until deadline: UInt64) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var end = timespec(
            tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        while !raised && !closed {
            if pthread_cond_timedwait(condition, mutex, &end) == ETIMEDOUT { return false }
        }
        raised = false
        return !closed
    }
}
