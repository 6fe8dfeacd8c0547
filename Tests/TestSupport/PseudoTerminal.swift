#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A terminal without a window.
///
/// A test types keys, and the output of the program becomes a screen.
///
/// Used only on the test's thread. Waiting always has a deadline, and its failure shows the screen.
public final class PseudoTerminal {
    /// The failure of a wait for the screen.
    public struct Timeout: Error, CustomStringConvertible {
        /// The expected text and the actual screen.
        public let description: String

        /// A failure with this text.
        public init(description: String) { self.description = description }
    }

    private let master: Int32
    /// The end of the pseudo-terminal that the tested program uses as its input and output.
    public let descriptor: Int32
    private let name: String
    private var process: pid_t?
    /// The shown text.
    public private(set) var screen: TerminalScreen
    /// All bytes of the output, for details that a screen does not contain.
    public private(set) var transcript: [UInt8] = []

    /// Opens a pair of descriptors with a window of this size.
    public init(columns: Int = 80, rows: Int = 24) throws {
        var size = winsize(
            ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        var master: Int32 = -1
        var slave: Int32 = -1
        var name = [CChar](repeating: 0, count: 128)
        guard openpty(&master, &slave, &name, nil, &size) == 0 else {
            throw Timeout(description: "no pseudo-terminal: error \(errno)")
        }
        self.master = master
        descriptor = slave
        self.name = String(
            decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        _ = fcntl(master, F_SETFL, fcntl(master, F_GETFL) | O_NONBLOCK)
        _ = fcntl(master, F_SETFD, FD_CLOEXEC)
        _ = fcntl(slave, F_SETFD, FD_CLOEXEC)
        screen = TerminalScreen(columns: columns, rows: rows)
    }

    deinit {
        if let process {
            kill(process, SIGKILL)
            var status: Int32 = 0
            waitpid(process, &status, 0)
        }
        close(master)
        close(descriptor)
    }

    /// Types characters; special keys have names below.
    public func type(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
            if count > 0 { bytes = bytes.dropFirst(count) } else if errno != EAGAIN { return }
        }
    }

    /// Special keys.
    public enum Key {
        public static let enter = "\r", tab = "\t", interrupt = "\u{3}", end = "\u{4}"
        public static let up = "\u{1B}[A", down = "\u{1B}[B", right = "\u{1B}[C", left = "\u{1B}[D"
        public static let pageUp = "\u{1B}[5~", pageDown = "\u{1B}[6~"
        public static let backspace = "\u{7F}", search = "\u{12}", lineStart = "\u{1}"
        /// The bytes that a terminal sends for pasted text.
        public static func paste(_ text: String) -> String { "\u{1B}[200~\(text)\u{1B}[201~" }
    }

    /// Whether the program reads single keys and has read all typed keys.
    public var hasReadKeys: Bool {
        var waiting: Int32 = 0
        return readsSingleKeys && ioctl(descriptor, UInt(FIONREAD), &waiting) == 0 && waiting == 0
    }

    /// Whether the program reads single keys, so that the terminal does not process control characters.
    public var readsSingleKeys: Bool {
        var modes = termios()
        return tcgetattr(descriptor, &modes) == 0 && modes.c_lflag & tcflag_t(ICANON) == 0
    }

    /// Resizes the window; a program on this terminal receives SIGWINCH.
    public func resize(columns: Int, rows: Int) {
        read(milliseconds: 0)
        var size = winsize(
            ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        screen.resize(columns: columns, rows: rows)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    /// Reads until the screen satisfies the condition.
    public func wait(
        for what: String, seconds: Double = 60, until condition: (TerminalScreen) -> Bool
    ) throws {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            read(milliseconds: 0)
            if condition(screen) { return }
            guard ContinuousClock.now < deadline else {
                throw Timeout(
                    description: "waited for \(what); the screen shows:\n\(screen.text)\n"
                        + "cursor at row \(screen.row), column \(screen.column)")
            }
            read(milliseconds: 20)
        }
    }

    /// Reads until the screen contains a text.
    public func wait(forText text: String, seconds: Double = 60) throws {
        try wait(for: "'\(text)'", seconds: seconds) { $0.text.contains(text) }
    }

    private func read(milliseconds: Int32) {
        var ready = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, milliseconds) > 0 else { return }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = readOnce(master, &buffer)
            if count <= 0 { return }
            transcript += buffer[..<count]
            screen.receive(buffer[..<count])
        }
    }

    /// Starts a program with this controlling terminal; only one for each terminal.
    public func start(_ program: String, _ arguments: [String], environment: [String: String])
        throws
    {
        precondition(process == nil, "a terminal has one program")
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that a new session opens becomes its controlling terminal.
        posix_spawn_file_actions_addopen(&actions, 0, name, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, 0, 1)
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(
            &attributes,
            newSession | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
        var argv = ([program] + arguments).map { strdup($0) } + [nil]
        var envp = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var started: pid_t = 0
        let status = posix_spawn(&started, program, &actions, &attributes, &argv, &envp)
        guard status == 0 else {
            throw Timeout(description: "cannot start \(program): error \(status)")
        }
        process = started
    }

    /// Sends a signal to the program.
    public func send(_ signal: Int32) {
        if let process { kill(process, signal) }
    }

    /// Waits for the program's end and returns its exit code, or 128 plus the number of the signal that ended it.
    public func exitCode(seconds: Double = 60) throws -> Int32 {
        guard let process else { throw Timeout(description: "no program was started") }
        let deadline = ContinuousClock.now + .seconds(seconds)
        var status: Int32 = 0
        while waitpid(process, &status, WNOHANG) == 0 {
            read(milliseconds: 20)
            guard ContinuousClock.now < deadline else {
                throw Timeout(description: "the program did not end; it shows:\n\(screen.text)")
            }
        }
        self.process = nil
        read(milliseconds: 0)
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }
}

// POSIX_SPAWN_SETSID, which glibc declares for GNU sources only.
#if canImport(Glibc)
    private let newSession: Int16 = 0x80
#else
    private let newSession: Int16 = 0x400
#endif

private func readOnce(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int {
    read(descriptor, &buffer, buffer.count)
}
