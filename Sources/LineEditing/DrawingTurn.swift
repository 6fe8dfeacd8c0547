#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Whose turn it is to run libedit: it draws through the terminal library, which keeps the sequences it makes in memory that
/// the whole process shares (`tgoto` and its kin).
///
/// An editor gives its turn away while it waits for a key, so that several on threads of their own do not wait for each
/// other's users.
enum DrawingTurn {
    // Because: it is made once, never freed, and only the functions of POSIX touch it.
    nonisolated(unsafe) private static let mutex: UnsafeMutablePointer<pthread_mutex_t> = {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        return mutex
    }()

    static func take() { pthread_mutex_lock(mutex) }
    static func give() { pthread_mutex_unlock(mutex) }
}
