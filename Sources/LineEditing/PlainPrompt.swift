import SystemCalls

/// A prompt for terminals that cannot move the cursor: the terminal itself edits the line.
package final class PlainPrompt {
    private let output: AsyncOutput
    private let reader = PlainLineReader()

    /// Reads from standard input.
    package init(output: AsyncOutput) { self.output = output }

    /// Shows the prompt on its own line and returns the next line.
    package func readLine(prompt: String) -> LineInput {
        output.finishLine()
        // The echo of a line that was typed before the prompt is above the prompt and does not end its line.
        let wasTypedAhead = reader.hasWaitingLine
        output.write(LineEditor.visible(prompt))
        let line = readLine()
        if line != .endOfInput, TerminalEnvironment.hasTerminalOutput, !wasTypedAhead {
            output.recordEchoedLine()
        }
        return line
    }

    /// Returns the next line without a prompt.
    package func readLine() -> LineInput {
        reader.readLine().map { .line(String(decoding: $0, as: UTF8.self)) } ?? .endOfInput
    }
}

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
