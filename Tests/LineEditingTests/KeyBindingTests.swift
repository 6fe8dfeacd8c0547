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
        try session.type("one two" + Self.deleteWord)
        try session.terminal.wait(for: "the deletion") { $0.lines.last == "> one" }
        try session.type(Self.undo)
        try session.terminal.wait(for: "the deleted word") { $0.lines.last == "> one two" }
        try session.type(Self.undo)
        try session.terminal.wait(for: "the first word") { $0.lines.last == "> one" }
        try session.type(Self.undo + Self.undo + Self.undo)
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
        try session.type("draft" + Key.pageUp)
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

    @Test(
        "A key without a function changes nothing",
        arguments: [
            "\u{1B}[15~", "\u{1B}[24~", "\u{1B}[Z", "\u{1B}OP", "\u{1B}[[A", "\u{1B}[1;2A",
            "\u{1B}[2~", "\u{1B}[27;5;9~", "\u{1B}[200;3u", "\u{1B}[<0;1;2M", "\u{1B}[?1;2c",
            "\u{1B}[I", "\u{1B}O5P", "\u{1C}",
        ])
    func unboundKeys(key: String) throws {
        for bindings in ["", "bind -v"] {
            let session = try session(bindings)
            #expect(try session.answer("ab\(key)c\r", number: 1) == .line("abc"))
            try session.end()
        }
    }

    @Test("The user's file can bind function keys") func boundKeys() throws {
        let session = try session(#"bind "\e[15~" ed-move-to-beg"#)
        #expect(try session.answer("ab\u{1B}[15~c\r", number: 1) == .line("cab"))
        try session.end()
    }

    @Test("The arrows recall entries by prefix, Page Up and Page Down all entries")
    func recall() throws {
        let session = try EditingSession()
        for (index, entry) in ["alpha", "beta", "all", "gamma"].enumerated() {
            _ = try session.answer(entry + "\r", number: index + 1)
        }
        let cases = [
            ("al" + Key.up, "all"), ("al" + Key.up + Key.up, "alpha"),
            ("al" + Key.up + Key.up + Key.up, "alpha"),
            ("al" + Key.up + Key.up + Key.down, "all"),
            ("al" + Key.up + Key.down, "al"), ("x" + Key.up, "x"),
            (Key.up, "gamma"), (Key.pageUp + Key.pageUp, "all"),
            ("be" + Key.pageUp + Key.pageUp + Key.pageDown + Key.pageDown, "be"),
            ("be" + Key.up + Key.pageUp, "alpha"), (Key.pageDown, ""),
        ]
        for (keys, expected) in cases {
            try session.type(keys + "!")
            try session.terminal.wait(for: "\(keys.debugDescription)") {
                $0.lines.last == "> \(expected)!"
            }
            // The entry is discarded, so that the history stays.
            try session.type("\u{15}")
            try session.terminal.wait(for: "the empty line") { $0.lines.last == ">" }
            try session.type(Key.interrupt)
            try session.terminal.wait(for: "the next prompt") { screen in
                screen.lines.suffix(2) == ["> ^C", ">"]
            }
        }
        try session.end()
    }

    @Test("Ctrl-S searches forward and does not stop the output") func forwardSearch() throws {
        let session = try EditingSession()
        _ = try session.answer("alpha\r", number: 1)
        _ = try session.answer("beta\r", number: 2)
        try session.type(Key.search + "a" + Key.search)
        try session.terminal.wait(for: "the older entry") {
            $0.lines.suffix(2) == ["> alpha", "bck:a"]
        }
        try session.type("\u{13}")
        try session.terminal.wait(for: "the newer entry") { $0.lines.contains("fwd:a") }
        #expect(try session.answer(Key.interrupt, number: 3) == .interrupted)
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
        #expect(try session.answer("one two" + escape + "0dwui<\r", number: 3) == .line("<one two"))
        #expect(try session.answer(Key.up + "2\r", number: 4) == .line("<one two2"))
        try session.type(escape + "k")
        try session.terminal.wait(for: "the last entry") { $0.lines.last == "> <one two2" }
        try session.type("k")
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
