import MoonpoolScripting
import TestThreads
import Testing

/// Code that waits at the gate `first` in the middle of an operation.
private struct WaitingCode: Sendable, CustomTestStringConvertible {
    let title: String
    let result: String
    let source: String

    init(_ title: String, _ result: String, _ source: String) {
        (self.title, self.result, self.source) = (title, result, source)
    }

    var testDescription: String { title }

    static let all = [
        WaitingCode(
            "under many pcalls", "x",
            """
            local function deep(n)
              if n == 0 then pass('first') return 'x' end
              return select(2, pcall(deep, n - 1))
            end
            return deep(120)
            """),
        WaitingCode(
            "in a coroutine", "a1b2",
            """
            local steps = coroutine.wrap(function(a)
              pass('first')
              local b = coroutine.yield(a .. '1')
              pass('first')
              return b .. '2'
            end)
            return steps('a') .. steps('b')
            """),
        WaitingCode(
            "in a comparison of table.sort", "123",
            """
            local list, waited = { 3, 1, 2 }, false
            table.sort(list, function(a, b)
              if not waited then waited = true pass('first') end
              return a < b
            end)
            return table.concat(list)
            """),
        WaitingCode(
            "in a replacement of string.gsub", "aBc",
            "return (('abc'):gsub('b', function(c) pass('first') return c:upper() end))"),
        WaitingCode(
            "in a metamethod", "vx",
            """
            local function index(_, key) pass('first') return key end
            return 'v' .. setmetatable({}, { __index = index }).x
            """),
        WaitingCode(
            "in a write transaction", "5",
            """
            store:write(function()
              store:create('Parcel', { id = 1, weight = 5 })
              pass('first')
            end)
            return tostring(store:object('Parcel', 1).weight)
            """),
        WaitingCode(
            "in an observer", "observed",
            """
            local token <close> = store:objects('Parcel'):observe(function() pass('first') end)
            store:refresh()
            return 'observed'
            """),
        WaitingCode(
            "while a to-be-closed variable is closed", "closed",
            """
            do
              local v <close> = setmetatable({}, { __close = function() pass('first') end })
            end
            return 'closed'
            """),
    ]
}

@Suite struct SharedThreadWaitTests {
    private let gates = Gates()
    private let threads = ScriptThreads(count: 1)

    private func engine(_ limits: ScriptLimits = .none) throws -> ScriptEngine {
        let engine = try ScriptEngine(.sandboxed(limits: limits), on: threads)
        try engine.add(gates)
        return engine
    }

    @Test(arguments: [["a", "b", "c"], ["b", "c", "a"], ["c", "b", "a"]])
    func `waits of three engines end in any order`(order: [String]) async throws {
        let engines = try (0..<3).map { _ in try engine() }
        var runs: [String: Task<Void, any Error>] = [:]
        for (name, engine) in zip(["a", "b", "c"], engines) {
            runs[name] = Task { try await engine.run("pass('\(name)') note('\(name)')") }
            try await gates.arrival(at: name)
        }
        for name in order {
            gates.open(name)
            try await #require(runs[name]).value
        }
        #expect(gates.notes == order)
        for engine in engines { await engine.close() }
    }

    @Test func `a thousand sleeps end in order of time`() async throws {
        let engines = try (0..<1000).map { _ in try engine() }
        let begin = ContinuousClock.now
        let now: @Sendable () -> Double = { (ContinuousClock.now - begin) / .seconds(1) }
        for engine in engines { try engine.register("now()") { () in now() } }
        // The groups take turns, so that neither the order of the starts nor its reverse is that of the ends.
        let groups = (0..<1000).map { $0 * 7 % 10 }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            let start = now()
            for (engine, group) in zip(engines, groups) {
                tasks.addTask {
                    try await engine.run("pass('all') ending = begin + \(group) * 0.1")
                    // A sleep that begins after others have ended says nothing about their order.
                    try await engine.run(
                        """
                        local start = now()
                        moonpool.sleep(math.max(ending - start, 0))
                        note(start < begin and '\(group)' or 'late')
                        """)
                }
            }
            #expect(try await eventually { gates.arrivals == 1000 })
            // All sleeps should have begun before the first one ends, also on a slow machine.
            let margin = max(1, 2 * (now() - start))
            let sleepsBegin = now() + margin
            for engine in engines { try engine.set("begin", to: sleepsBegin) }
            gates.open("all")
            try await tasks.waitForAll()
        }
        #expect(gates.notes.count == 1000)
        let inTime = gates.notes.filter { $0 != "late" }
        #expect(inTime.count > 100)
        #expect(inTime == inTime.sorted())
        for engine in engines { await engine.close() }
    }

    @Test func `a limit, a canceled task and a closed engine end a nested wait`() async throws {
        let limited = try engine(ScriptLimits(time: .milliseconds(200)))
        let canceled = try engine()
        let closed = try engine()
        let last = try engine()
        let ends = [limited, canceled, closed].map { engine in
            Task { try await engine.run("pcall(pass, 'started') moonpool.sleep(3600)") }
        }
        #expect(try await eventually { gates.arrivals == 3 })
        let final = Task { try await last.run("pass('last') return 'last'", as: String.self) }
        try await gates.arrival(at: "last")
        gates.open("started")
        let failure = await #expect(throws: ScriptFailure.self) { try await ends[0].value }
        #expect(failure?.limit == .time)
        ends[1].cancel()
        await #expect(throws: CancellationError.self) { try await ends[1].value }
        await closed.close()
        await #expect(throws: (any Error).self) { try await ends[2].value }
        // The engines that were stopped can be used, and the last one still waits.
        #expect(try await limited.run("return 1", as: Int.self) == 1)
        #expect(try await canceled.run("return 2", as: Int.self) == 2)
        gates.open("last")
        #expect(try await final.value == "last")
        for engine in [limited, canceled, last] { await engine.close() }
        #expect(threads.engineCount == 0)
    }

    @Test(arguments: WaitingCode.all)
    fileprivate func `code waits where a coroutine of Lua could not yield`(
        code: WaitingCode
    ) async throws {
        let (first, second) = (try engine(), try engine())
        try await first.open(.memory("parcels of \(code.title)"), models: Parcel.self)
        let run = Task { try await first.run(code.source, as: String.self) }
        try await gates.arrival(at: "first")
        let later = Task { try await second.run("pass('second')") }
        try await gates.arrival(at: "second")
        gates.open("first")
        #expect(try await run.value == code.result)
        gates.open("second")
        try await later.value
        await first.close()
        await second.close()
    }

    @Test func `runs, timers and observers of an engine work in a nested wait`() async throws {
        let (first, second) = (try engine(), try engine())
        try await first.open(.memory("parcels of a waiting engine"), models: Parcel.self)
        let waiting = Task {
            try await first.run(
                """
                local token <close> = store:objects('Parcel'):observe(function(change)
                  if change.type == 'update' then note('observed') end
                end)
                moonpool.after(0.001, function() note('timer') end)
                pass('first')
                """)
        }
        try await gates.arrival(at: "first")
        let later = Task { try await second.run("pass('second')") }
        try await gates.arrival(at: "second")
        #expect(try await eventually { gates.notes == ["timer"] })
        try await first.run("store:write(function() store:create('Parcel', { id = 1 }) end)")
        #expect(try await eventually { gates.notes == ["timer", "observed"] })
        gates.open("first")
        try await waiting.value
        gates.open("second")
        try await later.value
        await first.close()
        await second.close()
    }

    @Test func `a repeating timer is not called again while its function waits`() async throws {
        let engine = try engine()
        try await engine.run(
            """
            local calls = 0
            moonpool.every(0.001, function()
              calls = calls + 1
              note('call ' .. calls)
              if calls == 1 then pass('timer') end
            end)
            other = moonpool.every(0.001, function() ticks = (ticks or 0) + 1 end)
            """)
        try await gates.arrival(at: "timer")
        #expect(
            try await eventually { try await engine.run("return ticks or 0", as: Int.self) > 5 })
        #expect(gates.notes == ["call 1"])
        gates.open("timer")
        #expect(try await eventually { gates.notes.count > 2 })
        await engine.close()
    }

    private enum Trace {
        @TaskLocal static var name = "none"
    }

    @Test(arguments: [["first", "second"], ["second", "first"]])
    func `a function of the host keeps its task-local values while an observer of its write waits`(
        order: [String]
    ) async throws {
        let gates = gates
        var engines: [String: ScriptEngine] = [:]
        var runs: [String: Task<Void, any Error>] = [:]
        for name in ["first", "second"] {
            let engine = try ScriptEngine(.sandboxed, state: name, on: threads)
            try engine.register("pass(gate)") { (name: String) async in await gates.wait(name) }
            try engine.register("add()") { (call: ScriptCall<String>) in
                try Trace.$name.withValue(call.state) {
                    try call.write { tx in try tx.insert(Parcel(id: 1)) }
                    gates.record(Trace.name)
                }
                gates.record(Trace.name)
            }
            try engine.register("trace()") { () in Trace.name }
            try await engine.open(.memory("parcels of \(name), \(order)"), models: Parcel.self)
            try await engine.run("token = store:observe(function() pass('\(name)') end)")
            engines[name] = engine
            runs[name] = Task { try await engine.run("add()") }
            try await gates.arrival(at: name)
        }
        let other = try engine()
        try other.register("trace()") { () in Trace.name }
        #expect(try await other.run("return trace()", as: String.self) == "none")
        for name in order {
            gates.open(name)
            try await #require(runs[name]).value
            #expect(try await other.run("return trace()", as: String.self) == "none")
        }
        #expect(gates.notes == order.flatMap { [$0, "none"] })
        for engine in engines.values { await engine.close() }
        await other.close()
    }

    @Test func `an error after a wait has its traceback`() async throws {
        let engine = try engine()
        let failure = await #expect(throws: ScriptFailure.self) {
            gates.open("error")
            try await engine.run("local function fail() pass('error') error('late') end fail()")
        }
        #expect(failure?.message == "script:1: late")
        #expect(failure?.traceback?.contains("in local 'fail'") == true)
        await engine.close()
    }

    @Test func `a recursion through C ends with an error of Lua on a shared thread`() async throws {
        let engine = try engine()
        let message = try await engine.run(
            """
            local function again()
              local list = { 2, 1 }
              table.sort(list, function(a, b) again() return a < b end)
            end
            local ok, err = pcall(again)
            return tostring(err)
            """, as: String.self)
        #expect(message.contains("C stack overflow"))
        #expect(try await engine.run("return 1", as: Int.self) == 1)
        await engine.close()
    }

    @Test func `engines that wait, fail, are stopped and are closed all end`() async throws {
        let engines = try (0..<40).map { _ in try engine(ScriptLimits(time: .milliseconds(80))) }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (number, engine) in engines.enumerated() {
                for round in 0..<6 {
                    let pause = Double((number * 7 + round * 13) % 19) / 500
                    tasks.addTask {
                        let code = Self.anyWait((number + round) % 4, pause)
                        // because: every outcome is valid; the test only requires that the run
                        // ends.
                        try? await engine.run(code)
                    }
                }
                tasks.addTask {
                    try await Task.sleep(for: .milliseconds(number % 11 * 20))
                    if number.isMultiple(of: 3) { engine.stop() } else { await engine.close() }
                }
            }
            try await tasks.waitForAll()
        }
        for engine in engines { await engine.close() }
        #expect(threads.engineCount == 0)
    }

    private static func anyWait(_ kind: Int, _ pause: Double) -> String {
        switch kind {
        case 0: "moonpool.sleep(\(pause)) error('late')"
        case 1: "moonpool.sleep(10)"  // ends with the time limit
        case 2:
            """
            local function less(a, b) moonpool.sleep(\(pause / 10)) return a < b end
            table.sort({ 3, 1, 2 }, less)
            """
        default:
            """
            local done
            moonpool.after(\(pause), function() done = true end)
            moonpool.wait_until(function() return done end)
            """
        }
    }
}
