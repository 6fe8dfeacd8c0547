import LineEditing
import TestSupport
import TestThreads
import Testing

private typealias Key = PseudoTerminal.Key

/// Colors in the typed line, which libedit does not know, must not affect its cursor positions.
@Suite(.serialized) struct LineColorTests {
    /// Colors digits cyan and quoted text green.
    private static let painter: @Sendable (String) -> [ColoredRun] = { text in
        var isQuoted = false
        return text.unicodeScalars.map { scalar in
            let wasQuoted = isQuoted
            if scalar == "'" { isQuoted.toggle() }
            let isDigit = scalar.properties.numericType != nil
            return ColoredRun(1, isQuoted || wasQuoted ? "32" : isDigit ? "36" : nil)
        }
    }

    @Test func `typed text is colored, and colored again when its meaning changes`() throws {
        let session = try EditingSession(painter: Self.painter)
        try session.type("a 12 b")
        try session.terminal.wait(for: "the number") { $0.colors(of: 0, "36") == "12" }
        try session.type(" 'x" + Key.left + Key.left + Key.left)
        try session.terminal.wait(for: "the text") { $0.colors(of: 0, "32") == "'x" }
        try session.type(Key.lineStart + "'")
        try session.terminal.wait(for: "all quoted up to the second quote") {
            $0.colors(of: 0, "32") == "'a 12 b '" && $0.colors(of: 0, "36") == ""
                && $0.column == 3
        }
        #expect(try session.answer(Key.enter, number: 1) == .line("'a 12 b 'x"))
        try session.end()
        #expect(session.terminal.screen.unknown == [])
    }

    @Test func `wrapped lines, wide characters and entries of several lines have colors`() throws {
        let session = try EditingSession(columns: 20, painter: Self.painter)
        // The wide character would begin in the last column.
        let text = "'abcdefghijklmnop日本' 12345678901234567890 'é"
        try session.type(text)
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
        try session.type(Key.paste("do 1\n  '2\nend") + Key.up)
        try session.terminal.wait(for: "the entry") { screen in
            screen.lines.suffix(3) == ["> do 1", "  '2", "end"]
                && screen.colors(of: screen.lines.count - 1, "32") == "end"
        }
        try session.type(Key.interrupt)
        #expect(try session.answer("1\r", number: 3) == .line("1"))
        try session.end()
        #expect(session.terminal.screen.unknown == [])
    }

    @Test func `combining characters have the color of their base character`() throws {
        let session = try EditingSession(columns: 20, painter: Self.painter)
        try session.type("12 'e\u{301}o\u{308}' 3")
        try session.terminal.wait(for: "the accents") { screen in
            screen.lines == ["> 12 'e\u{301}o\u{308}' 3"]
                && screen.colors(of: 0, "32") == "'e\u{301}o\u{308}'"
                && screen.colors(of: 0, "36") == "123" && screen.column == 11
        }
        // Adding and removing an accent inside the line does not move the following text.
        try session.type(Key.lineStart + "a\u{301}b")
        try session.terminal.wait(for: "one more") { screen in
            screen.lines == ["> a\u{301}b12 'e\u{301}o\u{308}' 3"] && screen.column == 4
        }
        try session.type(Key.left + Key.backspace)
        try session.terminal.wait(for: "one less") { screen in
            screen.lines == ["> ab12 'e\u{301}o\u{308}' 3"] && screen.column == 3
        }
        #expect(try session.answer(Key.enter, number: 1) == .line("ab12 'e\u{301}o\u{308}' 3"))
        // The base letter is in the last column.
        try session.type("abcdefghijklmnopqe\u{301}'x'")
        try session.terminal.wait(for: "the wrapped line") { screen in
            screen.lines.suffix(2) == ["> abcdefghijklmnopqe\u{301}", "'x'"]
                && screen.colors(of: screen.row, "32") == "'x'"
        }
        try session.type(Key.interrupt)
        #expect(try session.answer("1\r", number: 3) == .line("1"))
        try session.end()
        #expect(session.terminal.screen.unknown == [])
    }

    private static let joined = [
        "👩\u{200D}👩\u{200D}👧", "नमस्ते", "❤\u{FE0F}", "🇩🇪", "👍🏽", "e\u{301}\u{323}", "한국", "ก็",
    ]

    @Test("Joined characters are shown as typed in lines of any length", arguments: [true, false])
    func joined(isColored: Bool) throws {
        for columns in [12, 23, 40] {
            let session = try EditingSession(
                columns: columns, rows: 30, painter: isColored ? Self.painter : nil)
            var answers = 0
            for text in Self.joined {
                let line = "1 '" + String(repeating: text, count: 4) + "' end"
                try session.type(line + Key.left + Key.left + Key.left)
                let wanted = "> " + line
                func typed(_ screen: TerminalScreen) -> String {
                    let first = screen.lines.lastIndex { $0.hasPrefix(">") } ?? 0
                    return screen.lines[first...].joined().filter { $0 != " " }
                }
                let shown = wanted.filter { $0 != " " }
                try session.terminal.wait(for: "\(line)") {
                    typed($0).unicodeScalars.elementsEqual(shown.unicodeScalars)
                }
                answers += 1
                let answer = try session.answer("x" + Key.enter, number: answers)
                #expect(answer == .line(line.dropLast(3) + "xend"))
            }
            try session.end()
            #expect(session.terminal.screen.unknown == [])
        }
    }

    @Test("The arrows and the delete key move over whole characters") func wholeCharacters() throws
    {
        let session = try EditingSession()
        let family = "👩\u{200D}👩\u{200D}👧"
        let keys = "a\(family)bé" + Key.left + Key.left + Key.left + "\u{1B}[3~"
        #expect(try session.answer(keys + Key.enter, number: 1) == .line("abé"))
        #expect(try session.answer("a\(family)" + Key.backspace + "\r", number: 2) == .line("a"))
        try session.end()
    }

    @Test func `the visible part of a line that is higher than the window has colors`() throws {
        let session = try EditingSession(columns: 20, rows: 4, painter: Self.painter)
        let lines = (1...7).map { "\($0) 'row'" }
        try session.type(Key.paste(lines.joined(separator: "\n")))
        try session.terminal.wait(for: "the last rows") { screen in
            screen.lines == lines.suffix(4)
                && (0..<4).allSatisfy {
                    screen.colors(of: $0, "32") == "'row'"
                        && screen.colors(of: $0, "36") == "\($0 + 4)"
                }
        }
        try session.type("8")
        try session.terminal.wait(for: "one more") { $0.colors(of: 3, "36") == "78" }
        try session.type(Key.up + Key.up + Key.up + Key.up + Key.up)
        try session.terminal.wait(for: "the rows around the cursor") { screen in
            screen.lines == ["> 1 'row'"] + lines[1...3] && screen.row == 1
        }
        try session.type(Key.down + Key.down + Key.down + Key.down + Key.down)
        try session.terminal.wait(for: "the last rows again") { $0.lines[0] == lines[3] }
        #expect(
            try session.answer(Key.enter, number: 1) == .line(lines.joined(separator: "\n") + "8"))
        let long = String(repeating: "1234567890", count: 9)
        #expect(try session.answer(long + Key.enter, number: 2) == .line(long))
        try session.end()
        #expect(session.terminal.screen.unknown == [])
    }

    @Test func `a line that is entered before it is colored is shown as typed`() throws {
        let session = try EditingSession(columns: 20, rows: 8, painter: Self.painter)
        // All keys arrive together, so the line is entered before it is colored.
        let pieces = "日本'語'" + Key.lineStart + "12" + "\u{5}" + "e\u{301}" + Key.left
        let line = "12日本'語'e\u{301}"
        #expect(try session.answer(pieces + Key.enter, number: 1) == .line(line))
        try session.waitForPrompt()
        #expect(session.terminal.screen.lines.first == "> " + line)
        #expect(session.terminal.screen.colors(of: 0, "32") == "'語'")
        #expect(session.terminal.screen.colors(of: 0, "36") == "12")
        let wide = String(repeating: "日本語", count: 8)
        let answer = try session.answer(wide + Key.lineStart + "a" + Key.enter, number: 2)
        #expect(answer == .line("a" + wide))
        try session.waitForPrompt()
        let shown = session.terminal.screen.lines.drop { !$0.hasPrefix("> a") }
        #expect(shown.prefix(3).joined() == "> a" + wide)
        try session.end()
        #expect(session.terminal.screen.unknown == [])
    }

    @Test func `inserting before a wide character keeps the cursor on it`() throws {
        let session = try EditingSession(painter: Self.painter)
        try session.type("日abc" + Key.lineStart + "1")
        try session.terminal.wait(for: "the cursor behind what was inserted") { screen in
            screen.lines == ["> 1日abc"] && screen.column == 3
                && screen.colors(of: screen.row, "36") == "1"
        }
        #expect(try session.answer("2\r", number: 1) == .line("12日abc"))
        try session.end()
    }

    /// Returns the rows of a prompt with a line in a window of this width.
    ///
    /// A mark without a base character is not shown.
    private static func rows(_ line: String, columns: Int) -> [String] {
        var rows = ["> "]
        var column = 2
        var isAfterCharacter = false
        for scalar in line.unicodeScalars {
            let width = scalar == "\n" ? 0 : TerminalText.width(String(scalar))
            if width == 0, scalar != "\n" {
                if isAfterCharacter { rows[rows.count - 1].unicodeScalars.append(scalar) }
                continue
            }
            isAfterCharacter = scalar != "\n"
            if scalar == "\n" || column + width > columns {
                rows.append("")
                column = 0
            }
            if scalar == "\n" { continue }
            rows[rows.count - 1].unicodeScalars.append(scalar)
            column += width
        }
        return rows.map { row in
            var row = row
            while row.last == " " { row.removeLast() }
            return row
        }
    }

    @Test(arguments: 1...12)
    func `an entered line is shown after any keys in one piece`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let columns = Int.random(in: 10...30, using: &random)
        let session = try EditingSession(columns: columns, rows: 30, painter: Self.painter)
        let keys: [String] = [
            "1", "a", "'", "日", "語", "e\u{301}", " ", "x1 'y' ", Key.left, Key.left, Key.right,
            Key.backspace, Key.lineStart, "\u{5}", "\u{17}", "\u{1B}\r", Key.paste("1\n'日'\n3"),
            "abcdefghij",
        ]
        for round in 1...25 {
            let typed = (0..<Int.random(in: 1...12, using: &random)).map { _ in
                keys.randomElement(using: &random)!
            }.joined()
            guard case .line(let line)? = try session.answer("x" + typed + Key.enter, number: round)
            else {
                Issue.record("\(typed.debugDescription) gave no line")
                return
            }
            let wanted = Self.rows(line, columns: columns) + [">"]
            do {
                try session.terminal.wait(for: "\(wanted)", seconds: 5) { screen in
                    screen.lines.suffix(wanted.count) == wanted[...]
                }
            } catch {
                Issue.record("\(columns) columns, \(typed.debugDescription): \(error)")
                return
            }
        }
        try session.end()
        #expect(session.terminal.screen.unknown == [])
    }

    /// The rows from the prompt on, and the cursor position in them.
    private static func typedLine(_ screen: TerminalScreen) -> [String] {
        let prompt = screen.lines.lastIndex { $0.hasPrefix(">") } ?? 0
        return screen.lines[prompt...] + ["\(screen.row - prompt) \(screen.column)"]
    }

    /// For any input, a line with colors shows the same text as a line without colors.
    ///
    /// The text above the prompt is not compared: libedit can leave a space instead of a wide character, or an
    /// additional row, and a line that is entered before it is colored stays without colors.
    @Test(arguments: 1...6)
    func `random keys show the same text as without colors`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let columns = Int.random(in: 12...30, using: &random)
        let plain = try EditingSession(
            columns: columns, rows: 24, painter: { [ColoredRun($0.unicodeScalars.count, nil)] })
        let colored = try EditingSession(columns: columns, rows: 24, painter: Self.painter)
        let keys: [String] = [
            "1", "a", "'", "日", "語", "e\u{301}", " ", "x1 'y' ", Key.left, Key.left, Key.left,
            Key.right,
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
                try session.type(typed)
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
                try plain.terminal.wait(for: "the same in colors", seconds: 10) { _ in
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
