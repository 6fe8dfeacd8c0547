import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads a file, a pipe or standard input in large pieces.
///
/// Files that are compressed with gzip or zstd are decompressed, and files in another encoding become UTF-8. Confined to
/// one thread.
///
///     let file = try FileReader("people.csv.gz")
///     while case let bytes = try file.read(), !bytes.isEmpty { … }
package final class FileReader {
    private let file: RawFile
    private let path: String
    private var decompressor: (any Decompressor)?
    private let decoder: TextDecoder?
    /// The first bytes, which determine whether the file is compressed; nil until they are read.
    private var beginning: [UInt8]?
    private var beginningUsed = 0

    /// Opens a file; `-` is standard input.
    ///
    /// `encoding` is a name that iconv knows; nil for UTF-8. Throws a `FormatError` with the file and the system's message.
    package init(_ path: String, encoding: String? = nil) throws {
        self.path = path
        decoder = try encoding.map { try TextDecoder($0, path) }
        file = try RawFile(path)
    }

    /// The size of the stored file in bytes; nil for pipes and devices.
    package var size: Int? { file.size }

    /// The number of bytes of the stored file that have been read.
    package var position: Int { file.position }

    /// Keeps the bytes of a pipe in a temporary file from now on, so that ``rewind()`` is possible.
    ///
    /// Call it before the first read. It has no effect on a plain file.
    package func keepForRewinding() { file.keepBytes() }

    /// Returns to the beginning, and stops keeping the bytes of a pipe.
    package func rewind() throws {
        try file.rewind()
        decoder?.reset()
        decompressor = nil
        beginning = nil
    }

    /// Throws the errors that opening a file would throw, without opening it: the writer of a pipe would notice a
    /// reader.
    package static func check(_ path: String) throws {
        var status = stat()
        guard path == "-" || stat(path, &status) == 0 && access(path, R_OK) == 0 else {
            throw FormatError("cannot read \(path): \(systemMessage())")
        }
    }

    /// Returns whether a path leads to a pipe, whose bytes can be read only once.
    package static func isPipe(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    /// Reads the next bytes, at most 256 KiB; empty at the end.
    package func read() throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: 256 << 10) { buffer, count in
            count = try read(into: UnsafeMutableRawBufferPointer(buffer))
        }
    }

    /// Reads the next bytes into memory.
    ///
    /// Returns the number of bytes; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if beginning == nil { try begin() }
        guard let decoder else { return try readContent(into: buffer) }
        return try decoder.read(into: buffer, from: readContent)
    }

    private func readContent(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard let decompressor else { return try readStored(into: buffer) }
        return try decompressor.read(into: buffer, from: readStored)
    }

    private func begin() throws {
        var bytes: [UInt8] = []
        while bytes.count < 4 {
            let piece = try [UInt8](unsafeUninitializedCapacity: 256 << 10) { buffer, count in
                count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
            }
            if piece.isEmpty { break }
            bytes += piece
        }
        beginning = bytes
        beginningUsed = 0
        decompressor = try Compression.decompressor(bytes, path)
    }

    private func readStored(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if let beginning, beginningUsed < beginning.count {
            let piece = beginning[beginningUsed...].prefix(buffer.count)
            buffer.copyBytes(from: piece)
            beginningUsed += piece.count
            if beginningUsed == beginning.count {
                self.beginning = []
                beginningUsed = 0
            }
            return piece.count
        }
        return try file.read(into: buffer)
    }
}

/// Reads the lines of a file, without their line breaks.
///
/// A byte order mark at the beginning is skipped. Confined to one thread.
package final class LineReader {
    private let buffer: InputBuffer
    /// The number of the line that was last read, starting at 1.
    package private(set) var line = 0

    /// Creates a reader for the lines of a file.
    package init(_ file: FileReader) { buffer = InputBuffer(file) }

    func nextLine(_ body: (UnsafeBufferPointer<UInt8>) throws -> Void) throws -> Bool {
        if line == 0 { try buffer.skipByteOrderMark() }
        var searched = 0
        var end: Int?
        while true {
            end = Self.lineEnd(buffer.bytes, searched)
            if end != nil { break }
            searched = buffer.bytes.count
            guard try buffer.fill() else { break }
        }
        let bytes = buffer.bytes
        guard let length = end ?? (bytes.isEmpty ? nil : bytes.count) else { return false }
        line += 1
        let hasReturn = length > 0 && bytes[length - 1] == 0x0D
        // The line is consumed first, so that it is not read again after an error of the body.
        buffer.consume(min(length + 1, bytes.count))
        try body(UnsafeBufferPointer(rebasing: bytes[..<(hasReturn ? length - 1 : length)]))
        return true
    }

    private static func lineEnd(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int? {
        guard let base = bytes.baseAddress, start < bytes.count else { return nil }
        return memchr(base + start, 0x0A, bytes.count - start).map {
            UnsafeRawPointer($0) - UnsafeRawPointer(base)
        }
    }
}

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

    /// Returns the next bytes; fewer only at the end.
    func read(_ count: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, total in
            let memory = UnsafeMutableRawBufferPointer(buffer)
            while total < count {
                let read = try read(into: UnsafeMutableRawBufferPointer(rebasing: memory[total...]))
                if read == 0 { break }
                total += read
            }
        }
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

/// Converts the bytes of a file to UTF-8, with iconv.
///
/// Confined to one thread.
final class TextDecoder {
    private let encoding: String
    private let path: String
    private let descriptor: iconv_t
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    /// The bytes of the input that are not converted yet.
    private var rest = 0..<0

    /// Throws a `FormatError` for an encoding that iconv does not know.
    init(_ encoding: String, _ path: String) throws {
        self.encoding = encoding
        self.path = path
        let descriptor = iconv_open("UTF-8", encoding)
        guard descriptor != iconv_t(bitPattern: -1), let descriptor else {
            throw FormatError(
                "unknown encoding '\(encoding)'; use windows-1252, latin1, utf-16, or another name from iconv --list"
            )
        }
        self.descriptor = descriptor
    }

    deinit {
        iconv_close(descriptor)
        input.deallocate()
    }

    /// Begins at the start of the file again.
    func reset() {
        iconv(descriptor, nil, nil, nil, nil)
        rest = 0..<0
    }

    /// Converts bytes of the file into memory, and returns their number; 0 at the end.
    ///
    /// `read` returns bytes of the file. Throws a `FormatError` for bytes that are invalid in the encoding.
    func read(
        into output: UnsafeMutableRawBufferPointer,
        from read: (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws -> Int {
        var isIncomplete = rest.isEmpty
        while true {
            if isIncomplete {
                UnsafeMutableRawBufferPointer(rebasing: input[0..<rest.count])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: input[rest]))
                let count = try read(UnsafeMutableRawBufferPointer(rebasing: input[rest.count...]))
                guard count > 0 else {
                    guard rest.isEmpty else { throw fault }
                    return 0
                }
                rest = 0..<rest.count + count
            }
            var source = input.baseAddress.map {
                $0.assumingMemoryBound(to: CChar.self) + rest.lowerBound
            }
            var available = rest.count
            var target = output.baseAddress?.assumingMemoryBound(to: CChar.self)
            var space = output.count
            let result = iconv(descriptor, &source, &available, &target, &space)
            let failure = result == -1 ? errno : 0
            rest = rest.upperBound - available..<rest.upperBound
            if space < output.count { return output.count - space }
            guard failure != EILSEQ else { throw fault }
            isIncomplete = true
        }
    }

    private var fault: FormatError {
        FormatError("\(path) contains bytes that are not valid in the encoding \(encoding)")
    }
}
