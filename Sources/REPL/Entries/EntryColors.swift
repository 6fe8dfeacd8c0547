import LineEditing
import Reference

/// Syntax colors of an entry while it is typed.
struct EntryColors {
    let style: Style

    /// Returns the colored runs of a line that follows the finished lines of the entry.
    func runs(of line: String, after unfinished: String) -> [ColoredRun] {
        let start = unfinished.isEmpty ? 0 : unfinished.utf8.count + 1
        let entry = unfinished.isEmpty ? line : unfinished + "\n" + line
        if EntryText.isCommand(entry) { return command(line) }
        var runs = Runs(Array(line.utf8))
        for token in LuaLexer.allTokens(of: entry) where token.range.upperBound > start {
            guard let code = style.code(Self.role(of: token)) else { continue }
            runs.color(
                max(0, token.range.lowerBound - start)..<(token.range.upperBound - start), code)
        }
        return runs.finished()
    }

    private func command(_ line: String) -> [ColoredRun] {
        let name = line.prefix { !$0.isWhitespace }
        var runs = Runs(Array(line.utf8))
        if let code = style.code(.key) { runs.color(0..<name.utf8.count, code) }
        return runs.finished()
    }

    private static func role(of token: LuaToken) -> Style.Role {
        switch token.kind {
        case .keyword: .word
        case .string: .string
        case .number: .number
        case .comment: .dim
        case .name, .symbol: .plain
        }
    }

    /// Collects ranges of bytes in order and counts their characters.
    private struct Runs {
        private let bytes: [UInt8]
        private var position = 0
        private var runs: [ColoredRun] = []

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        mutating func color(_ range: Range<Int>, _ code: String) {
            add(upTo: range.lowerBound, nil)
            add(upTo: range.upperBound, code)
        }

        mutating func finished() -> [ColoredRun] {
            add(upTo: bytes.count, nil)
            return runs
        }

        private mutating func add(upTo end: Int, _ code: String?) {
            let end = min(end, bytes.count)
            guard end > position else { return }
            // Every scalar has one byte that does not continue another.
            let count = bytes[position..<end].count { $0 & 0xC0 != 0x80 }
            runs.append(ColoredRun(count, code))
            position = end
        }
    }
}

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
