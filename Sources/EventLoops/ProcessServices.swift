#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The few things that hosts of scripts need of their process, without a pointer in sight.
///
/// They live here because the modules that use them are built without unsafe code.
package enum ProcessServices {
    /// A variable of the environment; nil when it is not set or not UTF-8.
    package static func environment(_ name: String) -> String? {
        getenv(name).flatMap { String(validatingCString: $0) }
    }

    /// Ends the process; what the C library has buffered is written, `atexit` handlers run.
    package static func exit(_ status: Int32) -> Never {
        #if canImport(Glibc)
            Glibc.exit(status)
        #else
            Darwin.exit(status)
        #endif
    }

    /// Ends the process at once: nothing is written or run, which is what a second Ctrl-C wants.
    package static func exitNow(_ status: Int32) -> Never { _exit(status) }

    /// The most memory that the process has had at once, in bytes; pages of files that it reads are among them.
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
