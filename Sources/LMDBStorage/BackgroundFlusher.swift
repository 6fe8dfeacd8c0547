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
    // because: `monitor` guards everything below it.
    private let monitor = Monitor()
    private var thread: pthread_t?
    private var isRequested = false
    private var isStopping = false
    private var environment: OpaquePointer?

    /// From the end of a flush to the next.
    static let pauseNanoseconds = 50_000_000

    /// Asks for a flush soon.
    ///
    /// Returns at once.
    func request(_ environment: OpaquePointer) {
        monitor.lock()
        defer { monitor.unlock() }
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
        monitor.broadcast()
    }

    /// Flushes what was asked for and ends the thread.
    ///
    /// The environment may be closed afterwards.
    func stop() {
        monitor.lock()
        isStopping = true
        let running = thread
        let pending = isRequested && running == nil ? environment : nil
        thread = nil
        monitor.broadcast()
        monitor.unlock()
        if let running { pthread_join(running, nil) }
        if let pending { mdb_env_sync(pending, 1) }
    }

    fileprivate func run() {
        monitor.lock()
        while true {
            while !isRequested && !isStopping { monitor.wait() }
            if !isRequested { break }
            isRequested = false
            let target = environment
            monitor.unlock()
            // because: a failed background flush has no caller to tell; the next durable commit
            // or `sync` reports the same device error.
            if let target { mdb_env_sync(target, 1) }
            monitor.lock()
            monitor.wait(atMost: Self.pauseNanoseconds) { !isStopping }
        }
        monitor.unlock()
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
