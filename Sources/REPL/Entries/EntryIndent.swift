import Reference

/// The indentation of an entry of several lines while it is typed.
enum EntryIndent {
    private static let step = "  "
    private static let openers: Set<String> = [
        "function", "do", "then", "repeat", "else", "{", "(", "[",
    ]
    private static let closers: Set<String> = ["end", "until", "elseif", "else", "}", ")", "]"]

    /// Returns the indentation of the line after an unfinished entry.
    static func after(_ text: String) -> String { indentation(of: openLines(of: text)) }

    /// Returns a line of an entry; a line that begins with `end` or another closing word is indented as its opening
    /// line.
    ///
    /// Changes only the indentation of `after`.
    static func corrected(_ line: String, after text: String) -> String {
        let indent = after(text)
        let content = line.drop { $0 == " " }
        guard !indent.isEmpty, line.hasPrefix(indent), line.count - content.count == indent.count
        else { return line }
        if content.isEmpty { return "" }
        var open = openLines(of: text)
        for token in LuaLexer.allTokens(of: String(content)) {
            guard closers.contains(token.text), isWord(token) else { break }
            _ = open.popLast()
        }
        return indentation(of: open) + content
    }

    /// Lines with several opening words indent once.
    private static func indentation(of lines: [Int]) -> String {
        String(repeating: step, count: Set(lines).count)
    }

    /// Returns the line of each opening word that is not closed; empty inside a string or a comment.
    private static func openLines(of text: String) -> [Int] {
        var lines: [Int] = []
        var line = 0
        // The line break ends a comment.
        let text = text + "\n"
        var end = text.utf8.startIndex
        for token in LuaLexer.allTokens(of: text) {
            let start = text.utf8.index(text.utf8.startIndex, offsetBy: token.range.lowerBound)
            line += text.utf8[end..<start].count { $0 == UInt8(ascii: "\n") }
            end = start
            switch token.kind {
            case .string(let isClosed), .comment(let isClosed):
                if !isClosed, token.range.upperBound == text.utf8.count { return [] }
            default: break
            }
            guard isWord(token) else { continue }
            if closers.contains(token.text) { _ = lines.popLast() }
            if openers.contains(token.text) { lines.append(line) }
        }
        return lines
    }

    private static func isWord(_ token: LuaToken) -> Bool {
        token.kind == .keyword || token.kind == .symbol
    }
}
