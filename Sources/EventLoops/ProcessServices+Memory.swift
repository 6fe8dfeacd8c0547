#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// The memory of the process: measurements, and a limit that the system keeps.
extension ProcessServices {
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
    package static var anonymousMemory: Int? { ResidentMemory().anonymous }

    /// Makes the system refuse the process more than a number of bytes of private memory besides the present ones.
    ///
    /// The memory includes stacks and other memory that is reserved but not used, and excludes mapped files and stores in
    /// memory. Where the program cannot handle a refusal, it then writes the message, as one line, to standard error and
    /// ends with the status 1. Call this before other threads start. Has no effect if the system does not count private
    /// memory.
    package static func limitMemory(to bytes: Int, message: String) {
        #if canImport(Glibc)
            guard let present = ResidentMemory().reserved else { return }
            refusalMessage = UnsafeMutableRawPointer(strdup(message + "\n"))
            refusalLength = message.utf8.count + 1
            for trap in [SIGABRT, SIGILL, SIGTRAP, SIGSEGV] { signal(trap, endAfterRefusal) }
            let most = rlim_t(present + bytes)
            var limit = rlimit(rlim_cur: most, rlim_max: most)
            setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
        #endif
    }
}

// Set before the handler is installed, and constant afterward.
nonisolated(unsafe) private var refusalMessage: UnsafeMutableRawPointer?
nonisolated(unsafe) private var refusalLength = 0

/// Ends the process after a signal, with the message if the system has refused memory.
///
/// After the refusal, Swift and libraries end the process by one of several signals; the last error of the thread is still
/// the refusal's.
private func endAfterRefusal(_ trap: Int32) {
    if errno == ENOMEM {
        write(2, refusalMessage, refusalLength)
        _exit(1)
    }
    signal(trap, SIG_DFL)
    raise(trap)
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

    /// The bytes of anonymous memory; nil if the system does not provide them.
    ///
    /// Costs about a microsecond.
    package var anonymous: Int? { numbers.map { ($0[1] - $0[2]) * Int(getpagesize()) } }

    /// The bytes of private memory, including memory that is reserved and not used.
    fileprivate var reserved: Int? { numbers.map { $0[5] * Int(getpagesize()) } }

    /// The page counts of the system: all pages, resident pages, resident pages of files, pages of code, 0, and private
    /// pages.
    private var numbers: InlineArray<6, Int>? {
        guard file >= 0 else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
            let count = pread(file, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return nil }
            var numbers = InlineArray<6, Int>(repeating: 0)
            var index = 0
            for byte in buffer[..<count] where index < 6 {
                if byte == UInt8(ascii: " ") {
                    index += 1
                } else if byte != UInt8(ascii: "\n") {
                    numbers[index] = numbers[index] * 10 + Int(byte & 15)
                }
            }
            return index >= 5 ? numbers : nil
        }
    }
}
