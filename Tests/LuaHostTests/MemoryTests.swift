import LuaHost
import Testing

@Suite struct MemoryTests {
    private func failing(_ state: LuaState, _ code: String) -> LuaError? {
        do {
            try state.run(code)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a script beyond its quota gets a normal error and goes on after a collection`()
        throws
    {
        let state = LuaState()
        state.memoryQuota = state.memory.used + 1 << 20
        let error = failing(state, "local t = {} for i = 1, 1e9 do t[i] = {i} end")
        #expect(error?.kind == .memory)
        #expect(error?.message == "not enough memory")
        #expect(try state.run("return 1 + 1") == [2])
        #expect(
            try state.run(
                "local ok, e = pcall(string.rep, 'x', 1e8) return ok, e") == [
                    false, "not enough memory",
                ])
    }

    @Test func `a host call may overshoot the quota; the script's next allocation fails`() throws {
        let state = LuaState()
        state.globals["big"] = .function(
            state.makeFunction("big") { call in
                call.answer(.string(LuaString(bytes: [UInt8](repeating: 65, count: 8 << 20))))
            })
        state.memoryQuota = state.memory.used + 1 << 20
        let results = try state.run(
            """
            local ok, e = pcall(function() local s = big() return s .. 'x' end)
            collectgarbage()
            return ok, e, #tostring({}) > 0
            """)
        #expect(results == [false, "not enough memory", true])
    }

    @Test func `a Swift function can raise and build values although the quota is used up`() throws
    {
        let state = LuaState()
        state.globals["fail"] = .function(
            state.makeFunction("fail") { call in
                _ = call.state.makeTable((0..<1000).map { .integer($0) })
                throw Broken()
            })
        state.memoryQuota = state.memory.used + 1
        #expect(failing(state, "fail()")?.kind != nil)
        state.memoryQuota = nil
        #expect(failing(state, "fail()")?.underlying as? Broken == Broken())
    }

    @Test(arguments: [
        "local function f() return 1 + f() end f()",
        "local function f() local t = setmetatable({}, {__index = function(t, k) return t[k] end}) return t.x end f()",
        "local t = setmetatable({}, {}) getmetatable(t).__index = function(s, k) return s[k .. 'x'] end return t.a",
        "local s = string.rep('(', 1000) load(s .. '1')() ",
        "local f = function() end for i = 1, 300 do local g = f f = function() return pcall(g) end end f() error('end')",
        "local co co = function() return coroutine.wrap(co)() end co()",
        "local function f(...) return select('#', ...) end f(table.unpack({}, 1, 1e7))",
        "string.gsub(('x'):rep(300), '.', function() return string.gsub('x', '.', error) end)",
        "local function f() return through(f) + 1 end f()",
        "local m = setmetatable({}, {__tostring = function(s) return tostring(s) end}) tostring(m)",
        "xpcall(function() error('x') end, function(e) error(e) end) error('end')",
    ])
    func `overflows end as errors`(_ code: String) throws {
        let state = LuaState()
        state.globals["through"] = .function(
            state.makeFunction("through") { call in
                try call.answer(call.function(1).call([]))
            })
        let error = failing(state, code)
        #expect(error != nil)
        #expect(error?.message.isEmpty == false)
        #expect(try state.run("return 1") == [1])
    }
}
