#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Identifies a running thread of the process.
///
/// The system reuses the identity of a thread that has ended.
package struct ThreadIdentity: Hashable, Sendable {
    private let number: UInt

    /// The calling thread.
    ///
    /// Costs a few nanoseconds.
    package static var current: ThreadIdentity {
        #if canImport(Glibc)
            ThreadIdentity(number: UInt(pthread_self()))
        #else
            ThreadIdentity(number: UInt(bitPattern: pthread_self()))
        #endif
    }
}
