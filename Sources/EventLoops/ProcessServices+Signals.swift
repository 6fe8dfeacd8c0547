#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Signals, and how they end the process.
extension ProcessServices {
    /// Unblocks every signal, regardless of the inherited mask.
    ///
    /// A child inherits the signal mask of the thread that started it, and threads of a thread pool block all signals.
    /// Without this call, a program started by such a thread could only be killed. Call it before other threads are
    /// started.
    package static func unblockSignals() {
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }

    /// Makes a write past the system's limit on file size fail instead of ending the process.
    package static func ignoreFileSizeSignal() { signal(SIGXFSZ, SIG_IGN) }

    /// Calls the handler, which ends the process, when the process receives a termination signal: from Ctrl-C, a closed
    /// terminal, or `kill`.
    ///
    /// The handler runs on its own thread, whatever the other threads do. Call it before other threads are started,
    /// which must not receive these signals.
    package static func onTermination(_ handler: @escaping @Sendable (Int32) -> Void) {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        startThread { [signals] in
            var signals = signals
            var signal: Int32 = 0
            while sigwait(&signals, &signal) != 0 {}
            handler(signal)
        }
    }

    /// Starts a thread that lives as long as the process.
    private static func startThread(_ body: @escaping @Sendable () -> Void) {
        final class Body: Sendable {
            let run: @Sendable () -> Void
            init(_ run: @escaping @Sendable () -> Void) { self.run = run }
        }
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t?
        #endif
        pthread_create(
            &thread, nil,
            { context in
                #if canImport(Glibc)
                    let context: UnsafeMutableRawPointer! = context
                #endif
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(Body(body)).toOpaque())
    }

    /// Makes a write to a pipe without a reader fail instead of ending the process.
    package static func ignorePipeSignal() { signal(SIGPIPE, SIG_IGN) }
}
