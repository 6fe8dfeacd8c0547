import Foundation
import LineEditing
import TestSupport
import Testing

private typealias Key = PseudoTerminal.Key

/// Undoing while typing, and the keys of `~/.editrc`.
@Suite(.serialized) struct KeyBindingTests {
    private static let undo = "\u{1F}", deleteWord = "\u{17}", lineEnd = "\u{5}"

    @Test func `Ctrl-_ restores the text before each change, a typed word at a time`() throws {
        let session = try EditingSession()
        session.terminal.type("one two" + Self.deleteWord)
        try session.terminal.wait(for: "the deletion") { $0.lines.last == "> one" }
        session.terminal.type(Self.undo)
        try session.terminal.wait(for: "the deleted word") { $0.lines.last == "> one two" }
        session.terminal.type(Self.undo)
        try session.terminal.wait(for: "the first word") { $0.lines.last == "> one" }
        session.terminal.type(Self.undo + Self.undo + Self.undo)
        try session.terminal.wait(for: "the empty line") { $0.lines.last == ">" }
        #expect(try session.answer("new\r", number: 1) == .line("new"))
        // Undo in the next line does not affect this one.
        #expect(try session.answer(Self.undo + "x\r", number: 2) == .line("x"))
        try session.end()
    }

    @Test func `Undoing restores a pasted, completed or recalled text and the cursor`() throws {
        let session = try EditingSession(completer: { before, _ in
            Completion(replacing: before.count, candidates: ["complete"])
        })
        #expect(
            try session.answer(
                "ab" + Key.left + Key.paste("x\ny") + Self.undo + "-" + Key.enter, number: 1)
                == .line("a-b"))
        #expect(try session.answer("com\t" + Self.undo + "\r", number: 2) == .line("com"))
        session.terminal.type("draft" + Key.up)
        try session.terminal.wait(for: "the last entry") { $0.lines.last == "> com" }
        #expect(try session.answer(Self.undo + "\r", number: 3) == .line("draft"))
        try session.end()
    }

    @Test func `Home and End move within a line of an entry`() throws {
        let session = try EditingSession()
        let block = Key.paste("do\n  two\nend")
        #expect(
            try session.answer(
                block + Key.up + Key.lineStart + "a" + Self.lineEnd + "b" + Key.up + "\u{1B}[H("
                    + "\u{1B}[F)" + Key.enter, number: 1) == .line("(do)\na  twob\nend"))
        try session.end()
    }

    private func session(_ bindings: String) throws -> EditingSession {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).editrc")
        try bindings.write(to: file, atomically: true, encoding: .utf8)
        let session = try EditingSession(keyBindings: file.path)
        // The editor reads the file before it shows its prompt.
        try FileManager.default.removeItem(at: file)
        return session
    }

    @Test func `The vi mode has its commands, the arrows, undoing and pasting`() throws {
        let session = try session("# keys\n\nbind -v\nmoonpool:bind ^T ed-move-to-beg\nedit off\n")
        let escape = "\u{1B}"
        #expect(try session.answer("foo bar" + escape + "0dw\r", number: 1) == .line("bar"))
        #expect(
            try session.answer("ab" + Key.left + "-" + Key.right + "!\r", number: 2)
                == .line("a-b!"))
        #expect(
            try session.answer("one two" + escape + "0dwui<\r", number: 3) == .line("<one two"))
        #expect(try session.answer(Key.up + "2\r", number: 4) == .line("<one two2"))
        session.terminal.type(escape + "k")
        try session.terminal.wait(for: "the last entry") { $0.lines.last == "> <one two2" }
        session.terminal.type("k")
        try session.terminal.wait(for: "the entry before") { $0.lines.last == "> <one two" }
        #expect(
            try session.answer("A" + Key.paste("\n3") + "\r", number: 5) == .line("<one two\n3"))
        #expect(try session.answer("bc\u{14}a\r", number: 6) == .line("abc"))
        try session.end()
        #expect(session.terminal.screen.unknown == [])
    }

    @Test(arguments: [
        "bind", "bind -v nonsense", "\"unfinished", "bind ^X", "bind -e", "nonsense \u{0} 1\n\n\n",
        "bind -a", "settc", "history", "other:bind -v", "bind -s ^X text",
    ]) func `The editor reads lines with any key file`(_ bindings: String) throws {
        let session = try session(bindings + "\n")
        #expect(try session.answer("a line\r", number: 1) == .line("a line"))
        try session.end()
    }
}
