import EventLoops
import MoonpoolScripting
import Synchronization
import SystemCalls
import TestThreads
import Testing

private struct Purchase: Model {
    var id = 0
    var total = 0
    static let options = ModelOptions<Purchase>(primaryKey: \.id)
}
private struct Refused: Error {}

@Suite struct ScriptThreadsTests {
    @Test func `a hundred engines share two threads and keep their own globals`() async throws {
        let threads = ScriptThreads()
        let engines = try (0..<100).map { _ in try ScriptEngine(.sandboxed, on: threads) }
        #expect(threads.engineCount == 100)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, engine) in engines.enumerated() {
                group.addTask {
                    try await engine.run("n = \(number)")
                    #expect(try await engine.run("return n", as: Int.self) == number)
                }
            }
            try await group.waitForAll()
        }
        for engine in engines { await engine.close() }
        #expect(threads.engineCount == 0)
        await #expect(throws: ScriptFailure.self) { try await engines[0].run("return 1") }
    }

    @Test(arguments: [true, false])
    func `an idle engine uses less than 250 KiB`(isSandboxed: Bool) async throws {
        // Runs in its own process, because the allocations of other tests would count.
        await #expect(processExitsWith: .success) {
            [isSandboxed = isSandboxed as Bool] in
            let configuration = isSandboxed ? .sandboxed : ScriptConfiguration()
            let threads = ScriptThreads()
            func engine() async throws -> ScriptEngine {
                let engine = try ScriptEngine(configuration, on: threads)
                try await engine.run("return 1")
                return engine
            }
            var engines = [try await engine()]
            let before = try #require(ProcessServices.anonymousMemory)
            while engines.count <= 100 { engines.append(try await engine()) }
            let after = try #require(ProcessServices.anonymousMemory)
            #expect((after - before) / 100 < 250 << 10)
            for engine in engines { await engine.close() }
        }
    }

    @Test func `a limit stops the engine that reaches it, not its neighbor`() async throws {
        let threads = ScriptThreads(count: 1)
        let limits = ScriptLimits(memory: 64 << 20, time: .seconds(1))
        let endless = try ScriptEngine(.sandboxed(limits: limits), on: threads)
        let neighbor = try ScriptEngine(.sandboxed, on: threads)
        try await neighbor.run("count = 1")
        do {
            try await endless.run(LuaLoop.endless)
            Issue.record("the run ended by itself")
        } catch let failure as ScriptFailure {
            #expect(failure.code == "limit_exceeded")
        }
        #expect(try await neighbor.run("count = count + 1 return count", as: Int.self) == 2)
        #expect(try await endless.run("return 7", as: Int.self) == 7)
        await endless.close()
        await neighbor.close()
    }

    @Test func `closing an engine ends its runs, timers and observers`() async throws {
        let threads = ScriptThreads(count: 1)
        let calls = Mutex<[String]>([])
        func engine(_ name: String) async throws -> ScriptEngine {
            let engine = try ScriptEngine(.sandboxed(limits: .none), on: threads)
            try engine.register("note(text)") { (text: String) in
                calls.withLock { $0.append("\(name) \(text)") }
            }
            try await engine.open(.memory("orders"), models: Purchase.self)
            try await engine.run(
                """
                token = store:objects("Purchase"):observe(function(c)
                  if c.type == "update" then note("order") end
                end)
                moonpool.every(0.001, function() ticks = (ticks or 0) + 1 end)
                """)
            return engine
        }
        let first = try await engine("first")
        let second = try await engine("second")
        let running = Task { try await first.run(LuaLoop.endless) }
        await first.close()
        await #expect(throws: (any Error).self) { try await running.value }
        try await second.run("store:write(function() store:create('Purchase', { id = 1 }) end)")
        #expect(try await eventually { calls.withLock { !$0.isEmpty } })
        #expect(calls.withLock { $0 } == ["second order"])
        // A sleep is stopped too, and the thread serves the other scripts.
        let sleeping = Task { try await second.run("note('sleeps') moonpool.sleep(3600)") }
        #expect(try await eventually { calls.withLock { $0.count == 2 } })
        await second.close()
        await #expect(throws: (any Error).self) { try await sleeping.value }
        #expect(threads.engineCount == 0)
    }

    @Test func `engines of one thread use one file`() async throws {
        let folder = try TemporaryFolder()
        let threads = ScriptThreads(count: 1)
        let path = folder.file("orders.moonpool")
        let engines = try (0..<3).map { _ in try ScriptEngine(.sandboxed, on: threads) }
        for (number, engine) in engines.enumerated() {
            try await engine.open(.file(path), models: Purchase.self)
            try await engine.run(
                "store:write(function() store:create('Purchase', { id = \(number) }) end)")
        }
        for engine in engines {
            try await engine.run("store:refresh()")
            #expect(try await engine.run("return #store:objects 'Purchase'", as: Int.self) == 3)
        }
        await engines[0].close()
        #expect(try await engines[1].run("return #store:objects 'Purchase'", as: Int.self) == 3)
        for engine in engines { await engine.close() }
    }

    @Test func `the scripts that wait at once on a thread have a limit`() async throws {
        let threads = ScriptThreads(count: 1, maxWaits: 20)
        let engines = try (0..<40).map { _ in
            try ScriptEngine(.sandboxed(limits: .none), on: threads)
        }
        let opened = Flag()
        for engine in engines {
            try engine.register("opened") { () in opened.isSet }
        }
        let answers = await withTaskGroup(of: String.self) { group in
            for engine in engines {
                group.addTask {
                    do {
                        try await engine.run("moonpool.wait_until(opened)")
                        return "waited"
                    } catch let failure as ScriptFailure {
                        opened.set()
                        return failure.code.rawValue
                    } catch { return "\(error)" }
                }
            }
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(answers == ["waited", "limit_exceeded"])
        for engine in engines { await engine.close() }
    }
}

@Suite struct ScriptEnginePoolTests {
    @Test func `a key has one engine, prepared once`() async throws {
        let prepared = Mutex<[Int]>([])
        let pool = ScriptEnginePool<Int>(state: { $0 * 10 }) { engine, key in
            prepared.withLock { $0.append(key) }
            try engine.register("number()") { (call: ScriptCall<Int>) in call.state }
        }
        let numbers = try await withThrowingTaskGroup(of: Int.self) { group in
            for use in 0..<20 {
                group.addTask {
                    try await pool.withEngine(for: use % 4) {
                        try await $0.run("n = (n or 0) + 1 return number() + n", as: Int.self)
                    }
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(numbers.count == 20 && numbers.max() == 35)
        #expect(prepared.withLock { $0.sorted() } == [0, 1, 2, 3])
        #expect(pool.count == 4)
        await pool.close(2)
        #expect(pool.count == 3)
        await pool.close()
        await #expect(throws: ScriptFailure.self) { try await pool.withEngine(for: 1) { _ in } }
    }

    @Test func `the minimum recently used engines are closed`() async throws {
        let pool = ScriptEnginePool<String>(idleLimit: 2)
        for key in ["a", "b", "c", "a", "d"] {
            try await pool.withEngine(for: key) { try await $0.run("n = (n or 0) + 1") }
        }
        #expect(pool.count == 2)
        let kept = try await pool.withEngine(for: "d") {
            try await $0.run("return n", as: Int.self)
        }
        #expect(kept == 1)
        await pool.close()
    }

    @Test func `preparing an engine again is possible after a failure`() async throws {
        let tries = Mutex(0)
        let pool = ScriptEnginePool<Int> { _, _ in
            let number = tries.withLock { tries in
                tries += 1
                return tries
            }
            if number == 1 { throw Refused() }
        }
        await #expect(throws: Refused.self) { try await pool.withEngine(for: 1) { _ in } }
        try await pool.withEngine(for: 1) { try await $0.run("return 1") }
        #expect(tries.withLock { $0 } == 2)
        await pool.close()
    }
}
