import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The bytes of a file, pipe or standard input, which can be read again from the beginning.
///
/// Plain files are read again directly. While ``keepsBytes`` is true, the bytes of a pipe are kept in a temporary file.
/// Confined to one thread.
final class RawFile {
    /// The size of a plain file; nil for pipes, terminals and devices.
    let size: Int?
    /// The number of bytes that have been read since the beginning.
    private(set) var position = 0
    /// Whether to keep the bytes of a pipe, so that ``rewind()`` is possible.
    private(set) var keepsBytes = false

    private let path: String
    private let descriptor: Int32
    /// The descriptor of the temporary file with the bytes of a pipe.
    private var kept: Int32 = -1
    private var keptCount = 0

    /// Opens a file; `-` is standard input.
    ///
    /// Throws a `FormatError` with the file and the system's message.
    init(_ path: String) throws {
        self.path = path
        descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FormatError("cannot read \(path): \(systemMessage())") }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            size = nil
            return
        }
        if status.st_mode & S_IFMT == S_IFDIR {
            if descriptor > 0 { close(descriptor) }
            throw FormatError("cannot read \(path): it is a folder")
        }
        let isPlain = status.st_mode & S_IFMT == S_IFREG
        // Another program can have read a part of standard input.
        let isAtStart = lseek(descriptor, 0, SEEK_CUR) == 0
        size = isPlain && isAtStart ? Int(status.st_size) : nil
    }

    deinit {
        if descriptor > 0 { close(descriptor) }
        if kept >= 0 { close(kept) }
    }

    /// Reads bytes into memory.
    ///
    /// Returns the number of bytes; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if position < keptCount {
            let wanted = min(buffer.count, keptCount - position)
            let count = pread(kept, buffer.baseAddress, wanted, off_t(position))
            guard count > 0 else { throw failure() }
            position += count
            return count
        }
        let count = Descriptor.read(descriptor, into: buffer.baseAddress, buffer.count)
        guard count >= 0 else { throw failure() }
        if keepsBytes, size == nil { try keep(UnsafeRawBufferPointer(buffer).prefix(count)) }
        position += count
        return count
    }

    /// Keeps the bytes of a pipe from now on, until ``rewind()``.
    func keepBytes() { keepsBytes = true }

    /// Returns to the first byte, and stops keeping the bytes of a pipe.
    func rewind() throws {
        guard size != nil else {
            precondition(position == keptCount, "the bytes of the pipe were not kept")
            position = 0
            keepsBytes = false
            return
        }
        guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw failure() }
        position = 0
        keepsBytes = false
    }

    private func keep(_ bytes: Slice<UnsafeRawBufferPointer>) throws {
        if kept < 0 { kept = try Self.makeTemporaryFile() }
        guard Descriptor.write(kept, UnsafeRawBufferPointer(rebasing: bytes)) == 0 else {
            throw Self.keepFailure()
        }
        keptCount += bytes.count
    }

    /// Creates a file without a name, which is deleted when it is closed.
    private static func makeTemporaryFile() throws -> Int32 {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        #if os(Linux)
            // The octal number is O_TMPFILE, which Swift does not import. Not every file system supports it.
            let unnamed = open(folder, O_RDWR | O_CLOEXEC | O_DIRECTORY | 0o20_000_000, 0o600)
            if unnamed >= 0 { return unnamed }
        #endif
        var template = Array("\(folder)/moonpool-XXXXXX".utf8CString)
        let descriptor = template.withUnsafeMutableBufferPointer { mkstemp($0.baseAddress!) }
        guard descriptor >= 0 else { throw keepFailure() }
        unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor
    }

    private static func keepFailure() -> FormatError {
        FormatError(
            "cannot keep the input in a temporary file: \(systemMessage()); set TMPDIR to a folder with "
                + "more space, or define the class first")
    }

    private func failure() -> FormatError {
        FormatError("cannot read \(path): \(systemMessage())")
    }
}
