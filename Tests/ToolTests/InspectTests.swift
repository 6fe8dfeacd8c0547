import Testing

/// `moonpool.inspect`, the prompt's printer in scripts.
@Suite struct InspectTests {
    @Test func `a script prints tables, objects and results as the prompt does`() throws {
        try Tool.run(
            script: """
                local inspect = moonpool.inspect
                print(inspect { b = { 1, 2 }, a = "text", [1] = print })
                local store = moonpool.open { in_memory = "zoo", schema = { Dog = { name = "string", age = "int?" }, Box = { any = "mixed" } } }
                store:write(function() print(inspect(store:create("Box", { any = { 1, "x", { a = 1 } } }).any)) end)
                store:write(function()
                  for i = 1, 3 do store:create("Dog", { name = "d" .. i, age = i }) end
                end)
                local dogs = store:objects "Dog"
                print(inspect(dogs[1]))
                print(inspect(dogs, { rows = 2, width = 20 }))
                print(inspect(("x"):rep(50), { string = 3 }))
                print(inspect({ { { 1 } } }, { depth = 1 }))
                """
        ).expectOutput(
            """
            { function (built in), a = "text", b = { 1, 2 } }
            list { 1, "x", { a = 1 } }
            Dog { age = 1, name = "d1" }
             age  name
            int?  string
            ────  ──────
               1  d1
               2  d2
            3 Dog · … 1 more
            "xxx" … 47 more bytes
            { { … 1 item } }

            """, error: "")
    }

    @Test func `workers, sandboxed scripts, input and scripts of run have inspect`() throws {
        let code = "print(moonpool.inspect { 1 })"
        let worker = "local w = moonpool.worker('w', function() \(code) end) w:join()"
        #expect(try Tool.run(script: worker).output == "{ 1 }\n")
        #expect(try Tool.run(["--sandbox", "-e", code]).output == "{ 1 }\n")
        #expect(try Tool.run(["-"], input: code).output == "{ 1 }\n")
        let folder = try TemporaryFolder()
        let path = try folder.write(code, to: "a.lua")
        #expect(try Tool.run(["run", path]).output == "{ 1 }\n")
    }

    @Test func `invalid options are errors`() throws {
        let cases = [
            ("{ items = -1 }", "option 'items': expected an integer of at least 0"),
            ("{ rows = 0 }", "option 'rows': expected an integer of at least 1"),
            ("{ width = 'x' }", "option 'width': expected an integer of at least 20"),
            ("{ depth = 0.5 }", "option 'depth': expected an integer of at least 0"),
            ("{ dept = 1 }", "unknown option 'dept'; did you mean 'depth'?"), ("7", "table"),
        ]
        let calls = cases.map { "print(pcall(moonpool.inspect, { 1, 2 }, \($0.0)))\n" }
        let lines = try Tool.run(script: calls.joined()).expectSuccess().lines
        try #require(lines.count == cases.count)
        for (line, message) in zip(lines, cases.map(\.1)) {
            #expect(line.hasPrefix("false\t") && line.contains(message), "\(line)")
        }
    }

    @Test func `infinitely nested tables are shown up to a depth`() throws {
        try Tool.run(
            script: """
                local t = {}
                for _ = 1, 100000 do t = { t } end
                print(#moonpool.inspect(t, { depth = 1 << 40 }) > 100)
                for _ = 1, 30 do local u = {} for i = 1, 60 do u[i] = t end t = u end
                print(#moonpool.inspect(t, { depth = 60, items = 1 << 40, width = 1 << 40 }) > 100)
                """
        ).expectOutput("true\ntrue\n", error: "")
    }
}
