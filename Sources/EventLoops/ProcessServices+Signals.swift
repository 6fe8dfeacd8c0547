#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Signals and the end of the process.
extension ProcessServices {
    /// Unblocks every signal, regardless of the inherited mask.
    ///
    /// A child inherits the signal mask of the thread that started it, and threads of a thread pool block all signals.
    /// Without this call, a program started by such a thread could only be killed. Call it before other threads start.
    package static func unblockSignals() {
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }

    /// Makes SIGQUIT, which Ctrl-\ sends, end the process without a dialog about a crash.
    ///
    /// Swift's runtime handles it like a crash. A process that was started with the signal ignored continues to ignore
    /// it.
    package static func restoreQuitSignal() {
        let before = signal(SIGQUIT, SIG_DFL)
        // Functions are not comparable, but this one is a number.
        if unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
            signal(SIGQUIT, SIG_IGN)
        }
    }

    /// Makes a write that exceeds the system's file size limit fail instead of ending the process.
    package static func ignoreFileSizeSignal() { signal(SIGXFSZ, SIG_IGN) }

    /// Calls the handler when the process receives a termination signal: from Ctrl-C, a closed terminal, or `kill`.
    ///
    /// The handler must end the process. The handler runs on its own thread, independently of the other threads. Call
    /// this before other threads start, because these must not receive the signals.
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

    /// Starts a thread that runs until the process ends.
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
