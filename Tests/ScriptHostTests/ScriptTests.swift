import EventLoops
import LuaHost
import ScriptHost
import Synchronization
import TestThreads
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct ScriptTests {
    @Test func `any number of threads can wait for its end`() throws {
        let script = try Script(ScriptConfiguration(name: "waited")) { _ in 0 }
        let keepingAlive = try Script(ScriptConfiguration(name: "busy")) { context in
            try context.state.load("moonpool.sleep(3600)", name: "=busy").call([])
            return 0
        }
        #expect(script.wait() == 0 && script.wait() == 0)
        let statuses = Mutex<[Int32]>([])
        let threads = (0..<4).map { _ in
            RunningThread {
                let status = keepingAlive.wait()
                statuses.withLock { $0.append(status) }
            }
        }
        keepingAlive.finish(status: 7)
        for thread in threads { thread.wait() }
        #expect(statuses.withLock { $0 } == [7, 7, 7, 7])
    }

    @Test func `a script has a thread named after itself and a uuid`() throws {
        let script = try ScriptFixture("")
        let name = script.script.name
        #expect(name.hasPrefix("test-"))
        #expect(name.count == "test-".count + 36)
        #expect(script.finish() == 0)
    }

    @Test func `a script whose main part fails ends with code 1, despite timers`() throws {
        try expectScript(
            "moonpool.after(3600, log) error('broken', 0)", status: 1, logs: ["error: broken"])
    }

    @Test func `a script lives as long as a timer is pending`() throws {
        try expectScript(
            """
            local count = 0
            local timer
            timer = moonpool.every(0.001, function()
                count = count + 1
                log(count)
                if count == 3 then timer:cancel() log(timer.is_active) end
            end)
            log(timer.is_active)
            """, logs: ["true", "1", "2", "3", "false"])
    }

    @Test func `a script calls timers by its configured clock`() throws {
        let clock = ManualClock()
        let script = try ScriptFixture(
            """
            moonpool.after(60, function() log 'minute' end)
            moonpool.after(3600, function() log 'hour' end)
            log 'ready'
            """, clock: clock)
        #expect(script.logs("ready"))
        #expect(
            eventually {
                clock.advance(by: .seconds(1)); return script.log.contains("minute")
            })
        #expect(!script.log.contains("hour"))
        clock.advance(by: .seconds(7200))
        #expect(script.finish() == 0)
        #expect(script.log == ["ready", "minute", "hour"])
    }

    @Test func `a script sleeps while its timers run`() throws {
        try expectScript(
            """
            moonpool.after(0, function() log 'timer' end)
            moonpool.sleep(0.02)
            log 'awake'
            """, logs: ["timer", "awake"])
    }

    @Test func `a script waits until a condition is true or the time limit is reached`() throws {
        try expectScript(
            """
            local done = false
            moonpool.after(0.01, function() done = true end)
            log(moonpool.wait_until(function() return done end))
            log(moonpool.wait_until(function() return false end, 0.01))
            log(select(2, pcall(moonpool.wait_until, function() error('in condition', 0) end)))
            """, logs: ["true", "false", "in condition"])
    }

    @Test func `a script stops its loop on request, with timers pending`() throws {
        try expectScript(
            "moonpool.every(3600, log) moonpool.after(0, function() moonpool.stop() end)")
    }

    @Test(arguments: [
        ("os.exit(7)", Int32(7)), ("os.exit(true)", 0), ("os.exit(false)", 1), ("os.exit()", 0),
        ("pcall(os.exit, 3) log 'never'", 3),
        ("coroutine.wrap(function() os.exit(4) end)() log 'never'", 4),
        ("moonpool.after(0, function() os.exit(5) end) moonpool.every(3600, log)", 5),
        ("moonpool.after(0, function() os.exit(6) end) moonpool.sleep(3600) log 'never'", 6),
    ])
    func `os.exit ends a script immediately with its status`(source: String, status: Int32) throws {
        let script = try expectScript(source, status: status)
        #expect(!script.log.contains("never"))
    }

    @Test func `a script reports an error of a timer and continues to code 1`() throws {
        let script = try expectScript(
            """
            moonpool.after(0, function() error 'broken' end)
            moonpool.after(0.005, function() log 'later' end)
            """, status: 1, logs: ["later"])
        #expect(script.reports.map(\.source) == ["timer (script:1)"])
        #expect(script.reports.map(\.message) == ["script:1: broken"])
        #expect(script.reports.first?.traceback?.hasPrefix("stack traceback:") == true)
    }

    @Test func `a script passes errors of timers to moonpool.on_error`() throws {
        let script = try expectScript(
            """
            moonpool.on_error = function(err, token) log(err) log(token) end
            moonpool.after(0, function() error('broken', 0) end)
            """, logs: ["broken", "nil"])
        #expect(script.reports.isEmpty)
    }

    @Test func `a script reports the message of a full C stack in its timers`() throws {
        let script = try expectScript(
            "local function again() moonpool.after(0, again) moonpool.sleep(0.001) end again()",
            status: 1)
        #expect(script.reports.first?.message == "C stack overflow")
    }

    @Test func `a script reports an invalid or failing on_error, and the error`() throws {
        let fail = "moonpool.after(0, function() error('broken', 0) end)"
        let invalid = try expectScript("moonpool.on_error = 5 \(fail)", status: 1)
        #expect(
            invalid.reports.map(\.message) == [
                "broken",
                "expected a function(err, token) or nil, got a number (type_mismatch)",
            ])
        #expect(invalid.reports.last?.source == "moonpool.on_error")
        let failing = try expectScript(
            "moonpool.on_error = function() error('second', 0) end \(fail)", status: 1)
        #expect(failing.reports.map(\.message) == ["broken", "second"])
    }

    @Test func `a script refuses invalid times`() throws {
        try expectScript(
            """
            for _, call in ipairs { { moonpool.after, -1 }, { moonpool.after, 0 / 0 }, { moonpool.sleep, "1" } } do
                log(select(2, pcall(call[1], call[2], log)).code)
            end
            """, logs: Array(repeating: "invalid_argument", count: 3))
    }

    @Test func `a script runs posted jobs between callbacks, and none after its end`() throws {
        let script = try ScriptFixture("moonpool.every(0.001, function() end)")
        let flag = Flag()
        script.script.post { context in
            flag.set()
            context.exit(status: 9)
        }
        #expect(script.finish() == 9)
        #expect(flag.isSet)
        #expect(!script.script.post { _ in })
    }

    @Test func `a script shows the lines around an error`() throws {
        let folder = try Folder()
        try folder.write("moonpool.after(0, function()\n  local t\n  t.x = 1\nend)\n", to: "a.lua")
        let script = try expectScript("dofile('\(folder.path)/a.lua')", status: 1)
        #expect(
            script.reports.first?.excerpt == "    2 |   local t\n  > 3 |   t.x = 1\n    4 | end)")
    }
}
