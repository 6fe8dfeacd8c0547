import LuaHost
import Synchronization
import TestThreads
import Testing

/// Counts its live instances.
final class Probe {
    static let alive = Mutex<[String: Int]>([:])
    let group: String
    init(_ group: String) {
        self.group = group
        Self.alive.withLock { $0[group, default: 0] += 1 }
    }
    deinit { Self.alive.withLock { $0[group, default: 0] -= 1 } }
    static func count(_ group: String) -> Int { alive.withLock { $0[group] ?? 0 } }

    static let type = LuaClass<Probe>(
        name: "probe",
        methods: [
            LuaMethod("group_name") { $1.answer(.text($0.group)) },
            LuaMethod("fail") { _, _ in throw Broken() },
            LuaMethod("group_after") { probe, call in
                try call.function(2).call([])
                return call.answer(.text("\(probe.group), \(Probe.count(probe.group))"))
            },
        ],
        properties: [
            LuaProperty("group") { $1.set($0.group) }
        ])
}

@Suite struct LifetimeTests {
    @Test func `locals of a throwing Swift function are released`() throws {
        let state = LuaState()
        state.globals["fail"] = .function(
            state.makeFunction("fail") { call in
                let probe = Probe("locals")
                defer { withExtendedLifetime(probe) {} }
                try call.function(1).call([])
                return .none
            })
        for code in [
            "pcall(fail, function() error('x') end)", "pcall(fail, 1)",
            "pcall(fail, function() fail(function() error({}) end) end)",
            "coroutine.wrap(function() pcall(fail, function() coroutine.yield() end) end)()",
        ] {
            try state.run(code)
            #expect(Probe.count("locals") == 0)
        }
    }

    @Test func `closures and boxes are released when Lua collects them`() throws {
        let state = LuaState()
        do {
            let probe = Probe("collected")
            state.globals["f"] = .function(
                state.makeFunction("f") { $0.answer(.text(probe.group)) })
            state.globals["p"] = state.userdata(Probe("collected"), Probe.type)
        }
        #expect(Probe.count("collected") == 2)
        #expect(
            try state.run("return f(), p.group, p:group_name()") == [
                "collected", "collected", "collected",
            ])
        try state.run("f = nil p = nil")
        state.collectGarbage()
        state.collectGarbage()
        #expect(Probe.count("collected") == 0)
    }

    @Test func `an object whose box is emptied in its own method lives until that returns`() throws
    {
        let state = LuaState()
        state.globals["p"] = state.userdata(Probe("emptied"), Probe.type)
        let answer = try state.run(
            """
            local empty = debug.getmetatable(p).__gc
            return p:group_after(function() empty(p) collectgarbage() end), pcall(p.group_name, p)
            """)
        #expect(answer.prefix(2) == ["emptied, 1", false])
        #expect(Probe.count("emptied") == 0)
    }

    @Test func `closing a state releases everything, and later references are safe`()
        throws
    {
        let state = LuaState()
        state.globals["p"] = state.userdata(Probe("closing"), Probe.type)
        let kept = state.globals["p"]
        let table = state.makeTable(["x"])
        try state.run(
            "kept = setmetatable({}, {__gc = function() local n = p.group; closed = n end})")
        state.close()
        #expect(Probe.count("closing") == 0)
        #expect(kept.userdata?.object(as: Probe.type) == nil)
        #expect(table[1] == .nil)
        #expect(table.count == 0)
    }

    @Test func `references can be released on another thread`() throws {
        let state = LuaState()
        state.collectGarbage()
        let before = state.memory.used
        for _ in 0..<20 {
            dropOnOtherThread((0..<500).map { _ in .table(state.makeTable(array: 10)) })
        }
        try state.run("return 1")
        state.collectGarbage()
        #expect(state.memory.used < before + 200_000)
    }

    @Test func `the end of the main chunk is watched from a deep stack`() throws {
        let state = LuaState()
        state.globals["watch"] = .function(
            state.makeFunction("watch") { call in
                call.answer(.boolean(call.state.watchMainReturn()))
            })
        var ended = 0
        state.onMainReturn = { ended += 1 }
        // This took time proportional to the square of the depth, and no limit could stop it.
        state.setTimeLimit(.seconds(20))
        let code = "local function f(n) if n == 0 then return watch() end return (f(n - 1)) end "
        #expect(try state.run(code + "local result = f(150000) return result") == [true])
        #expect(ended == 1)
    }

    @Test func `a thrown error's box is released`() throws {
        let state = LuaState()
        state.globals["fail"] = .function(
            state.makeFunction("fail") { _ in throw LuaArgumentError("no") })
        state.globals["hold"] = .function(
            state.makeFunction("hold") { call in
                call.answer(state: call.state, Probe("errors"))
            })
        try state.run("for i = 1, 100 do pcall(fail) local p = hold() end")
        state.collectGarbage()
        state.collectGarbage()
        #expect(Probe.count("errors") == 0)
    }
}

extension LuaCall {
    func answer(state: LuaState, _ probe: Probe) -> LuaAnswer { answer(probe, Probe.type) }
}

/// Releases the last references to these values on another thread, and waits for it.
func dropOnOtherThread(_ values: consuming [LuaValue]) {
    let kept = Mutex(values)
    values = []
    RunningThread { kept.withLock { $0 = [] } }.wait()
}
