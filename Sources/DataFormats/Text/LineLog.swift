import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file to which lines are appended while other programs may read it.
///
/// When `write` returns, the file contains the lines. Confined to one thread.
package final class LineLog {
    private var descriptor: Int32
    private let path: String

    /// Opens a file and removes its content, which must be an earlier log whose lines begin with `mark`.
    ///
    /// Throws a `FormatError` with the file and the system's message, or if the file has other content, or if another
    /// log of this or another process writes to it.
    package init(_ path: String, replacing mark: String) throws {
        self.path = path
        guard try Self.isEmpty(path, orBeginsWith: Array(mark.utf8)) else {
            throw FormatError(
                "cannot write \(path): the file exists and has other content; remove it, or choose another name"
            )
        }
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FormatError("cannot write \(path): \(systemMessage())") }
        do {
            try begin()
        } catch {
            close()
            throw error
        }
    }

    /// Locks the file for this log and empties it.
    private func begin() throws {
        var status = stat()
        // Devices and pipes permit any number of writers.
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { return }
            throw FormatError(
                "cannot write \(path): another recording writes to this file; stop it first, or choose another name"
            )
        }
        guard ftruncate(descriptor, 0) == 0 else {
            throw FormatError("cannot write \(path): \(systemMessage())")
        }
    }

    deinit { close() }

    /// Returns whether a file is empty or begins with the mark.
    ///
    /// A file that is not a regular file counts as empty.
    private static func isEmpty(_ path: String, orBeginsWith mark: [UInt8]) throws -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0
        else { return true }
        // A reader would interpret the name `-` as standard input.
        return try FileReader(path == "-" ? "./-" : path).read().starts(with: mark)
    }

    /// Appends complete lines.
    ///
    /// Throws a `FormatError`.
    package func write(_ lines: [UInt8]) throws {
        guard Descriptor.write(descriptor, lines) == 0 else {
            throw FormatError("cannot write \(path): \(systemMessage())")
        }
    }

    /// Closes the file.
    ///
    /// Idempotent.
    package func close() {
        guard descriptor >= 0 else { return }
        Descriptor.close(descriptor)
        descriptor = -1
    }
}
