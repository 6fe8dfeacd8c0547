#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Signals, and what they end.
extension ProcessServices {
    /// Lets every signal through, whatever the program was started with.
    ///
    /// A child has the signal mask of the thread that started it, and threads of a thread pool block all signals: without
    /// this a program that was started by one could only be killed. Before other threads are started.
    package static func unblockSignals() {
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }

    /// Makes a write past the system's limit of file sizes an error of that write instead of the process's end.
    package static func ignoreFileSizeSignal() { signal(SIGXFSZ, SIG_IGN) }

    /// Calls the handler, which ends the process, when the process is told to end: by Ctrl-C, by a closed terminal, or by
    /// `kill`.
    ///
    /// On a thread of its own, whatever the others are doing. Before other threads are started, which are not to get
    /// these signals either.
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

    /// A thread that lasts as long as the process.
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

    /// Makes a write to a pipe that nobody reads an error of that write instead of the process's end.
    package static func ignorePipeSignal() { signal(SIGPIPE, SIG_IGN) }
}
