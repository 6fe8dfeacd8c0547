#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Process functions that script hosts need, without pointers in their signatures.
///
/// The functions are in this module because the modules that use them are built without unsafe code.
package enum ProcessServices {
    /// Returns an environment variable; nil if it is not set or not UTF-8.
    package static func environment(_ name: String) -> String? {
        getenv(name).flatMap { String(validatingCString: $0) }
    }

    /// Ends the process.
    ///
    /// Flushes the C library's buffers and runs `atexit` handlers.
    package static func exit(_ status: Int32) -> Never {
        #if canImport(Glibc)
            Glibc.exit(status)
        #else
            Darwin.exit(status)
        #endif
    }

    /// Ends the process immediately, without flushing buffers or running `atexit` handlers, as after a second Ctrl-C.
    package static func exitNow(_ status: Int32) -> Never { _exit(status) }
}
