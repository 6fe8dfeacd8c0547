import Foundation
import TestSupport
import TestThreads
import Testing

private typealias Key = PseudoTerminal.Key

/// The prompt with its output in a pipe, on a terminal without a cursor, and attached to another process.
@Suite(.serialized) struct PromptOutputTests {
    @Test func `A prompt whose output goes to a pipe writes no control sequences`() throws {
        let folder = try TemporaryFolder()
        let terminal = try PseudoTerminal(columns: 70, rows: 30)
        try terminal.start(
            "/bin/sh", ["-c", "'\(TerminalSession.program)' | tee '\(folder.path)/log'"],
            environment: ["TERM": "xterm-256color", "HOME": folder.path, "PATH": "/usr/bin:/bin"])
        try terminal.wait(for: "the prompt") { $0.lines.last == "store v2>" }
        for (entry, answer) in [
            ("{ a = 'text' }", "{ a = \"text\" }"), ("nothing.x", "attempt to index"),
            ("for i = 1, 2 do print('n', i)\rend", "n       2"), (".history", "v2"),
            (".observers live", "no observers"), (".watch 1 + 1", "2"),
        ] {
            terminal.type(entry + Key.enter)
            try terminal.wait(for: answer) { screen in
                screen.lines.contains { $0.contains(answer) }
                    && screen.lines.last == "store v2>"
            }
        }
        terminal.type(Key.end)
        #expect(try terminal.exitCode() == 0)
        let log = try Data(contentsOf: URL(filePath: folder.file("log")))
        #expect(log.count > 100 && !log.contains(0x1B) && !log.contains(0x01))
    }

    @Test func `An attached prompt completes names and has the user's history`() throws {
        let session = try TerminalSession(columns: 80)
        try session.run("'from the prompt'")
        #expect(try session.end() == 0)
        let script = try session.folder.write(
            """
            zoo = moonpool.open { in_memory = 'zoo', schema = { Giraffe = { height = 'int' } } }
            visitors = 12
            moonpool.every(60, function() end)
            print 'ready'
            """, to: "zoo.lua")
        let running = try PseudoTerminal()
        let socket = session.folder.path + "/s"
        try running.start(
            TerminalSession.program, ["--attachable=\(socket)", script],
            environment: ["HOME": session.folder.path])
        try running.wait(forText: "ready")
        let attached = try TerminalSession(["attach", socket], columns: 80, folder: session.folder)
        attached.terminal.type("visi" + Key.tab + " + 1" + Key.enter)
        try attached.terminal.wait(for: "the value") { $0.lines.contains("13") }
        try attached.prompt()
        attached.terminal.type("zoo:objects('Gi" + Key.tab)
        try attached.terminal.wait(forText: "zoo:objects('Giraffe")
        attached.terminal.type(Key.interrupt)
        try attached.prompt()
        attached.terminal.type(Key.up)
        try attached.terminal.wait(forText: "> visitors + 1")
        attached.terminal.type(Key.up)
        try attached.terminal.wait(forText: "> 'from the prompt'")
        attached.terminal.type(Key.interrupt)
        #expect(try attached.end() == 0)
        running.send(SIGTERM)
        #expect(try running.exitCode() == 128 + SIGTERM)
        let next = try TerminalSession(columns: 80, folder: session.folder)
        next.terminal.type(Key.up)
        try next.terminal.wait(forText: "> visitors + 1")
        next.terminal.type(Key.interrupt)
        #expect(try next.end() == 0)
    }

    @Test func `An attached prompt on a terminal without a cursor shows its prompts`() throws {
        let folder = try TemporaryFolder()
        let running = try PseudoTerminal()
        let socket = folder.path + "/s"
        try running.start(
            TerminalSession.program,
            [
                "--attachable=\(socket)", "-e",
                "inside = 12 moonpool.every(60, function() end) print 'ready'",
            ], environment: ["HOME": folder.path])
        try running.wait(forText: "ready")
        let attached = try TerminalSession(
            ["attach", socket], columns: 80, folder: folder, environment: ["TERM": "dumb"])
        attached.terminal.type("inside + 1" + Key.enter)
        try attached.terminal.wait(for: "the value below its entry") { screen in
            screen.lines.contains { $0.hasSuffix("> inside + 1") } && screen.lines.contains("13")
        }
        try attached.prompt()
        attached.terminal.type("inside +" + Key.enter)
        try attached.terminal.wait(for: "the continuation") { $0.lines.last == ">>" }
        attached.terminal.type("2" + Key.enter)
        try attached.terminal.wait(for: "the sum") { $0.lines.contains("14") }
        #expect(try attached.end() == 0)
        #expect(!attached.terminal.transcript.contains(0x1B))
        running.send(SIGTERM)
        _ = try running.exitCode()
    }

    @Test func `A recorded entry that Ctrl-C ended is interrupted when it runs again`() throws {
        let session = try TerminalSession(columns: 90)
        let file = session.folder.path + "/session.txt"
        try session.run(".transcript \(file)")
        session.terminal.type("print('endless') while true do end" + Key.enter)
        try session.terminal.wait(for: "the output") { $0.lines.contains("endless") }
        session.terminal.type(Key.interrupt)
        try session.terminal.wait(for: "the end") { $0.lines.contains("interrupted") }
        try session.run("1 + 1")
        try session.run(".transcript")
        #expect(try session.end() == 0)
        let again = try PseudoTerminal(columns: 100, rows: 30)
        try again.start(
            TerminalSession.program, ["transcript", file], environment: ["PATH": "/usr/bin:/bin"])
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(try again.exitCode() == 0, "\(again.screen.text)\n\(text)")
        #expect(again.screen.text.contains("2 entries, 0 different"), "\(again.screen.text)")
    }

    @Test func `.observers live marks the observers that are called`() throws {
        let session = try TerminalSession(columns: 100)
        try session.run("store:define { Dog = { name = 'string' }, Cat = { name = 'string' } }")
        try session.run("one = store:objects('Dog'):observe(function() end, { name = 'dogs' })")
        try session.run("two = store:objects('Cat'):observe(function() end, { name = 'cats' })")
        try session.run(
            "timer = moonpool.every(0.1, function() store:write(function() store:create('Dog', { name = 'x' }) end) end)"
        )
        session.terminal.type(".observers live\r")
        try session.terminal.wait(for: "the mark") { screen in
            screen.lines.contains { $0.hasPrefix("● ") && $0.contains("dogs") }
                && screen.lines.contains { $0.hasPrefix("  ") && $0.contains("cats") }
        }
        session.terminal.type(Key.interrupt)
        try session.prompt()
        try session.run("timer:cancel()")
        session.terminal.type(".observers live\r")
        try session.terminal.wait(for: "no mark") { screen in
            let lines = screen.lines.suffix(6)
            return lines.contains { $0.contains("dogs") } && !lines.contains { $0.contains("●") }
        }
        session.terminal.type(Key.interrupt)
        #expect(try session.end() == 0)
    }
}
