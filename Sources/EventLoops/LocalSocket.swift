import CUV
import Synchronization
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A connection between two processes on this machine.
///
/// Reading and writing block. One thread may read while others write. Writes are atomic.
package final class LocalSocket: Sendable {
    fileprivate let descriptor: Int32
    private let writing = Mutex(())

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Connects to a socket.
    ///
    /// Throws if no process listens on the socket, or if the socket belongs to another user.
    package static func connect(to path: String) throws(LoopError) -> LocalSocket {
        let descriptor = shim_local_connect(path)
        try LoopError.check(descriptor, "connect", path: path)
        let socket = LocalSocket(descriptor)
        guard socket.isOfThisUser else {
            throw LoopError(number: EPERM, call: "connect", path: path)
        }
        return socket
    }

    /// Whether the process at the other end belongs to the same user.
    package var isOfThisUser: Bool {
        var user: UInt32 = 0
        return shim_local_peer(descriptor, &user) == 0 && user == geteuid()
    }

    /// Returns the next bytes; empty at the end of the stream.
    package func read() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        let count = Descriptor.read(descriptor, into: &buffer, buffer.count)
        return Array(buffer[..<max(count, 0)])
    }

    /// Writes all bytes.
    ///
    /// Returns false if the peer has disconnected, or has not read anything within the time limit, which ends the
    /// connection.
    @discardableResult  // the reading side notices the end as well
    package func write(_ bytes: [UInt8]) -> Bool {
        writing.withLock { _ in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    shim_local_send(descriptor, $0.baseAddress, $0.count)
                }
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    end()
                    return false
                }
            }
            return true
        }
    }

    /// Writes the bytes of a file; returns false if the file cannot be read or the peer has disconnected.
    package func write(fileAt path: String) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Descriptor.read(file, into: &buffer, buffer.count)
            if count == 0 { return true }
            guard count > 0, write(Array(buffer[..<count])) else { return false }
        }
    }

    /// Writes the next `count` bytes, of which the first have been read, to a file.
    ///
    /// Returns false if the peer disconnects before, or if the file cannot be written.
    func read(_ count: Int, after first: [UInt8], into file: Int32) -> Bool {
        var rest = count
        var bytes = Array(first.prefix(count))
        while true {
            guard Descriptor.write(file, bytes) == 0 else { return false }
            rest -= bytes.count
            if rest == 0 { return true }
            bytes = Array(read().prefix(rest))
            if bytes.isEmpty { return false }
        }
    }

    /// Limits the time that a write waits for the peer to read.
    ///
    /// Without a limit, writes wait indefinitely.
    func limitWrites(to patience: Duration) { limit(SO_SNDTIMEO, to: patience) }

    /// Limits the time that a read waits for the peer; after it, the read returns no bytes.
    ///
    /// Zero removes the limit.
    package func limitReads(to patience: Duration) { limit(SO_RCVTIMEO, to: patience) }

    private func limit(_ option: Int32, to patience: Duration) {
        let (seconds, attoseconds) = patience.components
        var time = timeval()
        time.tv_sec = .init(seconds)
        time.tv_usec = .init(attoseconds / 1_000_000_000_000)
        setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Closes the connection in both directions.
    ///
    /// Blocked readers receive the end of the stream.
    package func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

extension LocalSocket {
    fileprivate static func accept(on listener: Int32, _ patience: Duration) -> LocalSocket? {
        while true {
            let client = shim_local_accept(listener)
            if client >= 0 {
                let socket = LocalSocket(client)
                socket.limitWrites(to: patience)
                return socket
            }
            if client == -EMFILE || client == -ENFILE {
                usleep(100_000)  // until descriptors are released
            } else if client != -EINTR, client != -ECONNABORTED {
                return nil
            }
        }
    }
}

/// A TCP port of 127.0.0.1, which programs of all users of this machine can connect to.
package final class LoopbackListener: Sendable {
    /// The number of the port.
    package let port: Int
    private let descriptor: Int32

    /// Listens on a port; port 0 takes a free one.
    ///
    /// Throws if the port is in use.
    package init(port: UInt16) throws(LoopError) {
        var bound: UInt16 = 0
        descriptor = shim_loopback_listen(port, &bound)
        try LoopError.check(descriptor, "listen", path: "127.0.0.1:\(port)")
        self.port = Int(bound)
    }

    deinit { close(descriptor) }

    /// Waits for the next connection.
    ///
    /// Returns nil when the listener has ended. The connection ends if the peer reads nothing for `patience`.
    package func accept(patience: Duration) -> LocalSocket? {
        let socket = LocalSocket.accept(on: descriptor, patience)
        if let socket { shim_send_at_once(socket.descriptor) }
        return socket
    }

    /// Closes the port.
    ///
    /// A blocked `accept` returns nil.
    package func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// A socket that processes of the same user can connect to.
package final class LocalListener: Sendable {
    /// The path of the socket.
    package let path: String
    private let descriptor: Int32

    /// Creates the socket with access for its owner only.
    ///
    /// Replaces a socket of a process that has ended. Throws if any other file exists at the path. SIGTERM and SIGHUP
    /// remove the socket, unless the program handles or ignores them.
    package init(path: String) throws(LoopError) {
        var descriptor = shim_local_listen(path)
        if descriptor == -EADDRINUSE, Self.isLeftBehind(path) {
            unlink(path)
            descriptor = shim_local_listen(path)
        }
        try LoopError.check(descriptor, "listen", path: path)
        self.path = path
        self.descriptor = descriptor
        Signals.removeAtEnd(path)
    }

    deinit { close(descriptor) }

    private static func isLeftBehind(_ path: String) -> Bool {
        guard shim_local_kind(path) == 1 else { return false }
        let answer = shim_local_connect(path)
        if answer >= 0 { close(answer) }
        return answer == -ECONNREFUSED
    }

    /// Waits for the next connection, of any user.
    ///
    /// Returns nil when the listener has ended. The connection ends if the peer reads nothing for `patience`, so that
    /// it cannot block the server.
    package func accept(patience: Duration = .seconds(5)) -> LocalSocket? {
        LocalSocket.accept(on: descriptor, patience)
    }

    /// Removes the socket.
    ///
    /// A blocked `accept` returns nil.
    package func end() {
        Signals.keepAtEnd(path)
        unlink(path)
        shutdown(descriptor, Int32(SHUT_RDWR))
    }
}

extension ProcessServices {
    /// Returns a folder for sockets without access for other users: `$XDG_RUNTIME_DIR/moonpool`, otherwise a folder in
    /// `/tmp`.
    ///
    /// Creates the folder if it is missing. Throws if it is not a folder, or if other users have access to it.
    package static func socketFolder() throws(LoopError) -> String {
        let runtime = environment("XDG_RUNTIME_DIR").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let folder = runtime.map { $0 + "/moonpool" } ?? "/tmp/moonpool-\(geteuid())"
        if mkdir(folder, 0o700) != 0, errno != EEXIST {
            throw LoopError(number: errno, call: "mkdir", path: folder)
        }
        guard shim_local_kind(folder) == 2 else {
            throw LoopError(number: EPERM, call: "mkdir", path: folder)
        }
        return folder
    }
}
