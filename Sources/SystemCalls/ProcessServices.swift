import Synchronization

#if canImport(Glibc)
    @preconcurrency import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Process functions that script hosts need, without pointers in their signatures.
///
/// The modules that use them are built without unsafe code.
package enum ProcessServices {
    /// Waits for a time of less than a second.
    package static func pause(_ time: Duration) { usleep(UInt32(time / .microseconds(1))) }

    /// Returns an environment variable; nil if it is not set or not UTF-8.
    package static func environment(_ name: String) -> String? {
        getenv(name).flatMap { String(validatingCString: $0) }
    }

    /// The process ID of this process.
    package static var identifier: Int32 { getpid() }

    /// Ends the process.
    ///
    /// Flushes the C library's buffers and runs `atexit` handlers. The status is 1 instead of 0 if ``writeOutput(_:)`` has
    /// failed: a report that is not there must not look like success.
    package static func exit(_ status: Int32) -> Never {
        var status = status
        let failure = outputFailure.load(ordering: .relaxed)
        if status == 0, failure != 0 {
            writeError("moonpool: standard output cannot be written: \(systemMessage(failure))\n")
            status = 1
        }
        #if canImport(Glibc)
            Glibc.exit(status)
        #else
            Darwin.exit(status)
        #endif
    }

    /// Ends the process immediately, without flushing buffers or running `atexit` handlers, as after a second Ctrl-C.
    package static func exitNow(_ status: Int32) -> Never { _exit(status) }
}

// Standard input, output and error.
extension ProcessServices {
    /// Opens closed standard streams on `/dev/null`.
    ///
    /// Otherwise the next opened file, such as a store, would become standard output. Call it before anything is opened.
    package static func openStandardStreams() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            // The system assigns the lowest free number, which is this one.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Writes a text to standard error, without buffering and with its control characters escaped.
    package static func writeError(_ text: String) { draw(ControlCharacters.escaped(text)) }

    /// Writes a text to standard error that controls the terminal and contains no data.
    package static func draw(_ text: String) { Descriptor.write(2, Array(text.utf8)) }

    /// Writes a text to standard output, without buffering and with its control characters escaped.
    ///
    /// A failure is reported by ``exit(_:)``, unless the reader has closed the pipe.
    package static func writeOutput(_ text: String) {
        let failure = Descriptor.write(
            outputDescriptor.load(ordering: .relaxed), Array(ControlCharacters.escaped(text).utf8))
        if failure != 0, failure != EPIPE { outputFailure.store(failure, ordering: .relaxed) }
    }

    /// Reserves standard output for ``writeOutput(_:)``; everything else that writes to it, such as C libraries and child
    /// processes, then writes to standard error.
    ///
    /// Call it once, before other threads write.
    package static func reserveOutput() {
        let copy = fcntl(1, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0, dup2(2, 1) == 1 else { return }
        outputDescriptor.store(copy, ordering: .relaxed)
    }

    private static let outputDescriptor = Atomic<Int32>(1)
    /// The system's error number of the last failed ``writeOutput(_:)``; 0 for none.
    private static let outputFailure = Atomic<Int32>(0)

    /// Writes to the C library's standard output in one piece and flushes it, so that output of other threads does not
    /// mix with it.
    package static func print(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { _ = fwrite($0.baseAddress, 1, $0.count, stdout) }
        fflush(stdout)
    }

    /// Flushes the C library's output buffers.
    package static func flushOutput() { fflush(nil) }

    /// Writes bytes to standard output.
    ///
    /// Returns false if the reader has closed it.
    package static func output(_ bytes: [UInt8]) -> Bool { Descriptor.write(1, bytes) == 0 }

    /// Whether standard output is a pipe or a terminal whose other end is closed.
    package static var isOutputClosed: Bool {
        var state = pollfd(fd: 1, events: 0, revents: 0)
        return poll(&state, 1, 0) > 0 && Int32(state.revents) & (POLLERR | POLLHUP | POLLNVAL) != 0
    }
}

// Signals and the end of the process.
extension ProcessServices {
    /// Unblocks every signal, regardless of the inherited mask.
    ///
    /// A child inherits the signal mask of the thread that started it, and threads of a thread pool block all signals.
    /// Without this call, a program started by such a thread could only be killed. Call it before other threads start.
    package static func unblockSignals() {
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }

    /// Makes SIGQUIT, which Ctrl-\ sends, end the process without a dialog about a crash.
    ///
    /// Swift's runtime handles it like a crash. A process that was started with the signal ignored continues to ignore
    /// it.
    package static func restoreQuitSignal() {
        let before = signal(SIGQUIT, SIG_DFL)
        // Functions are not comparable, but this one is a number.
        if unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
            signal(SIGQUIT, SIG_IGN)
        }
    }

    /// Makes a write that exceeds the system's file size limit fail instead of ending the process.
    package static func ignoreFileSizeSignal() { signal(SIGXFSZ, SIG_IGN) }

    /// Calls the handler when the process receives a termination signal: from Ctrl-C, a closed terminal, or `kill`.
    ///
    /// The handler must end the process. The handler runs on its own thread, independently of the other threads. Call
    /// this before other threads start, because these must not receive the signals.
    package static func onTermination(_ handler: @escaping @Sendable (Int32) -> Void) {
        let signals = Signals.block([SIGINT, SIGTERM, SIGHUP])
        _ = DetachedThread.start {
            var signals = signals
            var signal: Int32 = 0
            while sigwait(&signals, &signal) != 0 {}
            handler(signal)
        }
    }

    /// Makes a write to a pipe without a reader fail instead of ending the process.
    package static func ignorePipeSignal() { signal(SIGPIPE, SIG_IGN) }
}

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
            let maximum = rlim_t(present + bytes)
            var limit = rlimit(rlim_cur: maximum, rlim_max: maximum)
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
