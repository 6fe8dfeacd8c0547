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
