#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Process functions that script hosts need, without pointers in their signatures.
///
/// They are here because the modules that use them are built without unsafe code.
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

    /// Ends the process immediately, without flushing or `atexit` handlers, as a second Ctrl-C requests.
    package static func exitNow(_ status: Int32) -> Never { _exit(status) }

    /// The peak memory of the process in bytes.
    ///
    /// Includes resident pages of mapped files.
    package static var peakMemory: Int {
        var usage = rusage()
        #if canImport(Darwin)
            getrusage(RUSAGE_SELF, &usage)
            return Int(usage.ru_maxrss)
        #else
            getrusage(RUSAGE_SELF.rawValue, &usage)
            return Int(usage.ru_maxrss) << 10
        #endif
    }
}
