import Foundation
import TestSupport
import TestThreads
import Testing

private typealias Key = PseudoTerminal.Key

/// The panels that replace the prompt at a terminal: `.watch` and `.history`.
@Suite(.serialized) struct PanelTerminalTests {
    private static let kennel =
        "store:define { Dog = { id = 'int primary', name = 'string' } } "
        + "function add(i) store:write(function() store:create('Dog', { id = i, name = 'd' .. i }) end) end "
        + "for i = 1, 4 do add(i) end"

    @Test(arguments: [60, 120])
    func `The history is a list with keys that fits the window`(columns: Int) throws {
        let session = try TerminalSession(columns: columns)
        try session.run(Self.kennel)
        session.terminal.type(".history\r")
        try session.terminal.wait(forText: "q leave")
        #expect(session.terminal.screen.lines.contains { $0.hasPrefix("❯ v7 ◂") })
        session.terminal.type(Key.down)
        try session.terminal.wait(for: "the second version") {
            $0.lines.contains { $0.hasPrefix("❯ v6") }
        }
        session.terminal.type(Key.enter)
        try session.terminal.wait(forText: "+ Dog 3")
        let panel = session.terminal.screen.lines.drop { !$0.hasSuffix(".history") }
        #expect(panel.count > 6 && panel.allSatisfy { $0.count < columns })
        session.terminal.type("g")
        try session.terminal.wait(for: "the prompt") { $0.lines.last?.hasSuffix("@v6>") == true }
        #expect(try session.run("#store:objects 'Dog'").dropLast().last == "3")
        session.terminal.type(".history\r")
        try session.terminal.wait(forText: "q leave")
        session.terminal.type("q")
        try session.prompt()
        try session.run(".goto")
        #expect(try session.run("#store:objects 'Dog'").suffix(3).contains("4"))
        #expect(try session.end() == 0)
    }

    @Test func `A watched query colors changes, and the prompt is unchanged afterward`() throws {
        let session = try TerminalSession(columns: 80, environment: ["NO_COLOR": ""])
        session.terminal.type(Self.kennel + "\r")
        session.terminal.type(
            "t = moonpool.after(0.3, function() store:write(function() store:object('Dog', 1).name = 'Rex' "
                + "store:delete(store:object('Dog', 2)) store:create('Dog', { id = 9, name = 'new' }) end) end)\r"
        )
        session.terminal.type(".watch Dog\r")
        try session.terminal.wait(forText: "d1 → Rex")
        let bytes = String(decoding: session.terminal.transcript, as: UTF8.self)
        #expect(bytes.contains("\u{1B}[33md1 → Rex"))
        #expect(bytes.contains("\u{1B}[32mnew"))
        #expect(bytes.contains("\u{1B}[2;9;31md2"))
        try session.terminal.wait(for: "the end of the colors") { !$0.text.contains("d2") }
        #expect(!session.terminal.screen.text.contains("→"))
        session.terminal.type("q")
        session.terminal.type("print('after ' .. 'q')\r")
        try session.terminal.wait(for: "the prompt") { $0.lines.contains("after q") }
    }

    @Test func `Ctrl-C leaves a panel, also while a handler does not return`() throws {
        let session = try TerminalSession(columns: 80)
        try session.run(Self.kennel)
        session.terminal.type(".watch Dog\r")
        try session.terminal.wait(forText: "q leaves")
        session.terminal.type(Key.interrupt)
        try session.prompt()
        let marker = session.folder.file("marker")
        try session.run(
            "token = store:objects('Dog'):observe(function(c) if c.type == 'update' then "
                + "io.open('\(marker)', 'w'):close() while true do end end end)"
        )
        try session.run("t = moonpool.after(0.3, function() add(20) end)")
        session.terminal.type(".watch Dog\r")
        try session.terminal.wait(forText: "q leaves")
        try session.terminal.wait(for: "the observer to begin") { _ in access(marker, F_OK) == 0 }
        // The observer never returns: the first Ctrl-C waits for it, the second one stops it.
        session.terminal.type(Key.interrupt + Key.interrupt)
        try session.terminal.wait(for: "the prompt") { screen in
            screen.lines.last?.hasSuffix(">") == true
        }
        #expect(try session.run("1 + 1").contains("2"))
    }

    @Test func `A terminal that cannot move its cursor shows each panel once`() throws {
        let session = try TerminalSession(columns: 80, environment: ["TERM": "dumb"])
        session.terminal.type(Self.kennel + "\n.watch Dog\n.history\n1 + 41\n")
        try session.terminal.wait(for: "the end") { $0.lines.contains("42") }
        let text = session.terminal.screen.text
        #expect(text.contains("4 Dog") && text.contains("v7 ◂"))
        #expect(!session.terminal.transcript.contains(0x1B))
    }

    @Test func `The value of a live expression is shown above the typed line`() throws {
        let session = try TerminalSession(columns: 80)
        try session.run(Self.kennel)
        try session.run(".live #store:objects 'Dog'")
        try session.run("t = moonpool.after(0.2, function() add(30) end)")
        session.terminal.type("half a line")
        try session.terminal.wait(for: "the value") { screen in
            screen.lines.contains("[live 1] #store:objects 'Dog' = 5")
                && screen.lines.last?.hasSuffix("half a line") == true
        }
    }

    @Test func `A store that does not exist is created only after a question`() throws {
        let terminal = try PseudoTerminal(columns: 160, rows: 10)
        let folder = try TemporaryFolder()
        let path = folder.file("zo.moonpool")
        let environment = ["TERM": "xterm", "HOME": folder.path, "PATH": "/usr/bin:/bin"]
        try terminal.start(TerminalSession.program, [path], environment: environment)
        try terminal.wait(forText: "y/n")
        terminal.type("n\n")
        #expect(try terminal.exitCode() == 1)
        #expect(!FileManager.default.fileExists(atPath: path))
        let second = try PseudoTerminal(columns: 160, rows: 10)
        try second.start(TerminalSession.program, [path], environment: environment)
        try second.wait(forText: "y/n")
        second.type("y\n")
        try second.wait(for: "the prompt") { $0.lines.last?.hasSuffix("zo v2>") == true }
        #expect(FileManager.default.fileExists(atPath: path))
    }
}
