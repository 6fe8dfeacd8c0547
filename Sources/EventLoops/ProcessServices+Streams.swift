import CUV
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
    package static func draw(_ text: String) { _ = systemWriteAll(2, Array(text.utf8)) }

    /// Writes a text to standard output, without buffering and with its control characters escaped.
    package static func writeOutput(_ text: String) {
        _ = systemWriteAll(
            outputDescriptor.load(ordering: .relaxed), Array(ControlCharacters.escaped(text).utf8))
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

    /// Writes to the C library's standard output in one piece and flushes it, so that output of other threads does not
    /// mix with it.
    package static func print(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { shim_print($0.baseAddress, $0.count) }
    }

    /// Flushes the C library's output buffers.
    package static func flushOutput() { fflush(nil) }

    /// Returns whether a standard descriptor (0, 1, 2) is a terminal.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Returns the number of columns of the terminal at a standard descriptor; nil if it is unknown or there is no
    /// terminal.
    package static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes bytes to standard output.
    ///
    /// Returns false if the reader has closed it.
    package static func output(_ bytes: [UInt8]) -> Bool { systemWriteAll(1, bytes) == 0 }

    /// Whether standard output is a pipe or a terminal whose other end is closed.
    package static var isOutputClosed: Bool {
        var state = pollfd(fd: 1, events: 0, revents: 0)
        return poll(&state, 1, 0) > 0 && Int32(state.revents) & (POLLERR | POLLHUP | POLLNVAL) != 0
    }
}
