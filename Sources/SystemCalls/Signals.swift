import Synchronization

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

    /// Removes the file at a path if SIGTERM or SIGHUP ends the process, until the path is unregistered.
    ///
    /// Signals that the process ignores or handles otherwise keep their effect. Returns false if there are too many paths.
    @discardableResult  // because: a socket that stays is replaced by the next process
    package static func removeAtEnd(_ path: String) -> Bool {
        let isKept = ending.withLock { _ in
            for slot in 0..<doomedLimit where doomed[slot] == nil {
                doomed[slot] = strdup(path)
                return true
            }
            return false
        }
        for number in [SIGTERM, SIGHUP] {
            var present = sigaction()
            sigaction(number, nil, &present)
            #if canImport(Glibc)
                let isDefault = present.__sigaction_handler.sa_handler == nil
            #else
                let isDefault = present.__sigaction_u.__sa_handler == nil
            #endif
            if isDefault { handle([number], removeAndEnd) }
        }
        return isKept
    }

    /// Unregisters a path.
    package static func keepAtEnd(_ path: String) {
        ending.withLock { _ in
            for slot in 0..<doomedLimit {
                // The text is not freed, because the handler may be reading it.
                if let other = doomed[slot], strcmp(other, path) == 0 { doomed[slot] = nil }
            }
        }
    }

    private static let ending = Mutex(())

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

private let doomedLimit = 8
// Allocated before the handler is installed; a thread changes one pointer at a time.
nonisolated(unsafe) private let doomed: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> = {
    let paths = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: doomedLimit)
    paths.initialize(repeating: nil, count: doomedLimit)
    return paths
}()

/// Removes the registered files, and ends the process by the signal.
private func removeAndEnd(_ number: Int32) {
    for slot in 0..<doomedLimit { if let path = doomed[slot] { unlink(path) } }
    signal(number, SIG_DFL)
    raise(number)
}
