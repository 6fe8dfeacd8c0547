import Glibc
import Testing

/// `moonpool run a.lua b.lua`, and workers in the tool.
@Suite struct RunScriptsTests {
    private let folder = try! TemporaryFolder()

    /// Writes the scripts and runs all of them.
    private func run(
        _ scripts: [(name: String, code: String)], options: [String] = []
    ) throws -> Tool.Outcome {
        let folder = try TemporaryFolder()
        let paths = try scripts.map { try folder.write($0.code, to: $0.name + ".lua") }
        return try Tool.run(["run"] + options + paths, in: folder.path)
    }

    @Test func `scripts share stores`() throws {
        let open =
            "local store = moonpool.open { in_memory = 'shared', schema = { Dog = { name = 'string' } } }\n"
        let outcome = try run([
            (
                "writer",
                open + """
                    local found = moonpool.wait_until(function() return #store:objects "Dog" == 2 end, 30)
                    print("writer", found)
                    store:write(function() store:create("Dog", { name = "c" }) end)
                    """
            ),
            (
                "reader",
                open + """
                    store:write(function() store:create("Dog", { name = "a" }) store:create("Dog", { name = "b" }) end)
                    local token
                    token = store:objects("Dog"):observe(function(change)
                        if #change.collection == 3 then print("reader", 3) token:invalidate() end
                    end)
                    """
            ),
        ]).expectSuccess()
        #expect(outcome.error == "")
        #expect(outcome.lines.sorted() == ["reader\t3", "writer\ttrue"])
    }

    @Test func `the exit code is that of the first failing script, and the others continue`() throws
    {
        let outcome = try run([
            ("good", "moonpool.after(0.05, function() print 'good is done' end)"),
            ("bad", "error 'broken'"), ("worse", "os.exit(7)"),
        ]).expectError("bad.lua:1: broken")
        #expect(outcome.output == "good is done\n")
        try run([("worse", "os.exit(7)"), ("bad", "error 'broken'")]).expectExit(7)
    }

    @Test(arguments: [("os.exit(3)", 3), ("error 'x'", 1)])
    func `a worker inside native code does not delay the end`(end: String, code: Int32) throws {
        let outcome = try Tool.run(
            script: """
                local w = moonpool.worker("stuck", function()
                    -- Each comparison reads a million bytes.
                    local texts, text = {}, ("x"):rep(1000000)
                    for i = 1, 1000000 do texts[i] = text end
                    moonpool.post_to_parent("ready")
                    table.sort(texts)
                end)
                local isReady
                w:on_message(function() isReady = true end)
                moonpool.wait_until(function() return isReady end)
                -- What it computes from now on, in hundredths of a second, it computes in there.
                local function computed()
                    local threads = io.popen "cat /proc/$PPID/task/*/stat"
                    local numbers = threads:read("a"):match "%(stuck[^)]*%) %a ([^\\n]*)"
                    threads:close()
                    return tonumber(numbers:match(("%S+ "):rep(10) .. "(%d+)"))
                end
                local before = computed()
                moonpool.wait_until(function() return computed() > before + 1 end)
                \(end)
                """)
        #expect(outcome.exitCode == code)
        #expect(
            outcome.error.contains("worker 'stuck' is still inside native code and was abandoned")
        )
    }

    @Test func `each script knows its name, and a missing script is reported`() throws {
        let outcome = try run([
            ("a", "print(arg[0]:match '[^/]*$', #arg, ...)"), ("b", "print(#arg)"),
        ])
        #expect(outcome.lines.sorted() == ["0", "a.lua\t0"])
        try Tool.run(["run", "/no-such-folder/x.lua"]).expectError("/no-such-folder/x.lua")
        try Tool.run(["run"]).expectExit(64)
    }

    @Test func `lines are labeled on request and never mixed`() throws {
        let code = "for i = 1, 200 do print(('x'):rep(50), i, ('y'):rep(50)) end"
        let plain = try run([("a", code), ("b", code), ("c", code)])
        #expect(plain.lines.count == 600)
        for line in plain.lines {
            let parts = line.split(separator: "\t")
            #expect(parts.count == 3)
            #expect(parts.first?.count == 50 && parts.last?.count == 50)
        }
        let labeled = try run(
            [("a", "print('one\\ntwo', 3)"), ("b", "print()")], options: ["--labels"])
        #expect(labeled.lines.sorted() == ["[a] one", "[a] two\t3", "[b] "])
    }

    @Test func `confinement applies to each script of a run`() throws {
        try run(
            [("a", "print(io, #arg)"), ("b", "print(pcall(moonpool.open, 'zoo.moonpool'))")],
            options: ["--sandbox"]
        ).expectSuccess("nil\t0\n", "false\tthis script is not allowed to use the file ")
        let busy = try run(
            [
                ("busy", "while true do pcall(function() while true do end end) end"),
                ("other", "moonpool.after(0.3, function() print 'other is done' end)"),
            ], options: ["--time-limit", "2s"]
        ).expectError("busy.lua:1: in ", code: 124)
        #expect(busy.output == "other is done\n")
        let greedy = "local t = {} for i = 1, 1e9 do t[i] = {i} end"
        let memory = try run(
            [("greedy", greedy), ("modest", "print(#('x'):rep(1000))")],
            options: ["--memory=2M", "--labels"]
        ).expectError("not enough memory")
        #expect(memory.output == "[modest] 1000\n")
    }

    @Test func `invalid options are refused before anything runs`() throws {
        for options in [
            ["--memory", "much"], ["--socket", "/tmp/s"], ["--sandbox=yes"],
            ["--log-level", "loud"],
        ] {
            let outcome = try run([("a", "print 'ran'")], options: options).expectError(
                String(options[0].prefix { $0 != "=" }), code: 64)
            #expect(outcome.output == "")
        }
    }

    @Test func `attach selects a script by name or number`() throws {
        let code =
            "name = '%' io.stdout:write('% is ready\\n') io.stdout:flush() moonpool.every(3600, print)"
        var paths: [String] = []
        for name in ["first", "second"] {
            let text = code.split(separator: "%", omittingEmptySubsequences: false)
                .joined(separator: name)
            paths.append(try folder.write(text, to: name + ".lua"))
        }
        let socket = folder.path + "/s"
        let process = try Subprocess(
            Tool.path, ["run", "--attachable", "--socket", socket] + paths, in: folder.path)
        try process.wait {
            process.output.contains("first is ready") && process.output.contains("second is ready")
        }
        func ask(_ options: [String]) throws -> Tool.Outcome {
            try Tool.run(["attach", socket, "-e", "name"] + options)
        }
        #expect(try ask([]).output == "this is 'first'; --script shows second\n\"first\"\n")
        #expect(try ask(["--script", "second"]).output == "\"second\"\n")
        #expect(try ask(["--script", "1"]).output == "\"first\"\n")
        let unknown = try ask(["--script", "third"]).expectExit(1)
        #expect(
            unknown.error
                == "moonpool: unknown script 'third'; running scripts: first, second\n")
        _ = try Tool.run(["attach", socket, "--script", "first", "-e", "moonpool.stop()"])
        var left = try ask(["--script", "first"])
        while left.exitCode == 0 { left = try ask(["--script", "first"]) }
        #expect(left.error.contains("ended"))
        #expect(try ask([]).output == "this is 'second'\n\"second\"\n")
        process.send(SIGINT)
        try process.finish().expectExit(130)
    }

    @Test func `Ctrl-C stops all scripts and their workers`() throws {
        let busy = try folder.write(
            """
            local w = moonpool.worker("busy", function()
                moonpool.post_to_parent(1)
                while true do pcall(function() while true do end end) end
            end)
            w:on_message(function() print "busy" end)
            """, to: "busy.lua")
        let idle = try folder.write("moonpool.every(3600, print) print 'idle'", to: "idle.lua")
        let socket = folder.path + "/s"
        let process = try Subprocess(
            Tool.path, ["run", "--attachable", "--socket", socket, busy, idle], in: folder.path)
        try process.wait { process.output.contains("busy") && process.output.contains("idle") }
        // After a reply, each script has passed the printing line, where a stop would be reported.
        for name in ["busy", "idle"] {
            try Tool.run(["attach", socket, "--script", name, "-e", "1"]).expectOutput("1\n")
        }
        process.send(SIGINT)
        let outcome = try process.finish().expectExit(130)
        #expect(outcome.error == "")
    }

    @Test func `Ctrl-C ends a script whose worker runs a command`() throws {
        let process = try Subprocess(
            lua: """
                local w = moonpool.worker("busy", function() os.execute "echo started; exec sleep 30 > /dev/null 2> /dev/null" end)
                moonpool.sleep(60)
                """, in: folder.path, until: "started")
        process.send(SIGINT)
        try process.finish().expectExit(130)
    }

    /// The test's threads block all signals, like those of a program with a thread pool, and child processes inherit
    /// this.
    @Test(arguments: [SIGTERM, SIGHUP])
    func `kill ends scripts and their workers`(signal: Int32) throws {
        let script = try folder.write(
            """
            moonpool.worker("busy", function() while true do end end)
            io.write("ready"):flush()
            while true do end
            """, to: "busy.lua")
        let process = try Subprocess(Tool.path, ["run", script], until: "ready")
        process.send(signal)
        let outcome = try process.finish()
        #expect(outcome.exitCode == 128 + signal)
        #expect(outcome.error == "")
    }

    @Test func `an error of a worker is shown with its name, and the exit code is 1`() throws {
        let outcome = try Tool.run(
            script: """
                local w = moonpool.worker("cache", function()
                    error "broken"
                end)
                w:join()
                print "continues"
                """
        ).expectError(
            "error in worker 'cache': ", "script.lua:2: broken", "> 2 |     error \"broken\"",
            "stack traceback:")
        #expect(outcome.output == "continues\n")
    }

    @Test func `os exit ends the process with its workers, also in a callback of luv`() throws {
        let outcome = try Tool.run(
            script: """
                moonpool.worker("busy", function() while true do end end)
                setmetatable({}, { __gc = function() print "closed" end })
                os.exit(3, true)
                """
        ).expectExit(3)
        #expect(outcome.output == "closed\n")
        let code =
            "local uv = require 'luv' uv.new_timer():start(0, 0, function() os.exit(4, true) end)"
        try Tool.run(["-e", code]).expectExit(4)
    }
}
