import Glibc
import TestSupport
import Testing

/// Closed standard streams and SIGQUIT.
@Suite struct StandardStreamTests {
    @Test(
        "A closed standard stream reads as empty and discards output",
        arguments: ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
    func closed(redirection: String) throws {
        let folder = try TemporaryFolder()
        // Without the stream, the store would have its number.
        _ = try folder.write(
            """
            print "shown"
            io.stderr:write "shown"
            local store <close> = moonpool.open { path = "a.moonpool", schema = { D = { n = "int" } } }
            store:write(function() store:create("D", { n = 1 }) end)
            assert(io.read "l" == nil)
            moonpool.after(0, function() print "later" end)
            """, to: "a.lua")
        for words in ["a.lua", "-e \"dofile 'a.lua'\"", "check a.moonpool", "", "--version"] {
            let outcome = try Subprocess(
                "/bin/sh", ["-c", "\"$0\" \(words) \(redirection)", Tool.path], in: folder.path
            ).finish()
            #expect(outcome.exitCode == 0, "\(words) \(redirection): \(outcome.error)")
        }
    }

    @Test func `The quit key ends a running script without a dialog`() throws {
        let terminal = try PseudoTerminal(columns: 80, rows: 24)
        try terminal.start(
            Tool.path, ["-e", "print 'runs' while true do end"], environment: ["TERM": "xterm"])
        try terminal.wait(forText: "runs")
        terminal.type("\u{1C}")
        #expect(try terminal.exitCode() == 128 + SIGQUIT)
        #expect(!terminal.screen.text.contains("crash"))
    }

    @Test func `A script that was started with the quit signal ignored ignores it`() throws {
        let code = "print 'runs' io.stdout:flush() while true do end"
        let script = try Subprocess(
            "/bin/sh", ["-c", "trap '' QUIT; exec \"$0\" -e \"$1\"", Tool.path, code], until: "runs"
        )
        script.send(SIGQUIT)
        script.send(SIGTERM)
        #expect(try script.finish().exitCode != 128 + SIGQUIT)
    }
}
