/// Reads one JSON value.
///
///     let tape = JSONTape()
///     try JSONText.read(Array(#"{"a": [1, 2]}"#.utf8), onto: tape)
///     print(JSONNode(tape).kind)  // object
package enum JSONText {
    /// Reads a text with exactly one value, strictly according to RFC 8259.
    ///
    /// A byte order mark is skipped. The tape is cleared first. Throws a `FormatError` with line and column.
    package static func read(_ text: [UInt8], onto tape: JSONTape) throws {
        try text.withUnsafeBufferPointer { try read($0, onto: tape) }
    }

    static func read(
        _ text: UnsafeBufferPointer<UInt8>, onto tape: JSONTape, line: Int = 1
    ) throws {
        tape.clear()
        guard text.count < JSONLimits.size else {
            throw FormatError("the text is longer than \(JSONLimits.size >> 20) MiB")
        }
        let start = text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        switch JSONScanner.scan(text, from: start, isWhole: true, onto: tape.buffer) {
        case .value(let end):
            guard let rest = text[end...].firstIndex(where: { !isSpace($0) }) else { return }
            throw fault(
                "expected the end of the text after the value", at: rest, in: text, line: line)
        case .fault(let offset, let reason):
            let isEmpty = text[start...].allSatisfy(isSpace)
            throw fault(isEmpty ? "the text is empty" : reason, at: offset, in: text, line: line)
        case .incomplete:
            throw fault("the text ends too early", at: text.count, in: text, line: line)
        case .exhausted: throw JSONLimits.memoryReached
        }
    }

    /// Returns the line and column of an offset in a text, starting at 1.
    package static func location(_ text: [UInt8], _ offset: Int) -> (line: Int, column: Int) {
        text.withUnsafeBufferPointer { TextPosition.location($0, offset, line: 1, column: 1) }
    }

    private static func fault(
        _ reason: String, at offset: Int, in text: UnsafeBufferPointer<UInt8>, line: Int
    ) -> FormatError {
        let position = TextPosition.location(text, offset, line: line, column: 1)
        return FormatError(line: position.line, column: position.column, "not JSON: \(reason)")
    }

    /// Returns whether JSON allows a byte between values.
    @inline(__always)
    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}
