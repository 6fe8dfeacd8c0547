#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The signals that a thread receives.
package enum Signals {
    /// Calls the body with the signals of the main thread blocked, so that threads that it starts inherit this mask.
    package static func withMainThreadSignalsBlocked<Result>(_ body: () -> Result) -> Result {
        let before = change(
            SIG_BLOCK, [SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGQUIT])
        defer { restore(before) }
        return body()
    }

    /// Calls the body with SIGINT unblocked on this thread, for programs that the body starts.
    ///
    /// A child inherits the signal mask of the thread that starts it, and must be interruptible.
    package static func allowingInterrupts<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let before = change(SIG_UNBLOCK, [SIGINT])
        defer { restore(before) }
        return try body()
    }

    /// Unblocks a signal on the calling thread, regardless of the inherited mask.
    package static func unblock(_ signal: Int32) { _ = change(SIG_UNBLOCK, [signal]) }

    /// Blocks signals on the calling thread, and returns them as a set.
    static func block(_ signals: [Int32]) -> sigset_t {
        _ = change(SIG_BLOCK, signals)
        return set(signals)
    }

    /// Installs a handler for signals; it may only use operations that are safe in a signal handler.
    package static func handle(
        _ signals: [Int32], _ handler: @escaping @convention(c) (Int32) -> Void
    ) {
        for signal in signals {
            var action = sigaction()
            #if canImport(Glibc)
                action.__sigaction_handler.sa_handler = handler
            #else
                action.__sigaction_u.__sa_handler = handler
            #endif
            sigemptyset(&action.sa_mask)
            // SA_RESTART is not necessary, because every wait includes a pipe that the handler writes to.
            action.sa_flags = 0
            sigaction(signal, &action, nil)
        }
    }

    /// Stops the whole job like Ctrl-Z, and returns when it continues.
    package static func suspendJob() { kill(0, SIGTSTP) }

    private static func set(_ signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        return set
    }

    /// Changes the mask of the calling thread, and returns the previous one.
    private static func change(_ how: Int32, _ signals: [Int32]) -> sigset_t {
        var changed = set(signals)
        var before = sigset_t()
        pthread_sigmask(how, &changed, &before)
        return before
    }

    private static func restore(_ mask: sigset_t) {
        var mask = mask
        pthread_sigmask(SIG_SETMASK, &mask, nil)
    }
}
