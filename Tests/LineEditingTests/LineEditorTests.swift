import Foundation
import LineEditing
import TestSupport
import Testing

private typealias Key = PseudoTerminal.Key

@Suite(.serialized) struct LineEditorTests {
    @Test func `the editor returns the typed line`() throws {
        let session = try EditingSession()
        #expect(try session.answer("print(1)\r", number: 1) == .line("print(1)"))
        #expect(try session.answer("\r", number: 2) == .line(""))
        try session.end()
        #expect(session.terminal.screen.unknown == [])
    }

    @Test func `the editor edits wide and combining characters in the middle of a line`() throws {
        let session = try EditingSession()
        let keys = "日本x語é" + Key.left + Key.left + Key.backspace + "ö" + Key.enter
        #expect(try session.answer(keys, number: 1) == .line("日本ö語é"))
        try session.terminal.wait(forText: "> 日本ö語é")
        try session.end()
    }

    @Test func `the editor ends at Ctrl-D on an empty line only`() throws {
        let session = try EditingSession()
        try session.type("ab" + Key.lineStart + Key.end)
        try session.terminal.wait(for: "the deletion") { $0.text.hasSuffix("> b") }
        #expect(try session.answer(Key.enter, number: 1) == .line("b"))
        #expect(try session.answer(Key.end, number: 2) == .endOfInput)
    }

    @Test func `the editor discards the line at Ctrl-C and continues`() throws {
        let session = try EditingSession()
        try session.type("half a li")
        try session.terminal.wait(forText: "half a li")
        #expect(try session.answer(Key.interrupt, number: 1) == .interrupted)
        try session.terminal.wait(for: "a new prompt") { $0.lines == ["> half a li^C", ">"] }
        #expect(try session.answer("next\r", number: 2) == .line("next"))
        try session.end()
    }

    @Test func `the editor ignores the quit key`() throws {
        let session = try EditingSession()
        #expect(try session.answer("ab\u{1C}c\r", number: 1) == .line("abc"))
        try session.end()
    }

    @Test func `the editor prints above the typed line`() throws {
        let session = try EditingSession()
        try session.type("half" + Key.left + Key.left)
        try session.terminal.wait(forText: "> half")
        session.output.write("one\ntwo\n")
        try session.terminal.wait(for: "both lines above") {
            $0.lines == ["one", "two", "> half"] && $0.column == 4
        }
        session.output.write("three\n")
        try session.terminal.wait(for: "the third line above") {
            $0.lines == ["one", "two", "three", "> half"] && $0.column == 4
        }
        #expect(try session.answer("-\r", number: 1) == .line("ha-lf"))
        try session.end()
    }

    @Test func `the editor prints above a line that wraps, with the cursor in any of its rows`()
        throws
    {
        let session = try EditingSession(columns: 20)
        let text = "日本語のとても長い行 and its end"
        try session.type(text)
        try session.terminal.wait(for: "the wrapped line") { $0.text.contains("end") }
        let before = session.terminal.screen.lines
        #expect(before.count == 2)
        session.output.write("news\n")
        try session.terminal.wait(for: "news above it") { $0.lines == ["news"] + before }
        for step in 1...text.unicodeScalars.count {
            try session.type(Key.left)
            session.output.write("\(step)\n")
            try session.terminal.wait(for: "step \(step)") {
                $0.lines.suffix(3) == ["\(step)"] + before
            }
        }
        #expect(try session.answer("!\r", number: 1) == .line("!" + text))
        try session.end()
        #expect(session.terminal.screen.unknown == [])
    }

    @Test(arguments: 16...24)
    func `the editor prints above a line that ends near the right edge`(_ length: Int) throws {
        let session = try EditingSession(columns: 20)
        let text = String(String(repeating: "abcdefghij", count: 3).prefix(length))
        try session.type(text)
        try session.terminal.wait(for: "the line") {
            $0.lines.joined() == ("> " + text)
        }
        session.output.write("news\n")
        try session.terminal.wait(for: "the news above it") {
            $0.lines.first == "news" && $0.lines.dropFirst().joined() == ("> " + text)
        }
        #expect(try session.answer("-\r", number: 1) == .line(text + "-"))
        try session.end()
    }

    @Test func `the editor draws the line again when the window is resized`() throws {
        let session = try EditingSession(columns: 40)
        try session.type("a line of some thirty letters")
        try session.terminal.wait(forText: "letters")
        session.terminal.resize(columns: 20, rows: 10)
        session.output.pipe.wake()
        try session.terminal.wait(for: "the line in two rows") {
            $0.lines.suffix(2) == ["> a line of some thi", "rty letters"]
        }
        session.output.write("news\n")
        try session.terminal.wait(for: "news") {
            $0.lines.suffix(3) == ["news", "> a line of some thi", "rty letters"]
        }
        session.terminal.resize(columns: 60, rows: 12)
        session.output.pipe.wake()
        try session.terminal.wait(for: "one row") {
            $0.lines.last == "> a line of some thirty letters"
        }
        #expect(try session.answer("!\r", number: 1) == .line("a line of some thirty letters!"))
        try session.end()
    }

    @Test func `a pasted script becomes one entry`() throws {
        let session = try EditingSession()
        try session.terminal.wait(for: "bracketed paste") { $0.isBracketingPastes }
        try session.type(Key.paste("for i = 1, 2 do\r\tprint(i)\rend\r"))
        try session.terminal.wait(forText: "end")
        #expect(
            try session.answer(Key.enter, number: 1) == .line("for i = 1, 2 do\n    print(i)\nend"))
        try session.terminal.wait(for: "its lines") {
            $0.text.contains("> for i = 1, 2 do\n    print(i)\nend")
        }
        try session.end()
    }

    @Test func `the editor prints above an entry of several lines`() throws {
        let session = try EditingSession()
        try session.type(Key.paste("do\n  x()\nend"))
        try session.terminal.wait(forText: "end")
        session.output.write("news\n")
        try session.terminal.wait(for: "news above the entry") {
            $0.lines == ["news", "> do", "  x()", "end"]
        }
        try session.end()
    }

    @Test func `the editor recalls entries of an earlier session with all lines`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID())/a/history")
            .path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let first = try EditingSession(history: file)
        _ = try first.answer(Key.paste("do\n  x('\\n')\nend") + Key.enter, number: 1)
        _ = try first.answer("second\r", number: 2)
        try first.end()
        let next = try EditingSession(history: file)
        try next.type(Key.up)
        try next.terminal.wait(forText: "> second")
        #expect(try next.answer(Key.up + Key.enter, number: 1) == .line("do\n  x('\\n')\nend"))
        // Between entries, the terminal itself processes control characters.
        try next.terminal.wait(for: "the prompt") { $0.lines.last == ">" }
        try next.type(Key.search + "secon")
        try next.terminal.wait(for: "the search") { $0.text.contains("second") }
        #expect(try next.answer("\r", number: 2) == .line("second"))
        try next.end()
    }

    @Test func `the editor completes the common part and lists the candidates`() throws {
        let session = try EditingSession { before, _ in
            let word = before.split(separator: " ").last ?? ""
            let found = ["store", "store_all", "string"].filter { $0.hasPrefix(word) }
            return Completion(replacing: word.count, candidates: found, suffix: "!")
        }
        try session.type("x s\t")
        try session.terminal.wait(for: "the common part") { $0.lines.last == "> x st" }
        try session.type("\t")
        try session.terminal.wait(for: "the list") {
            $0.lines.count == 2 && $0.lines[0].contains("store_all") && $0.lines[1] == "> x st"
        }
        #expect(try session.answer("r\t\r", number: 1) == .line("x string!"))
        try session.end()
    }

    @Test func `the editor does not count colors as columns`() throws {
        let prompt = "\u{1}\u{1B}[32m\u{1}green\u{1}\u{1B}[0m\u{1}> "
        let session = try EditingSession(columns: 20, prompt: prompt)
        try session.type("0123456789abcdefgh")
        try session.terminal.wait(for: "the line") {
            $0.lines == ["green> 0123456789abc", "defgh"]
        }
        session.output.write("news\n")
        try session.terminal.wait(for: "news") {
            $0.lines == ["news", "green> 0123456789abc", "defgh"]
        }
        try session.end()
    }

    @Test func `the editor shortens a flood of output to its first and last lines`() throws {
        let session = try EditingSession(columns: 40, rows: 10)
        try session.type("half")
        try session.terminal.wait(forText: "> half")
        var flood = "first\n"
        for number in 1...100_000 { flood += "line \(number)\n" }
        session.output.write(flood + "last\n")
        try session.terminal.wait(for: "its end above the line") {
            $0.lines.suffix(2) == ["last", "> half"]
        }
        let text = String(decoding: session.terminal.transcript, as: UTF8.self)
        #expect(text.contains("first\r\n"))
        #expect(text.contains("lines omitted"))
        #expect(text.utf8.count < 200_000)
        #expect(try session.answer("\r", number: 1) == .line("half"))
        try session.end()
    }

    @Test func `the arrows move between the lines of an entry, then between entries`() throws {
        let session = try EditingSession()
        _ = try session.answer("first\r", number: 1)
        _ = try session.answer(Key.paste("do\n  long line\nend") + Key.enter, number: 2)
        try session.type(Key.up)
        try session.terminal.wait(forText: "> do\n  long line\nend")
        // From the end of `end` up to the position after `  l`, and from there to the end of `do`.
        try session.type(Key.up + "-" + Key.up + "+" + Key.down + Key.down + "!")
        #expect(try session.answer(Key.enter, number: 3) == .line("do+\n  l-ong line\nend!"))
        try session.type(Key.up + Key.up + Key.up)
        try session.terminal.wait(for: "the first line's cursor") { $0.column == 5 }
        try session.type(Key.up + Key.up + Key.up + Key.up)
        try session.terminal.wait(for: "the oldest entry") { $0.lines.last == "> first" }
        try session.type(Key.down)
        try session.terminal.wait(for: "the one after it") { $0.lines.last == "end" }
        try session.type(Key.interrupt)
        #expect(try session.answer("a\u{1B}\rb" + Key.enter, number: 5) == .line("a\nb"))
        try session.end()
    }
}
