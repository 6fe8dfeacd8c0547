import LineEditing
import Reference

extension ErrorText {
    /// The maximum length of a line that can have a mark below it; longer lines wrap, which would misplace the mark.
    private static let widest = 120

    /// Returns `^~~` to print below the word of a line that a Lua error message refers to, or nil if it is ambiguous.
    static func mark(for message: String, in line: String) -> String? {
        guard TerminalText.width(line) <= widest, let range = range(of: message, in: line) else {
            return nil
        }
        let bytes = Array(line.utf8)
        let before = String(decoding: bytes[..<range.lowerBound], as: UTF8.self)
        let word = String(decoding: bytes[range], as: UTF8.self)
        return String(repeating: " ", count: TerminalText.width(before)) + "^"
            + String(repeating: "~", count: max(0, TerminalText.width(word) - 1))
    }

    private static func range(of message: String, in line: String) -> Range<Int>? {
        if message.hasSuffix("near <eof>") { return line.utf8.count..<line.utf8.count }
        let tokens = LuaLexer.allTokens(of: line)
        // `unexpected symbol near '='`: the compiler has read up to this token.
        if let word = quoted(at: "near '", in: message, end: "'") {
            return tokens.last { $0.text == word || $0.text.hasPrefix(word) }?.range
        }
        // `attempt to index a nil value (field 'owner')`: a name, which can occur more than once.
        for kind in ["global", "local", "upvalue", "field", "method"] {
            guard let name = quoted(at: "(\(kind) '", in: message, end: "')") else { continue }
            let found = tokens.filter { $0.kind == .name && $0.text == name }
            return found.count == 1 ? found[0].range : nil
        }
        return nil
    }

    /// Returns the text between the last occurrence of `start` and `end` at the end of the message.
    private static func quoted(at start: String, in message: String, end: String) -> String? {
        guard message.hasSuffix(end), let from = message.ranges(of: start).last?.upperBound else {
            return nil
        }
        let word = message[from...].dropLast(end.count)
        return word.isEmpty ? nil : String(word)
    }
}
