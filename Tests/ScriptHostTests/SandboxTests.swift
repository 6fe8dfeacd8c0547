import Glibc
import LuaHost
import ScriptHost
import Testing

@Suite struct SandboxTests {
    private let folder = try! Folder()

    private func run(
        _ code: String, files: FileRights = .none, limits: ScriptLimits = .sandboxed
    ) throws -> ScriptFixture {
        let script = try ScriptFixture(code, rights: .sandboxed(files: files), limits: limits)
        _ = script.finish()
        return script
    }

    @Test func `a sandboxed script cannot leave its state`() throws {
        let values = [
            "io", "debug", "package", "dofile", "loadfile", "string.dump", "os.execute", "os.exit",
            "os.getenv", "os.remove", "os.rename", "os.tmpname", "os.setlocale",
            "require 'moonpool'.run", "_ENV.io",
        ]
        let log = try run(values.map { "log(tostring(\($0)))" }.joined(separator: " ")).log
        #expect(log == values.map { _ in "nil" })
    }

    @Test func `the remaining Lua functions give no access`() throws {
        let types = [
            ("load('\\27Lua')", "nil"),
            ("load('\\27Lua', 'x', 'b')", "nil"),
            ("load(function() return nil end)", "function"),
            ("load('return 1', 'x', 'bt')", "function"),
            ("getmetatable('')", "boolean"),
            ("select(2, pcall(setmetatable, {}, {__gc = print}))", "string"),
            ("setmetatable({}, {})", "table"),
            ("select(2, pcall(require, 'luv'))", "userdata"),
            ("select(2, pcall(require, '../../etc/passwd'))", "userdata"),
            ("getmetatable(moonpool.date())", "boolean"),
            ("getmetatable(moonpool.open { in_memory = 'x' })", "boolean"),
            ("('').rep('', 1 << 62)", "string"),
            ("os.time()", "number"),
            ("require 'string'", "table"),
            ("coroutine.wrap(load)('\\27Lua')", "nil"),
            ("select(2, pcall(string.rep, 'x', 1 << 40))", "string"),
            ("select(2, pcall(string.rep, 'x', 1 << 62))", "string"),
            ("(function() local t = {} for i = 1, 1e9 do t[i] = i end end)", "function"),
        ]
        let log = try run(types.map { "log(type((\($0.0))))" }.joined(separator: " ")).log
        #expect(log == types.map(\.1))
    }

    @Test func `no function of a sandboxed script accesses a file`() throws {
        let calls = [
            "moonpool.open '/tmp/x.moonpool'",
            "moonpool.open { path = 'x.moonpool' }",
            "moonpool.open { path = '/etc/passwd', read_only = true }",
            "moonpool.csv.read '/etc/passwd'",
            "moonpool.csv.write('/tmp/x.csv', {})",
            "moonpool.open { in_memory = 'x' }:backup '/tmp/x'",
            "moonpool.open { in_memory = 'y' }:export '/tmp/x.jsonl'",
            "moonpool.open { in_memory = 'z' }:import '/etc/passwd'",
            "moonpool.open { in_memory = 'o', schema = { A = { a = 'int' } } }:objects 'A':export '/tmp/x.csv'",
        ]
        let refusal = "this script is not allowed to use the file"
        let source = calls.map {
            """
            local _, e = pcall(function() \($0) end)
            log(e.code .. ": " .. (e.message:match "\(refusal)" or e.message))
            """
        }
        let log = try run(source.joined(separator: "\n")).log
        #expect(log == calls.map { _ in "invalid_argument: \(refusal)" })
    }

    @Test func `allowed folders can be used, without links out of them`() throws {
        let inside = folder.path + "/in"
        try folder.make("in")
        try folder.make("out")
        try folder.link("in/escape", to: folder.path + "/out")
        try folder.link("in/dangling.moonpool", to: folder.path + "/out/new.moonpool")
        let script = try run(
            """
            local dir = '\(inside)'
            local s = moonpool.open { path = dir .. '/a.moonpool', schema = { A = { a = 'int' } } }
            s:write(function() s:create('A', { a = 1 }) end)
            log(s:export(dir .. '/a.jsonl'))
            for _, path in ipairs { '/../out/b.moonpool', '/escape/b.moonpool', '/dangling.moonpool', '/../in/c.moonpool' } do
                log(pcall(moonpool.open, dir .. path))
            end
            """, files: .folders([inside]))
        #expect(script.log == ["1", "false", "false", "false", "true"])
    }

    @Test func `one open file can be allowed, also without a name, and no other`() throws {
        try folder.write(#"{"name":"Rex"}"#, to: "a.jsonl")
        try folder.write(#"{"name":"Max"}"#, to: "b.jsonl")
        let files = ["a", "b"].map { open(folder.path + "/\($0).jsonl", O_RDONLY) }
        defer { files.forEach { close($0) } }
        let paths = files.map { "/proc/\(getpid())/fd/\($0)" }
        unlink(folder.path + "/a.jsonl")
        let script = try run(
            """
            local s = moonpool.open { in_memory = "unnamed" }
            local options = { format = "jsonl", class = "Dog" }
            log(s:import('\(paths[0])', options).created)
            for _, path in ipairs { '\(paths[1])', '/proc/self/fd/\(files[0])', '\(folder.path)/b.jsonl' } do
              log(pcall(s.import, s, path, options))
            end
            """, files: .folders([], reading: [paths[0]]))
        #expect(script.log == ["1", "false", "false", "false"])
    }

    @Test func `a read-only folder can be read, also by require, and not written`() throws {
        try folder.write("return { answer = 42 }", to: "helper.lua")
        let script = try run(
            """
            log(require 'helper'.answer)
            local ok, e = pcall(moonpool.open, '\(folder.path)/a.moonpool')
            log(e.code)
            """, files: .folders([], reading: [folder.path]))
        #expect(script.log == ["42", "read_only"])
    }

    @Test func `require searches all folders, and refuses a module that is too long`() throws {
        let (first, second) = (try Folder(), try Folder())
        try first.write("no folder", to: "inner")
        #expect(mkdir(second.path + "/inner", 0o700) == 0)
        try second.write("return 'found'", to: "inner/module.lua")
        try second.write("return 'its beginning' --", to: "long.lua")
        #expect(truncate(second.path + "/long.lua", 4 << 20) == 0)
        try second.write("return 'its beginning' --", to: "longer.lua")
        #expect(truncate(second.path + "/longer.lua", (4 << 20) + 1) == 0)
        let script = try run(
            """
            log(require 'inner.module')
            log(require 'long')
            log(select(2, pcall(require, 'longer')).message)
            """, files: .folders([], reading: [first.path, second.path]))
        #expect(
            script.log == [
                "found", "its beginning",
                "module 'longer' cannot be read: it is longer than 4 MiB",
            ])
    }

    @Test func `each script has its own in-memory stores`() throws {
        let code = """
            local s = moonpool.open { in_memory = 'shared', schema = { A = { a = 'int' } } }
            s:write(function() s:create('A', { a = 1 }) end)
            log(#s:objects 'A')
            """
        #expect(try run(code).log == ["1"])
        #expect(try run(code).log == ["1"])
    }

    @Test func `a read-only script cannot write to a file, but to memory`() throws {
        let path = folder.path + "/a.moonpool"
        let write = "s:write(function() s:create('A', { a = 1 }) end)"
        let open = "local s = moonpool.open { path = '\(path)', schema = { A = { a = 'int' } } }"
        try expectScript(open + write)
        try expectScript(
            """
            \(open)
            log(select(2, pcall(function() \(write) end)).code)
            log(#s:objects 'A')
            s = moonpool.open { in_memory = 'x', schema = { A = { a = 'int' } } }
            \(write)
            log(#s:objects 'A')
            """, rights: .all.readOnly, logs: ["read_only", "1", "1"])
    }

    @Test func `a script beyond its memory gets an error that it can catch`() throws {
        let script = try run(
            "log(tostring(select(2, pcall(function() local t = {} for i = 1, 1e9 do t[i] = {i} end end)))) log(1)",
            limits: ScriptLimits(memory: 4 << 20))
        #expect(script.log == ["not enough memory: the limit of 4 MB was reached", "1"])
    }

    @Test(arguments: [
        "while true do pcall(function() while true do end end) end", "moonpool.sleep(1000)",
        "while true do pcall(moonpool.sleep, 1000) end",
        "moonpool.wait_until(function() return false end)",
        "moonpool.after(0, function() while true do end end)",
    ])
    func `a script that exceeds its time limit ends with code 124`(_ code: String) throws {
        try expectScript(
            code, rights: .sandboxed, limits: ScriptLimits(time: .milliseconds(50)), status: 124)
    }

    @Test(arguments: [
        "setmetatable({}, {__gc = function() while true do end end}) collectgarbage()",
        "local x <close> = setmetatable({}, {__close = function() while true do end end})",
        "moonpool.after(0, function() setmetatable({}, {__gc = function() while true do end end}) collectgarbage() end)",
    ])
    func `a finalizer beyond the time limit ends the script with code 124`(_ code: String) throws {
        try expectScript(code, limits: ScriptLimits(time: .milliseconds(50)), status: 124)
    }

    @Test(arguments: [
        ScriptLimits(time: .milliseconds(50)), ScriptLimits(totalTime: .milliseconds(50)),
    ])
    func `finalizers that exceed a limit when a script is closed end it with code 124`(
        _ limits: ScriptLimits
    ) throws {
        let script = try expectScript(
            "for i = 1, 5 do _G[i] = setmetatable({}, {__gc = function() while true do end end}) end",
            limits: limits, status: 124)
        let name = limits.time == nil ? "total time limit" : "time limit"
        #expect(script.reports.map(\.message) == ["the \(name) of 0.05 s was reached"])
    }

    @Test func `finalizers that end in time when a script is closed keep its code`() throws {
        let script = try expectScript(
            "for i = 1, 5 do _G[i] = setmetatable({}, {__gc = function() log(i) end}) end",
            limits: ScriptLimits(time: .seconds(3600)), logs: ["5", "4", "3", "2", "1"])
        #expect(script.reports.isEmpty)
    }

    @Test(arguments: [
        "local function again() moonpool.after(0, again) end again()",
        "moonpool.every(0.001, function() end)", "moonpool.after(100000, print)",
        "while true do end", "moonpool.sleep(100000)",
        "while true do pcall(moonpool.sleep, 1000) end",
        "moonpool.every(0, function() moonpool.sleep(0.001) end)",
    ])
    func `a script beyond its total time ends with code 124 in any state`(_ code: String) throws {
        let script = try expectScript(
            code, limits: ScriptLimits(time: .seconds(3600), totalTime: .milliseconds(50)),
            status: 124)
        let messages = script.log + script.reports.map(\.message)
        #expect(messages.contains { $0.contains("the total time limit of 0.05 s was reached") })
    }

    @Test func `building an index stops at a time limit, and the schema stays`() throws {
        let path = folder.path + "/a.moonpool"
        func opening(_ type: String) -> String {
            "s = moonpool.open { path = '\(path)', schema = { A = { t = '\(type)' } } }"
        }
        try expectScript(
            opening("string")
                + " s:write(function() for i = 1, 60000 do s:create('A', { t = ('word ' .. i .. ' '):rep(20) }) end end)"
        )
        try expectScript(
            opening("string fulltext"), limits: ScriptLimits(time: .milliseconds(20)), status: 124)
        try expectScript(
            "s = moonpool.open '\(path)' log(#s:objects 'A') log(s:schema().A.t)",
            logs: ["60000", "string"])
    }

    @Test func `a write that is open when a limit is reached is rolled back`() throws {
        let name = "limit-rolls-back"
        let script = try ScriptFixture(
            """
            local s = moonpool.open { in_memory = '\(name)', schema = { A = { a = 'int' } } }
            moonpool.after(0, function()
                s:begin_write() s:create('A', { a = 1 }) while true do pcall(error) end
            end)
            """, isInteractive: true,
            // A busy machine opens the store in this time.
            limits: ScriptLimits(time: .seconds(2)))
        try #require(eventually { !script.reports.isEmpty })
        #expect(script.reports[0].message == "the time limit of 2 s was reached")
        script.script.post { context in
            _ = try? context.state.run(
                "local s = moonpool.open { in_memory = '\(name)' } log(#s:objects 'A') log(tostring(s.is_in_write))"
            )
        }
        #expect(script.logs("false"))
        #expect(script.log == ["0", "false"])
        script.script.finish()
    }

    @Test func `a script with all libraries cannot remove an instruction limit`() throws {
        let script = try expectScript(
            "log(tostring(debug.sethook)) while true do end",
            limits: ScriptLimits(instructions: 100_000), status: 124)
        #expect(script.log.first == "nil")
    }
}
