import Foundation
import TestSupport
import Testing

private typealias Key = PseudoTerminal.Key

/// Typing at the prompt of the tool: pastes, recalled entries, windows that change, colors.
@Suite(.serialized) struct TypingTests {
    @Test func `a pasted script runs once, when Enter is pressed`() throws {
        let session = try TerminalSession()
        try session.terminal.wait(for: "bracketed paste") { $0.isBracketingPastes }
        session.terminal.type(
            Key.paste(
                "n = (n or 0) + 1\r\rlocal function f(x)\r\treturn x * 2\rend\rprint(f(21), n)\r"))
        try session.terminal.wait(forText: "print(f(21), n)")
        #expect(!session.terminal.screen.lines.contains("42\t1"))
        session.terminal.type(Key.enter)
        try session.terminal.wait(for: "what it prints") { screen in
            screen.lines.contains { $0.hasPrefix("42 ") && $0.hasSuffix("1") }
        }
        #expect(try session.run("n, f(4)").suffix(3).prefix(2) == ["1", "8"])
        #expect(try session.end() == 0)
    }

    @Test func `wide characters keep their positions when the window is resized`() throws {
        let session = try TerminalSession(columns: 60, environment: ["NO_COLOR": ""])
        let text = "'日本語のとても長い行をここに書きます and its end'"
        session.terminal.type(text + Key.left + Key.left)
        try session.terminal.wait(forText: "its end'")
        // In 31 columns, a wide character would begin in the last column.
        for columns in [31, 24, 45, 90] {
            session.terminal.resize(columns: columns, rows: 16)
            try session.terminal.wait(for: "the line in \(columns) columns") { screen in
                // The output in the earlier width stays above, as the terminal has wrapped it.
                let first = screen.lines.lastIndex { $0.hasPrefix("store v2> '日") }
                let typed = screen.lines[(first ?? 0)...]
                return typed.joined() == "store v2> " + text
                    && screen.lines.allSatisfy { $0.unicodeScalars.count <= columns }
            }
        }
        session.terminal.type("!" + Key.enter)
        let value = "\"" + text.dropFirst().dropLast(2) + "!d\""
        try session.terminal.wait(for: "the value") { $0.lines.contains { $0.hasPrefix(value) } }
        #expect(session.terminal.screen.unknown == [])
        #expect(try session.end() == 0)
    }

    @Test func `the typed line has colors if they are on`() throws {
        let session = try TerminalSession(columns: 50, environment: ["NO_COLOR": ""])
        session.terminal.type("local n = 'text' .. 42 -- why")
        try session.terminal.wait(for: "its colors") { screen in
            let row = screen.row
            return screen.colors(of: row, "35") == "local"
                && screen.colors(of: row, "32") == "'text'"
                && screen.colors(of: row, "36") == "42"
                && screen.colors(of: row, "2").hasSuffix("-- why")
        }
        session.terminal.type(Key.enter + "s = [[" + Key.enter)
        try session.terminal.wait(for: "the continuation") {
            $0.lines.last?.hasSuffix(">>") == true
        }
        // Inside a long string, there are no keywords.
        session.terminal.type("local]] end")
        try session.terminal.wait(for: "the end of the string") { screen in
            screen.colors(of: screen.row, "32") == "local]]"
                && screen.colors(of: screen.row, "35") == "end"
        }
        session.terminal.type(Key.interrupt + ".help where")
        try session.terminal.wait(for: "the command") { $0.colors(of: $0.row, "34") == ".help" }
        session.terminal.type(Key.interrupt)
        #expect(session.terminal.screen.unknown == [])
        #expect(try session.end() == 0)
        let plain = try TerminalSession()
        plain.terminal.type("local n = 42")
        try plain.terminal.wait(forText: "n = 42")
        #expect(plain.terminal.screen.colors(of: plain.terminal.screen.row, "35") == "")
        plain.terminal.type(Key.interrupt)
        #expect(try plain.end() == 0)
    }
}
