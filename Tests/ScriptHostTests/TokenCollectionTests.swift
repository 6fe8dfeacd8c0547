import ScriptHost
import Testing

/// Observers continue after a script's main chunk has returned if its locals or other values still refer to their
/// tokens.
@Suite struct TokenCollectionTests {
    /// Opens an in-memory store with a unique name.
    private let open: String

    init() {
        let name = UInt64.random(in: 0 ... .max)
        open = """
            local store = moonpool.open {
                in_memory = "test-\(name)", schema = { Dog = { id = "int primary", name = "string" } } }
            local dogs = store:objects "Dog"

            """
    }

    @Test func `a script that releases its tokens ends`() throws {
        let script = try ScriptFixture(
            open + """
                dogs:observe(function() end)
                do
                    local inner = dogs:observe(function() end)
                end
                local function register() local token = dogs:observe(function() end) return 1 end
                register()
                local gone = dogs:observe(function() end)
                gone = nil
                log "returned"
                """)
        #expect(script.finish() == 0)
        #expect(script.log == ["returned"])
        #expect(
            script.reports.filter { $0.text.contains("its token was garbage-collected") }.count == 1
        )
    }

    @Test func `a token that the last statement releases is collected too`() throws {
        let script = try ScriptFixture(open + "dogs:observe(function() log 'called' end)")
        #expect(script.finish() == 0)
        #expect(script.log == [])
    }

    @Test(arguments: ["store", "dogs", "store:objects('Dog'):where 'id > 0'", "rex", "rex.friends"])
    func `a released token ends with the first collection`(
        observed: String
    ) throws {
        let script = try ScriptFixture(
            open + """
                store:define { Dog = { id = "int primary", name = "string", friends = "Dog[]" } }
                local rex = store:write(function()
                    local rex = store:create("Dog", { id = 7, name = "Rex" })
                    rex.friends:append(rex)
                    return rex
                end)
                local count = 0
                collectgarbage "stop"  -- only the explicit collection below may end the observer
                local function observe() \(observed):observe(function() count = count + 1 end) end
                observe()
                store:refresh()
                store:write(function() rex.name = "Max" end)
                store:refresh()
                assert(count > 0)
                collectgarbage()
                count = 0
                for k = 1, 3 do
                    store:write(function() rex.name = "Rex" .. k end)
                    store:refresh()
                end
                log(count)
                """)
        #expect(script.finish() == 0)
        #expect(script.log == ["0"])
    }

    @Test(arguments: [
        "local token = OBSERVE", "token = OBSERVE", "local tokens = { OBSERVE }",
        "local keep = OBSERVE local function f() return keep end token = f keep = nil token = OBSERVE",
        "local held do local token = OBSERVE held = function() return token end end",
        "local co = coroutine.wrap(function() local token = OBSERVE coroutine.yield() return token end) co()",
        "if true then local token = OBSERVE return end",
    ])
    func `a token that is reachable when the chunk returns stays valid`(line: String) throws {
        let observe = """
            dogs:observe(function(change)
                log(change.type)
                if change.type == "update" then moonpool.stop() end
            end)
            """
        let script = try ScriptFixture(
            open + """
                moonpool.after(0, function()
                    collectgarbage()
                    moonpool.after(0, function()
                        collectgarbage()
                        store:write(function() store:create("Dog", { id = 1, name = "Rex" }) end)
                    end)
                end)

                """ + line.replacing("OBSERVE", with: observe))
        #expect(script.finish() == 0)
        #expect(script.log == ["initial", "update"])
    }

    @Test func `a hook of the script is unchanged`() throws {
        let script = try ScriptFixture(
            open + """
                local lines = 0
                debug.sethook(function() lines = lines + 1 end, "l")
                local token = dogs:observe(function(change) log(change.type) moonpool.stop() end)
                local x = 1
                log(tostring(lines > 0))
                debug.sethook()
                """)
        #expect(script.finish() == 0)
        #expect(script.log == ["true", "initial"])
    }

    @Test func `results and errors of the chunk are unchanged`() throws {
        let script = try ScriptFixture(
            open + """
                local token = dogs:observe(function() end)
                local ok, err = pcall(function() error("inner") end)
                log(err:match("inner"))
                local co = coroutine.create(function(a) local b = coroutine.yield(a + 1) return b * 2 end)
                log(select(2, coroutine.resume(co, 1)))
                log(select(2, coroutine.resume(co, 5)))
                token:invalidate()
                return 1, 2, 3
                """)
        #expect(script.finish() == 0)
        #expect(script.log == ["inner", "2", "10"])
    }

    @Test
    func `debounce waits for a time without changes, throttle calls immediately and then waits`()
        throws
    {
        let script = try ScriptFixture(
            open + """
                local calls = { 0, 0 }
                local a = dogs:observe(function(change)
                    if change.type == "update" then calls[1] = calls[1] + 1 last = #change.insertions end
                end, { debounce = 0.1 })
                local b = dogs:observe(function(change)
                    if change.type == "update" then calls[2] = calls[2] + 1 end
                end, { throttle = 30 })
                moonpool.sleep(0)
                for id = 1, 5 do
                    store:write(function() store:create("Dog", { id = id, name = "Rex" }) end)
                    store:refresh()
                end
                log("throttled " .. calls[2] .. ", debounced " .. calls[1])
                moonpool.wait_until(function() return calls[1] > 0 end, 60)
                log("debounced " .. calls[1] .. " with " .. last)
                a:invalidate()
                b:invalidate()
                """)
        #expect(script.finish() == 0)
        #expect(script.log == ["throttled 1, debounced 0", "debounced 1 with 5"])
    }

    @Test func `a script ends when its observed objects are deleted`() throws {
        let script = try ScriptFixture(
            open + """
                local rex = store:write(function() return store:create("Dog", { id = 1, name = "Rex" }) end)
                local token = rex:observe(function(change) log(change.type) end)
                moonpool.after(0, function() store:write(function() store:delete(rex) end) end)
                """)
        #expect(script.finish() == 0)
        #expect(script.log == ["deleted"])
    }

    @Test func `a script ends when its store is closed, also by its observer`() throws {
        let script = try ScriptFixture(
            open + """
                local first = dogs:observe(function(change)
                    log("first " .. change.type)
                    store:close()
                end)
                local second = dogs:observe(function() log("second") end)
                """)
        #expect(script.finish() == 0)
        #expect(script.log == ["first initial"])
    }
}
