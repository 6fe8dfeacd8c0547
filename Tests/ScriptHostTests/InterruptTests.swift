import Glibc
import LuaHost
import ScriptHost
import TestThreads
import Testing

@Suite struct InterruptTests {
    @Test(arguments: [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "coroutine.wrap(function() while true do end end)()",
        "while true do pcall(coroutine.wrap(function() while true do end end)) end",
        "moonpool.sleep(3600)",
        "while true do pcall(moonpool.sleep, 3600) end",
        "while true do moonpool.sleep(0.0001) end",
        "moonpool.wait_until(function() return false end)",
        "local t <close> = setmetatable({}, {__close = function() while true do end end}) while true do end",
    ])
    func `an interrupt stops the main part in any state, with code 130`(code: String) throws {
        let script = try ScriptFixture("log 'ready' \(code) log 'never'")
        #expect(script.logs("ready"))
        // The code may not have reached its loop yet, so a request that finds no running code is repeated.
        #expect(eventually { script.script.interrupt() })
        #expect(script.finish() == 130)
        #expect(!script.log.contains("never"))
    }

    /// Thirty objects, each of which links to all others: the number of results of such a long path is practically
    /// unlimited.
    private static var nodes: String {
        """
        local store = moonpool.open {
          in_memory = "\(freshName())", schema = { Node = { text = "string", l = "Node[]" } },
        }
        local all = store:objects "Node"
        store:write(function()
          local nodes = {}
          for i = 1, 30 do nodes[i] = store:create("Node", { text = ("a"):rep(300000) }) end
          for _, node in ipairs(nodes) do node.l = nodes end
        end)

        """
    }

    @Test(arguments: [
        "local _ = #all:where 'l.l.l.l.l.l.l.l.@count > 0'",
        "local _ = all:where('any l.l.l.l.l.l.l.l.text == $1', 'b'):first()",
        "local _ = all:where('all l.l.l.l.l.l.l.l.text == l.l.l.l.l.l.l.l.text'):to_table()",
        "local _ = all:where('subquery(l, $n, $n.l.l.l.l.l.l.l.@count > 3).@count > 2'):to_table()",
        "local _ = #all:where('text like $1', '*' .. ('a'):rep(150000) .. 'b*')",
        "local _ = #all:where('text contains[c] $1', ('a'):rep(150000) .. 'b')",
        "local _ = all:where('l.l.l.l.l.l.l.l.@count > 0'):observe(print) moonpool.wait_until(function() end)",
        "local long = all:where 'l.l.l.l.l.l.l.l.@count > 0' while true do pcall(long.first, long) end",
    ])
    func `an interrupt stops the evaluation of a query that would never end`(code: String) throws {
        let script = try ScriptFixture(Self.nodes + "log 'ready' \(code) log 'never'")
        #expect(script.logs("ready"))
        #expect(eventually { script.script.interrupt() })
        #expect(script.finish() == 130)
        #expect(!script.log.contains("never"))
    }

    @Test func `an interrupt discards the results of a stopped query`() throws {
        let script = try ScriptFixture(
            Self.nodes + """
                local long = all:where "l.l.l.l.l.l.l.l.@count > 0"
                log "ready"
                assert(not pcall(function() return #long end))
                log(#all .. " " .. #all:where "l.@count == 30")
                """)
        #expect(script.logs("ready"))
        #expect(eventually { script.script.interrupt() })
        #expect(script.finish() == 0)
        #expect(script.log.last == "30 30")
    }

    @Test func `an interrupt stops a timer's function and ends the script`() throws {
        let script = try ScriptFixture(
            "moonpool.after(0, function() log 'ready' while true do pcall(error) end end)")
        script.expectInterrupt(at: "ready")
        #expect(script.reports.isEmpty)
    }

    @Test func `an interrupt ends a script that waits for events`() throws {
        let script = try ScriptFixture("moonpool.after(3600, log) log 'ready'")
        script.expectInterrupt(at: "ready")
    }

    @Test func `an interrupt stops only the running code of an interactive script`() throws {
        let script = try ScriptFixture("log 'ready'", isInteractive: true)
        #expect(script.logs("ready"))
        let outcome = Flag()
        script.script.post { context in
            do {
                _ = try context.entry { () throws in
                    try context.state.run("log 'busy' while true do pcall(error) end")
                }
            } catch let error as LuaError where error.kind == .interrupted {
                outcome.set()
            } catch {}
        }
        #expect(script.logs("busy"))
        script.script.interrupt()
        #expect(eventually { outcome.isSet })
        #expect(!script.script.interrupt())
        script.script.post { context in _ = try? context.state.run("log 'alive'") }
        #expect(script.logs("alive"))
        script.script.finish(status: 2)
        #expect(script.finish() == 2)
    }

    @Test(arguments: [
        "w:join()", "moonpool.sleep(3600)", "moonpool.wait_until(function() return false end)",
        "local uv = require 'luv' uv.new_timer():start(3600000, 0, log) uv.run()",
    ])
    func `a stopped wait does not return, even with a late signal`(wait: String) throws {
        let script = try ScriptFixture(
            """
            local w = moonpool.worker("idle", function() moonpool.on_message(print) end)
            log "waiting"
            \(wait)
            log "not reached"
            """)
        #expect(script.logs("waiting"))
        let isDeaf = Flag()
        script.script.post { _ in
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGURG)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            isDeaf.set()
        }
        #expect(eventually { isDeaf.isSet })
        script.script.interrupt()
        #expect(script.finish() == 130)
        #expect(!script.log.contains("not reached"))
        let traceback = script.traceback ?? ""
        #expect(traceback.contains("script:3: in main chunk"), "\(traceback)")
        #expect(!traceback.contains("moonpool:1"), "\(traceback)")
    }
}
