import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Flushes commits behind their backs: one thread per environment, started by the first request.
///
/// Requests that arrive while a flush runs, or shortly after, share the next one: a flush takes the disk and a
/// processor from who commits meanwhile.
final class BackgroundFlusher: @unchecked Sendable {
    // because: `mutex` guards everything below it.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var thread: pthread_t?
    private var isRequested = false
    private var isStopping = false
    private var environment: OpaquePointer?

    /// From the end of a flush to the next.
    static let pauseNanoseconds = 50_000_000

    init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        #if canImport(Darwin)
            pthread_cond_init(condition, nil)
        #else
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            // A pause must not grow when somebody sets the clock.
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

    /// Asks for a flush soon.
    ///
    /// Returns at once.
    func request(_ environment: OpaquePointer) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        if isRequested { return }
        isRequested = true
        self.environment = environment
        if thread == nil {
            var started = pthread_t()
            let context = Unmanaged.passRetained(self).toOpaque()
            let code = pthread_create(&started, nil, flusherMain, context)
            if code == 0 {
                thread = started
            } else {
                Unmanaged<BackgroundFlusher>.fromOpaque(context).release()
            }
        }
        pthread_cond_signal(condition)
    }

    /// Flushes what was asked for and ends the thread.
    ///
    /// The environment may be closed afterwards.
    func stop() {
        pthread_mutex_lock(mutex)
        isStopping = true
        let running = thread
        let pending = isRequested && running == nil ? environment : nil
        thread = nil
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
        if let running { pthread_join(running, nil) }
        if let pending { mdb_env_sync(pending, 1) }
    }

    fileprivate func run() {
        pthread_mutex_lock(mutex)
        while true {
            while !isRequested && !isStopping { pthread_cond_wait(condition, mutex) }
            if !isRequested { break }
            isRequested = false
            let target = environment
            pthread_mutex_unlock(mutex)
            // because: a failed background flush has no caller to tell; the next durable commit
            // or `sync` reports the same device error.
            if let target { mdb_env_sync(target, 1) }
            pthread_mutex_lock(mutex)
            pause()
        }
        pthread_mutex_unlock(mutex)
    }

    /// Waits for the pause, or until the environment is about to be closed.
    private func pause() {
        var code: Int32 = 0
        #if canImport(Darwin)
            var rest = timespec(tv_sec: 0, tv_nsec: Self.pauseNanoseconds)
            while !isStopping && code == 0 {
                code = pthread_cond_timedwait_relative_np(condition, mutex, &rest)
            }
        #else
            var end = timespec()
            clock_gettime(CLOCK_MONOTONIC, &end)
            let nanoseconds = end.tv_nsec + Self.pauseNanoseconds
            end.tv_sec += nanoseconds / 1_000_000_000
            end.tv_nsec = nanoseconds % 1_000_000_000
            while !isStopping && code == 0 {
                code = pthread_cond_timedwait(condition, mutex, &end)
            }
        #endif
    }
}

#if canImport(Darwin)
    private func flusherMain(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<BackgroundFlusher>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
#else
    private func flusherMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let context {
            Unmanaged<BackgroundFlusher>.fromOpaque(context).takeRetainedValue().run()
        }
        return nil
    }
#endif
