import Foundation
import TestSupport
import TestThreads
import Testing

private typealias Key = PseudoTerminal.Key

/// Runs `moonpool` as a user does: on its own terminal, in its own folder.
final class TerminalSession {
    /// The tool is in the folder of the program that runs the tests.
    static let program = URL(filePath: CommandLine.arguments[0])
        .deletingLastPathComponent().appending(path: "moonpool").path

    let terminal: PseudoTerminal
    let folder: TemporaryFolder
    private let hasEditor: Bool

    init(
        _ arguments: [String] = [], columns: Int = 60, rows: Int = 16,
        folder: TemporaryFolder? = nil,
        environment: [String: String] = [:]
    ) throws {
        self.folder = try folder ?? TemporaryFolder()
        terminal = try PseudoTerminal(columns: columns, rows: rows)
        var variables = [
            "TERM": "xterm", "HOME": self.folder.path, "PATH": "/usr/bin:/bin", "NO_COLOR": "1",
            "XDG_STATE_HOME": self.folder.path + "/state",
            "XDG_CONFIG_HOME": self.folder.path + "/config",
        ]
        variables.merge(environment) { $1 }
        hasEditor = variables["TERM"] != "dumb"
        try terminal.start(Self.program, arguments, environment: variables)
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
}

@Suite(.serialized) struct TerminalTests {
    @Test func `the output of timers appears above the typed line`() throws {
        let session = try TerminalSession(columns: 40)
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

    @Test func `Ctrl-C stops running code and the session continues`() throws {
        let session = try TerminalSession()
        for (index, entry) in [
            "while true do end", "while true do pcall(function() while true do end end) end",
            "coroutine.wrap(function() while true do end end)()", "moonpool.sleep(1000)",
            "setmetatable({}, {__index = function() while true do end end}).x()",
        ].enumerated() {
            session.terminal.type("print('running \(index)') " + entry + "\r")
            try session.terminal.wait(for: "the run") { $0.lines.contains("running \(index)") }
            session.terminal.type(Key.interrupt)
            try session.terminal.wait(for: "the interrupt") { screen in
                screen.lines.drop { $0 != "running \(index)" }.contains("interrupted")
            }
            #expect(try session.run("\(index) + 100").suffix(2).first == "\(index + 100)")
        }
        #expect(try session.end() == 0)
    }

    @Test func `an unreadable start-up file is reported, and a missing one is not`() throws {
        let first = try TerminalSession()
        #expect(!first.terminal.screen.text.contains("cannot read"))
        #expect(try first.end() == 0)
        let folder = try TemporaryFolder()
        for name in ["config", "config/moonpool", "config/moonpool/init.lua"] {
            try folder.make(name)
        }
        let second = try TerminalSession(folder: folder)
        try second.terminal.wait(forText: "Is a directory")
        #expect(try second.run("1 + 1").contains("2"))
        #expect(try second.end() == 0)
    }

    @Test func `os.exit ends the session with its code, also from a timer`() throws {
        let session = try TerminalSession()
        session.terminal.type("os.exit(7)\r")
        #expect(try session.terminal.exitCode() == 7)
        let lines = session.terminal.screen.text.split(separator: "\n")
        #expect(lines.last?.contains("os.exit(7)") == true, "no other prompt follows")
        let nested = try TerminalSession()
        try nested.run("function leave() os.exit(5) end")
        nested.terminal.type("leave()\r")
        #expect(try nested.terminal.exitCode() == 5)
        #expect(!nested.terminal.screen.text.contains("interrupted"))
        let other = try TerminalSession()
        let folder = try TemporaryFolder()
        let sign = folder.path + "/sign"
        try other.run(
            "moonpool.every(0.01, function() if io.open('\(sign)') then os.exit(3) end end)")
        other.terminal.type("half a line")
        try other.terminal.wait(forText: "half a line")
        try folder.write("", to: "sign")
        #expect(try other.terminal.exitCode() == 3)
        let third = try TerminalSession()
        third.terminal.type(".quit\r")
        #expect(try third.terminal.exitCode() == 0)
    }

    @Test(arguments: [Key.end, ".quit\r"])
    func `the end of a session names the open write that it rolls back`(_ keys: String) throws {
        let session = try TerminalSession()
        try session.run(".begin")
        session.terminal.type(keys)
        #expect(try session.terminal.exitCode() == 0)
        #expect(
            session.terminal.screen.lines.contains {
                $0.hasPrefix("rolled back the open write of ")
            })
    }

    @Test func `code in a C function is reported, and the third Ctrl-C ends the process`() throws {
        let session = try TerminalSession()
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

    @Test(arguments: [SIGTERM, SIGHUP])
    func `a busy loop ends with its terminal`(_ signal: Int32) throws {
        let session = try TerminalSession()
        session.terminal.type("print('busy') while true do end\r")
        try session.terminal.wait(for: "the loop") { $0.lines.contains("busy") }
        session.terminal.send(signal)
        #expect(try session.terminal.exitCode() == 128 + signal)
    }
}
