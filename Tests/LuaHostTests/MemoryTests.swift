import LuaHost
import MemoryAccounts
import Synchronization
import Testing

@Suite struct MemoryTests {
    /// A state with a memory limit in bytes.
    private func limited(to limit: Int, _ libraries: LuaLibraries = .all) -> LuaState {
        LuaState(libraries: libraries, account: MemoryAccount(limit: limit))
    }

    private func failing(_ state: LuaState, _ code: String) -> LuaError? {
        do {
            try state.run(code)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a script that reaches its limit gets an error and continues after a collection`()
        throws
    {
        let state = limited(to: 1 << 20)
        state.countMemory()
        let error = failing(state, "local t = {} for i = 1, 1e9 do t[i] = {i} end")
        #expect(error?.kind == .memory)
        #expect(error?.message == "not enough memory: the limit of 1 MB was reached")
        #expect(error?.underlying as? MemoryLimitReached == MemoryLimitReached(limit: 1 << 20))
        #expect(try state.run("return 1 + 1") == [2])
        #expect(
            try state.run(
                "local ok, e = pcall(string.rep, 'x', 1e8) return ok, e.code, tostring(e)") == [
                    false, "limit_exceeded", "not enough memory: the limit of 1 MB was reached",
                ])
    }

    @Test func `garbage is collected before the limit ends a call of the host`() throws {
        let account = MemoryAccount(limit: 2 << 20)
        let state = LuaState(account: account)
        state.countMemory()
        state.globals["answer"] = .function(state.makeFunction("answer") { $0.answer(42) })
        try state.run("collectgarbage 'stop' t = {} for i = 1, 1e4 do t[i] = {i} end")
        // A collection while the table is in use does not free it. Then memory is taken that cannot be refused.
        account.didCollect()
        let excess = account.limit + (700 << 10) - account.bytes
        account.record(excess)
        defer { account.release(excess) }
        #expect(account.isExhausted)
        #expect(failing(state, "answer()")?.kind == .memory)
        #expect(try state.run("t = nil return answer()") == [42])
    }

    @Test func `a coroutine that cannot be resumed is reported without memory`() throws {
        let state = limited(to: 1 << 20)
        state.countMemory()
        try state.run(
            """
            local dead = coroutine.wrap(function() end)
            dead()
            local kept = {}
            local function fill() for i = #kept + 1, math.huge do kept[i] = {} end end
            local function work()
              for _ = 1, 200 do
                pcall(fill)
                pcall(dead)
                pcall(table.remove, kept)
              end
            end
            local outer = coroutine.wrap(function() while true do work() coroutine.yield() end end)
            for _ = 1, 5 do pcall(outer) end
            """)
        // Such an error once jumped out of the coroutine, whose stack was then never left.
        #expect(!state.isRunning)
    }

    @Test func `a coroutine that inspects another one catches the refusal of memory`() throws {
        let state = limited(to: 4 << 20)
        state.countMemory()
        let results = try state.run(
            """
            local code = "return function() coroutine.yield() " .. ("_G.x = 1\\n"):rep(5000) .. " end"
            local inspected = coroutine.create(load(code)())
            coroutine.resume(inspected)
            local kept = {}
            pcall(function() while true do kept[#kept + 1] = ("x"):rep(1000) .. #kept end end)
            local refused = 0
            local inspect = coroutine.wrap(function()
              while true do
                local ok, info = pcall(debug.getinfo, inspected, 1, "LS")
                if ok then return refused, info.activelines[4999], info.what, info.func end
                refused = refused + 1
                table.remove(kept)
              end
            end)
            return inspect()
            """)
        #expect((results[0].integer ?? 0) > 0)
        #expect(Array(results.dropFirst()) == [true, "Lua", .nil])
        #expect(!state.isRunning)
    }

    @Test(arguments: [
        "pcall(grow)", "xpcall(grow, function(e) return 'handled' end)",
        "coroutine.resume(coroutine.create(grow))",
        "pcall(coroutine.wrap(grow))",
        "pcall(pcall, error, select(2, pcall(grow)))",
    ])
    func `every way to catch the limit returns the error with its code`(_ call: String) throws {
        let state = limited(to: 1 << 20)
        state.countMemory()
        let grow = "local function grow() local t = {} while true do t[#t + 1] = {} end end "
        let catching = "local results = {\(call)} local e = results[#results] "
        #expect(
            try state.run(grow + catching + "return type(e), e.code")
                == ["userdata", "limit_exceeded"])
    }

    @Test func `pcall and xpcall of a limited state work as those of Lua`() throws {
        let code = """
            local log = {}
            local function note(...) log[#log + 1] = table.concat({...}, ',', 1, select('#', ...)) end
            local function text(...)
                local t = table.pack(...)
                for i = 1, t.n do t[i] = tostring(t[i]) end
                note(table.unpack(t, 1, t.n))
            end
            text(pcall(function(...) return ... end, 1, nil, 3))
            text(pcall(error, 'plain', 0))
            text(pcall(error))
            text(pcall(pcall))
            text(pcall(xpcall, print))
            text(pcall(xpcall, print, 1))
            text(xpcall(function(a, b) return b, a end, print, 1, 2))
            text(xpcall(function() error('x', 0) end, function(e) return e .. '!' end))
            text(xpcall(error, function(e) error(e) end, 1))
            local co = coroutine.wrap(function()
                text(pcall(function() local a = coroutine.yield(1) error(a, 0) end))
                text(xpcall(function() return coroutine.yield(2), 5 end, print))
                local t <close> = setmetatable({}, {__close = function() note('closed') end})
                return pcall(coroutine.yield, 3)
            end)
            text(co()) text(co('again')) text(co('more')) text(co('end'))
            return table.concat(log, ';')
            """
        let state = limited(to: 1 << 24)
        state.countMemory()
        #expect(try state.run(code) == LuaState().run(code))
    }

    @Test func `blocks of all sizes keep their bytes while they grow, shrink and move`() throws {
        let state = limited(to: 1 << 26)
        state.countMemory()
        let result = try state.run(
            """
            math.randomseed(7)
            local kept, sum = {}, 0
            for round = 1, 3000 do
                local size = math.random(1, 12) ^ 2 * math.random(1, 900)
                local index = math.random(1, 60)
                kept[index] = string.char(65 + index):rep(size // 1 | 0)
                local t = {}
                for i = 1, size // 40 do t[i] = i end
                for i = 1, #t do assert(t[i] == i) end
                if round % 50 == 0 then collectgarbage() end
            end
            for index, s in pairs(kept) do
                assert(s == string.char(65 + index):rep(#s))
            end
            return true
            """)
        #expect(result == [true])
    }

    @Test func `memory of freed objects is reused for objects of another size`() throws {
        let state = limited(to: 4 << 20)
        state.countMemory()
        for size in [40, 100, 300, 900, 5000, 40_000, 100] {
            let count = try state.run(
                """
                collectgarbage()  -- a buffer that does not fit is refused without a collection
                local kept = {}
                local ok, e = pcall(function()
                    while true do kept[#kept + 1] = ('x'):rep(\(size)) .. #kept end
                end)
                assert(e.code == 'limit_exceeded', tostring(e))
                return #kept
                """)[0].integer
            #expect((count ?? 0) * Int64(size) > 800_000, "with \(size) bytes")
        }
    }

    @Test func `a closed state has returned everything to its account`() throws {
        let account = MemoryAccount(limit: 8 << 20)
        for _ in 0..<3 {
            let state = LuaState(account: account)
            state.globals["keep"] = .function(
                state.makeFunction("keep") { call in call.answer(.string(try call.string(1))) })
            state.countMemory()
            _ = failing(
                state,
                "k = {} while true do k[#k + 1] = keep(('x'):rep(5000) .. #k) k[#k + 1] = {} end")
            #expect(account.bytes > 4 << 20)
            state.close()
        }
        #expect(account.bytes == 0)
    }

    @Test(arguments: ["", "call()"])
    func `finalizers obey the limit, also in host calls and at the end`(_ call: String) {
        let account = MemoryAccount(limit: 8 << 20)
        let state = LuaState(account: account)
        state.globals["call"] = .function(
            state.makeFunction("call") { call in
                call.answer(.string(LuaString(bytes: [UInt8](repeating: 65, count: 100_000))))
            })
        state.countMemory()
        let error = failing(
            state,
            """
            for i = 1, 100 do
                setmetatable({}, { __gc = function() local t = {} for i = 1, 1e6 do t[i] = i end end })
                \(call)
            end
            """)
        #expect(error == nil)
        state.collectGarbage()
        _ = failing(
            state,
            "for i = 1, 20 do setmetatable({}, { __gc = function() local t = {} for i = 1, 1e6 do t[i] = i end end }) end"
        )
        state.close()
        #expect(account.peak > 4 << 20)
        #expect(account.peak <= account.limit)
        #expect(account.bytes == 0)
    }

    @Test func `a host call may exceed the limit; the script's next allocation fails`() throws {
        let state = limited(to: 1 << 20)
        state.globals["big"] = .function(
            state.makeFunction("big") { call in
                call.answer(.string(LuaString(bytes: [UInt8](repeating: 65, count: 8 << 20))))
            })
        state.countMemory()
        let results = try state.run(
            """
            local ok, e = pcall(function() local s = big() return s .. 'x' end)
            collectgarbage()
            return ok, e.code, #tostring({}) > 0
            """)
        #expect(results == [false, "limit_exceeded", true])
    }

    @Test func `a Swift function can raise and build values although the limit is reached`() throws
    {
        let state = limited(to: 1)
        state.globals["fail"] = .function(
            state.makeFunction("fail") { call in
                _ = call.state.makeTable((0..<1000).map { .integer($0) })
                throw Broken()
            })
        #expect(failing(state, "fail()")?.underlying as? Broken == Broken())
        state.countMemory()
        #expect(failing(state, "fail()")?.kind != nil)
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
    func `overflows are errors`(_ code: String) throws {
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

    @Test func `memory outside of Lua is found by time, not by the number of calls`() {
        let memory = Atomic(10 << 20)
        let account = MemoryAccount(
            limit: 64 << 20, measure: { memory.load(ordering: .relaxed) })
        account.beginMeasuring()
        memory.store(80 << 20, ordering: .relaxed)
        let start = ContinuousClock.now
        while start.duration(to: .now) < .milliseconds(1) {}
        #expect(account.needsCollection)
        #expect(!account.grants(1))
        #expect(account.bytes == 70 << 20)
        #expect(account.isExhausted)
    }

    @Test func `free memory of the heap is returned before memory is refused`() {
        let memory = Atomic(10 << 20)
        let free = Atomic(0)
        let account = MemoryAccount(
            limit: 64 << 20, measure: { memory.load(ordering: .relaxed) },
            trim: { memory.subtract(free.exchange(0, ordering: .relaxed), ordering: .relaxed) })
        account.beginMeasuring()
        memory.store(74 << 20, ordering: .relaxed)
        free.store(32 << 20, ordering: .relaxed)
        #expect(account.hasSpace(for: 20 << 20))
        #expect(!account.hasSpace(for: 40 << 20))
        #expect(!account.hasSpace(for: .max))
        #expect(account.grants(20 << 20))
        #expect(account.bytes == 52 << 20)
        account.release(20 << 20)
    }
}
