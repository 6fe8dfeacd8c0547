import LuaHost
import Testing

/// Code that tries to outlast a limit.
private let stubborn = [
    "while true do end",
    "while true do pcall(function() while true do end end) end",
    "while true do xpcall(function() while true do end end, function() while true do end end) end",
    "coroutine.wrap(function() while true do end end)()",
    "while true do pcall(coroutine.wrap(function() while true do end end)) end",
    "while true do coroutine.wrap(function() for i = 1, 300 do end end)() end",
    "while true do coroutine.wrap(function() end)() end",
    "local t <close> = setmetatable({}, {__close = function() while true do end end}) while true do end",
    "local function f() pcall(f) pcall(f) end while true do f() end",
    "local function f() return 1 + f() end while true do pcall(f) end",
    "local function f() return 1 + f() end while true do coroutine.wrap(pcall)(f) end",
    "for _ in function() return 1 end do end",
    "local t = setmetatable({}, {__index = function() while true do end end}) return t.x",
    "while true do load('for i = 1, 1000 do end')() end",
    "table.sort({3, 1, 2, 5, 4}, function() while true do end end)",
    "string.gsub('x', '.', function() while true do end end)",
    "::again:: goto again",
    "local function f() return f() end f()",
    "through(function() while true do pcall(error) end end) while true do end",
]

@Suite struct LimitTests {
    private func stateWithThrough() -> LuaState {
        let state = LuaState()
        state.globals["through"] = .function(
            state.makeFunction("through") { call in try call.answer(call.function(1).call([])) })
        return state
    }

    private func failure(_ state: LuaState, _ code: String) -> LuaError? {
        do throws(LuaError) {
            try state.run(code)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: stubborn) func `no code exceeds a time limit`(_ code: String) throws {
        let state = stateWithThrough()
        #expect(state.setTimeLimit(.milliseconds(20)))
        let error = failure(state, code)
        #expect(error?.limit?.limit == .time)
        #expect(error?.kind == .interrupted)
        #expect(error?.message == "the time limit of 0.02 s was reached")
        state.setTimeLimit(.seconds(60))
        #expect(try state.run("return 1 + 1") == [2], "the next run has time of its own")
    }

    @Test(arguments: stubborn) func `no code exceeds an instruction limit`(_ code: String) throws {
        let state = stateWithThrough()
        state.setInstructionLimit(100_000)
        let error = failure(state, code)
        #expect(error?.limit?.limit == .instructions)
        #expect(error?.message == "the limit of 100000 instructions was reached")
        #expect(try state.run("local n = 0 for i = 1, 10000 do n = n + 1 end return n") == [10_000])
    }

    @Test func `a script can catch the error with its code, and is still stopped`() throws {
        let state = LuaState()
        state.setInstructionLimit(50_000)
        var seen: [LuaValue] = []
        state.globals["note"] = .function(
            state.makeFunction("note") { call in
                seen.append(call[1])
                return .none
            })
        let error = failure(
            state,
            "local ok, e = pcall(function() while true do end end) note(e.code) note 'never'")
        #expect(error?.limit != nil)
        #expect(!seen.contains("never"))
    }

    @Test func `a coroutine of a stopped run is limited in the next run`() throws {
        let state = LuaState()
        state.setInstructionLimit(50_000)
        _ = failure(
            state,
            """
            kept = {}
            while true do
                kept[#kept + 1] = coroutine.create(function() while true do coroutine.yield() end end)
                coroutine.resume(kept[#kept])
                pcall(function()
                    while true do
                        kept[#kept + 1] = coroutine.create(function() while true do end end)
                    end
                end)
            end
            """)
        let kept = try state.run("return #kept")[0].integer ?? 0
        #expect(kept > 1)
        for index in [1, kept / 2, kept - 1, kept] {
            let error = failure(
                state,
                "local c = kept[\(index)] while coroutine.status(c) ~= 'dead' do coroutine.resume(c) end"
            )
            #expect(error?.limit != nil)
        }
    }

    @Test func `runs within the limits are not affected`() throws {
        let state = LuaState()
        state.setTimeLimit(.seconds(60))
        state.setInstructionLimit(10_000_000)
        for _ in 0..<2_000 {
            #expect(try state.run("local n = 0 for i = 1, 100 do n = n + i end return n") == [5050])
        }
        state.setTimeLimit(nil)
        state.setInstructionLimit(nil)
        #expect(try state.run("for i = 1, 20000000 do end return 1") == [1])
    }

    @Test func `a removed limit does not stop the next run`() throws {
        let state = LuaState()
        let free = state.makeFunction("free") { call in
            // The thread that watches the time must see the deadline of this run.
            let moment = ContinuousClock.now + .milliseconds(10)
            while ContinuousClock.now < moment {}
            call.state.setTimeLimit(nil)
            return .none
        }
        state.globals["free"] = .function(free)
        // On a busy machine, the limit may be reached before the run removes it.
        var isFree = false
        while !isFree {
            state.setTimeLimit(.milliseconds(20))
            do {
                try state.run("free()")
                isFree = true
            } catch {
                guard error.limit != nil else { throw error }
            }
        }
        let clock = ContinuousClock()
        let end = clock.now + .milliseconds(100)
        while clock.now < end { try state.run("for i = 1, 1000000 do end") }
    }

    @Test func `a time limit applies to each run, not to their sum`() throws {
        let state = LuaState()
        state.setTimeLimit(.seconds(1))
        let clock = ContinuousClock()
        let end = clock.now + .seconds(2)
        while clock.now < end { try state.run("for i = 1, 1000 do end") }
    }

    @Test func `states with time limits can be created and closed repeatedly`() throws {
        for _ in 0..<200 {
            let state = LuaState()
            state.setTimeLimit(.seconds(1))
            try state.run("return 1")
            state.close()
        }
    }
}
