#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The identity of a running thread of the process.
///
/// The system reuses the identity of a thread that has ended.
package struct ThreadIdentity: Hashable, Sendable {
    /// The system's number of the thread, which is not 0.
    package let number: UInt

    /// The identity of the calling thread.
    ///
    /// Costs a few nanoseconds.
    package static var current: ThreadIdentity {
        #if canImport(Glibc)
            ThreadIdentity(number: UInt(pthread_self()))
        #else
            ThreadIdentity(number: UInt(bitPattern: pthread_self()))
        #endif
    }

    /// Sets the name of the calling thread for debuggers; the system keeps 15 bytes.
    package static func nameCurrent(_ name: String) {
        #if canImport(Glibc)
            guard let file = fopen("/proc/thread-self/comm", "w") else { return }
            fputs(String(decoding: name.utf8.prefix(15), as: UTF8.self), file)
            fclose(file)
        #else
            pthread_setname_np(name)
        #endif
    }
}
