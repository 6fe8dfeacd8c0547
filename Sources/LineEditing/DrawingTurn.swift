#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A lock for running libedit, which draws through the terminal library.
///
/// The terminal library builds its sequences in static memory of the process (`tgoto` and related functions).
///
/// An editor releases the lock while it waits for a key, so that editors on several threads do not block each other.
enum DrawingTurn {
    // The unchecked access is safe: the mutex is created once, never freed, and used only by POSIX functions.
    nonisolated(unsafe) private static let mutex: UnsafeMutablePointer<pthread_mutex_t> = {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        return mutex
    }()

    static func take() { pthread_mutex_lock(mutex) }
    static func give() { pthread_mutex_unlock(mutex) }
}
