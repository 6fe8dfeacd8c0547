#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the systems spell differently.
enum Platform {
    /// A number for the calling thread, never 0.
    static var currentThread: UInt {
        #if canImport(Darwin)
            UInt(bitPattern: pthread_self())
        #else
            UInt(pthread_self())
        #endif
    }

    /// The system's `open`, under a name that no method hides.
    static func openDescriptor(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
        open(path, flags, mode)
    }
}
