import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file without a name, which other threads and processes of the user open by a path of this process.
///
/// Its content can be replaced; those that have opened it keep the previous content.
package final class UnnamedFile: Sendable {
    private let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)

    package init() {}

    deinit { close(descriptor) }

    /// A path that opens the present content.
    package var path: String { "/proc/\(getpid())/fd/\(descriptor)" }

    /// Replaces the content by the next `count` bytes of a socket, of which the first have been read.
    ///
    /// `name` is an unused path, which is removed before the file has content. Returns false if the peer disconnects
    /// before the last byte, or if the file cannot be written; the content remains.
    package func read(
        _ count: Int, after first: [UInt8], from socket: LocalSocket, through name: String
    ) -> Bool {
        // Not every file system has files that begin without a name.
        let file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        unlink(name)
        guard socket.read(count, after: first, into: file) else { return false }
        replace(by: file)
        return true
    }

    /// Removes the content.
    package func clear() {
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard nothing >= 0 else { return }
        replace(by: nothing)
        close(nothing)
    }

    private func replace(by file: Int32) {
        dup2(file, descriptor)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }
}
