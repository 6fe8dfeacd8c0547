import Glibc
import LuaHost
import Synchronization
import TestThreads
import Testing

/// Runs a script on this thread and requests its end from another one as soon as it has called `ready`.
func interrupted(
    _ code: String, state: LuaState = LuaState(), after: Int = 1,
    force: LuaInterrupt.Force = .certain
) -> LuaError? {
    let interrupt = state.makeInterrupt()
    let calls = Mutex(0)
    state.globals["ready"] = .function(
        state.makeFunction("ready") { _ in
            let count = calls.withLock {
                $0 += 1
                return $0
            }
            if count == after { RunningThread { interrupt.request(force) } }
            return .none
        })
    do {
        try state.run(code, name: "@file.lua")
        return nil
    } catch {
        return error
    }
}

@Suite(.serialized, .timeLimit(.minutes(10))) struct InterruptTests {
    @Test(arguments: [
        "ready() while true do end",
        "ready() repeat until false",
        "local function f() return f() end ready() f()",
        "local function f() return 1 + f() end ready() while true do pcall(f) end",
        "ready() while true do pcall(function() while true do end end) end",
        "ready() while true do pcall(pcall, function() while true do end end) end",
        "ready() while true do xpcall(function() while true do end end, function() while true do end end) end",
        "ready() xpcall(function() local t = setmetatable({}, {__index = function() while true do end end}) return t.x end, print)",
        "local co = coroutine.wrap(function() ready() while true do coroutine.yield() end end) while true do co() end",
        "local co = coroutine.create(function() ready() while true do pcall(function() while true do end end) end end) coroutine.resume(co) while true do end",
        "coroutine.wrap(function() coroutine.wrap(function() ready() while true do end end)() end)()",
        "local co = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() ready() while true do end end}) coroutine.yield() end) coroutine.resume(co) coroutine.close(co)",
        "ready() table.sort({3, 2, 1, 4}, function(a, b) while true do end end)",
        "ready() string.gsub('x', '.', function() while true do end end)",
        "ready() for i in function() return 1 end do end",
        "ready() local x <close> = setmetatable({}, {__close = function() while true do end end}) while true do end",
        "local function deep(n) if n == 0 then ready() while true do end end return 1 + deep(n - 1) end xpcall(deep, function(e) while true do end end, 150000)",
        "while true do ready() end",
        "ready() string.find(('a'):rep(100000), '.-.-.-.-b$')",
        "ready() string.match(('a'):rep(100000), '.-.-.-.-b$')",
        "ready() string.gsub(('a'):rep(100000), '.-.-.-.-b$', '')",
        "ready() for w in string.gmatch(('a'):rep(100000), '.-.-.-.-b$') do end",
        "ready() string.find(('a'):rep(100000), ('a-'):rep(20) .. 'b')",
        "ready() string.find(('('):rep(200000), '%b()%b()')  while true do end",
        "ready() table.move({}, 1, 1 << 62, 2)",
        "ready() string.rep('', 1 << 62) while true do end",
        "ready() table.insert(setmetatable({}, {__len = function() return 1 << 62 end}), 1, 1)",
        "ready() table.remove(setmetatable({}, {__len = function() return 1 << 62 end}), 1)",
        "ready() table.sort({3, 2, 1}, function() local n = 0 while true do n = n + 1 end end)",
        "setmetatable({}, {__gc = function() ready() while true do end end}) collectgarbage()",
        "local co = coroutine.wrap(function() setmetatable({}, {__gc = function() ready() while true do end end}) collectgarbage() end) co()",
        "ready() debug.sethook(function() while true do end end, 'l')\nlocal x = 1\nx = 2",
    ])
    func `an interrupt stops code of every kind`(_ code: String) {
        let error = interrupted(code)
        #expect(error?.kind == .interrupted)
        #expect(error?.underlying is LuaInterrupted)
        #expect(error?.message == "interrupted")
    }

    @Test func `the traceback of a stopped run shows its location`() {
        let error = interrupted("local function busy()\n ready()\n while true do end\nend\nbusy()")
        #expect(error?.traceback?.contains("file.lua:3: in ") == true)
        #expect(error?.traceback?.contains("file.lua:5: in main chunk") == true)
    }

    @Test func `a stopped run stays stopped when the script catches the error`() {
        let error = interrupted("ready() pcall(function() while true do end end) return 'fine'")
        #expect(error?.kind == .interrupted)
    }

    @Test func `a read from a pipe is stopped`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { ends.forEach { _ = close($0) } }
        let error = interrupted("local f = io.open('/proc/self/fd/\(ends[0])') ready() f:read()")
        #expect(error?.kind == .interrupted)
    }

    @Test func `the state continues afterward and keeps the script's own hook`() throws {
        let state = LuaState()
        try state.run("count = 0 debug.sethook(function() count = count + 1 end, '', 1000)")
        #expect(interrupted("ready() while true do end", state: state)?.kind == .interrupted)
        let results = try state.run(
            """
            local before = count
            for i = 1, 100000 do end
            local hook, mask, n = debug.gethook()
            return count > before, type(hook), n
            """)
        #expect(results == [true, "function", 1000])
    }

    @Test func `all hooks are removed, also in coroutines`() throws {
        let state = LuaState()
        let error = interrupted(
            "kept = coroutine.create(function() ready() while true do coroutine.yield() end end) while true do coroutine.resume(kept) end",
            state: state)
        #expect(error?.kind == .interrupted)
        #expect(try state.run("return debug.gethook()") == [.nil])
        #expect(
            try state.run("local co = coroutine.wrap(function() return 5 end) return co()") == [5])
    }

    @Test(arguments: [
        "pcall(function() ready() while true do end end) return 42",
        "local co = coroutine.create(function() ready() while true do end end) coroutine.resume(co) return 42",
        "xpcall(function() ready() while true do end end, function() while true do end end) return 42",
    ])
    func `a catchable stop can be caught once, and the code can end`(code: String) throws {
        let state = LuaState()
        #expect(interrupted(code, state: state, force: .catchable) == nil)
        #expect(try state.run("return 1") == [1])
    }

    @Test(arguments: [
        "ready() while true do end",
        "while true do ready() pcall(function() while true do end end) end",
        "pcall(function() ready() while true do end end) while true do end",
        "coroutine.wrap(function() pcall(function() ready() while true do end end) while true do end end)()",
    ])
    func `code that continues after a catchable stop is stopped`(code: String) throws {
        let state = LuaState()
        let error = interrupted(code, state: state, force: .catchable)
        #expect(error?.kind == .interrupted)
        #expect(error?.message == "interrupted")
        #expect(try state.run("for i = 1, 1000 do end return debug.gethook() == nil") == [true])
    }

    @Test func `a late request has no effect`() throws {
        let state = LuaState()
        let interrupt = state.makeInterrupt()
        #expect(interrupt.request() == false)
        #expect(try state.run("for i = 1, 1000 do end return 1") == [1])
        #expect(interrupt.isPending == false)
        state.close()
        #expect(interrupt.request() == false)
    }

    @Test func `a state that its own code has closed cannot be stopped`() async {
        // A state ends in the middle of its code only when the process ends.
        await #expect(processExitsWith: .exitCode(3)) {
            let state = LuaState()
            LastRequester.keep(in: state)
            state.globals["close"] = .function(
                state.makeFunction("close") { call in
                    _ = call.state.closeBeforeExit()
                    exit(1)
                })
            try state.run("close()")
        }
    }

    @Test func `a host function can detect a stop, and the error passes through it`() {
        let state = LuaState()
        let seen = Mutex<[Bool]>([])
        state.globals["guarded"] = .function(
            state.makeFunction("guarded") { call in
                do {
                    try call.function(1).call([])
                } catch {
                    seen.withLock { $0.append(call.state.isStopping) }
                    throw error
                }
                return .none
            })
        let error = interrupted("guarded(function() ready() while true do end end)", state: state)
        #expect(error?.kind == .interrupted)
        #expect(seen.withLock { $0 } == [true])
    }

    @Test func `many random stops in one state all take effect`() throws {
        let state = LuaState()
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let depth = Int.random(in: 1...100, using: &random)
            let code = [
                "while true do ready() pcall(function() for i = 1, 50 do end end) end",
                "while true do ready() local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) co() co() end",
                "while true do ready() local s = ('x'):rep(20) .. tostring({}) end",
                "while true do ready() local t = {} for i = 1, 20 do t[i] = function() return i end end end",
            ].randomElement(using: &random)!
            #expect(interrupted(code, state: state, after: depth)?.kind == .interrupted)
            #expect(try state.run("return 1 + 1") == [2])
        }
    }
}

/// Requests a stop when it is released, and ends the process: with 2 if code ran that can be stopped, with 3 if not.
private final class LastRequester: Sendable {
    private let interrupt: LuaInterrupt
    private init(_ interrupt: LuaInterrupt) { self.interrupt = interrupt }
    deinit { exit(interrupt.request() ? 2 : 3) }

    /// Leaves the only reference to a requester in a class of `state`.
    static func keep(in state: LuaState) {
        let requester = LastRequester(state.makeInterrupt())
        let type = LuaClass<Probe>(
            name: "keeper",
            methods: [
                LuaMethod("keep") { _, _ in
                    withExtendedLifetime(requester) {}
                    return .none
                }
            ])
        state.globals["keeper"] = state.userdata(Probe("keeper"), type)
    }
}
