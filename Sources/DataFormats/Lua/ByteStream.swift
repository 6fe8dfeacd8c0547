/// The bytes of a file in sequence.
final class ByteStream {
    private let file: FileReader
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false
    /// The line of the current byte, starting at 1.
    private(set) var line = 1

    init(_ file: FileReader) { self.file = file }

    /// Returns the next byte without consuming it; nil at the end.
    @inline(__always)
    func peek() throws -> UInt8? {
        if position < buffer.count { return buffer[position] }
        return try refill() ? buffer[position] : nil
    }

    /// Returns the byte after the next one; nil at the end.
    func peekSecond() throws -> UInt8? {
        while buffer.count - position < 2, try more() {}
        return position + 1 < buffer.count ? buffer[position + 1] : nil
    }

    /// Consumes the next byte.
    @inline(__always)
    func advance() {
        if buffer[position] == 0x0A { line += 1 }
        position += 1
    }

    /// Consumes and returns the next byte; nil at the end.
    @inline(__always)
    func next() throws -> UInt8? {
        guard let byte = try peek() else { return nil }
        advance()
        return byte
    }

    /// Consumes a text if it comes next.
    ///
    /// Otherwise returns false and consumes no bytes.
    func skip(_ text: [UInt8]) throws -> Bool {
        while buffer.count - position < text.count, try more() {}
        guard buffer[position...].starts(with: text) else { return false }
        for _ in text { advance() }
        return true
    }

    private func refill() throws -> Bool {
        guard !isAtEnd else { return false }
        buffer = try file.read()
        position = 0
        isAtEnd = buffer.isEmpty
        return !isAtEnd
    }

    /// Reads more bytes and keeps those that were not consumed.
    private func more() throws -> Bool {
        guard !isAtEnd else { return false }
        let bytes = try file.read()
        buffer = Array(buffer[position...]) + bytes
        position = 0
        isAtEnd = bytes.isEmpty
        return !isAtEnd
    }
}
