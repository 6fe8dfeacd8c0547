import MemoryAccounts

/// The part of a file that has been read but not consumed.
///
/// ``fill()`` appends the rest of an incomplete record, so that readers can process each record in one piece. Memory
/// use depends on the largest record. Confined to one thread.
final class InputBuffer {
    /// The maximum size of a record, in bytes.
    static let largestRecord = 256 << 20

    private let file: FileReader
    private var memory: UnsafeMutablePointer<UInt8>
    private var capacity = 256 << 10
    private var start = 0
    private var end = 0
    /// Whether the buffer contains the rest of the file.
    private(set) var isWhole = false

    init(_ file: FileReader) {
        self.file = file
        memory = .allocate(capacity: capacity)
    }

    deinit { memory.deallocate() }

    /// The bytes that have not been consumed; valid until the next call of ``fill()``.
    var bytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: memory + start, count: end - start)
    }

    /// Returns the byte at an offset; nil if it has not been read.
    @inline(__always)
    func byte(_ offset: Int) -> UInt8? {
        start &+ offset < end ? memory[start &+ offset] : nil
    }

    /// Removes bytes from the beginning.
    func consume(_ count: Int) {
        precondition(count >= 0 && start + count <= end, "more is consumed than was read")
        start += count
    }

    /// Reads more bytes into the buffer.
    ///
    /// Returns false at the end of the file. Throws a `FormatError` if a single record exceeds the limit, and errors of
    /// reading.
    func fill() throws -> Bool {
        guard !isWhole else { return false }
        if start > 0 {
            memory.update(from: memory + start, count: end - start)
            end -= start
            start = 0
        }
        if end == capacity { try grow() }
        let free = UnsafeMutableRawBufferPointer(start: memory + end, count: capacity - end)
        let count = try file.read(into: free)
        end += count
        isWhole = count == 0
        assert(end <= capacity, "the read bytes fit into the buffer")
        return !isWhole
    }

    private func grow() throws {
        guard capacity < Self.largestRecord else {
            throw FormatError(
                "a record is longer than \(Self.largestRecord >> 20) MiB; a closing quote or bracket "
                    + "may be missing")
        }
        try MemoryAccount.current?.requireSpace(for: 2 * capacity)
        let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: 2 * capacity)
        grown.moveInitialize(from: memory, count: end)
        memory.deallocate()
        memory = grown
        capacity *= 2
    }

    /// Skips a byte order mark at the beginning of the file.
    ///
    /// Throws a `FormatError` for UTF-16 and UTF-32, and for binary files of a known kind.
    func skipByteOrderMark() throws {
        while bytes.count < 3, try fill() {}
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            consume(3)
        } else if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            throw FormatError(
                line: 1,
                "the file holds bytes that are not UTF-8 (it seems to be UTF-16); add --encoding utf-16 "
                    + "(in Lua, encoding = \"utf-16\")")
        } else if let kind = FileKind(bytes) {
            throw FormatError("the file \(kind.advice)")
        }
    }
}

/// Computes lines and columns of offsets in a text.
enum TextPosition {
    /// Returns the number of line breaks in bytes.
    static func lineBreaks(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        var count = 0
        for byte in bytes where byte == 0x0A { count += 1 }
        return count
    }

    /// Returns the line and the column of an offset, both starting at 1; columns count characters.
    static func location(
        _ bytes: UnsafeBufferPointer<UInt8>, _ offset: Int, line: Int, column: Int
    ) -> (line: Int, column: Int) {
        var (line, column) = (line, column)
        for byte in bytes.prefix(max(0, offset)) {
            if byte == 0x0A {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        return (line, column)
    }
}
