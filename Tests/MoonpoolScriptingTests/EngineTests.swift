import LuaHost
import MoonpoolScripting
import ObjectStore
import Synchronization
import TestThreads
import Testing

/// A Swift class that scripts use.
private final class Counter: ScriptObject {
    private let value: Mutex<Int>
    init(_ start: Int) { value = Mutex(start) }

    var count: Int {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }

    static let scriptClass = ScriptClass<Counter>(
        "Counter",
        [
            .new("Counter(start)") { (start: Int) in
                guard start >= 0 else {
                    throw ScriptFunctionError("out_of_range", "a counter begins at 0 or more")
                }
                return Counter(start)
            },
            .method("add(n)") { (counter: Counter, n: Int) in counter.count += n },
            .method("plus(other)") { (counter: Counter, other: Counter) in
                Counter(counter.count + other.count)
            },
            .method("later(n)") { (counter: Counter, n: Int) async in
                await Task.yield()
                return counter.count + n
            },
            .property("count", { $0.count }, set: { $0.count = $1 }),
            .property("double") { $0.count * 2 },
        ])
}

/// Waits for a condition that another thread makes true, without blocking one of the few threads of tasks.
private func pause() async { try? await Task.sleep(for: .milliseconds(1)) }

private struct Refused: Error, Equatable { let what: String }

@Suite struct EngineTests {
    private let engine: ScriptEngine

    init() throws { engine = try ScriptEngine(.sandboxed(limits: .none)) }

    private func failure(
        _ engine: ScriptEngine, _ code: String, named name: String = "script"
    ) async -> ScriptFailure? {
        do {
            try await engine.run(code, named: name)
            return nil
        } catch {
            return error as? ScriptFailure
        }
    }

    @Test func `due timers of a stopped run are called after it, in a run each`() async throws {
        let reports = Mutex<[ScriptReport]>([])
        var configuration = ScriptConfiguration.sandboxed(
            limits: ScriptLimits(time: .seconds(1)))
        configuration.report = { report in reports.withLock { $0.append(report) } }
        let engine = try ScriptEngine(configuration)
        let stopped = await failure(
            engine,
            """
            calls = 0
            for i = 1, 300 do
              moonpool.after(0, function()
                calls = calls + 1
                local clock = os.clock() + 0.005
                while os.clock() < clock do end
              end)
            end
            moonpool.after(0, function() all = true end)
            moonpool.sleep(1000)
            """)
        #expect(stopped?.code == "limit_exceeded")
        var all = false
        let deadline = ContinuousClock.now + .seconds(300)
        while !all, ContinuousClock.now < deadline {
            await pause()
            all = try await engine.run("return all == true")
        }
        #expect(all)
        // Only the one that was running was stopped, at the earliest before its first statement.
        let calls = try await engine.run("return calls", as: Int.self)
        #expect(calls == 300 || calls == 299)
        #expect(reports.withLock { $0.count } <= 1)
    }

    @Test func `an engine runs a script that calls a Swift function`() async throws {
        try engine.register("add(a, b)") { (a: Int, b: Int) in a + b }
        let sum = try await engine.run("return add(1, 2)", as: Int.self)
        #expect(sum == 3)
    }

    @Test func `results are Swift values`() async throws {
        #expect(try await engine.run("return 3.0") == 3)
        #expect(try await engine.run("return 'héllo'") == "héllo")
        #expect(try await engine.run("return nil") == Int?.none)
        #expect(try await engine.run("return 1 == 1") == true)
        #expect(try await engine.run("return { 1, 2, 3 }") == [1, 2, 3])
        #expect(try await engine.run("return {}") == [String]())
        #expect(try await engine.run("return { a = 1.5, b = 2 }") == ["a": 1.5, "b": 2.0])
        #expect(try await engine.run("return '\\255'") == LuaString(bytes: [255]))
        let any: AnyScriptValue = try await engine.run(
            "return { name = 'Rex', tags = { 'a', true } }")
        #expect(
            any == .map(["name": .string("Rex"), "tags": .list([.string("a"), .boolean(true)])]))
        #expect(try await engine.run("return { 1, moonpool.null, 3 }") == [1, nil, 3])
        #expect(
            try await engine.run("return { 1, moonpool.null }")
                == AnyScriptValue.list([.integer(1), .none]))
        try engine.register("holes()") { () -> [Int?] in [nil, 2, nil] }
        #expect(try await engine.run("return moonpool.json.encode(holes())") == "[null,2,null]")
    }

    @Test func `a result of another type is an error`() async throws {
        for (code, type) in [
            ("return 'x'", "string"), ("return nil", "nil"), ("return 1.5", "number"),
            ("return print", "function"),
        ] {
            let error = await #expect(throws: ScriptFailure.self) {
                _ = try await engine.run(code, as: Int.self)
            }
            #expect(error?.code == "type_mismatch")
            #expect(error?.message == "the result: integer expected, got \(type)")
        }
    }

    @Test func `a mismatch inside a table is reported with its path`() async throws {
        await #expect {
            _ = try await engine.run("return { a = { 1, 'x' } }", as: [String: [Int]].self)
        } throws: {
            "\($0)" == "the result: integer expected at .a[2], got string"
        }
        await #expect {
            _ = try await engine.run("return { 1, 300 }", as: [UInt8].self)
        } throws: {
            "\($0)" == "the result: integer from 0 to 255 expected at [2], got 300"
        }
        await #expect {
            _ = try await engine.run("local t = {} t.t = t return t", as: AnyScriptValue.self)
        } throws: {
            ($0 as? ScriptFailure)?.code == "type_mismatch"
        }
    }

    @Test func `an argument of a wrong type is an error with its name`() async throws {
        try engine.register("app.add(a, b)") { (a: Int, b: Int) in a + b }
        try engine.register("app.unnamed") { (text: String) in text }
        for (call, message) in [
            ("add('x', 1)", "#1 'a' to 'app.add' (integer expected, got string)"),
            ("add(1)", "#2 'b' to 'app.add' (integer expected, got no value)"),
            ("add(1, nil)", "#2 'b' to 'app.add' (integer expected, got nil)"),
            ("add(1, 2.5)", "#2 'b' to 'app.add' (integer expected, got number)"),
            ("unnamed({})", "#1 to 'app.unnamed' (string expected, got table)"),
            (
                "unnamed('\\255')",
                "#1 to 'app.unnamed' (string of UTF-8 expected, got other bytes)"
            ),
        ] {
            let error = await failure(engine, "app.\(call)")
            #expect(error?.message == "script:1: bad argument " + message)
            #expect(error?.code == "invalid_argument")
        }
    }

    @Test func `an invalid signature is an error`() {
        for signature in ["", "a b", "a.", "1a", "end", "a(", "a(1)", "a(b", "ä", "a..b"] {
            #expect(throws: LuaArgumentError.self, "\(signature)") {
                try engine.register(signature) { (a: Int) in a }
            }
        }
    }

    @Test func `errors pass through Lua unchanged`() async throws {
        try engine.register("refuse(what)") { (what: String) -> Int in throw Refused(what: what) }
        try engine.register("fail") { () -> Int in
            throw ScriptFunctionError("no_money", "too little")
        }
        let refused = await failure(engine, "local function f() refuse 'it' end f()", named: "game")
        #expect(refused?.underlying as? Refused == Refused(what: "it"))
        #expect(refused?.message == "game:1: Refused(what: \"it\")")
        #expect(refused?.traceback?.contains("game:1: in") == true)
        let code: String = try await engine.run(
            "local ok, e = pcall(fail) return e.code .. ' ' .. e.message")
        #expect(code == "no_money too little")
        #expect(await failure(engine, "fail()")?.code == "no_money")
        #expect(await failure(engine, "error { code = 'own' }")?.code == "own")
        #expect(await failure(engine, "return +")?.code == "syntax")
        #expect(await failure(engine, "local x = nil + 1")?.code == "error")
        #expect(await failure(engine, "moonpool.open(1)")?.code == "invalid_argument")
    }

    @Test func `timers run while an async function is awaited`() async throws {
        let open = Flag()
        try engine.register("fetch(name)") { (name: String) async throws -> String in
            while !open.isSet { await pause() }
            return name + "!"
        }
        try engine.register("open") { open.set() }
        let text: String = try await engine.run(
            "moonpool.after(0, open) return fetch 'rex' .. fetch 'max'")
        #expect(text == "rex!max!")
    }

    @Test func `an error of an async function is raised at its call`() async throws {
        try engine.register("fetch") { () async throws -> Int in
            await Task.yield()
            throw Refused(what: "net")
        }
        #expect(await failure(engine, "fetch()")?.underlying as? Refused == Refused(what: "net"))
        #expect(try await engine.run("return (pcall(fetch))") == false)
        #expect(
            try await engine.run("return coroutine.wrap(function() return (pcall(fetch)) end)()")
                == false)
    }

    @Test(arguments: [
        "pcall(wait)", "begin() \(LuaLoop.endless)", "pcall(wait) \(LuaLoop.endless)",
    ])
    func `a stop ends the running script and cancels its wait`(_ code: String) async throws {
        let began = Flag()
        let canceled = Flag()
        try engine.register("wait") { () async throws in
            began.set()
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                canceled.set()
                throw error
            }
        }
        try engine.register("begin") { began.set() }
        let run = Task { await failure(engine, code) }
        while !began.isSet { await pause() }
        engine.stop()
        #expect(await run.value?.code == "interrupted")
        if code.contains("wait") {
            while !canceled.isSet { await pause() }
        }
        #expect(try await engine.run("return 1") == 1)
    }

    @Test func `every run of a canceled task throws CancellationError`() async throws {
        let began = Flag()
        try engine.register("begin") { began.set() }
        let run = Task { try await engine.run("begin() \(LuaLoop.endless)") }
        while !began.isSet { await pause() }
        let second = Task { try await engine.run("never()") }
        second.cancel()
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(try await engine.run("return 1") == 1)
    }

    @Test func `limits apply to each run separately`() async throws {
        let engine = try ScriptEngine(
            .sandboxed(
                limits: ScriptLimits(
                    memory: 8 << 20, time: .milliseconds(100), instructions: 10_000_000)))
        for code in [
            "while true do pcall(function() while true do end end) end",
            "local t = {} while true do t[#t + 1] = {} end", "moonpool.sleep(1000)",
        ] {
            #expect(await failure(engine, code)?.code == "limit_exceeded", "\(code)")
            #expect(try await engine.run("return 1") == 1)
        }
    }

    @Test func `an engine at its memory limit continues, and closes in order`() async throws {
        let other = try ScriptEngine(.sandboxed)
        let engine = try ScriptEngine(.sandboxed(limits: ScriptLimits(memory: 16 << 20)))
        try await engine.run(
            """
            store = moonpool.open {
              in_memory = 'x', schema = { A = { a = 'int', s = { type = 'string', indexed = true } } },
            }
            s = ('x'):rep(1000)
            token = store:objects('A'):observe(function() calls = (calls or 0) + 1 end)
            timer = moonpool.every(3600, function() end)
            """)
        for code in [
            "kept = {} while true do kept[#kept + 1] = ('x'):rep(1000) .. #kept end",
            "store:write(function() while true do store:create('A', { a = 1, s = s }) end end)",
            "kept = {} while true do kept[#kept + 1] = store:objects('A'):where('a == ' .. #kept) end",
            "kept = {} while true do kept[#kept + 1] = store:objects('A'):observe(function() end) end",
        ] {
            #expect(await failure(engine, code)?.code == "limit_exceeded", "\(code)")
            try await engine.run("kept = nil collectgarbage()")
        }
        await engine.close()
        #expect(try await other.run("return 1") == 1)
    }

    @Test func `Swift classes are Lua classes`() async throws {
        try engine.register(Counter.self)
        let counter = Counter(5)
        try engine.set("app.counter", to: counter)
        let results: [Int] = try await engine.run(
            """
            local c = Counter(1)
            c:add(2)
            local d = Counter.new(10):plus(c)
            app.counter.count = app.counter.count + 1
            return { c.count, c.double, d.count, d:later(1), app.counter.count }
            """)
        #expect(results == [3, 6, 13, 14, 6])
        #expect(counter.count == 6)
        #expect(try await engine.run("return app.counter", as: Counter.self) === counter)
        for (code, message) in [
            ("Counter(-1)", "a counter begins at 0 or more"),
            ("Counter 'x'", "bad argument #1 'start' to 'Counter' (integer expected, got string)"),
            ("app.counter:add {}", "bad argument #1 'n' to 'add' (integer expected, got table)"),
            (
                "app.counter:plus(1)",
                "bad argument #1 'other' to 'plus' (Counter expected, got number)"
            ),
            (
                "app.counter.add(1)",
                "calling 'add' on bad self (Counter expected, got number; call it as x:add(…))"
            ),
            ("app.counter.count = 'x'", "'count': integer expected, got string"),
            ("app.counter.double = 1", "'double' of Counter cannot be set"),
            ("app.counter.coun = 1", "Counter has no member 'coun', did you mean 'count'?"),
        ] {
            let error = await failure(engine, code)
            #expect(error?.message.hasSuffix(message) == true, "\(String(describing: error))")
        }
    }

    @Test func `functions of Lua can be kept and called by Swift`() async throws {
        let kept = Mutex<ScriptFunction?>(nil)
        try engine.register("on_event(handler)") { (handler: ScriptFunction) in
            kept.withLock { $0 = handler }
        }
        try await engine.run("total = 0 on_event(function(n) total = total + n return total end)")
        let handler = try #require(kept.withLock { $0 })
        #expect(try await handler.call(2, as: Int.self) == 2)
        handler.post(3)
        #expect(try await engine.run("return total") == 5)
        #expect(try await engine.call("math.max", 1, 7, 3) == 7)
        await #expect(throws: ScriptFailure.self) { try await engine.call("nothing.there") }
        await engine.close()
        await #expect(throws: ScriptFailure.self) { try await handler.call(2, as: Int.self) }
    }

    @Test func `files run with arguments and their names`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("#!/usr/bin/env moonpool\nreturn (...) .. '!'", to: "a.lua")
        try folder.write("\n\nerror 'x'", to: "b.lua")
        #expect(try await engine.run(file: folder.path + "/a.lua", arguments: ["hi"]) == "hi!")
        await #expect {
            try await engine.run(file: folder.path + "/b.lua")
        } throws: {
            "\($0)" == "\(folder.path)/b.lua:3: x"
        }
        await #expect(throws: ScriptFailure.self) { try await engine.run(file: "/nowhere.lua") }
    }

    @Test func `the host opens a store for scripts that cannot open files`() async throws {
        let folder = try TemporaryFolder()
        try await engine.open(.file(folder.path + "/zoo.moonpool"))
        let count: Int = try await engine.run(
            """
            store:define { Dog = { name = "string" } }
            store:write(function() store:create("Dog", { name = "Rex" }) end)
            return #store:objects "Dog"
            """)
        #expect(count == 1)
        #expect(
            await failure(engine, "moonpool.open(store.path .. '2')")?.code == "invalid_argument")
    }

    @Test func `print writes to the host's output`() async throws {
        let lines = Mutex<[String]>([])
        var configuration = ScriptConfiguration.sandboxed
        configuration.output = { line in lines.withLock { $0.append(line) } }
        let engine = try ScriptEngine(configuration)
        try await engine.run("print('a', 1, nil) print()")
        #expect(lines.withLock { $0 } == ["a\t1\tnil\n", "\n"])
    }

    @Test func `all runs of many tasks end, and later ones throw`() async throws {
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...200 {
                group.addTask { try await engine.run("return \(number)") }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 20_100)
        let waiting = Task { await failure(engine, "moonpool.sleep(1000)") }
        await engine.close()
        #expect(["interrupted", "closed"].contains(await waiting.value?.code))
        #expect(await failure(engine, "return 1")?.code == "closed")
    }

    @Test(arguments: ["moonpool.sleep(1000)", "return moonpool.sleep(1000)"])
    func `a run that waits at the end of its engine throws`(wait: String) async throws {
        for threads in [nil, ScriptThreads(count: 1)] {
            let engine = try ScriptEngine(.sandboxed(limits: .none), on: threads)
            let begun = Flag()
            try engine.register("begin") { begun.set() }
            let run = Task { await failure(engine, "begin() \(wait)") }
            while !begun.isSet { await pause() }
            await engine.close()
            #expect(["interrupted", "closed"].contains(await run.value?.code))
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `the end of an engine does not wait for runs that have not begun`() async throws {
        for _ in 0..<20 {
            let engine = try ScriptEngine(.sandboxed(limits: .none))
            let begun = Flag()
            try engine.register("begin") { begun.set() }
            let runs = (0..<3).map { _ in
                Task { await failure(engine, "begin() \(LuaLoop.endless)") }
            }
            while !begun.isSet { await pause() }
            await engine.close()
            for run in runs {
                #expect(["interrupted", "closed"].contains(await run.value?.code))
            }
        }
    }
}
