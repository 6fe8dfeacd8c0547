#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file or standard input, read in large pieces.
///
/// Confined to one thread.
package final class FileReader {
    /// How many bytes there are; nil for what is no plain file.
    package let size: Int?
    /// How many bytes have been read.
    package private(set) var position = 0
    private let descriptor: Int32
    private let path: String

    /// Opens a file; `-` is standard input.
    ///
    /// Throws a `FormatError` that names the file and what the system says.
    package init(_ path: String) throws {
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
        size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    deinit { if descriptor > 0 { close(descriptor) } }

    /// Throws, as opening it would, for a file that cannot be read; without opening it, which whoever writes to a pipe
    /// would notice.
    package static func check(_ path: String) throws {
        var status = stat()
        guard path == "-" || stat(path, &status) == 0 && access(path, R_OK) == 0 else {
            throw FormatError("cannot read \(path): \(systemMessage())")
        }
    }

    /// The next bytes, at most 256 KiB; empty at the end.
    package func read() throws -> [UInt8] {
        var result: Int = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 256 << 10) { buffer, count in
            repeat {
                result = systemRead(descriptor, buffer.baseAddress, buffer.count)
            } while result < 0 && errno == EINTR
            count = max(0, result)
        }
        if result < 0 { throw FormatError("cannot read \(path): \(systemMessage())") }
        position += result
        return bytes
    }
}

/// The lines of a file, without their ends.
package final class LineReader {
    private let file: FileReader
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    /// The number of the line that was read last, from 1 on.
    package private(set) var line = 0

    /// The lines of a file.
    package init(_ file: FileReader) { self.file = file }

    /// Calls `body` with the bytes of the next line and where it lies in them; false at the end of the file.
    ///
    /// A carriage return before the line's end is no part of it.
    package func next(_ body: ([UInt8], Range<Int>) throws -> Void) throws -> Bool {
        var searched = start
        while true {
            if let end = lineEnd(from: searched) {
                line += 1
                let range = start..<end
                start = end + 1
                try body(buffer, trimmed(range))
                return true
            }
            if isAtEnd {
                guard start < buffer.count else { return false }
                line += 1
                let range = start..<buffer.count
                start = buffer.count
                try body(buffer, trimmed(range))
                return true
            }
            let more = try file.read()
            isAtEnd = more.isEmpty
            searched = buffer.count - start
            buffer.removeFirst(start)
            start = 0
            buffer += more
        }
    }

    private func lineEnd(from start: Int) -> Int? {
        buffer.withUnsafeBytes { bytes in
            guard start < bytes.count, let base = bytes.baseAddress else { return nil }
            return memchr(base + start, 0x0A, bytes.count - start).map {
                $0 - UnsafeMutableRawPointer(mutating: base)
            }
        }
    }

    private func trimmed(_ range: Range<Int>) -> Range<Int> {
        range.upperBound > range.lowerBound && buffer[range.upperBound - 1] == 0x0D
            ? range.lowerBound..<range.upperBound - 1 : range
    }
}

func systemMessage() -> String { String(cString: strerror(errno)) }

func systemRead(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
        Glibc.read(file, buffer, count)
    #else
        Darwin.read(file, buffer, count)
    #endif
}

func systemWrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
        Glibc.write(file, buffer, count)
    #else
        Darwin.write(file, buffer, count)
    #endif
}
