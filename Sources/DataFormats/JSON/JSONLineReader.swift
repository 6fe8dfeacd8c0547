/// Reads JSON Lines: one value on each line.
///
/// Blank lines are skipped.
///
/// Confined to one thread.
///
///     let reader = JSONLineReader(try FileReader("dogs.jsonl"))
///     while try reader.advance() {
///         try reader.parse()
///         print(JSONNode(reader.tape).description)
///     }
package final class JSONLineReader {
    /// The value of the line that was last parsed.
    package let tape = JSONTape()
    private let lines: LineReader
    private var current = UnsafeBufferPointer<UInt8>(start: nil, count: 0)

    /// Creates a reader for the lines of a file.
    package init(_ file: FileReader) { lines = LineReader(file) }

    /// The number of the current line, starting at 1.
    package var line: Int { lines.line }

    /// Advances to the next line that is not blank.
    ///
    /// Returns false at the end of the file.
    package func advance() throws -> Bool {
        var isBlank = true
        while isBlank {
            guard
                try lines.nextLine({ bytes in
                    // The bytes are valid until the next line is read.
                    current = bytes
                    isBlank = bytes.allSatisfy(JSONText.isSpace)
                })
            else { return false }
        }
        return true
    }

    /// Parses the current line onto the tape.
    ///
    /// Throws a `FormatError` with line and column. The reader can continue with the next line.
    package func parse() throws { try JSONText.read(current, onto: tape, line: line) }

    /// The bytes of the current line.
    package var record: [UInt8] { Array(current) }

    /// Returns the line and the column of an offset in the current line.
    package func location(_ offset: Int) -> (line: Int, column: Int) {
        TextPosition.location(current, offset, line: line, column: 1)
    }
}
