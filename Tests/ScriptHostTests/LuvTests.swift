import EventLoops
import LuaHost
import ScriptHost
import Testing

/// The installed versions of luv.
enum Luv {
    static let isInstalled = (try? LuaState().run("require 'luv'")) != nil
}

/// `require "luv"` in a script: its handles live on the script's loop.
///
/// Needs the Debian package lua-luv, which `scripts/setup` installs.
@Suite(.enabled(if: Luv.isInstalled, "lua-luv is not installed"))
struct LuvTests {
    @Test func `an active handle keeps the script running, and is called between timers`() throws {
        let script = try expectScript(
            """
            local uv = require "luv"
            local timer, count = uv.new_timer(), 0
            timer:start(5, 5, function()
                count = count + 1
                log("luv " .. count)
                if count == 3 then timer:close() end
            end)
            moonpool.after(0, function() log "own" end)
            """)
        #expect(script.log.sorted() == ["luv 1", "luv 2", "luv 3", "own"])
    }

    @Test func `luv communicates with a server on loopback`() throws {
        try expectScript(
            """
            local uv = require "luv"
            local server = uv.new_tcp()
            server:bind("127.0.0.1", 0)
            server:listen(8, function()
                local client = uv.new_tcp()
                server:accept(client)
                client:read_start(function(err, data)
                    if data then client:write("echo " .. data) else client:close() server:close() end
                end)
            end)
            local client = uv.new_tcp()
            client:connect("127.0.0.1", server:getsockname().port, function(err)
                log(tostring(err))
                client:write("hello")
                client:read_start(function(err, data) log(data) client:close() end)
            end)
            """, logs: ["nil", "echo hello"])
    }

    @Test func `luv reports an error in a callback like one of an observer, and continues`() throws
    {
        let script = try expectScript(
            """
            local uv = require "luv"
            local a, b = uv.new_timer(), uv.new_timer()
            a:start(0, 0, function() a:close() error "broken" end)
            b:start(20, 0, function() b:close() log "later" end)
            """, status: 1, logs: ["later"])
        #expect(script.reports.map(\.source) == ["a callback of luv"])
        #expect(script.reports.first?.message == "script:3: broken")
        #expect(script.reports.first?.traceback?.contains("script:3") == true)
    }

    @Test func `luv passes errors to on_error, with Moonpool's codes`() throws {
        let script = try expectScript(
            """
            moonpool.on_error = function(err) log(type(err) == "userdata" and err.code or err) end
            local uv = require "luv"
            for _, f in ipairs { function() moonpool.open {} end, function() error("text", 0) end } do
                local timer = uv.new_timer()
                timer:start(0, 0, function() timer:close() f() end)
            end
            """)
        #expect(script.log.sorted() == ["invalid_argument", "text"])
    }

    @Test func `uv run runs the script's own loop, until no handle is active or uv stop`() throws {
        try expectScript(
            """
            local uv = require "luv"
            local timer = uv.new_timer()
            timer:start(30, 0, function() timer:close() log "luv" end)
            moonpool.after(0, function() log "own" end)
            log(uv.run())
            local forever = uv.new_timer()
            forever:start(3600000, 0, function() end)
            moonpool.after(0, function() uv.stop() end)
            log(uv.run "default")
            forever:close()
            """, logs: ["own", "luv", "false", "true"])
    }

    @Test func `a callback can sleep while the script's timers run`() throws {
        try expectScript(
            """
            local uv = require "luv"
            local timer = uv.new_timer()
            timer:start(0, 0, function()
                timer:close()
                moonpool.after(0, function() log "own" end)
                moonpool.sleep(0.02)
                log "slept"
                log(pcall(uv.run))
            end)
            """, logs: ["own", "slept", "false"])
    }

    @Test func `a callback that never ends is stopped`() throws {
        let script = try ScriptFixture(
            """
            local uv = require "luv"
            local timer = uv.new_timer()
            timer:start(0, 0, function() log "busy" while true do pcall(error) end end)
            """)
        script.expectInterrupt(at: "busy")
    }

    @Test func `a script ends with handles of every kind still active`() throws {
        let script = try expectScript(
            """
            local uv = require "luv"
            local timer, tcp = uv.new_timer(), uv.new_tcp()
            timer:start(0, 1, function() end)
            tcp:bind("127.0.0.1", 0) tcp:listen(1, function() end)
            uv.new_idle():start(function() end)
            uv.fs_stat("/", function() log "never" end)
            timer:close(function() log "never" end)
            os.exit(3)
            """, status: 3)
        #expect(!script.log.contains("never"))
    }

    @Test func `luv hides the handles of the host from uv walk`() throws {
        let folder = try Folder()
        try expectScript(
            """
            local store = moonpool.open { path = "\(folder.path)/a.moonpool", schema = { A = { n = "int" } } }
            local token = store:observe(function() log "seen" end)
            local uv = coroutine.wrap(function() return require "luv" end)()
            collectgarbage()
            local timer = uv.new_timer()
            local count = 0
            uv.walk(function(handle) count = count + 1 handle:close() end)
            log(count)
            store:write(function() store:create("A", { n = 1 }) end)
            token:invalidate()
            """, logs: ["1", "seen"])
    }

    @Test func `luv runs on many workers at once`() throws {
        try expectScript(
            """
            local total = 0
            moonpool.on_message(function(n) total = total + n end)
            local workers = {}
            for i = 1, 8 do
                workers[i] = moonpool.worker("w", function(n)
                    local uv = require "luv"
                    local timer, count = uv.new_timer(), 0
                    timer:start(1, 1, function()
                        count = count + 1
                        if count == 5 then timer:close() moonpool.post_to_parent(n) end
                    end)
                end, i)
            end
            for _, w in ipairs(workers) do w:join() end
            log(total)
            """, logs: ["36"])
    }

    @Test func `luv updates its time after the script was idle`() throws {
        try expectScript(
            """
            local uv = require "luv"
            moonpool.sleep(0.2)
            local begin = uv.hrtime()
            local timer = uv.new_timer()
            timer:start(100, 0, function() timer:close() log((uv.hrtime() - begin) / 1e6 >= 95) end)
            """, logs: ["true"])
    }
}

@Suite struct MissingLuvTests {
    @Test func `a missing luv is reported as in lua, with the name of the package`() throws {
        let script = try expectScript(
            """
            package.cpath, package.path = "/nowhere/?.so", "/nowhere/?.lua"
            log(select(2, pcall(require, "luv")))
            """)
        #expect(
            script.log.first?.contains(
                "module 'luv' not found:\n\tno field package.preload['luv']\n\tno file '/nowhere/luv.lua'\n\tno "
                    + "file '/nowhere/luv.so'") == true)
        #expect(script.log.first?.hasSuffix("(Debian has it as the package lua-luv)") == true)
    }
}
