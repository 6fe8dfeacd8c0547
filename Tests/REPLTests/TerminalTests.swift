import Foundation
import TestSupport
import Testing

private typealias Key = PseudoTerminal.Key

/// Runs `moonpool` as a user does: on its own terminal, in its own folder.
final class TerminalSession {
    let terminal: PseudoTerminal
    let folder: URL
    private let hasEditor: Bool

    init(
        _ arguments: [String] = [], columns: Int = 60, rows: Int = 16, folder: URL? = nil,
        environment: [String: String] = [:]
    ) throws {
        self.folder = folder ?? FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        terminal = try PseudoTerminal(columns: columns, rows: rows)
        var variables = [
            "TERM": "xterm", "HOME": self.folder.path, "PATH": "/usr/bin:/bin", "NO_COLOR": "1",
            "XDG_STATE_HOME": self.folder.path + "/state",
            "XDG_CONFIG_HOME": self.folder.path + "/config",
        ]
        variables.merge(environment) { $1 }
        hasEditor = variables["TERM"] != "dumb"
        let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "moonpool").path
        try terminal.start(program, arguments, environment: variables)
        try prompt()
    }

    /// Waits until the next entry can be typed.
    func prompt() throws {
        try terminal.wait(for: "the prompt", until: isAtPrompt)
    }

    /// Whether the program waits for keys at a prompt.
    ///
    /// While an entry runs, the terminal is in its ordinary mode, in which Ctrl-C and Ctrl-D do not reach the editor.
    private func isAtPrompt(_ screen: TerminalScreen) -> Bool {
        screen.lines.last?.hasSuffix(">") == true && screen.column > 0
            && (!hasEditor || terminal.hasReadKeys)
    }

    /// Types an entry, waits until it has ended, and returns the lines of the screen.
    @discardableResult
    func run(_ entry: String) throws -> [String] {
        try prompt()
        // The same entry may occur further up, so only the rows from this row on belong to this entry.
        let firstRow = terminal.screen.scrolledLines + terminal.screen.lines.count - 1
        terminal.type(entry)
        try terminal.wait(for: "the echo of \(entry)") {
            Self.shows(entry, in: $0.lines, of: $0, from: firstRow)
        }
        terminal.type(Key.enter)
        // While the typed line is redrawn below printed output, the screen briefly shows a prompt without it.
        try terminal.wait(for: "the prompt after \(entry)") { screen in
            isAtPrompt(screen)
                && Self.shows(entry, in: screen.lines.dropLast(), of: screen, from: firstRow)
        }
        return terminal.screen.lines
    }

    /// Whether an entry is in the lines from a row on, counted from the first line of the session, or is no longer on
    /// the screen.
    private static func shows(
        _ entry: String, in lines: some Collection<String>, of screen: TerminalScreen,
        from firstRow: Int
    ) -> Bool {
        guard screen.scrolledLines <= firstRow else { return true }
        // The lines of a screen do not contain trailing spaces.
        return lines.dropFirst(firstRow - screen.scrolledLines).joined().filter { $0 != " " }
            .contains(entry.filter { $0 != " " })
    }

    /// Ends the session with Ctrl-D and returns the exit code.
    func end() throws -> Int32 {
        try prompt()
        terminal.type(Key.end)
        return try terminal.exitCode()
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}

@Suite(.serialized) struct TerminalTests {
    @Test func `a first session runs entries, continues lines, and creates an object`() throws {
        let session = try TerminalSession()
        defer { session.remove() }
        try session.run("local n = 20")
        #expect(try session.run("n + 1").suffix(2).first == "21")
        session.terminal.type("for i = 1, 2 do\r")
        try session.terminal.wait(for: "the continuation") {
            $0.lines.last?.hasSuffix(">>") == true
        }
        session.terminal.type("print('line ' .. i)\rend\r")
        try session.terminal.wait(for: "what it prints") { $0.lines.contains("line 2") }
        try session.run(
            "dogs = moonpool.open { path = '\(session.folder.path)/d', schema = { Dog = { name = 'string' } } }"
        )
        try session.run("store = dogs")
        try session.run("store:write(function() store:create('Dog', { name = 'Rex' }) end)")
        #expect(try session.run("store:objects 'Dog'").contains("Rex"))
        #expect(session.terminal.screen.unknown == [])
        #expect(try session.end() == 0)
    }

    @Test func `the output of timers appears above the typed line`() throws {
        let session = try TerminalSession(columns: 40)
        defer { session.remove() }
        try session.run(
            "n = 0 timer = moonpool.every(0.02, function() n = n + 1 print('tick ' .. n) end)")
        let tick = "[timer entry 1:1] tick "
        let line = "\"日本語日本語日本語日本語日本語 and more than one row of it\""
        for (index, character) in line.enumerated() {
            session.terminal.type(String(character))
            if index % 8 == 0 {
                let seen = session.terminal.screen.lines.filter { $0.hasPrefix(tick) }.last
                try session.terminal.wait(for: "another tick") { screen in
                    screen.lines.filter { $0.hasPrefix(tick) }.last != seen
                }
            }
        }
        try session.terminal.wait(for: "the whole line") { screen in
            screen.lines.suffix(2).joined().hasSuffix("row of it\"")
        }
        let lines = session.terminal.screen.lines
        #expect(lines.filter { $0.contains("日本語") }.count == 1, "\(lines)")
        #expect(lines.dropLast(2).suffix(3).allSatisfy { $0.hasPrefix(tick) }, "\(lines)")
        session.terminal.type(Key.enter)
        try session.terminal.wait(for: "the value") { screen in
            screen.lines.contains { $0.hasPrefix("\"日本語") }
        }
        session.terminal.type("timer:cancel()\r")
        #expect(session.terminal.screen.unknown == [])
    }

    @Test(arguments: [
        "while true do end", "while true do pcall(function() while true do end end) end",
        "coroutine.wrap(function() while true do end end)()", "moonpool.sleep(1000)",
        "setmetatable({}, {__index = function() while true do end end}).x()",
    ]) func `Ctrl-C stops running code and the session continues`(_ entry: String) throws {
        let session = try TerminalSession()
        defer { session.remove() }
        session.terminal.type("print('running') " + entry + "\r")
        try session.terminal.wait(for: "the run") { $0.lines.contains("running") }
        session.terminal.type(Key.interrupt)
        try session.terminal.wait(for: "the interrupt") { $0.lines.contains("interrupted") }
        #expect(try session.run("6 * 7").suffix(2).first == "42")
        #expect(try session.end() == 0)
    }

    @Test func `Ctrl-C clears a line, cancels an entry, and stops a hanging timer`() throws {
        let session = try TerminalSession()
        defer { session.remove() }
        session.terminal.type("half a line")
        try session.terminal.wait(forText: "half a line")
        session.terminal.type(Key.interrupt)
        try session.terminal.wait(forText: "half a line^C")
        try session.prompt()
        session.terminal.type("for i = 1, 3 do\r")
        try session.terminal.wait(for: "the continuation") {
            $0.lines.last?.hasSuffix(">>") == true
        }
        session.terminal.type("print(" + Key.interrupt)
        try session.terminal.wait(forText: "print(^C")
        #expect(try session.run("1 + 1").suffix(2).first == "2")
        try session.run("moonpool.after(0, function() print('hanging') while true do end end)")
        try session.terminal.wait(for: "the timer") { $0.text.contains("] hanging") }
        session.terminal.type(Key.interrupt)
        try session.terminal.wait(for: "its end") { $0.text.contains("interrupted") }
        #expect(try session.run("2 + 2").suffix(2).first == "4")
        #expect(try session.end() == 0)
    }

    @Test func `resizing the window keeps the typed line`() throws {
        let session = try TerminalSession(columns: 60)
        defer { session.remove() }
        session.terminal.type("'a line of more than forty letters, surely'")
        try session.terminal.wait(forText: "surely")
        session.terminal.resize(columns: 30, rows: 16)
        try session.terminal.wait(for: "two rows") {
            $0.lines.suffix(2).joined().hasSuffix("letters, surely'") && $0.lines.last!.count < 31
        }
        session.terminal.type(Key.enter)
        try session.terminal.wait(for: "the value") { screen in
            screen.lines.contains { $0.hasPrefix("\"a line of more") }
        }
        #expect(try session.end() == 0)
    }

    @Test
    func `the history contains the entries of the last session, and the start-up file runs first`()
        throws
    {
        let first = try TerminalSession()
        defer { first.remove() }
        try first.run("greeting = 'hello'")
        #expect(try first.end() == 0)
        let config = first.folder.appending(path: "config/moonpool")
        try FileManager.default.createDirectory(at: config, withIntermediateDirectories: true)
        try "local mine = 'from init' print(mine)".write(
            to: config.appending(path: "init.lua"), atomically: true, encoding: .utf8)
        let second = try TerminalSession(folder: first.folder)
        #expect(second.terminal.screen.lines.contains("from init"))
        second.terminal.type(Key.up)
        try second.terminal.wait(forText: "greeting = 'hello'")
        second.terminal.type(Key.enter)
        #expect(try second.run("greeting .. mine").contains("\"hellofrom init\""))
        #expect(try second.end() == 0)
        let third = try TerminalSession(["--no-rc"], folder: first.folder)
        #expect(!third.terminal.screen.text.contains("from init"))
        #expect(try third.end() == 0)
    }

    @Test func `an unreadable start-up file is reported, and a missing one is not`()
        throws
    {
        let first = try TerminalSession()
        defer { first.remove() }
        #expect(!first.terminal.screen.text.contains("cannot read"))
        #expect(try first.end() == 0)
        let file = first.folder.appending(path: "config/moonpool/init.lua")
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        let second = try TerminalSession(folder: first.folder)
        try second.terminal.wait(forText: "Is a directory")
        #expect(try second.run("1 + 1").contains("2"))
        #expect(try second.end() == 0)
    }

    @Test func `os.exit ends the session with its code, also from a timer`() throws {
        let session = try TerminalSession()
        defer { session.remove() }
        session.terminal.type("os.exit(7)\r")
        #expect(try session.terminal.exitCode() == 7)
        let nested = try TerminalSession()
        defer { nested.remove() }
        try nested.run("function leave() os.exit(5) end")
        nested.terminal.type("leave()\r")
        #expect(try nested.terminal.exitCode() == 5)
        #expect(!nested.terminal.screen.text.contains("interrupted"))
        let other = try TerminalSession()
        defer { other.remove() }
        try other.run("moonpool.after(0.01, function() os.exit(3) end)")
        other.terminal.type("half a line")
        #expect(try other.terminal.exitCode() == 3)
        let third = try TerminalSession()
        defer { third.remove() }
        third.terminal.type(".quit\r")
        #expect(try third.terminal.exitCode() == 0)
    }

    @Test(arguments: [Key.end, ".quit\r"])
    func `the end of a session names the open write that it rolls back`(_ keys: String) throws {
        let session = try TerminalSession()
        defer { session.remove() }
        try session.run(".begin")
        session.terminal.type(keys)
        #expect(try session.terminal.exitCode() == 0)
        #expect(
            session.terminal.screen.lines.contains {
                $0.hasPrefix("rolled back the open write of ")
            })
    }

    @Test func `a terminal that cannot move its cursor still has a prompt`() throws {
        let session = try TerminalSession(environment: ["TERM": "dumb"])
        defer { session.remove() }
        session.terminal.type("3 * 3\r")
        try session.terminal.wait(for: "the value") { $0.lines.contains("9") }
        session.terminal.type(Key.end)
        #expect(try session.terminal.exitCode() == 0)
    }

    @Test func `the arrow up edits typed lines again, and the entry is one item of the history`()
        throws
    {
        let session = try TerminalSession()
        defer { session.remove() }
        for line in ["for i = 1, 2 do", "print(i + 10)"] {
            session.terminal.type(line + "\r")
            try session.terminal.wait(for: "the continuation") {
                $0.lines.last?.hasSuffix(">>") == true
            }
        }
        session.terminal.type("end" + Key.up)
        try session.terminal.wait(for: "the entry in one piece") { screen in
            screen.lines.suffix(3) == ["store v2> for i = 1, 2 do", "  print(i + 10)", "end"]
        }
        session.terminal.type(Key.backspace + Key.backspace + Key.backspace + "20)" + Key.enter)
        try session.terminal.wait(for: "what it prints") { $0.lines.contains("22") }
        #expect(!session.terminal.screen.lines.contains("11"))
        try session.prompt()
        session.terminal.type(Key.up)
        try session.terminal.wait(for: "the entry again") {
            $0.lines.suffix(3) == ["store v2> for i = 1, 2 do", "  print(i + 20)", "end"]
        }
        session.terminal.type(Key.interrupt)
        #expect(try session.end() == 0)
    }

    @Test func `--read-only opens stores without the right to change them`() throws {
        let first = try TerminalSession()
        defer { first.remove() }
        let path = first.folder.path + "/zoo.moonpool"
        try first.run(
            "zoo = moonpool.open { path = '\(path)', schema = { Dog = { name = 'string' } } }")
        #expect(try first.end() == 0)
        let second = try TerminalSession(["--read-only", path], folder: first.folder)
        try second.run("store.is_read_only, #store:objects 'Dog'")
        #expect(second.terminal.screen.lines.suffix(3).prefix(2) == ["true", "0"])
        try second.run("store:write(function() end)")
        #expect(second.terminal.screen.text.contains("read"))
        #expect(try second.end() == 0)
    }

    @Test func `code in a C function is reported, and the third Ctrl-C ends the process`() throws {
        let session = try TerminalSession()
        defer { session.remove() }
        // Each comparison of the sort reads a million bytes.
        try session.run(
            "text = ('x'):rep(1000000); texts = {}; for i = 1, 1000000 do texts[i] = text end")
        // An interrupt between `print` and `table.sort` ends the entry immediately; the test then tries again.
        for attempt in 1...100 {
            let busy = "busy \(attempt)"
            session.terminal.type("print('\(busy)') table.sort(texts)\r")
            try session.terminal.wait(for: "the entry") { $0.lines.contains(busy) }
            session.terminal.type(Key.interrupt)
            try session.terminal.wait(for: "what the interrupt does") { screen in
                screen.text.contains("native code")
                    || screen.lines.drop { $0 != busy }.contains("interrupted")
            }
            if session.terminal.screen.text.contains("native code") { break }
            try session.prompt()
        }
        session.terminal.type(Key.interrupt)
        #expect(try session.terminal.exitCode() == 130)
    }

    @Test(arguments: [SIGTERM, SIGHUP]) func `a busy loop ends with its terminal`(_ signal: Int32)
        throws
    {
        let session = try TerminalSession()
        defer { session.remove() }
        session.terminal.type("print('busy') while true do end\r")
        try session.terminal.wait(for: "the loop") { $0.lines.contains("busy") }
        session.terminal.send(signal)
        #expect(try session.terminal.exitCode() == 128 + signal)
    }

    @Test func `colors can be turned off`() throws {
        let entry = "{ a = 'text', b = 1 }"
        let colored = try TerminalSession(environment: ["NO_COLOR": ""])
        defer { colored.remove() }
        try colored.run(entry)
        let text = String(decoding: colored.terminal.transcript, as: UTF8.self)
        #expect(text.contains("\u{1B}[32m\"text\"\u{1B}[0m"))
        #expect(colored.terminal.screen.lines.contains { $0.hasPrefix("{ a = \"text\", b = 1 } ") })
        #expect(try colored.end() == 0)
        let plain = try TerminalSession()
        defer { plain.remove() }
        try plain.run(entry)
        #expect(!String(decoding: plain.terminal.transcript, as: UTF8.self).contains("\u{1B}[32m"))
        #expect(try plain.end() == 0)
    }
}
