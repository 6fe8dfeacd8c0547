import Foundation
import TestSupport
import Testing

private typealias Key = PseudoTerminal.Key

/// Output while the user types: printing observers, redrawn tables, other programs.
@Suite(.serialized) struct LiveTerminalTests {
    private static let kennel =
        "store:define { Dog = { id = 'int primary', name = 'string' } } "
        + "function add(i) store:write(function() store:create('Dog', { id = i, name = 'd' .. i }) end) end"

    @Test func `output of observers and timers is labeled with their names`() throws {
        let session = try TerminalSession(columns: 90)
        try session.run(Self.kennel)
        try session.run(
            "one = store:objects('Dog'):observe(function(c) print(c.type) end, { name = 'kennel' })"
        )
        try session.run("two = store:objects('Dog'):observe(function(c) io.write('a\\nb') end)")
        session.terminal.type("half a line")
        try session.terminal.wait(for: "the first calls") { screen in
            screen.lines.contains("[kennel] initial") && screen.lines.contains("[observer 2] a")
                && screen.lines.contains("[observer 2] b")
                && screen.lines.last?.hasSuffix("half a line") == true
        }
        session.terminal.type(Key.interrupt)
        try session.run("add(1)")
        try session.terminal.wait(for: "the update") { $0.lines.contains("[kennel] update") }
        try session.run("print('mine')")
        #expect(session.terminal.screen.lines.contains("mine"))
        try session.run("timer = moonpool.after(0, function() print('rang') end)")
        try session.terminal.wait(for: "the timer") {
            $0.lines.contains { $0.hasPrefix("[timer entry ") && $0.hasSuffix("] rang") }
        }
        #expect(try session.end() == 0)
    }

    @Test func `an entry that runs while a handler sleeps is not attributed to the handler`() throws
    {
        let session = try TerminalSession(columns: 90)
        try session.run(Self.kennel)
        try session.run(
            "token = store:objects('Dog'):observe(function() moonpool.wait_until(function() return awake end) "
                + "print('slept') end, { name = 'sleeper' })")
        try session.run("print('mine')")
        try session.run("function broken() nope() end")
        #expect(try session.run("broken()").contains { $0.contains("attempt to call a nil value") })
        let lines = session.terminal.screen.lines
        #expect(lines.contains("mine"), "\(lines)")
        #expect(
            !lines.contains { $0.contains("wait_until'") || $0.contains("[sleeper]") }, "\(lines)")
        try session.run("awake = true")
        try session.terminal.wait(for: "the end of the handler") {
            $0.lines.contains("[sleeper] slept")
        }
        #expect(try session.end() == 0)
    }

    @Test func `an error in a handler shows its call stack, also after a stop`() throws {
        let session = try TerminalSession(columns: 90)
        try session.run(Self.kennel)
        try session.run("function inner() return nope.x end")
        try session.run("function outer() local r = inner() return r end")
        try session.run(
            "one = store:objects('Dog'):observe(function() local r = outer() return r end, { name = 'deep' })"
        )
        try session.terminal.wait(for: "the calls") { screen in
            screen.text.contains("error in 'deep': entry 2:1: attempt to index a nil value")
                && screen.lines.contains("  entry 3:1: in function 'outer'")
        }
        try session.run("one:invalidate()")
        session.terminal.type(
            "two = store:objects('Dog'):observe(function() print 'begins' while true do end end, { name = 'loop' })\r"
        )
        try session.prompt()
        session.terminal.type("half a line")
        try session.terminal.wait(for: "the handler and the line") {
            $0.lines.contains("[loop] begins") && $0.text.contains("half a line")
        }
        session.terminal.type(Key.interrupt)
        try session.terminal.wait(for: "the location") { screen in
            screen.lines.contains("error in 'loop': interrupted")
                && screen.lines.contains {
                    $0.hasPrefix("  entry ") && $0.contains("in function <entry ")
                }
        }
        #expect(try session.end() == 0)
    }

    @Test func `the prompt follows the writes of handlers and timers`() throws {
        let session = try TerminalSession(columns: 90)
        try session.run(Self.kennel)
        try session.run("moonpool.after(0.05, function() add(1) add(2) end)")
        session.terminal.type("half a line")
        try session.terminal.wait(for: "the new version") { screen in
            screen.lines.last?.hasPrefix("store v5") == true
                && screen.lines.last?.hasSuffix("> half a line") == true
        }
        session.terminal.type(Key.interrupt)
        #expect(try session.run("store.version").suffix(2).first == "5")
        #expect(try session.end() == 0)
    }

    @Test func `a watched query is redrawn in place until q or Ctrl-C`() throws {
        let session = try TerminalSession(columns: 70)
        try session.run(Self.kennel)
        try session.run("n = 0 token = store:observe(function() print('commit') end)")
        try session.run(
            "timer = moonpool.every(0.05, function() if n < 5 then n = n + 1 add(n) end end)")
        session.terminal.type(".watch store:objects 'Dog'\r")
        try session.terminal.wait(for: "all five") { screen in
            screen.lines.contains("5 Dog") && screen.lines.contains { $0.hasSuffix("d5") }
        }
        let lines = session.terminal.screen.lines
        #expect(lines.filter { $0.contains("q leaves") }.count == 1, "\(lines)")
        #expect(lines.contains("[observer 1] commit"), "\(lines)")
        session.terminal.type(Key.interrupt)
        try session.prompt()
        #expect(session.terminal.screen.lines.contains("5 Dog"))
        #expect(try session.run("1 + 1").suffix(2).first == "2")
        session.terminal.type(".observers live\r")
        try session.terminal.wait(forText: "the store")
        session.terminal.type(Key.interrupt)
        try session.prompt()
        #expect(try session.run(".watch nothing.x").joined().contains("attempt to index"))
        #expect(try session.end() == 0)
    }

    @Test(arguments: [80, 200])
    func `observers are shown within the window`(_ columns: Int) throws {
        let session = try TestSession(columns: columns)
        _ = try session.run("store:define { Dog = { name = 'string', age = 'int' } }")
        _ = try session.run(
            """
            token = store:objects 'Dog':where("age > 3 and name beginswith 'R'"):observe(function() end,
                { name = 'old dogs' })
            """)
        let lines = try session.run(".observers").split(separator: "\n")
        #expect(lines.allSatisfy { $0.count < columns }, "\(lines)")
        #expect(lines.count == (columns == 80 ? 4 : 2), "\(lines)")
        for text in ["old dogs", "Dog where age > 3 and name beginswith 'R'", "entry", "Dog.*"] {
            #expect(lines.contains { $0.contains(text) }, "\(lines)")
        }
    }

    @Test func `the rows that a live table cannot show are counted`() throws {
        let session = try TerminalSession(columns: 70)
        try session.run(Self.kennel)
        try session.run(
            "tokens = {} for i = 1, 60 do tokens[i] = store:objects('Dog'):observe(function() end) end"
        )
        session.terminal.type(".observers live\r")
        try session.terminal.wait(for: "the last line") {
            $0.lines.last?.hasSuffix("more lines; enlarge the window") == true
        }
        session.terminal.type(Key.interrupt)
        try session.prompt()
        #expect(try session.end() == 0)
    }

    @Test func `an observer without a name is found by its location while it runs`() throws {
        let session = try TestSession(columns: 200)
        _ = try session.run(Self.kennel)
        _ = try session.run(
            "token = store:objects('Dog'):observe(function(c) if c.type == 'update' then error('x', 0) end end)"
        )
        _ = try session.run("store:refresh() add(1) store:refresh()")
        let known = try session.run(".why unknown")
        let location = try #require(known.firstMatch(of: /: 1 (entry [0-9]+:[0-9]+)/)?.1)
        #expect(try session.run(".why \(location)").contains("1 object, the call took"))
        _ = try session.run("token:invalidate()")
        _ = try session.run(
            "token = store:objects('Dog'):observe(function() seen = true moonpool.wait_until(function() return go end) end)"
        )
        _ = try session.run("moonpool.after(0, function() store:refresh() end)")
        _ = try session.run("moonpool.wait_until(function() return seen end)")
        #expect(try session.run(".observers").contains("running"))
        _ = try session.run("go = true")
    }

    @Test func `why shows the objects that an observer was called for`() throws {
        let session = try TestSession()
        _ = try session.run(Self.kennel)
        _ = try session.run("token = store:objects('Dog'):observe(function() end)")
        _ = try session.run("store:refresh() add(1) store:refresh()")
        #expect(try session.run(".why 1").contains("└─ + Dog 1\n"))
        _ = try session.run(
            "store:write(function() store:delete(store:object('Dog', 1)) end) store:refresh()")
        #expect(try session.run(".why 1").contains("└─ - Dog 1\n"))
        _ = try session.run(
            "store:write(function() for i = 2, 9 do store:create('Dog', { id = i, name = 'x' }) end end)"
        )
        _ = try session.run("store:refresh()")
        #expect(try session.run(".why 1").contains("├─ + Dog 2\n"))
        #expect(try session.run(".why 1").contains("└─ … 3 more\n"))
    }

    @Test func `a long name of an observer is shortened in a narrow window`() throws {
        let session = try TestSession(columns: 72)
        _ = try session.run("store:define { Dog = { name = 'string' } }")
        _ = try session.run(
            "token = store:objects 'Dog':observe(print, { name = 'a name that is long and long and long and long and long' })"
        )
        let lines = try session.run(".observers").split(separator: "\n")
        #expect(lines.allSatisfy { $0.count < 72 }, "\(lines)")
        #expect(lines.contains { $0.contains("a name") && $0.contains("…") }, "\(lines)")
    }

    @Test func `a long result opens the pager, a short one does not`() throws {
        let session = try TerminalSession(
            environment: ["PAGER": "echo paged; cat >/dev/null; echo"])
        session.terminal.type(".help commands\r")
        try session.terminal.wait(for: "the pager") { $0.lines.contains("paged") }
        try session.prompt()
        #expect(try !session.run(".help .watch").suffix(3).contains("paged"))
        #expect(try session.end() == 0)
        let without = try TerminalSession(environment: ["PAGER": "no-such-program"])
        without.terminal.type(".help commands\r")
        try without.terminal.wait(forText: ".reload [module")
        #expect(try without.end() == 0)
    }

    @Test func `an entry is edited in the editor and run`() throws {
        let session = try TerminalSession(columns: 90, environment: ["EDITOR": "sed -i s/6/7/"])
        try session.run("answer = 6")
        session.terminal.type(".edit\r")
        try session.terminal.wait(forText: "  answer = 7")
        #expect(try session.run("answer * 100").suffix(2).first == "700")
        session.terminal.type(Key.up + Key.up)
        try session.terminal.wait(for: "the edited entry") {
            $0.lines.last?.hasSuffix("> answer = 7") == true
        }
        session.terminal.type(Key.interrupt)
        #expect(try session.end() == 0)
        let failing = try TerminalSession(environment: ["EDITOR": "false"])
        failing.terminal.type(".edit\r")
        try failing.terminal.wait(forText: "'false' ended with code 1; nothing was run")
        #expect(try failing.end() == 0)
    }

    @Test func `a recorded session runs again`() throws {
        let session = try TerminalSession(columns: 90)
        let file = session.folder.path + "/session.txt"
        try session.run(".transcript \(file)")
        try session.run(Self.kennel)
        try session.run(
            "token = store:objects('Dog'):observe(function(c) print(c.type, #c.insertions) end, { name = 'k' })"
        )
        try session.terminal.wait(forText: "[k] initial")
        try session.run("add(1)")
        try session.terminal.wait(forText: "[k] update")
        session.terminal.type("for i = 1, 2 do\rprint('moonpool> ' .. i)\rend\r")
        try session.terminal.wait(forText: "moonpool> 2")
        try session.run("nothing.x")
        try session.run("store:objects 'Dog'")
        try session.run(".transcript")
        #expect(session.terminal.screen.lines.contains("6 entries in \(file)"))
        #expect(try session.end() == 0)
        let text = try session.folder.read("session.txt")
        #expect(text.contains("moonpool> for i = 1, 2 do\n       >>   print("))
        #expect(text.contains("\n\\moonpool> 1\n"))
        let again = try PseudoTerminal(columns: 100, rows: 30)
        try again.start(
            TerminalSession.program, ["transcript", file], environment: ["PATH": "/usr/bin:/bin"])
        #expect(try again.exitCode() == 0)
        #expect(again.screen.text.contains("6 entries, 0 different"), "\(again.screen.text)")
    }

    @Test func `output of a worker is labeled and does not change the typed line`() throws {
        let session = try TerminalSession(columns: 90)
        try session.run(
            "w = moonpool.worker('cache', function() for i = 1, 3 do print('hello ' .. i) end end)")
        session.terminal.type("half a line")
        try session.terminal.wait(for: "its output") { screen in
            screen.lines.contains { $0.hasPrefix("[cache") && $0.hasSuffix("] hello 3") }
                && screen.lines.last?.hasSuffix("> half a line") == true
        }
        session.terminal.type(Key.interrupt)
        #expect(try session.end() == 0)
    }
}
