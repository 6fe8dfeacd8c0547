import ScriptHost
import Testing

/// Observers continue after a script's main chunk has returned if its locals or other values still refer to their
/// tokens.
@Suite struct TokenCollectionTests {
    /// Opens an in-memory store.
    private let open = """
        local store = moonpool.open {
            in_memory = "\(freshName())", schema = { Dog = { id = "int primary", name = "string" } } }
        local dogs = store:objects "Dog"

        """

    @Test func `a script that releases its tokens ends`() throws {
        let script = try expectScript(
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
                """, logs: ["returned"])
        #expect(
            script.reports.filter { $0.text.contains("its token was garbage-collected") }.count == 1
        )
    }

    @Test func `a token that the last statement releases is collected too`() throws {
        try expectScript(open + "dogs:observe(function() log 'called' end)", logs: [])
    }

    @Test(arguments: ["store", "dogs", "store:objects('Dog'):where 'id > 0'", "rex", "rex.friends"])
    func `a released token ends with the first collection`(observed: String) throws {
        try expectScript(
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
                """, logs: ["0"])
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
        try expectScript(
            open + """
                moonpool.after(0, function()
                    collectgarbage()
                    moonpool.after(0, function()
                        collectgarbage()
                        store:write(function() store:create("Dog", { id = 1, name = "Rex" }) end)
                    end)
                end)

                """ + line.replacing("OBSERVE", with: observe), logs: ["initial", "update"])
    }

    @Test func `a hook of the script is unchanged`() throws {
        try expectScript(
            open + """
                local lines = 0
                debug.sethook(function() lines = lines + 1 end, "l")
                local token = dogs:observe(function(change) log(change.type) moonpool.stop() end)
                local x = 1
                log(tostring(lines > 0))
                debug.sethook()
                """, logs: ["true", "initial"])
    }

    @Test func `results and errors of the chunk are unchanged`() throws {
        try expectScript(
            open + """
                local token = dogs:observe(function() end)
                local ok, err = pcall(function() error("inner") end)
                log(err:match("inner"))
                local co = coroutine.create(function(a) local b = coroutine.yield(a + 1) return b * 2 end)
                log(select(2, coroutine.resume(co, 1)))
                log(select(2, coroutine.resume(co, 5)))
                token:invalidate()
                return 1, 2, 3
                """, logs: ["inner", "2", "10"])
    }

    @Test func `a script ends when its observed objects are deleted`() throws {
        try expectScript(
            open + """
                local rex = store:write(function() return store:create("Dog", { id = 1, name = "Rex" }) end)
                local token = rex:observe(function(change) log(change.type) end)
                moonpool.after(0, function() store:write(function() store:delete(rex) end) end)
                """, logs: ["deleted"])
    }

    @Test func `a script ends when its store is closed, also by its observer`() throws {
        try expectScript(
            open + """
                local first = dogs:observe(function(change)
                    log("first " .. change.type)
                    store:close()
                end)
                local second = dogs:observe(function() log("second") end)
                """, logs: ["first initial"])
    }
}
