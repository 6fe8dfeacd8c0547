import Testing

@Suite struct ConfinementTests {
    private func run(_ options: [String], _ code: String) throws -> Tool.Outcome {
        let folder = try TemporaryFolder()
        let path = try folder.write("#!/usr/bin/env moonpool\n" + code, to: "script.lua")
        return try Tool.run(options + [path, "one", "two"], in: folder.path)
    }

    @Test func `a sandboxed script runs with its arguments and has no access`() throws {
        let outcome = try run(
            ["--sandbox"],
            """
            local moonpool = require 'moonpool'
            print(io, os.execute, ...)
            print(pcall(moonpool.open, arg[0]))
            print(moonpool.open { in_memory = 'x' }.version > 0)
            """
        ).expectSuccess()
        #expect(outcome.lines.first == "nil\tnil\tone\ttwo")
        #expect(outcome.lines[1].hasPrefix("false\tthis script is not allowed to use the file "))
        #expect(outcome.lines.last == "true")
    }

    @Test func `a sandboxed script can be standard input or -e`() throws {
        #expect(try Tool.run(["--sandbox", "-"], input: "print(io)").output == "nil\n")
        #expect(try Tool.run(["--sandbox", "-e", "print(io)"]).output == "nil\n")
        #expect(
            try Tool.run(["--sandbox", "/nowhere.lua"]).error.hasSuffix(
                ": cannot open /nowhere.lua: No such file or directory\n"))
        try Tool.run(["--sandbox", "-"], input: "print(").expectExit(1)
    }

    @Test func `the folders and the store of the command line can be used`() throws {
        let folder = try TemporaryFolder()
        let open = "moonpool.open { path = arg[1], schema = { A = { a = 'int' } } }"
        let script = try folder.write("local s = \(open) print(s.is_read_only)", to: "a.lua")
        let store = folder.path + "/a.moonpool"
        for (options, printed) in [
            (["--sandbox", "--allow", folder.path], "false\n"),
            (["--sandbox", "--allow=" + folder.path, "--read-only"], "true\n"),
            (["--read-only"], "true\n"),
        ] {
            try Tool.run(options + [script, store]).expectOutput(printed)
        }
        try Tool.run(["--sandbox", store], input: "print(#store:objects 'A')").expectOutput("0\n")
        try Tool.run(["--read-only", store], input: "store:begin_write()").expectError("read")
    }

    @Test(arguments: [
        "while true do pcall(function() while true do end end) end", "moonpool.sleep(1000)",
        "moonpool.every(0.001, function() while true do pcall(error) end end)",
    ])
    func `a script that exceeds its time limit ends with code 124 and its location`(_ code: String)
        throws
    {
        try run(["--time-limit", "500ms"], code).expectError(
            "the time limit of 0.5 s was reached", "script.lua:2: in ", code: 124)
    }

    @Test(arguments: ["", " os.exit(0, true)"])
    func `a finalizer that exceeds the time limit at the end makes the exit code 124`(
        _ end: String
    ) throws {
        let outcome = try run(
            ["--time-limit", "500ms"],
            "kept = setmetatable({}, { __gc = function() while true do end end })" + end
        ).expectExit(124)
        #expect(outcome.error.hasSuffix(": the time limit of 0.5 s was reached\n"))
    }

    @Test func `a script that exceeds its total time ends with code 124`() throws {
        let outcome = try run(
            ["--total-time-limit", "200ms"], "moonpool.every(0.001, function() end)"
        ).expectExit(124)
        #expect(outcome.error.hasSuffix(": the total time limit of 0.2 s was reached\n"))
    }

    @Test func `a script that exceeds its memory limit fails, unless it catches the error`() throws
    {
        let greedy = "local t = {} for i = 1, 1e9 do t[i] = {i} end"
        let outcome = try run(["--memory", "4M"], greedy).expectExit(1)
        #expect(outcome.error.hasSuffix(": not enough memory: the limit of 4 MB was reached\n"))
        #expect(
            try run(["--memory=4MiB"], "print(pcall(function() \(greedy) end))").output
                == "false\tnot enough memory: the limit of 4 MB was reached\n")
        try run(["--sandbox"], greedy).expectExit(1)
    }

    @Test(arguments: [
        ("--memory", ["much", "1", "99999999999G", "64 M"], "a size of 64K or more, such as 64M"),
        ("--time-limit", ["0", "1e9", "..s", "9999999999999h"], "a time such as 5s, 500ms or 2m"),
        ("--total-time-limit", ["0"], "a time such as 60s, 500ms or 2m"),
        ("--allow", ["/nowhere"], "a folder that exists"),
    ])
    func `invalid values of options are refused`(
        option: String, values: [String], expected: String
    ) throws {
        for value in values {
            let outcome = try Tool.run([option, value]).expectError(
                ": '\(option)': expected \(expected), got '\(value)'\nusage: ")
            #expect(outcome.output == "")
        }
    }

    @Test(arguments: [
        (["--memory", "-1M"], "'--memory' needs argument"),
        (["--memory="], "'--memory' needs argument"),
        (["--time-limit"], "'--time-limit' needs argument"),
        (["--sandbox=yes"], "unrecognized option '--sandbox=yes'"),
    ])
    func `options without a value, and values of flags, are refused`(
        options: [String], message: String
    ) throws {
        let outcome = try Tool.run(options).expectError(": \(message)\nusage: ")
        #expect(outcome.output == "")
    }

    @Test func `host events are logged only with --log-level`() throws {
        let code = "moonpool.open { in_memory = 'x' } moonpool.after(0, function() error 'oh' end)"
        let quiet = try Tool.run(["-e", code])
        #expect(!quiet.error.contains("script begins"))
        let logged = try Tool.run(["--log-level", "debug", "-e", code])
        for event in [
            "moonpool debug: script begins script=script-", "moonpool debug: store is open ",
            "moonpool error: error in timer ", "moonpool debug: script has ended ", " status=1\n",
        ] {
            #expect(logged.error.contains(event), "\(logged.error)")
        }
        let asked = try Tool.run(["-e", code], environment: ["MOONPOOL_LOG": "error"])
        #expect(asked.error.contains("moonpool error: error in timer"))
        #expect(!asked.error.contains("script begins"))
        let wrong = try Tool.run(["-e", "print(1)"], environment: ["MOONPOOL_LOG": "loud"])
        #expect(wrong.error.contains("MOONPOOL_LOG must be one of trace, debug, "))
        #expect(wrong.output == "1\n")
        try Tool.run(["--log-level", "loud"]).expectExit(1)
    }
}
