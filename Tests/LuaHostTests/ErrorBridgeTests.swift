import LuaHost
import Testing

struct Broken: ScriptError, Equatable {
    var scriptCode = "broken"
    var scriptMessage = "the thing is broken"
    var number = 7
}

@Suite struct ErrorBridgeTests {
    let state = LuaState()

    init() {
        state.globals["fail"] = .function(state.makeFunction("fail") { _ in throw Broken() })
    }

    private func error(_ code: String) -> LuaError? {
        do {
            try state.run(code, name: "@file.lua")
            return nil
        } catch {
            return error
        }
    }

    @Test func `a Swift error passes unchanged through three Lua functions`() {
        let caught = error(
            """
            local function a() fail() end
            local function b() a() return 1 end
            local function c() b() return 1 end
            c()
            """)
        #expect(caught?.underlying as? Broken == Broken())
        #expect(caught?.message == "file.lua:1: the thing is broken")
        #expect(caught?.kind == .runtime)
        #expect(caught?.traceback?.contains("file.lua:2:") == true)
    }

    @Test func `a script can read code and message of a Swift error and raise it again`() throws {
        let results = try state.run(
            """
            local ok, err = pcall(fail)
            local again, same = pcall(error, err)
            return ok, err.code, err.message, tostring(err), same == err, rawequal(same, err), "x: " .. err
            """, name: "@file.lua")
        #expect(
            results == [
                false, "broken", "the thing is broken", "the thing is broken", true, true,
                "x: the thing is broken",
            ])
        let caught = error("local ok, err = pcall(function() fail() end)\nerror(err)")
        #expect(caught?.underlying as? Broken == Broken())
        #expect(caught?.message == "file.lua:1: the thing is broken")
    }

    @Test func `a Lua error passes through a Swift function unchanged, with its first traceback`()
        throws
    {
        state.globals["through"] = .function(
            state.makeFunction("through") { call in
                try call.answer(call.function(1).call([]))
            })
        let results = try state.run(
            "local t = {} local ok, e = pcall(through, function() error(t) end) return ok, rawequal(t, e)"
        )
        #expect(results == [false, true])
        let caught = error(
            "local function inner()\n error('deep') end\nthrough(function() inner() end)")
        #expect(caught?.message == "file.lua:2: deep")
        #expect(caught?.traceback?.contains("in upvalue 'inner'") == true)
    }

    @Test func `errors with values other than strings have lua's messages`() {
        #expect(error("error({})")?.message == "(error object is a table value)")
        #expect(error("error()")?.message == "(error object is a nil value)")
        #expect(
            error("error(setmetatable({}, {__tostring = function() return 'mine' end}))")?.message
                == "mine")
        #expect(
            error("error(setmetatable({}, {__tostring = function() error('x') end}))")?.message
                == "(error object is a table value)")
        #expect(error("error('text', 0)")?.message == "text")
        #expect(error("error({ code = 'x', message = 'own' })")?.message == "own")
        #expect(error("error({ message = 5 })")?.message == "(error object is a table value)")
        #expect(
            error("error(setmetatable({}, { __index = function() error('x') end }))")?.message
                == "(error object is a table value)")
    }

    @Test func `syntax errors distinguish incomplete text`() {
        let incomplete = error("for i = 1, 2 do")
        #expect(incomplete?.kind == .syntax)
        #expect(incomplete?.isIncomplete == true)
        #expect(error("for for")?.isIncomplete == false)
        #expect(incomplete?.traceback == nil)
    }

    @Test func `an error of a closed state reports the closed state`() throws {
        let function = try #require(try state.run("return print").first?.function)
        state.close()
        do {
            try function.call([])
            Issue.record("no error")
        } catch {
            #expect(error.kind == .closed)
        }
    }

    @Test func `errors in coroutines keep their identity`() throws {
        let results = try state.run(
            """
            local co = coroutine.create(function() fail() end)
            local ok, err = coroutine.resume(co)
            local wrapped = coroutine.wrap(function() fail() end)
            local ok2, err2 = pcall(wrapped)
            return ok, err.code, ok2, err2.code
            """)
        #expect(results == [false, "broken", false, "broken"])
    }

    @Test func `errors of wrong arguments contain the number and the expected type`() throws {
        state.globals["typed"] = .function(
            state.makeFunction("typed") { call in
                switch try call.text(1) {
                case "integer": return call.answer(.integer(try call.integer(2)))
                case "number": return call.answer(.number(try call.number(2)))
                case "boolean": return call.answer(.boolean(try call.boolean(2)))
                case "table": return call.answer(.table(try call.table(2)))
                default: return call.answer(.function(try call.function(2)))
                }
            })
        #expect(
            error("typed()")?.message
                == "file.lua:1: bad argument #1 to 'typed' (string expected, got no value)")
        #expect(
            error("typed('integer', 1.5)")?.message
                == "file.lua:1: bad argument #2 to 'typed' (number has no integer representation)")
        #expect(
            error("typed('integer', '7')")?.message
                == "file.lua:1: bad argument #2 to 'typed' (integer expected, got string)")
        #expect(
            error("typed('table', io.stdout)")?.message
                == "file.lua:1: bad argument #2 to 'typed' (table expected, got FILE*)")
        #expect(
            error("typed('\\xff')")?.message
                == "file.lua:1: bad argument #1 to 'typed' (the string is not valid UTF-8)")
        #expect(try state.run("return typed('integer', 3.0)") == [3])
        #expect(
            (error("typed()")?.underlying as? LuaArgumentError)?.scriptCode == "invalid_argument")
    }
}
