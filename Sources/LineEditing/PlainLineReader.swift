/// Reads lines from an input that is not a terminal.
package final class PlainLineReader {
    private let input: Int32
    private var buffer: [UInt8] = []
    private var isAtEnd = false

    /// Creates a reader for a descriptor.
    package init(input: Int32 = 0) { self.input = input }

    /// Whether a line can be read without waiting, because it was typed ahead.
    package var hasWaitingLine: Bool {
        buffer.contains(UInt8(ascii: "\n")) || Descriptor.hasInput(input)
    }

    /// Returns the bytes of the next line without the line break; nil at the end of input.
    ///
    /// A last line without a line break counts.
    package func readLine() -> [UInt8]? {
        var scanned = 0
        while true {
            if let end = buffer[scanned...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeFirst(end + 1) }
                return Array(buffer[..<end])
            }
            scanned = buffer.count
            if isAtEnd {
                defer { buffer = [] }
                return buffer.isEmpty ? nil : buffer
            }
            let chunk = Descriptor.readSome(input)
            if chunk.isEmpty { isAtEnd = true }
            buffer += chunk
        }
    }
}
