import Glibc
import Testing

/// `moonpool` accepts the same command lines as `lua`, with the same exit codes.
@Suite struct CommandLineTests {
    private let folder = try! TemporaryFolder()

    /// Runs the same with Debian's `lua5.4` and expects the same output and exit code.
    func expectAsLua(_ arguments: [String], input: String = "") throws {
        let ours = try Tool.run(arguments, input: input)
        let lua = try Subprocess("/usr/bin/lua5.4", arguments, input: input).finish()
        #expect(ours.output == lua.output, "\(arguments)")
        #expect(ours.exitCode == lua.exitCode, "\(arguments): \(ours.error)")
    }

    /// Runs a program with an empty `/proc`; not every system allows this.
    private static func withoutProc(_ words: [String]) throws -> Tool.Outcome {
        let script = "mount -t tmpfs none /proc && exec \"$@\""
        return try Subprocess("/usr/bin/unshare", ["-rm", "sh", "-c", script, "sh"] + words)
            .finish()
    }
    private static let canHideProc = (try? withoutProc(["true"]).exitCode) == 0

    @Test(.enabled(if: canHideProc))
    func `the tool gets its arguments without a mounted /proc`() throws {
        try Self.withoutProc([Tool.path, "-e", "print('out', ...)"]).expectOutput("out\n")
        #expect(try Self.withoutProc([Tool.path, "--version"]).output.contains("Moonpool"))
        try Self.withoutProc([Tool.path, "-e", "error('x', 0)"]).expectExit(1)
    }

    @Test(.enabled(if: canHideProc))
    func `In-memory stores, past versions and backups work without a mounted /proc`() throws {
        let script = try folder.write(
            """
            local moonpool = require "moonpool"
            local schema = { Dog = { name = "string" } }
            local store = moonpool.open { path = arg[1], schema = schema, history = 10 }
            local memory = moonpool.open { in_memory = "dogs", schema = schema, history = 10 }
            for _, store in ipairs { store, memory } do
                for _, name in ipairs { "Rex", "Max" } do
                    store:write(function() store:create("Dog", { name = name }) end)
                end
                print(#store:objects("Dog"), #store:at(store.version - 1):objects("Dog"))
            end
            memory:backup(arg[1] .. ".memory")
            store:backup(arg[1] .. ".copy")
            store:close()
            for _, ending in ipairs { "", ".memory", ".copy" } do
                local copy = moonpool.open {
                    path = arg[1] .. ending, should_compact = function() return true end,
                }
                print(#copy:objects("Dog"))
            end
            """, to: "s.lua")
        let path = folder.path + "/dogs.moonpool"
        let temporary = folder.path + "/temporary"
        #expect(mkdir(temporary, 0o700) == 0)
        let outcome = try Self.withoutProc(["env", "TMPDIR=\(temporary)", Tool.path, script, path])
        #expect(outcome.lines == ["2\t1", "2\t1", "2", "2", "2"], "\(outcome.error)")
        #expect(TemporaryFolder.names(in: temporary).isEmpty)
    }

    @Test func `the tool runs statements, standard input and libraries`() throws {
        for arguments in [
            ["-e", "print(1 + 1, 'x' .. 2)"], ["-e", "x = 1", "-e", "print(x)"],
            ["-e", "print(7 // 2, 7 / 2, 1 << 62, 2^53)"],
            ["-l", "string", "-e", "print(string == require 'string')"],
        ] { try expectAsLua(arguments) }
        try expectAsLua(["-", "a", "b"], input: "print(..., #arg, arg[1], arg[2])")
        try expectAsLua(["-"], input: "#!/usr/bin/env lua\nprint 'first line is skipped'")
    }

    @Test func `the tool passes arguments and the script's name`() throws {
        let script = try folder.write("print(#arg, ...) print(arg[0]:match '[^/]*$')", to: "s.lua")
        try expectAsLua([script])
        try expectAsLua([script, "one", "two three", ""])
        try expectAsLua(["--", script, "-e"])
    }

    @Test func `the tool ends with the script's own exit code`() throws {
        for code in ["os.exit(3)", "os.exit(true)", "os.exit(false)", "os.exit(0, true)", "return"]
        {
            try expectAsLua(["-e", code])
        }
    }

    @Test func `os exit with true closes the state under the running code`() throws {
        let script = try folder.write(
            """
            local first <close> = setmetatable({}, { __close = function(_, e) print('first', e) end })
            local second <close> = setmetatable({}, { __close = function(_, e) print('second', e) end })
            kept = setmetatable({}, { __gc = function() print 'collected' end })
            coroutine.wrap(function() os.exit(7, true) end)()
            """, to: "closing.lua")
        try expectAsLua([script])
    }

    @Test func `a script gets the values of the table arg, and needs the table`() throws {
        let script = try folder.write("print(...)", to: "s.lua")
        try expectAsLua(["-e", "arg[1] = 100 arg[2] = {} arg[2] = nil", script, "x"])
        try Tool.run(["-e", "arg = 1", script]).expectError("'arg' is not a table")
    }

    @Test func `an error object is described by its own metamethod`() throws {
        let script = try folder.write(
            """
            local object = setmetatable({}, { __tostring = function()
              return "line " .. debug.getinfo(4).currentline
            end })
            error(object)
            """, to: "object.lua")
        let outcome = try Tool.run([script]).expectExit(1)
        #expect(outcome.error.hasSuffix(": line 4\n"))
    }

    @Test(arguments: ["---", "-Ex", "-vv", "-e", "-l"])
    func `an unknown option is refused with lua's message`(option: String) throws {
        let ours = try Tool.run([option])
        let lua = try Subprocess("/usr/bin/lua5.4", [option]).finish()
        #expect(ours.exitCode == lua.exitCode)
        let message = lua.error.split(separator: "\n").first?.split(separator: ":").last ?? "?"
        #expect(ours.error.contains(message))
    }

    @Test func `a plain prompt shows its input, as lua does`() throws {
        let input = "a = 2\n= a, 'x'\n(6 *\n7)\nfor i = 1, 2 do\nprint(i) end\n"
        let ours = try Tool.run(["-i"], input: input)
        let lua = try Subprocess("/usr/bin/lua5.4", ["-i"], input: input).finish()
        #expect(
            ours.output.split(separator: "\n").dropFirst()
                == lua.output.split(separator: "\n").dropFirst())
        #expect(ours.output.contains(", Lua 5.4.4  Copyright (C) "))
    }

    @Test func `a script can catch the first Ctrl-C and end`() throws {
        let code = """
            io.stdout:setvbuf "no"
            pcall(function() print "ready" while true do end end)
            print(42)
            """
        let process = try Subprocess(Tool.path, ["-e", code], until: "ready")
        process.send(SIGINT)
        try process.finish().expectOutput("ready\n42\n")
    }

    @Test func `the tool reports errors with exit code 1`() throws {
        try Tool.run(["-e", "x = = 1"]).expectError("unexpected symbol near '='")
        try Tool.run(["/no-such-folder/script.lua"]).expectError("/no-such-folder/script.lua")
        let script = try folder.write(
            "local function f()\n  error 'broken'\nend\nf()\n", to: "bad.lua")
        let outcome = try Tool.run([script]).expectError("bad.lua:2: broken", "stack traceback:")
        #expect(outcome.output == "")
    }

    @Test func `an uncaught store error shows its message and ends with code 1`() throws {
        try Tool.run(
            script: """
                local store = moonpool.open { in_memory = "x", schema = { Dog = { id = "int primary" } } }
                store:create("Dog", { id = 1 })
                """
        ).expectError("script.lua:2:", "write")
    }
}
