import LineEditing
import TestSupport
import Testing

private typealias Key = PseudoTerminal.Key

/// The line in colours while it is typed: what libedit does not know must not confuse it.
@Suite(.serialized) struct LineColorTests {
    /// Digits in cyan, quoted text in green, all else plain.
    private static let painter: @Sendable (String) -> [ColoredRun] = { text in
        var isQuoted = false
        return text.unicodeScalars.map { scalar in
            let wasQuoted = isQuoted
            if scalar == "'" { isQuoted.toggle() }
            let isDigit = scalar.properties.numericType != nil
            return ColoredRun(1, isQuoted || wasQuoted ? "32" : isDigit ? "36" : nil)
        }
    }

    @Test func `what is typed is coloured, and coloured anew when it becomes something else`()
        throws
    {
        let session = try EditingSession(painter: Self.painter)
        session.terminal.type("a 12 b")
        try session.terminal.wait(for: "the number") { $0.colors(of: 0, "36") == "12" }
        session.terminal.type(" 'x" + Key.left + Key.left + Key.left)
        try session.terminal.wait(for: "the text") { $0.colors(of: 0, "32") == "'x" }
        session.terminal.type(Key.lineStart + "'")
        try session.terminal.wait(for: "all quoted up to the second quote") {
            $0.colors(of: 0, "32") == "'a 12 b '" && $0.colors(of: 0, "36") == ""
                && $0.column == 3
        }
        #expect(try session.answer(Key.enter, number: 1) == .line("'a 12 b 'x"))
        try session.end()
        #expect(session.terminal.screen.unknown == [])
    }

    @Test func `lines that wrap, wide characters at the edge and entries of several lines`() throws
    {
        let session = try EditingSession(columns: 20, painter: Self.painter)
        // The wide character would begin in the last column.
        let text = "'abcdefghijklmnop日本' 12345678901234567890 'é"
        session.terminal.type(text)
        try session.terminal.wait(for: "the line") { screen in
            screen.lines == ["> 'abcdefghijklmnop", "日本' 12345678901234", "567890 'é"]
                && screen.colors(of: 2, "36") == "567890"
                && screen.colors(of: 1, "32") == "日本'" && screen.column == 9
        }
        session.output.write("news\n")
        try session.terminal.wait(for: "the same below the news") { screen in
            screen.lines.first == "news" && screen.colors(of: 3, "36") == "567890"
                && screen.colors(of: 3, "32") == "'é"
        }
        #expect(try session.answer(Key.enter, number: 1) == .line(text))
        session.terminal.type(Key.paste("do 1\n  '2\nend") + Key.up)
        try session.terminal.wait(for: "the entry") { screen in
            screen.lines.suffix(3) == ["> do 1", "  '2", "end"]
                && screen.colors(of: screen.lines.count - 1, "32") == "end"
        }
        session.terminal.type(Key.interrupt)
        #expect(try session.answer("1\r", number: 3) == .line("1"))
        try session.end()
        #expect(session.terminal.screen.unknown == [])
    }

    @Test func `combining characters and lines that are higher than the window are left alone`()
        throws
    {
        let session = try EditingSession(columns: 20, rows: 4, painter: Self.painter)
        session.terminal.type("12 e\u{301}")
        try session.terminal.wait(for: "the accent") { screen in
            screen.lines == ["> 12 e\u{301}"]
        }
        #expect(try session.answer(Key.enter, number: 1) == .line("12 e\u{301}"))
        let long = String(repeating: "1234567890", count: 9)
        #expect(try session.answer(long + Key.enter, number: 2) == .line(long))
        try session.end()
    }

    @Test func `the cursor is on a wide character before which something was inserted`() throws {
        let session = try EditingSession(painter: Self.painter)
        session.terminal.type("日abc" + Key.lineStart + "1")
        try session.terminal.wait(for: "the cursor behind what was inserted") { screen in
            screen.lines == ["> 1日abc"] && screen.column == 3
                && screen.colors(of: screen.row, "36") == "1"
        }
        #expect(try session.answer("2\r", number: 1) == .line("12日abc"))
        try session.end()
    }

    /// The rows from the prompt on, and where among them the cursor is.
    private static func typedLine(_ screen: TerminalScreen) -> [String] {
        let prompt = screen.lines.lastIndex { $0.hasPrefix(">") } ?? 0
        return screen.lines[prompt...] + ["\(screen.row - prompt) \(screen.column)"]
    }

    /// Whatever is typed, a line in colours and one that is painted without any show the same.
    ///
    /// What stands above the prompt is not compared: libedit can leave a blank in the place of a wide character, or a row
    /// too many, and a line that is entered before it could be painted stays like that.
    @Test(arguments: 1...6) func `random keys show what they show without colours`(seed: Int) throws
    {
        var random = SeededGenerator(seed: UInt64(seed))
        let columns = Int.random(in: 12...30, using: &random)
        let plain = try EditingSession(
            columns: columns, rows: 24, painter: { [ColoredRun($0.unicodeScalars.count, nil)] })
        let colored = try EditingSession(columns: columns, rows: 24, painter: Self.painter)
        let keys: [String] = [
            "1", "a", "'", "日", "語", " ", "x1 'y' ", Key.left, Key.left, Key.left, Key.right,
            Key.right, Key.backspace, Key.lineStart, "\u{5}", "\u{4}", "\u{17}", Key.up, Key.down,
            "\u{1B}\r", Key.paste("1\n'2'\n3"), "\u{14}", "abcdefghij",
        ]
        var answers = 0
        for round in 1...30 {
            var typed = ""
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let key = keys.randomElement(using: &random)!
                // Ctrl-D on an empty line would end the session.
                typed += key == "\u{4}" ? "z\u{2}\u{4}" : key
            }
            for session in [plain, colored] {
                session.terminal.type(typed)
                if round % 5 == 0 { session.output.write("news \(round)\n") }
            }
            if round % 6 == 0 {
                answers += 1
                for session in [plain, colored] {
                    _ = try session.answer(Key.enter, number: answers)
                    try session.waitForPrompt()
                }
            }
            func isSame() -> Bool {
                Self.typedLine(plain.terminal.screen) == Self.typedLine(colored.terminal.screen)
            }
            do {
                try plain.terminal.wait(for: "the same in colours", seconds: 10) { _ in
                    try? colored.terminal.wait(for: "nothing", seconds: 0) { _ in true }
                    return isSame()
                }
            } catch {
                Issue.record(
                    "\(typed.debugDescription): \(error)\n\(colored.terminal.screen.text)\n\(colored.terminal.screen.row) \(colored.terminal.screen.column)"
                )
                return
            }
        }
        for session in [plain, colored] {
            _ = try session.answer(Key.enter, number: answers + 1)
            try session.end()
            #expect(session.terminal.screen.unknown == [])
        }
    }
}
