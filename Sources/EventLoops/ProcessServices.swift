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

    /// The anonymous memory of the process, such as its heap and stacks, in bytes.
    ///
    /// Nil if the system does not provide it. Costs some microseconds.
    package static var anonymousMemory: Int? { ResidentMemory().measured?.anonymous }
}

/// The resident memory of the process, for frequent measurements.
///
/// Keeps a file of the system open, because opening it takes four times as long as reading it. Usable on any thread.
package final class ResidentMemory: Sendable {
    private let file: Int32

    /// Opens the file of the system.
    package init() {
        #if canImport(Glibc)
            file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        #else
            file = -1
        #endif
    }

    deinit { if file >= 0 { close(file) } }

    /// The bytes of anonymous memory, and of the pages of mapped files.
    ///
    /// Nil if the system does not provide them. Costs about a microsecond.
    package var measured: (anonymous: Int, files: Int)? {
        guard file >= 0 else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
            let count = pread(file, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return nil }
            // The numbers are page counts: all pages, resident pages, and resident pages of files.
            var numbers = (0, 0, 0)
            var index = 0
            for byte in buffer[..<count] where index < 3 {
                if byte == UInt8(ascii: " ") {
                    index += 1
                    if index < 3 { numbers = (numbers.1, numbers.2, 0) }
                } else {
                    numbers.2 = numbers.2 * 10 + Int(byte & 15)
                }
            }
            guard index == 3 else { return nil }
            let page = Int(getpagesize())
            return ((numbers.1 - numbers.2) * page, numbers.2 * page)
        }
    }
}
