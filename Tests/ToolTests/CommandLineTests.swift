import Glibc
import Testing

/// `moonpool` takes what `lua` takes and ends as `lua` ends.
@Suite struct CommandLineTests {
    /// Runs the same with Debian's `lua5.4` and expects the same output and exit code.
    func expectAsLua(_ arguments: [String], input: String = "") throws {
        let ours = try Tool.run(arguments, input: input)
        let lua = try Subprocess("/usr/bin/lua5.4", arguments, input: input).finish()
        #expect(ours.output == lua.output, "\(arguments)")
        #expect(ours.exitCode == lua.exitCode, "\(arguments): \(ours.error)")
    }

    @Test func `runs statements given with -e`() throws {
        try expectAsLua(["-e", "print(1 + 1, 'x' .. 2)"])
        try expectAsLua(["-e", "x = 1", "-e", "print(x)"])
        try expectAsLua(["-e", "print(7 // 2, 7 / 2, 1 << 62, 2^53)"])
    }

    @Test func `runs a script from standard input with its arguments`() throws {
        try expectAsLua(["-", "a", "b"], input: "print(..., #arg, arg[1], arg[2])")
        try expectAsLua(["-"], input: "#!/usr/bin/env lua\nprint 'first line is skipped'")
    }

    @Test func `loads a library with -l`() throws {
        try expectAsLua(["-l", "string", "-e", "print(string == require 'string')"])
    }

    @Test func `passes arguments and the script's name`() throws {
        let folder = try TemporaryFolder()
        let script = try folder.write("print(#arg, ...) print(arg[0]:match '[^/]*$')", to: "s.lua")
        try expectAsLua([script])
        try expectAsLua([script, "one", "two three", ""])
        try expectAsLua(["--", script, "-e"])
    }

    @Test func `ends with the script's own exit code`() throws {
        for code in ["os.exit(3)", "os.exit(true)", "os.exit(false)", "os.exit(0, true)", "return"]
        {
            try expectAsLua(["-e", code])
        }
    }

    @Test func `reports an error with a traceback and exit code 1`() throws {
        let folder = try TemporaryFolder()
        let script = try folder.write(
            "local function f()\n  error 'broken'\nend\nf()\n", to: "bad.lua")
        let outcome = try Tool.run([script])
        #expect(outcome.exitCode == 1)
        #expect(outcome.output == "")
        #expect(outcome.error.contains("bad.lua:2: broken"))
        #expect(outcome.error.contains("stack traceback:"))
    }

    @Test func `reports a syntax error with its line`() throws {
        let outcome = try Tool.run(["-e", "x = = 1"])
        #expect(outcome.exitCode == 1)
        #expect(outcome.error.contains("unexpected symbol near '='"))
    }

    @Test func `names a script that is not there`() throws {
        let outcome = try Tool.run(["/nonexistent/script.lua"])
        #expect(outcome.exitCode == 1)
        #expect(outcome.error.contains("/nonexistent/script.lua"))
    }

    @Test func `shows help and version`() throws {
        let help = try Tool.run(["--help"])
        #expect(help.exitCode == 0)
        #expect(help.output.contains("USAGE: moonpool"))
        let version = try Tool.run(["--version"])
        #expect(version.exitCode == 0)
        #expect(version.output.split(separator: "\n").count == 1)
    }

    @Test func `an uncaught store error shows its message and ends with code 1`() throws {
        let outcome = try Tool.run(
            script: """
                local store = moonpool.open { in_memory = "x", schema = { Dog = { id = "int primary" } } }
                store:create("Dog", { id = 1 })
                """)
        #expect(outcome.exitCode == 1)
        #expect(outcome.error.contains("script.lua:2:"))
        #expect(outcome.error.contains("write"))
    }

    @Test func `an interrupt ends an endless script with code 130 and takes its write back`() throws
    {
        let folder = try TemporaryFolder()
        let script = try folder.write(
            """
            local store = moonpool.open { path = arg[1], schema = { Dog = { id = "int primary" } } }
            store:begin_write()
            store:create("Dog", { id = 1 })
            print "working"
            while true do pcall(function() while true do end end) end
            """, to: "endless.lua")
        let store = folder.path + "/dogs.moonpool"
        let process = try Subprocess(Tool.path, [script, store])
        try process.wait { process.output.contains("working") }
        process.send(SIGINT)
        let outcome = try process.finish()
        #expect(outcome.exitCode == 130, "\(outcome.error)")
        let count = try Tool.run(["-e", "print(#moonpool.open(arg[1]):objects 'Dog')", "-", store])
        #expect(count.output == "0\n", "\(count.error)")
    }
}
