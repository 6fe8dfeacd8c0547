import EventLoops
import LuaHost
import ScriptHost
import TestThreads
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Scripts with stores: how observers, writes and interrupts affect the lifetime of a script.
@Suite struct StoreScriptTests {
    /// Opens an in-memory store.
    let open = """
        local store = moonpool.open {
            in_memory = "\(freshName())", schema = { Dog = { id = "int primary", name = "string" } } }

        """

    @Test func `a script lives as long as a token is valid`() throws {
        try expectScript(
            open + """
                token = store:objects("Dog"):observe(function(change)
                    log(change.type)
                    if change.type == "update" then token:invalidate() end
                end)
                moonpool.after(0, function() store:write(function() store:create("Dog", { id = 1, name = "Rex" }) end) end)
                """, logs: ["initial", "update"])
    }

    @Test func `a script receives commits of another script`() throws {
        let reader = try ScriptFixture(
            open + """
                token = store:objects("Dog"):observe(function(change)
                    log(change.type .. " " .. #change.collection)
                    if #change.collection == 2 then token:invalidate() end
                end)
                """)
        #expect(reader.logs("initial 0"))
        try expectScript(
            open + """
                store:write(function()
                    for id = 1, 2 do store:create("Dog", { id = id, name = "Rex" }) end
                end)
                """)
        #expect(reader.finish() == 0)
        #expect(reader.log == ["initial 0", "update 2"])
    }

    @Test func `a script ends when its last token is collected`() throws {
        try expectScript(
            open + """
                moonpool.after(0, function()
                    store:objects("Dog"):observe(function() log "called" end)
                end)
                """)
    }

    @Test func `a script reports an error of an observer with its name and continues`() throws {
        let script = try expectScript(
            open + """
                token = store:objects("Dog"):observe(function(change)
                    if change.type == "initial" then error "broken" end
                    token:invalidate()
                end, { name = "totals" })
                moonpool.after(0.01, function() store:write(function() store:create("Dog", { id = 1, name = "Rex" }) end) end)
                """, status: 1)
        #expect(script.reports.count == 1)
        #expect(script.reports.first?.source.contains("totals") == true)
        #expect(script.reports.first?.message.hasSuffix("broken") == true)
    }

    @Test func `a script passes errors of observers to moonpool.on_error with the token`() throws {
        try expectScript(
            open + """
                moonpool.on_error = function(err, which) log(err) log(which == token) which:invalidate() end
                token = store:objects("Dog"):observe(function() error("broken", 0) end)
                """, logs: ["broken", "true"])
    }

    @Test func `a script rolls back an interrupted write`() throws {
        let checkpointer = try ScriptFixture(open + "moonpool.every(3600, log) log 'ready'")
        #expect(checkpointer.logs("ready"))
        let script = try ScriptFixture(
            open + """
                store:begin_write()
                store:create("Dog", { id = 1, name = "Rex" })
                log "writing"
                while true do pcall(error) end
                """)
        script.expectInterrupt(at: "writing")
        try expectScript(open + "log(#store:objects 'Dog')", logs: ["0"])
        checkpointer.script.finish()
        #expect(checkpointer.finish() == 0)
    }

    @Test func `a script does not commit a write whose code has caught its interrupt`() throws {
        let script = try ScriptFixture(
            open + """
                local succeeded = pcall(store.write, store, function()
                  store:create("Dog", { id = 1, name = "Rex" })
                  log "writing"
                  pcall(function() while true do end end)
                end)
                log(tostring(succeeded) .. #store:objects "Dog")
                """)
        #expect(script.logs("writing"))
        script.script.interrupt()
        #expect(script.finish() == 0)
        #expect(script.log == ["writing", "false0"])
    }

    @Test func `a script rolls back an open write at os.exit and calls no more observers`() throws {
        let script = try expectScript(
            open + """
                token = store:objects("Dog"):observe(function() log "called" end)
                store:begin_write()
                store:create("Dog", { id = 1, name = "Rex" })
                os.exit(3)
                """, status: 3)
        // One call, from `begin_write`, which delivers pending changes; the end of the script does not.
        #expect(script.log.filter { $0 == "called" }.count == 1)
    }

    @Test func `a script releases all descriptors and threads`() async {
        await #expect(processExitsWith: .success) {
            func count(_ folder: String) -> Int {
                guard let directory = opendir(folder) else { return -1 }
                defer { closedir(directory) }
                var count = 0
                while readdir(directory) != nil { count += 1 }
                return count
            }
            func runOne() throws {
                try expectScript(
                    """
                    local store = moonpool.open { in_memory = "leak", schema = { Dog = { id = "int primary" } } }
                    token = store:objects("Dog"):observe(function() token:invalidate() end)
                    moonpool.after(0, function() end)
                    """)
            }
            // The first script opens descriptors that stay open: those of the clock and of the C library's streams.
            try runOne()
            let before = (count("/proc/self/fd"), count("/proc/self/task"))
            for _ in 0..<20 { try runOne() }
            let after = (count("/proc/self/fd"), count("/proc/self/task"))
            #expect(after == before)
            if after != before { exit(1) }
        }
    }

    @Test func `a script keeps an earlier entry's write when a later one is interrupted`() throws {
        let script = try ScriptFixture(
            open.replacing("local store", with: "store") + "log 'ready'", isInteractive: true)
        #expect(script.logs("ready"))
        func run(_ source: String, _ flag: Flag) {
            script.script.post { context in
                _ = try? context.entry { () throws in try context.state.run(source) }
                flag.set()
            }
        }
        let begun = Flag()
        run("store:begin_write() store:create('Dog', { id = 1, name = 'Rex' })", begun)
        #expect(eventually { begun.isSet })
        let stopped = Flag()
        run("log 'busy' while true do pcall(error) end", stopped)
        #expect(script.logs("busy"))
        script.script.interrupt()
        #expect(eventually { stopped.isSet })
        let asked = Flag()
        run("log(store.is_in_write) log(#store:objects 'Dog') store:cancel_write()", asked)
        #expect(eventually { asked.isSet })
        #expect(script.log.suffix(2) == ["true", "1"])

        let again = Flag()
        run("store:begin_write() log 'writing' while true do pcall(error) end", again)
        #expect(script.logs("writing"))
        script.script.interrupt()
        #expect(eventually { again.isSet })
        let last = Flag()
        run("log(store.is_in_write)", last)
        #expect(eventually { last.isSet })
        #expect(script.log.last == "false")
        script.script.finish()
        #expect(script.finish() == 0)
    }

    @Test func `an observer that sleeps later receives the commits of that time`() throws {
        try expectScript(
            """
            local schema = { Dog = { id = "int primary" } }
            local store = moonpool.open { in_memory = "asleep", schema = schema }
            local w = moonpool.worker("w", function()
                local store = moonpool.open { in_memory = "asleep" }
                moonpool.on_message(function()
                    store:write(function() store:create("Dog", { id = 2 }) end)
                    moonpool.post_to_parent "committed"
                end)
            end)
            local calls, committed = 0, false
            w:on_message(function() committed = true end)
            local token = store:objects("Dog"):observe(function(change)
                if change.type ~= "update" then return end
                calls = calls + 1
                if calls > 1 then return end
                w:post "go"
                moonpool.wait_until(function() return committed end, 60)
                log(#change.collection)
            end)
            store:refresh()
            store:write(function() store:create("Dog", { id = 1 }) end)
            log(moonpool.wait_until(function() return calls == 2 end, 60))
            token:invalidate()
            w:stop()
            """, logs: ["1", "true"])
    }

    @Test func `a delayed observer whose key path is removed is reported once`() throws {
        let script = try expectScript(
            """
            local store = moonpool.open { in_memory = "paced", schema = { Dog = { id = "int primary", age = "int" } } }
            local rex = store:write(function() return store:create("Dog", { id = 1, age = 1 }) end)
            local ended = 0
            local function receive(change) if change.type == "error" then ended = ended + 1 end end
            local tokens = { rex:observe(receive, { debounce = 0.001, keypaths = { "age" } }),
                             store:objects("Dog"):observe(receive, { throttle = 0.001, keypaths = { "age" } }) }
            store:refresh()
            store:define({ Dog = { id = "int primary" } }, { force = true })
            log(moonpool.wait_until(function() return ended == 2 end, 60))
            """, status: 1, logs: ["true"])
        #expect(script.reports.count == 2, "\(script.reports)")
        #expect(script.reports.allSatisfy { $0.source.contains("observer of script:") })
    }

    @Test func `a partial definition keeps the properties that another thread has just added`()
        throws
    {
        try expectScript(
            """
            for kind, how in pairs { plain = {}, force = { force = true }, migration = function() end } do
                local name = "partial " .. kind
                local store = moonpool.open { in_memory = name, schema = { Dog = { id = "int primary" } } }
                store.autorefresh = false
                local dog = store:write(function() return store:create("Dog", { id = 1 }) end)
                local w = moonpool.worker("w", function(name)
                    local store = moonpool.open { in_memory = name }
                    store:define { Dog = { "...", name = "string?" } }
                    store:write(function() store:object("Dog", 1).name = "Rex" end)
                    moonpool.post_to_parent "defined"
                end, name)
                local defined
                w:on_message(function() defined = true end)
                moonpool.wait_until(function() return defined end, 60)
                assert(not store:schema("Dog").name)
                store:define({ Dog = { "...", age = "int?" } }, how)
                assert(dog.name == "Rex" and store:schema("Dog").age == "int?", kind)
                w:stop()
            end
            """, logs: [])
    }

    @Test func `a commit inside an observer, newer than its version, is reported`() throws {
        let script = try expectScript(
            """
            local store = moonpool.open { in_memory = "newer", schema = { Dog = { id = "int primary" } } }
            local w = moonpool.worker("w", function()
                local store = moonpool.open { in_memory = "newer" }
                moonpool.on_message(function(reference)
                    local dog = store:write(function() return store:create("Dog", { id = 2 }) end)
                    moonpool.post_to_parent(dog)
                    moonpool.post_to_parent(moonpool.reference(dog))
                end)
            end)
            local kept
            w:on_message(function(value)
                log(type(value))
                kept = value
            end)
            local token = store:objects("Dog"):observe(function(change)
                if change.type ~= "update" or kept then return end
                w:post "go"
                moonpool.wait_until(function() return kept end, 60)
                log(pcall(store.resolve, store, kept))
            end)
            store:refresh()
            store:write(function() store:create("Dog", { id = 1 }) end)
            moonpool.wait_until(function() return kept end, 60)
            store:refresh()
            log(store:resolve(kept).id)
            token:invalidate()
            w:stop()
            """, status: 1, logs: ["userdata", "false", "2"])
        #expect(script.reports.count == 1)
        #expect(
            script.reports.first?.message.contains("newer than the version that the observer sees")
                == true,
            "\(script.reports)")
    }
}
