import CEdit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The file and terminal calls of this module.
enum Descriptor {
    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Writes all bytes, and waits if necessary; stops at an error, such as a closed pipe.
    static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let base = UnsafeRawBufferPointer(rebasing: rest)
            #if canImport(Glibc)
                let count = Glibc.write(descriptor, base.baseAddress, base.count)
            #else
                let count = Darwin.write(descriptor, base.baseAddress, base.count)
            #endif
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, 1000)
            } else if errno != EINTR {
                return
            }
        }
    }

    /// Writes without waiting, for pipes that only wake a reader.
    ///
    /// Can be called in a signal handler.
    static func writeOnce(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) {
        let before = errno
        #if canImport(Glibc)
            _ = Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        #else
            _ = Darwin.write(descriptor, bytes.baseAddress, bytes.count)
        #endif
        errno = before
    }

    /// Reads one byte; nil at the end of input or on an error.
    static func readByte(_ descriptor: Int32) -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = read(descriptor, &byte, 1)
            if count == 1 { return byte }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&ready, 1, -1)
                continue
            }
            return nil
        }
    }

    /// Reads the available bytes, at least one; returns an empty array at the end of input or on an error.
    static func readSome(_ descriptor: Int32) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count >= 0 { return Array(buffer[..<count]) }
            if errno != EINTR { return [] }
        }
    }

    enum Readiness { case first, second, interrupted, timeout }

    /// Waits until one of two descriptors is readable; the second one takes precedence, because it reports all other
    /// events.
    static func waitForInput(_ first: Int32?, or second: Int32, milliseconds: Int? = nil)
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
    static func hasInput(_ descriptor: Int32, milliseconds: Int32 = 0) -> Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, milliseconds) > 0
    }

    /// Returns the size of the window in columns and rows; nil if the descriptor is not a terminal or the size is
    /// unknown.
    static func windowSize(_ descriptor: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Opens a C stream on a copy of the descriptor, for libedit.
    static func stream(_ descriptor: Int32, _ mode: String) -> UnsafeMutablePointer<FILE>? {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        return copy < 0 ? nil : fdopen(copy, mode)
    }

    /// Returns a descriptor that discards everything written to it.
    static func discarding() -> Int32? {
        let file = open("/dev/null", O_WRONLY | O_CLOEXEC)
        return file < 0 ? nil : file
    }

    /// Returns both ends of a pipe that never blocks and is not inherited.
    static func pipe() -> (read: Int32, write: Int32)? {
        var ends: [Int32] = [-1, -1]
        guard pipeCall(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        return (ends[0], ends[1])
    }

    /// Empties a pipe that `pipe()` has created.
    static func drain(_ descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 256)
        while read(descriptor, &buffer, buffer.count) > 0 {}
    }

    /// Returns the names in a folder, where folders end in a slash; empty if the folder cannot be read.
    static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            let isFolder = entry.pointee.d_type == UInt8(DT_DIR)
            if name != ".", name != ".." { names.append(isFolder ? name + "/" : name) }
        }
        return names.sorted()
    }

    static func close(_ descriptor: Int32) {
        #if canImport(Glibc)
            _ = Glibc.close(descriptor)
        #else
            _ = Darwin.close(descriptor)
        #endif
    }
}

/// Returns a number that identifies the calling thread.
func currentThread() -> UInt {
    #if canImport(Glibc)
        UInt(pthread_self())
    #else
        UInt(bitPattern: pthread_self())
    #endif
}

private func pipeCall(_ ends: inout [Int32]) -> Int32 { pipe(&ends) }

/// Stops the whole job like Ctrl-Z, and returns when it continues.
func suspendJob() { kill(0, SIGTSTP) }

/// Installs a handler for signals; it may only use operations that are safe in a signal handler.
func installSignalHandler(_ signals: [Int32], _ handler: @escaping @convention(c) (Int32) -> Void) {
    for signal in signals {
        var action = sigaction()
        #if canImport(Glibc)
            action.__sigaction_handler.sa_handler = handler
        #else
            action.__sigaction_u.__sa_handler = handler
        #endif
        sigemptyset(&action.sa_mask)
        // SA_RESTART is not necessary, because every wait includes a pipe that the handler writes to.
        action.sa_flags = 0
        sigaction(signal, &action, nil)
    }
}

enum TerminalSignalNumber {
    static let interrupt = SIGINT
    static let windowChange = SIGWINCH
    static let continued = SIGCONT
}

/// Returns the number of columns of a character: 0 for combining ones, 2 for wide ones, -1 for ones without a display
/// form.
func displayWidth(_ scalar: Unicode.Scalar) -> Int {
    Int(shim_character_width(wchar_t(scalar.value)))
}
