import ScriptHost
import Testing

/// How observers keep a script alive, and how they end.
@Suite struct TokenLifeTests {
    /// Opens an in-memory store with a unique name.
    private let open: String

    init() {
        let name = UInt64.random(in: 0 ... .max)
        open = """
            local store = moonpool.open {
                in_memory = "test-\(name)", schema = { Dog = { id = "int primary", name = "string" } } }
            local function add(id)
                return store:write(function() return store:create("Dog", { id = id, name = "Rex" }) end)
            end

            """
    }

    @Test func `tokens in locals of the main chunk stay valid after the chunk`() throws {
        let script = try ScriptFixture(
            open + """
                local token = store:objects("Dog"):observe(function(change)
                    log(change.type)
                    if change.type == "update" then moonpool.stop() end
                end)
                moonpool.after(0, function()
                    collectgarbage()
                    moonpool.after(0, function() collectgarbage() add(1) end)
                end)
                """)
        #expect(script.finish() == 0)
        #expect(script.log == ["initial", "update"])
    }

    @Test func `a script ends when its observed objects are deleted`() throws {
        let script = try ScriptFixture(
            open + """
                local rex = add(1)
                local token = rex:observe(function(change) log(change.type) end)
                moonpool.after(0, function() store:write(function() store:delete(rex) end) end)
                """)
        #expect(script.finish() == 0)
        #expect(script.log == ["deleted"])
    }

    @Test func `a script ends when its store is closed, also by its observer`() throws {
        let script = try ScriptFixture(
            open + """
                local first = store:objects("Dog"):observe(function(change)
                    log("first " .. change.type)
                    store:close()
                end)
                local second = store:objects("Dog"):observe(function() log("second") end)
                """)
        #expect(script.finish() == 0)
        #expect(script.log == ["first initial"])
    }
}
