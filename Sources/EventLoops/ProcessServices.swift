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
    package static var anonymousMemory: Int? { residentMemory?.anonymous }

    /// The resident memory of the process in bytes: its anonymous memory, and the pages of files that it has mapped.
    ///
    /// Nil if the system does not provide it. Costs some microseconds.
    package static var residentMemory: (anonymous: Int, files: Int)? {
        #if canImport(Glibc)
            let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return nil }
            defer { close(file) }
            return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
                let count = Glibc.read(file, buffer.baseAddress, buffer.count)
                guard count > 0 else { return nil }
                // The numbers are page counts: all pages, resident pages, and resident pages of files.
                var numbers = [0]
                for byte in buffer[..<count] where numbers.count < 4 {
                    if byte == UInt8(ascii: " ") {
                        numbers.append(0)
                    } else {
                        numbers[numbers.count - 1] =
                            numbers[numbers.count - 1] * 10 + Int(byte & 15)
                    }
                }
                guard numbers.count == 4 else { return nil }
                let page = Int(getpagesize())
                return ((numbers[1] - numbers[2]) * page, numbers[2] * page)
            }
        #else
            return nil
        #endif
    }
}
