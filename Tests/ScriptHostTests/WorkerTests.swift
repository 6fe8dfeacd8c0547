import EventLoops
import ScriptHost
import Testing

/// Workers: their lifetime, their messages, and the handling of their errors.
@Suite struct WorkerTests {
    /// The body of an infinite loop. It is empty, but under the thread sanitizer, which delays signals until a call of
    /// the C library, it copies a text.
    #if SANITIZER
        private let work = "local text = ('x'):rep(100)"
    #else
        private let work = ""
    #endif

    @Test func `a worker runs a function with arguments on its own thread and ends`() throws {
        let script = try expectScript(
            """
            local w = moonpool.worker("adder", function(a, b) moonpool.post_to_parent(a + b) end, 2, 3)
            log(w.name:match("^adder%-%x+%-%x+%-%x+%-%x+%-%x+$") ~= nil)
            w:on_message(function(sum) log("sum " .. sum) end)
            log(w:join())
            log(w:is_running())
            log(tostring(w):match("^worker adder%-.* %(ended%)$") ~= nil)
            """, logs: ["true", "sum 5", "true", "false", "true"])
        #expect(script.reports.isEmpty)
    }

    @Test func `a worker exchanges messages in order until it is stopped`() throws {
        try expectScript(
            """
            local w = moonpool.worker("echo", function()
                moonpool.on_message(function(n) moonpool.post_to_parent(n * 10) end)
            end)
            w:on_message(function(n)
                log(n)
                if n == 30 then w:stop() end
            end)
            for i = 1, 3 do log(w:post(i)) end
            """, logs: ["true", "true", "true", "10", "20", "30"])
    }

    @Test func `a worker handles messages that were posted before a stop`() throws {
        try expectScript(
            """
            local w = moonpool.worker("late", function()
                moonpool.on_message(function(n) moonpool.post_to_parent(n) end)
            end)
            moonpool.on_message(log)
            for i = 1, 5 do w:post(i) end
            w:stop()
            log(w:join())
            log(w:post(6))
            """, logs: ["1", "2", "3", "4", "5", "true", "false"])
    }

    @Test func `a worker lets sleeping handlers finish before it is stopped`() throws {
        let script = try expectScript(
            """
            local ready = 0
            moonpool.on_message(function(n) if n == "ready" then ready = ready + 1 else log(n) end end)
            local function stop(name, code)
                local w = moonpool.worker(name, code)
                for i = 1, 3 do w:post(i) end
                moonpool.wait_until(function() return ready > 0 end)
                ready = 0
                w:stop()
                log(name .. " " .. tostring(w:join()))
            end
            stop("sleep", function()
                moonpool.on_message(function(n)
                    if n == 1 then moonpool.post_to_parent("ready") end
                    moonpool.sleep(3600)
                    moonpool.post_to_parent(n)
                end)
            end)
            stop("wait", function()
                moonpool.on_message(function(n)
                    if n == 1 then moonpool.post_to_parent("ready") end
                    local met = moonpool.wait_until(function() return false end)
                    moonpool.post_to_parent(n .. tostring(met))
                end)
            end)
            stop("main", function()
                local t <close> = setmetatable({}, { __close = function() moonpool.post_to_parent("closed") end })
                moonpool.post_to_parent("ready")
                moonpool.sleep(3600)
                moonpool.post_to_parent("after")
            end)
            """,
            logs: [
                "1", "2", "3", "sleep true", "1false", "2false", "3false", "wait true", "after",
                "closed", "main true",
            ])
        #expect(script.reports.isEmpty)
    }

    @Test func `a handler that sleeps again when the worker ends is stopped`() throws {
        let script = try expectScript(
            """
            local w = moonpool.worker("poll", function()
                moonpool.post_to_parent("ready")
                while true do moonpool.sleep(3600) pcall(moonpool.sleep, 3600) end
            end)
            local ready = false
            w:on_message(function() ready = true end)
            moonpool.wait_until(function() return ready end)
            w:stop()
            log(w:join())
            """, logs: ["true"])
        #expect(script.reports.isEmpty)
    }

    @Test func `a worker keeps messages until a handler, which a later one replaces`() throws {
        try expectScript(
            """
            local w = moonpool.worker("early", function()
                moonpool.post_to_parent(1)
                moonpool.post_to_parent(2)
                moonpool.post_to_parent(3)
            end)
            w:join()
            moonpool.on_message(function(n)
                log("first " .. n)
                w:on_message(function(n) log("own " .. n) end)
            end)
            """, logs: ["first 1", "own 2", "own 3"])
    }

    @Test func `a worker reports unhandled messages at its end`() throws {
        let script = try expectScript(
            "moonpool.worker('chatty', function() moonpool.post_to_parent(1) end)")
        #expect(
            script.reports.map(\.message) == [
                "1 message from 'chatty' had no handler; set one with w:on_message or moonpool.on_message"
            ])
    }

    @Test func `a worker does not call a handler again while it sleeps`() throws {
        try expectScript(
            """
            local w = moonpool.worker("two", function() moonpool.post_to_parent(1) moonpool.post_to_parent(2) end)
            w:on_message(function(n) log("begin " .. n) moonpool.sleep(0.02) log("end " .. n) end)
            """, logs: ["begin 1", "end 1", "begin 2", "end 2"])
    }

    @Test func `a worker refuses a function that captures a local, with its name`() throws {
        try expectScript(
            """
            local count = 0
            log(select(2, pcall(moonpool.worker, "w", function() count = count + 1 end)).message)
            log(select(2, pcall(moonpool.worker, "w", function()
                return function() return count end
            end)).code)
            log(select(2, pcall(moonpool.worker, "w", print)).message)
            local mp <const>, other = require "moonpool", nil
            moonpool.on_message(log)
            local w = moonpool.worker("fine", function()
                local function inner() return mp == require "moonpool" and mp == moonpool end
                mp.post_to_parent(inner() and math.max(1, 2))
            end)
            log(w:join())
            """,
            logs: [
                "the function of worker 'w' uses the local 'count' of the enclosing code, which another thread "
                    + "cannot access; pass it as an argument, or create it inside the function",
                "invalid_argument",
                "the function of worker 'w' is not written in Lua; wrap it in function() … end to use it on "
                    + "another thread", "2", "true",
            ])
    }

    @Test func `a worker refuses invalid names and code immediately`() throws {
        let script = try expectScript(
            """
            for _, arguments in ipairs { {}, { 1 }, { "" }, { "a\\nb", function() end }, { "w" }, { "w", 42 } } do
                local ok, err = pcall(moonpool.worker, table.unpack(arguments))
                log(ok or err.code)
            end
            """)
        #expect(script.log == Array(repeating: "invalid_argument", count: 6))
    }

    @Test func `a worker runs a file with arguments, and reports its errors immediately`() throws {
        let folder = try Folder()
        try folder.write("moonpool.post_to_parent(select('#', ...), ...)", to: "job.lua")
        try folder.write("this is not Lua", to: "broken.lua")
        try expectScript(
            """
            moonpool.on_message(function(...) log(table.concat({ ... }, " ")) end)
            moonpool.worker("job", "\(folder.path)/job.lua", "a", 2):join()
            log(select(2, pcall(moonpool.worker, "gone", "\(folder.path)/gone.lua")).message)
            log(select(2, pcall(moonpool.worker, "broken", "\(folder.path)/broken.lua")).message)
            """,
            logs: [
                "2 a 2", "cannot open \(folder.path)/gone.lua: No such file or directory",
                "\(folder.path)/broken.lua:1: syntax error near 'is'",
            ])
    }

    @Test func `a worker's error in its main part ends the parent with code 1`() throws {
        let script = try expectScript(
            """
            local w = moonpool.worker("bad", function() error "broken" end)
            local ok, message = w:join()
            log(ok) log(message)
            """, status: 1, logs: ["false", "script:1: broken"])
        #expect(script.reports.map(\.source) == ["worker 'bad'"])
        #expect(script.reports.first?.message == "script:1: broken")
        #expect(
            script.reports.first?.traceback?.contains("script:1: in function <script:1>") == true)
    }

    @Test func `a worker reports errors of timers and handlers, and continues`() throws {
        let script = try expectScript(
            """
            local w = moonpool.worker("bad", function()
                moonpool.after(0, function() error "in timer" end)
                moonpool.on_message(function(n) moonpool.post_to_parent(n) error { code = 7 } end)
            end)
            w:on_message(function(n) log(n) if n == 2 then w:stop() end end)
            w:post(1) w:post(2)
            """, status: 1, logs: ["1", "2"])
        #expect(
            Set(script.reports.map(\.source)) == [
                "worker 'bad', timer (script:2)", "worker 'bad', the message handler",
            ])
    }

    @Test func `a worker passes its errors to on_error, its own or its parent's`() throws {
        try expectScript(
            """
            moonpool.on_error = function(err, token)
                log(type(err) == "userdata" and err.code or type(err) == "table" and err.key or err)
                log(tostring(token))
            end
            moonpool.worker("a", function() error { key = "value" } end):join()
            moonpool.worker("b", function() moonpool.open {} end):join()
            moonpool.on_message(log)
            moonpool.worker("c", function()
                moonpool.on_error = function(err) moonpool.post_to_parent("own " .. err) end
                moonpool.after(0, function() error("in timer", 0) end)
            end):join()
            """, logs: ["value", "nil", "invalid_argument", "nil", "own in timer"])
    }

    @Test func `a worker ends with its parent in any state`() throws {
        let script = try expectScript(
            """
            moonpool.worker("busy", function() while true do \(work) end end)
            moonpool.worker("deaf", function() while true do pcall(function() while true do \(work) end end) end end)
            moonpool.worker("asleep", function() moonpool.sleep(3600) end)
            moonpool.worker("idle", function() moonpool.on_message(print) end)
            moonpool.worker("timer", function() moonpool.every(3600, print) end)
            os.exit(4)
            """, status: 4)
        #expect(script.reports.isEmpty)
    }

    @Test func `an interrupt of the script stops the worker`() throws {
        let script = try ScriptFixture(
            """
            moonpool.worker("busy", function() while true do \(work) end end)
            log "ready"
            """)
        script.expectInterrupt(at: "ready")
    }

    @Test func `a worker can be stopped during its work after a grace period`() throws {
        let script = try expectScript(
            """
            local w = moonpool.worker("busy", function() while true do \(work) end end)
            log(select(2, w:join(0.01)))
            log(w:is_running())
            w:stop(0.01)
            log(w:join())
            w:stop() w:stop(0)
            local now = moonpool.worker("busy", function() while true do pcall(error) \(work) end end)
            now:stop(0)
            log(now:join())
            """, logs: ["still running", "true", "true", "true"])
        #expect(script.reports.isEmpty)
    }

    @Test func `a worker stops on time even if its script is busy`() throws {
        try expectScript(
            """
            local w = moonpool.worker("busy", function()
                moonpool.post_to_parent "begins"
                while true do \(work) end
            end)
            local begun
            w:on_message(function() begun = true end)
            moonpool.wait_until(function() return begun end)
            w:stop(0.01)
            for _ = 1, 2000 do w:stop(3600) end  -- no thread for each
            local deadline = os.time() + 60
            while w:is_running() and os.time() < deadline do end
            log(w:is_running())
            log(w:join())
            """, logs: ["false", "true"])
    }

    @Test func `a parent waits while its worker is in a native function`() throws {
        let script = try expectScript(
            """
            local w = moonpool.worker("native", function()
                local text = ("a"):rep(24)
                moonpool.post_to_parent "begin"
                text:find(("a?"):rep(20) .. ("a"):rep(24))
                local ok = text:find(("a*"):rep(5) .. "b")
                moonpool.post_to_parent "end"
            end)
            w:on_message(log)
            moonpool.wait_until(function() return not w:is_running() end, 0.01)
            w:stop(0)
            log(w:join())
            """)
        #expect(script.log.last == "true")
    }

    @Test func `waiting for a worker inside a write transaction is an error`() throws {
        try expectScript(
            """
            local store = moonpool.open { in_memory = "join in write", schema = { A = { n = "int" } } }
            local w = moonpool.worker("w", function() moonpool.on_message(print) end)
            log(select(2, pcall(function() store:write(function() w:join() end) end)).code)
            w:stop()
            """, logs: ["already_in_write"])
    }

    @Test func `a worker can start workers, which end with it`() throws {
        let script = try expectScript(
            """
            moonpool.on_message(log)
            moonpool.worker("outer", function()
                local inner = moonpool.worker("inner", function()
                    moonpool.worker("innermost", function() while true do \(work) end end)
                    moonpool.post_to_parent "from inner"
                    moonpool.sleep(3600)
                end)
                inner:on_message(function(text)
                    moonpool.post_to_parent("outer got it " .. text)
                    os.exit(0)
                end)
            end):join()
            moonpool.worker("failing", function()
                moonpool.worker("inner", function() error("deep", 0) end):join()
            end):join()
            """, status: 1, logs: ["outer got it from inner"])
        #expect(script.reports.map(\.source) == ["worker 'failing', worker 'inner'"])
        #expect(script.reports.map(\.message) == ["deep"])
    }

    @Test func `hundreds of workers run at the same time`() throws {
        try expectScript(
            """
            local sum, workers = 0, {}
            moonpool.on_message(function(n) sum = sum + n end)
            for i = 1, 200 do
                workers[i] = moonpool.worker("many", function(n) moonpool.post_to_parent(n) end, i)
            end
            for _, w in ipairs(workers) do w:join() end
            log(sum)
            """, logs: ["20100"])
    }

    @Test func `parent functions require a worker, and a worker cannot be sent`() throws {
        try expectScript(
            """
            log(select(2, pcall(moonpool.post_to_parent, 1)).code)
            local w = moonpool.worker("w", function() moonpool.on_message(print) end)
            log((select(2, pcall(w.post, w, w)).message:gsub("w%-[%x-]+", "w-uuid")))
            log(select(2, pcall(w.post, w, 1, { x = { print } })).message)
            w:stop()
            """,
            logs: [
                "invalid_argument",
                "argument 1: worker w-uuid (running) cannot be sent to another thread",
                "argument 2, field 'x', element 1: a function cannot be sent to another thread; only the worker's "
                    + "own function does",
            ])
    }

    @Test func `a worker searches modules like its parent, and has require 'moonpool'`() throws {
        let folder = try Folder()
        try folder.write("return { answer = 42 }", to: "helper.lua")
        try expectScript(
            """
            package.path = "\(folder.path)/?.lua;" .. package.path
            moonpool.on_message(log)
            moonpool.worker("w", function()
                moonpool.post_to_parent(require("helper").answer)
                moonpool.post_to_parent(require("moonpool") == moonpool)
            end)
            """, logs: ["42", "true"])
    }

    @Test func `a sandboxed script cannot start workers`() throws {
        try expectScript(
            "log(select(2, pcall(moonpool.worker, 'w', function() end)).message)",
            rights: .sandboxed, logs: ["this script is not allowed to start workers"])
    }

    @Test func `a worker has the limits of its parent, and reports a reached limit to it`() throws {
        let script = try ScriptFixture(
            """
            local w = moonpool.worker("w", function() while true do \(work) end end)
            log(select(2, w:join()))
            """, limits: ScriptLimits(time: .milliseconds(300)))
        #expect(script.finish() == 124 || script.log.first?.contains("time limit") == true)
    }

    @Test func `a limit that only a worker reaches ends its parent with code 124`() throws {
        let script = try expectScript(
            "moonpool.worker('w', function() while true do \(work) end end)",
            limits: ScriptLimits(time: .milliseconds(50)), status: 124)
        #expect(script.reports.count == 1)
    }

    @Test func `a worker runs commands, and receives their ends`() throws {
        try expectScript(
            """
            moonpool.on_message(log)
            moonpool.worker("w", function()
                moonpool.post_to_parent(os.execute())
                for _, command in ipairs { "true", "exit 3", "kill -9 $$" } do
                    moonpool.post_to_parent(table.concat({ tostring((os.execute(command))), select(2, os.execute(command)) }, " "))
                end
            end)
            """, logs: ["true", "true exit 0", "nil exit 3", "nil signal 9"])
    }
}
