import CUV

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The few things that hosts of scripts need of their process, without a pointer in sight.
///
/// They live here because the modules that use them are built without unsafe code.
public enum ProcessServices {
    /// A variable of the environment; nil when it is not set or not UTF-8.
    public static func environment(_ name: String) -> String? {
        getenv(name).flatMap { String(validatingCString: $0) }
    }

    /// Writes all of the text to standard error, past every buffer.
    public static func writeError(_ text: String) { _ = writeAll(2, Array(text.utf8)) }

    /// Writes all of the text to standard output, past every buffer.
    public static func writeOutput(_ text: String) { _ = writeAll(1, Array(text.utf8)) }

    /// Writes to the C library's standard output, in one piece and at once: no other thread's output comes between.
    public static func print(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { shim_print($0.baseAddress, $0.count) }
    }

    /// Sends on what the C library keeps for standard output.
    public static func flushOutput() { fflush(nil) }

    /// Whether a standard descriptor (0, 1, 2) is a terminal.
    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// How many columns the terminal at a standard descriptor has; nil where that is none, or does not know.
    public static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Ends the process; what the C library has buffered is written, `atexit` handlers run.
    public static func exit(_ status: Int32) -> Never {
        #if canImport(Glibc)
            Glibc.exit(status)
        #else
            Darwin.exit(status)
        #endif
    }

    /// Ends the process at once: nothing is written or run, which is what a second Ctrl-C wants.
    public static func exitNow(_ status: Int32) -> Never { _exit(status) }

    /// The first bytes of a file; nil when it cannot be read.
    public static func read(_ path: String, limit: Int) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: min(limit, 64 << 10))
        while bytes.count < limit {
            let count = readSome(file, &buffer)
            if count <= 0 { return count < 0 ? nil : bytes }
            bytes += buffer[..<min(count, limit - bytes.count)]
        }
        return bytes
    }

    /// Writes a file, or adds to its end; what the system says if that fails.
    public static func write(_ text: String, to path: String, appending: Bool = false) -> String? {
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | (appending ? O_APPEND : O_TRUNC)
        let file = open(path, flags, 0o644)
        guard file >= 0 else { return String(cString: strerror(errno)) }
        defer { close(file) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(file, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return String(cString: strerror(errno))
            }
        }
        return nil
    }

    /// Makes a folder in one that exists, unless it is there; what the system says if that fails.
    public static func makeFolder(_ path: String) -> String? {
        mkdir(path, 0o777) == 0 || errno == EEXIST ? nil : String(cString: strerror(errno))
    }

    /// When a file was changed last, in nanoseconds, and how long it is: whether it is still the same.
    public static func stamp(of path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        #if canImport(Glibc)
            let time = status.st_mtim
        #else
            let time = status.st_mtimespec
        #endif
        return "\(time.tv_sec).\(time.tv_nsec) \(status.st_size) \(status.st_ino)"
    }

    /// How many bytes a file has; nil if there is none.
    public static func size(of path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// The names in a folder, in no order, without `.` and `..`; nil when it cannot be read.
    public static func names(in folder: String) -> [String]? {
        guard let directory = opendir(folder) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let length = MemoryLayout.size(ofValue: entry.pointee.d_name)
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: length) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Removes a file, if there is one.
    public static func remove(_ path: String) { unlink(path) }

    /// The most memory that the process has had at once, in bytes; pages of files that it reads are among them.
    public static var peakMemory: Int {
        var usage = rusage()
        #if canImport(Darwin)
            getrusage(RUSAGE_SELF, &usage)
            return Int(usage.ru_maxrss)
        #else
            getrusage(RUSAGE_SELF.rawValue, &usage)
            return Int(usage.ru_maxrss) << 10
        #endif
    }

    /// Lets every signal through, whatever the program was started with.
    ///
    /// A child has the signal mask of the thread that started it, and threads of a thread pool block all signals: without
    /// this a program that was started by one could only be killed. Before other threads are started.
    public static func unblockSignals() {
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }

    /// Makes a write past the system's limit of file sizes an error of that write instead of the process's end.
    public static func ignoreFileSizeSignal() { signal(SIGXFSZ, SIG_IGN) }

    /// Calls the handler, which ends the process, when the process is told to end: by Ctrl-C, by a closed terminal, or by
    /// `kill`.
    ///
    /// On a thread of its own, whatever the others are doing. Before other threads are started, which are not to get
    /// these signals either.
    public static func onTermination(_ handler: @escaping @Sendable (Int32) -> Void) {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        startThread { [signals] in
            var signals = signals
            var signal: Int32 = 0
            while sigwait(&signals, &signal) != 0 {}
            handler(signal)
        }
    }

    /// A thread that lasts as long as the process.
    private static func startThread(_ body: @escaping @Sendable () -> Void) {
        final class Body: Sendable {
            let run: @Sendable () -> Void
            init(_ run: @escaping @Sendable () -> Void) { self.run = run }
        }
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t?
        #endif
        pthread_create(
            &thread, nil,
            { context in
                #if canImport(Glibc)
                    let context: UnsafeMutableRawPointer! = context
                #endif
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(Body(body)).toOpaque())
    }

    /// Makes a write to a pipe that nobody reads an error of that write instead of the process's end.
    public static func ignorePipeSignal() { signal(SIGPIPE, SIG_IGN) }

    /// Writes bytes to standard output; false if nobody reads it any more.
    public static func output(_ bytes: [UInt8]) -> Bool { writeAll(1, bytes) }

    /// Whether standard output is a pipe or a terminal whose other end is gone.
    public static var isOutputClosed: Bool {
        var state = pollfd(fd: 1, events: 0, revents: 0)
        return poll(&state, 1, 0) > 0 && Int32(state.revents) & (POLLERR | POLLHUP | POLLNVAL) != 0
    }

    private static func readSome(_ file: Int32, _ buffer: inout [UInt8]) -> Int {
        systemRead(file, &buffer, buffer.count)
    }

    private static func writeAll(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR, errno != EAGAIN {
                return false
            }
        }
        return true
    }
}
