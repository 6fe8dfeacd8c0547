#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Calls on file descriptors: files, pipes and terminals.
package enum Descriptor {
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Reads bytes into memory, again after a signal.
    ///
    /// Returns the number of bytes, 0 at the end, or a negative number with `errno` set.
    package static func read(
        _ descriptor: Int32, into buffer: UnsafeMutableRawPointer?, _ count: Int
    ) -> Int {
        while true {
            let count = systemRead(descriptor, buffer, count)
            if count >= 0 || errno != EINTR { return count }
        }
    }

    /// Writes all bytes, and waits while the descriptor is not writable.
    ///
    /// Returns 0, or the system's error number, such as that of a closed pipe.
    @discardableResult
    package static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        var rest = bytes
        while !rest.isEmpty {
            let count = systemWrite(descriptor, rest.baseAddress, rest.count)
            if count > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// Writes all bytes, and waits while the descriptor is not writable.
    ///
    /// Returns 0, or the system's error number.
    @discardableResult
    package static func write(_ descriptor: Int32, _ bytes: [UInt8]) -> Int32 {
        bytes.withUnsafeBytes { write(descriptor, $0) }
    }

    /// Writes without waiting, for pipes that only wake a reader.
    ///
    /// Can be called in a signal handler.
    package static func writeOnce(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) {
        let before = errno
        _ = systemWrite(descriptor, bytes.baseAddress, bytes.count)
        errno = before
    }

    /// Reads one byte; nil at the end of input or on an error.
    package static func readByte(_ descriptor: Int32) -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = read(descriptor, into: &byte, 1)
            if count == 1 { return byte }
            if count < 0, errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&ready, 1, -1)
                continue
            }
            return nil
        }
    }

    /// Reads the available bytes, at least one; returns an empty array at the end of input or on an error.
    package static func readSome(_ descriptor: Int32) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, into: &buffer, buffer.count)
        return Array(buffer[..<max(count, 0)])
    }

    package enum Readiness { case first, second, interrupted, timeout }

    /// Waits until one of two descriptors is readable; the second one takes precedence, because it reports all other
    /// events.
    package static func waitForInput(_ first: Int32?, or second: Int32, milliseconds: Int? = nil)
        -> Readiness
    {
        var ready = [
            pollfd(fd: second, events: Int16(POLLIN), revents: 0),
            pollfd(fd: first ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        let count = poll(&ready, 2, Int32(clamping: milliseconds ?? -1))
        if count < 0 { return .interrupted }
        if count == 0 { return .timeout }
        return ready[0].revents != 0 ? .second : .first
    }

    /// Returns whether input is available, now or within some milliseconds.
    package static func hasInput(_ descriptor: Int32, milliseconds: Int32 = 0) -> Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, milliseconds) > 0
    }

    /// Returns the size of the window in columns and rows; nil if the descriptor is not a terminal or the size is
    /// unknown.
    package static func windowSize(_ descriptor: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Opens a C stream on a copy of the descriptor, for libedit.
    package static func stream(_ descriptor: Int32, _ mode: String) -> UnsafeMutablePointer<FILE>? {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        return copy < 0 ? nil : fdopen(copy, mode)
    }

    /// Returns a descriptor that discards everything written to it.
    package static func discarding() -> Int32? {
        let file = open("/dev/null", O_WRONLY | O_CLOEXEC)
        return file < 0 ? nil : file
    }

    /// Returns both ends of a pipe that never blocks and is not inherited.
    package static func pipe() -> (read: Int32, write: Int32)? {
        var ends: [Int32] = [-1, -1]
        guard systemPipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        return (ends[0], ends[1])
    }

    /// Empties a pipe that `pipe()` has created.
    package static func drain(_ descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 256)
        while systemRead(descriptor, &buffer, buffer.count) > 0 {}
    }

    /// Closes a descriptor.
    package static func close(_ descriptor: Int32) {
        _ = systemClose(descriptor)
    }
}

// The names of these calls are those of functions above.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int)
    -> Int
{
    read(descriptor, buffer, count)
}

private func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, buffer, count)
}

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }

private func systemPipe(_ ends: inout [Int32]) -> Int32 { pipe(&ends) }

/// Returns the system's message for an error number, by default the one of the last call.
package func systemMessage(_ number: Int32 = errno) -> String { String(cString: strerror(number)) }
