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
