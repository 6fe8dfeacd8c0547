/// The bytes of a file, one after the other.
final class ByteStream {
    private let file: FileReader
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false
    /// The line of the current byte, from 1 on.
    private(set) var line = 1

    init(_ file: FileReader) { self.file = file }

    /// The next byte, which stays the next one; nil at the end.
    @inline(__always)
    func peek() throws -> UInt8? {
        if position < buffer.count { return buffer[position] }
        return try refill() ? buffer[position] : nil
    }

    /// The byte behind the next one; nil at the end.
    func peekSecond() throws -> UInt8? {
        while buffer.count - position < 2, try more() {}
        return position + 1 < buffer.count ? buffer[position + 1] : nil
    }

    /// Goes past the next byte.
    @inline(__always)
    func advance() {
        if buffer[position] == 0x0A { line += 1 }
        position += 1
    }

    /// The next byte, and goes past it.
    @inline(__always)
    func next() throws -> UInt8? {
        guard let byte = try peek() else { return nil }
        advance()
        return byte
    }

    /// Goes past this text, if it is what comes next; false, and nothing is passed, otherwise.
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

    /// Reads on without losing what has not been passed.
    private func more() throws -> Bool {
        guard !isAtEnd else { return false }
        let bytes = try file.read()
        buffer = Array(buffer[position...]) + bytes
        position = 0
        isAtEnd = bytes.isEmpty
        return !isAtEnd
    }
}
