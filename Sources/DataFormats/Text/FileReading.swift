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
