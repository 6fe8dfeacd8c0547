import Foundation
import TestSupport
import Testing

private typealias Key = PseudoTerminal.Key

/// Typing at the prompt of the tool: pastes, recalled entries, windows that change, colors.
@Suite(.serialized) struct TypingTests {
    @Test func `a pasted script runs once, when Enter is pressed`() throws {
        let session = try TerminalSession()
        defer { session.remove() }
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

    @Test func `an entry of several lines is recalled in the next session, also with Ctrl-R`()
        throws
    {
        let first = try TerminalSession()
        defer { first.remove() }
        for line in ["for i = 1, 2 do", "print('row ' .. i)"] {
            first.terminal.type(line + Key.enter)
            try first.terminal.wait(for: "the continuation") {
                $0.lines.last?.hasSuffix(">>") == true
            }
        }
        first.terminal.type("end" + Key.enter)
        try first.terminal.wait(for: "what it prints") { $0.lines.contains("row 2") }
        try first.run("last = 'entry'")
        #expect(try first.end() == 0)

        let second = try TerminalSession(folder: first.folder)
        let block = ["store v2> for i = 1, 2 do", "  print('row ' .. i)", "end"]
        second.terminal.type(Key.up + Key.up)
        try second.terminal.wait(for: "the block") { $0.lines.suffix(3) == block[...] }
        second.terminal.type(Key.interrupt)
        try second.terminal.wait(for: "a new prompt") { $0.lines.last == "store v2>" }
        second.terminal.type(Key.search + "row")
        try second.terminal.wait(for: "the found block") { screen in
            screen.lines.filter { $0 == block[0] }.count == 2
        }
        second.terminal.type(Key.enter)
        try second.terminal.wait(for: "what it prints") { $0.lines.contains("row 2") }
        #expect(try second.end() == 0)
    }

    @Test func `wide characters keep their positions when the window is resized`() throws {
        let session = try TerminalSession(columns: 60, environment: ["NO_COLOR": ""])
        defer { session.remove() }
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

    @Test func `a module with an error keeps its observers until it is corrected`() throws {
        let session = try TerminalSession(columns: 100, rows: 40)
        defer { session.remove() }
        let file = session.folder.appending(path: "watching.lua")
        func write(_ word: String) throws {
            try """
            token = store:objects("Dog"):observe(function(c)
              if c.type == "update" then print("\(word) " .. #c.collection) end
            end, { name = "watching" })
            """.write(to: file, atomically: true, encoding: .utf8)
        }
        try session.run("store:define { Dog = { name = 'string' } }")
        try session.run(
            "function add() store:write(function() store:create('Dog', { name = 'd' }) end) end")
        try write("first")
        try session.run(".load \(file.path)")
        try session.run("add()")
        try session.terminal.wait(for: "the first text") {
            $0.lines.contains("[watching] first 1")
        }
        try "x = = 1".write(to: file, atomically: true, encoding: .utf8)
        try session.run(".reload")
        try session.terminal.wait(for: "what is wrong") { $0.text.contains("watching.lua:1:") }
        try session.run("add()")
        try session.terminal.wait(for: "the old observer") {
            $0.lines.contains("[watching] first 2")
        }
        try write("second")
        try session.run(".reload")
        try session.run("add()")
        try session.terminal.wait(for: "the new observer") {
            $0.lines.contains("[watching] second 3")
        }
        #expect(!session.terminal.screen.lines.contains("[watching] first 3"))
        #expect(try session.end() == 0)
    }

    @Test func `the typed line has colors if they are on`() throws {
        let session = try TerminalSession(columns: 50, environment: ["NO_COLOR": ""])
        defer { session.remove() }
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
        defer { plain.remove() }
        plain.terminal.type("local n = 42")
        try plain.terminal.wait(forText: "n = 42")
        #expect(plain.terminal.screen.colors(of: plain.terminal.screen.row, "35") == "")
        plain.terminal.type(Key.interrupt)
        #expect(try plain.end() == 0)
    }
}
