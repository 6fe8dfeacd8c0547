import LuaHost
import MemoryAccounts
import Testing

/// Native functions rely on their upvalues and arguments, which `debug` could otherwise change.
@Suite struct NativeValueTests {
    // A state with an account has more native functions with upvalues.
    private let state = LuaState(account: MemoryAccount(limit: 64 << 20))

    @Test(arguments: [
        "local f = string.gmatch('aaa', 'a') debug.setupvalue(f, 3, io.stdout) return f()",
        "local f = string.gmatch('aaa', 'a') debug.setupvalue(f, 1, nil) return f()",
        "debug.setupvalue(string.rep, 1, nil) return ('x'):rep(3)",
        "debug.setupvalue(string.rep, 1, string.rep) return ('x'):rep(3)",
        "debug.setupvalue(setmetatable, 2, nil) return setmetatable({}, {})",
        "debug.setupvalue(math.random, 1, nil) return math.random()",
        "debug.setupvalue(debug.setupvalue, 1, nil) debug.setupvalue(print, 1, 1)",
        "debug.setupvalue(coroutine.wrap(function() end), 1, nil)",
        "return ('x'):rep(100):gsub('x', function() debug.setlocal(2, 1, 'y') collectgarbage() end)",
        "local co = coroutine.create(coroutine.yield) coroutine.resume(co) debug.setlocal(co, 0, 1, nil)",
    ])
    func `the values of native functions cannot be changed`(_ code: String) {
        #expect(throws: LuaError.self) { try state.run(code) }
    }

    @Test(arguments: [
        "local list = { replace(1, 'table', 5), replace(1, 'table', 5) }",
        "for i = 1, 3 do replace(1, 'number', {}) end",
        "for i = 1.5, 3 do replace(1, 'number', {}) end",
        "for _ in pairs({}) do end for _ in next, { 1 } do replace(1, 'table', 5) end",
    ])
    func `values without a name, on which Lua relies, cannot be changed`(_ code: String) throws {
        try state.run(
            """
            function replace(level, type_name, value)
              for i = 1, 100 do
                local name, old = debug.getlocal(level + 1, i)
                if not name then return end
                if name:sub(1, 1) == "(" and type(old) == type_name then
                  tried = true
                  local ok, message = pcall(debug.setlocal, level + 1, i, value)
                  assert(not ok and message:find "a value", message)
                  debug.setlocal(level + 1, i, value)
                end
              end
            end
            """)
        #expect(throws: LuaError.self) { try state.run(code) }
        #expect(state.globals["tried"] == true)
    }

    @Test func `additional arguments can be changed`() throws {
        let code =
            "local function f(...) debug.setlocal(1, -2, 'new') return ... end return f(1, 2)"
        #expect(try state.run(code) == [1, "new"])
    }

    @Test func `a value cannot get the metatable by which a library recognizes its values`() throws
    {
        let state = LuaState()
        state.globals["probe"] = state.userdata(Probe("metatables"), Probe.type)
        let file = "local file = debug.getmetatable(io.stdout) "
        #expect(throws: LuaError.self) { try state.run(file + "debug.setmetatable(probe, file)") }
        #expect(
            try state.run(
                file + "return debug.setmetatable(io.stdout, file) == io.stdout, "
                    + "debug.setmetatable(probe, {}) == probe, debug.setmetatable(1, nil)")
                == [true, true, 1])
    }

    @Test func `the variables of Lua functions can be changed`() throws {
        let results = try state.run(
            """
            local captured = 1
            local function f() return captured end
            local name = debug.setupvalue(f, 1, 7)
            local function g() local y = 1 local changed = debug.setlocal(1, 1, 5) return changed, y end
            local co = coroutine.create(function() local z = 1 coroutine.yield() return z end)
            coroutine.resume(co)
            local other = debug.setlocal(co, 1, 1, 9)
            return name, f(), other, select(2, coroutine.resume(co)), g()
            """)
        #expect(results[0].text == "captured")
        #expect(results[1].integer == 7)
        #expect(results[2].text == "z")
        #expect(results[3].integer == 9)
        #expect(results[4].text == "y")
        #expect(results[5].integer == 5)
    }
}
