import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Writes a file completely or not at all, or writes to standard output.
///
/// A file whose name ends in `.gz` or `.zst` is compressed.
///
/// Writes to a temporary file in the same folder, which `finish` renames. If the writer is released earlier, an
/// existing file is unchanged. Confined to one thread.
package final class FileWriter {
    private let descriptor: Int32
    private let path: String
    private let draft: DraftFile?
    private let compressor: (any Compressor)?
    private var buffer: [UInt8] = []
    /// The number of bytes passed to the writer.
    package private(set) var count = 0

    /// Opens a file for writing; `-` is standard output.
    ///
    /// Throws a `FormatError` with the file and the system's message.
    package init(_ path: String) throws {
        self.path = path
        compressor = try Compression.compressor(path)
        guard path != "-" else {
            descriptor = 1
            draft = nil
            return
        }
        var status = stat()
        // A pipe, a terminal or a device is written directly.
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            draft = nil
            descriptor = open(path, O_WRONLY | O_CLOEXEC)
        } else {
            let draft = DraftFile(of: path)
            self.draft = draft
            descriptor = draft.create()
        }
        guard descriptor >= 0 else { throw FormatError("cannot write \(path): \(systemMessage())") }
    }

    deinit { if descriptor > 1 { close(descriptor) } }

    /// Writes bytes.
    package func write(_ bytes: [UInt8]) throws {
        count += bytes.count
        guard bytes.count < Self.bufferSize else {
            try flush()
            return try bytes.withUnsafeBytes { try compress($0) }
        }
        buffer += bytes
        if buffer.count >= Self.bufferSize { try flush() }
    }

    private static let bufferSize = 256 << 10

    /// Writes text.
    package func write(_ text: String) throws { try write(Array(text.utf8)) }

    /// Writes the remaining bytes and renames the file to its final path.
    package func finish() throws {
        try flush()
        try compressor?.compress(
            UnsafeRawBufferPointer(start: nil, count: 0), isEnd: true, write: store)
        guard let draft else { return }
        guard fsync(descriptor) == 0, draft.publish() else { throw failure() }
    }

    private func flush() throws {
        try buffer.withUnsafeBytes { try compress($0) }
        buffer.removeAll(keepingCapacity: true)
    }

    private func compress(_ bytes: UnsafeRawBufferPointer) throws {
        guard let compressor else { return try store(bytes) }
        try compressor.compress(bytes, isEnd: false, write: store)
    }

    private func store(_ bytes: UnsafeRawBufferPointer) throws {
        guard Descriptor.write(descriptor, bytes) == 0 else { throw failure() }
    }

    private func failure() -> FormatError {
        FormatError("cannot write \(path): \(systemMessage())")
    }
}
