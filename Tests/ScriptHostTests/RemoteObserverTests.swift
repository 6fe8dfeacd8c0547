import ScriptHost
import Testing

/// Observers that run on a worker: `observe(fn, { on = worker })`.
@Suite struct RemoteObserverTests {
    @discardableResult
    private func run(
        _ source: String, status: Int32 = 0, logs lines: [String]? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ScriptFixture {
        try expectScript(
            """
            local schema = { Dog = { id = "int primary", name = "string", age = "int", marks = "int[]" } }
            local store = moonpool.open { in_memory = "\(freshName())", schema = schema }
            local rex = store:write(function()
                return store:create("Dog", { id = 1, name = "Rex", age = 1 })
            end)
            local w = moonpool.worker("w", function()
                moonpool.on_message(function() moonpool.post_to_parent "pong" end)
            end)
            local got = {}
            moonpool.on_message(function(text) log(text) got[#got + 1] = text end)
            local function expect(n) return moonpool.wait_until(function() return #got >= n end, 10) end
            \(source)
            """, status: status, logs: lines, sourceLocation: sourceLocation)
    }

    @Test func `a remote observer calls the function on the worker, with its own store`() throws {
        let script = try run(
            """
            local token = store:objects("Dog"):observe(function(change)
                moonpool.post_to_parent(change.type .. " " .. #change.collection .. " "
                    .. (change.insertions and #change.insertions or 0) .. " "
                    .. tostring(change.collection[1].store.is_frozen))
            end, { on = w, name = "dogs" })
            expect(1)
            store:write(function() store:create("Dog", { id = 2, name = "Max", age = 2 }) end)
            expect(2)
            log(token.is_valid) log(token.name)
            token:invalidate()
            log(token.is_valid)
            store:write(function() store:delete(rex) end)
            w:post() expect(3)
            w:stop()
            """,
            logs: [
                "initial 1 0 false", "update 2 1 false", "true", "dogs", "false", "pong",
            ])
        #expect(script.reports.isEmpty)
    }

    @Test func `closing the store ends its observers on workers`() throws {
        try run(
            """
            local checkpointer = moonpool.worker("checkpointer", function(rex)
                moonpool.on_message(function()
                    rex.store:write(function() rex.age = rex.age + 1 end)
                    moonpool.post_to_parent "written"
                end)
            end, rex)
            local token = rex:observe(function() moonpool.post_to_parent "called" end, { on = w })
            store:close()
            log(token.is_valid)
            checkpointer:post() expect(1)
            w:post() expect(2)
            checkpointer:stop() w:stop()
            """, logs: ["false", "written", "pong"])
    }

    @Test func `a remote observer receives every change after observe has returned`() throws {
        let script = try run(
            """
            for i = 1, 20 do
                local token <close> = rex:observe(function(change)
                    moonpool.post_to_parent(change.properties[1].new)
                end, { on = w })
                store:write(function() rex.age = 100 + i end)
                expect(i)
            end
            w:stop()
            """)
        #expect(script.log == (1...20).map { "\(100 + $0)" })
    }

    @Test func `a token stays on its thread, and ends an observation before its begin`() throws {
        let script = try run(
            """
            for i = 1, 20 do
                local token = rex:observe(function(change) moonpool.post_to_parent("called") end, { on = w })
                log(pcall(w.post, w, token))
                token:invalidate()
                store:write(function() rex.age = i end)
            end
            w:post() expect(1)
            w:stop()
            """)
        #expect(Set(script.log.map { $0.prefix(5) }) == ["false", "pong"])
        #expect(script.log.filter { $0 == "pong" }.count == 1)
    }

    @Test func `a remote observer observes lists, values and the store, with key paths`() throws {
        let script = try run(
            """
            local a = rex.marks:observe(function(change)
                if change.type == "update" then moonpool.post_to_parent("list " .. #change.insertions) end
            end, { on = w })
            local b = rex:observe_value("age", function(new, old)
                moonpool.post_to_parent("value " .. old .. " " .. new)
            end, { on = w })
            local c = store:objects("Dog"):where("age > 0"):observe(function(change)
                moonpool.post_to_parent("path " .. change.type)
            end, { on = w, keypaths = "name" })
            expect(1)
            store:write(function() rex.marks:append(1, 2) rex.age = 7 end)
            expect(3)
            store:write(function() rex.name = "Max" end)
            expect(4)
            a:invalidate() b:invalidate() c:invalidate()
            local d = store:observe(function(type, store)
                moonpool.post_to_parent("store " .. type .. " " .. #store:objects "Dog")
            end, { on = w })
            store:write(function() end)
            expect(5)
            d:invalidate()
            w:stop()
            """)
        #expect(
            Set(script.log) == [
                "path initial", "list 2", "value 1 7", "path update", "store did_change 1",
            ])
        #expect(script.log.count == 5)
    }

    @Test func `a remote observer returns statistics and the reason of the last call`() throws {
        let script = try run(
            """
            local token = rex:observe(function(change) moonpool.post_to_parent("called") end, { on = w })
            log(token:stats().calls) log(token:why())
            store:write(function() rex.age = 5 end)
            moonpool.wait_until(function() return token:stats().calls == 1 end, 10)
            log(token:stats().calls)
            log(token:why().properties[1] .. " " .. token:why().objects[1].name)
            log(token:stats().where)
            token:invalidate()
            w:stop()
            """)
        #expect(script.log.filter { $0 != "called" } == ["0", "nil", "1", "age Rex", "script:12"])
    }

    @Test func `a remote observer ends with its token, its object or its worker`() throws {
        try run(
            """
            local function observe() return rex:observe(function() end, { on = w }) end
            observe()
            collectgarbage() collectgarbage()
            local token, other = observe(), observe()
            other:invalidate() other:invalidate()
            store:write(function() store:delete(rex) end)
            moonpool.wait_until(function() return not token.is_valid end, 10)
            log(token.is_valid)
            local last = store:objects("Dog"):observe(function() end, { on = w })
            w:stop() w:join()
            moonpool.wait_until(function() return not last.is_valid end, 10)
            log(last.is_valid)
            """, logs: ["false", "false"])
    }

    @Test func `a remote observer receives the last call when its object is deleted`() throws {
        try run(
            """
            local observed = store:write(function()
                return store:create("Dog", { id = 99, name = "Last", age = 1, marks = { 1, 2 } })
            end)
            local token = observed:observe(function(change)
                moonpool.post_to_parent("object " .. change.type)
            end, { on = w })
            local value = observed:observe_value("age", function(new)
                moonpool.post_to_parent("value " .. tostring(new))
            end, { on = w })
            local list = observed.marks:observe(function(change)
                if change.type == "initial" then return moonpool.post_to_parent "initial" end
                moonpool.post_to_parent(
                    ("list %s %d %s"):format(change.type, #change.deletions, change.collection:is_valid()))
            end, { on = w })
            local received = {}
            w:on_message(function(text) table.insert(received, text) end)
            -- A deleted object gets only the first call.
            moonpool.wait_until(function() return received[1] end, 60)
            store:write(function() store:delete(observed) end)
            moonpool.wait_until(function()
                return #received >= 3 and not (token.is_valid or value.is_valid or list.is_valid)
            end, 60)
            table.sort(received)
            log(table.concat(received, ", "))
            log(token.is_valid or value.is_valid or list.is_valid)
            w:stop()
            """, logs: ["initial, list update 2 false, object deleted", "false"])
    }

    @Test func `a remote observer keeps worker and script running while it is valid`() throws {
        try run(
            """
            local brief = moonpool.worker("brief", function() moonpool.sleep(0.2) end)
            local token = rex:observe(function(change) moonpool.post_to_parent("seen") end, { on = brief })
            moonpool.after(0.4, function()
                log(brief:is_running())
                store:write(function() rex.age = 9 end)
            end)
            moonpool.on_message(function(text) log(text) token:invalidate() w:stop() end)
            """, logs: ["true", "seen"])
    }

    @Test func `a remote observer refuses invalid arguments immediately`() throws {
        try run(
            """
            local n = 0
            local function fails(f, ...)
                local ok, err = pcall(f, ...)
                return ok and "no error" or err.code
            end
            local dogs = store:objects "Dog"
            log(select(2, pcall(dogs.observe, dogs, function() n = n + 1 end, { on = w })).message:match("local '(%w+)'"))
            log(fails(dogs.observe, dogs, function() end, { on = 1 }))
            log(fails(dogs.observe, dogs, function() end, { on = w, keypaths = "nonsense" }))
            log(fails(dogs.observe, dogs, function() end, { on = w, debounce = -1 }))
            log(fails(dogs.observe, dogs:freeze(), function() end, { on = w }))
            log(fails(rex.observe_value, rex, "nonsense", function() end, { on = w }))
            store:begin_write()
            log(fails(dogs.observe, dogs, function() end, { on = w }))
            store:cancel_write()
            w:stop() w:join()
            log(fails(dogs.observe, dogs, function() end, { on = w }))
            """,
            logs: [
                "n", "invalid_argument", "unknown_property", "invalid_argument", "frozen",
                "unknown_property", "already_in_write", "closed",
            ])
    }

    @Test(arguments: [("'bad'", "'bad'"), ("nil", "the observer of script:")])
    func `a remote observer reports an error as one of the worker, with its name or its line`(
        name: String, source: String
    ) throws {
        let script = try run(
            """
            local token = rex:observe(function() error "broken" end, { on = w, name = \(name) })
            store:write(function() rex.age = 5 end)
            moonpool.wait_until(function() return token:stats().calls == 1 end, 10)
            w:post() expect(1)
            log(token.is_valid)
            log(token.name or tostring(token):match "observer of script:")
            token:invalidate()
            w:stop()
            """, status: 1,
            logs: ["pong", "true", name == "nil" ? "observer of script:" : "bad"])
        #expect(script.reports.count == 1)
        #expect(script.reports.first?.source.hasPrefix("worker 'w', \(source)") == true)
    }

    @Test func `a write of another thread cannot skip a remote observer`() throws {
        try run(
            """
            local token = rex:observe(function() end, { on = w })
            local ok, err = pcall(function()
                store:write(function() rex.age = 5 end, { without_notifying = { token } })
            end)
            log(err.code)
            token:invalidate()
            w:stop()
            """, logs: ["invalid_argument"])
    }

    @Test func `a remote observer can write while the script observes the changes`() throws {
        try run(
            """
            local token = store:objects("Dog"):where("name == 'Rex'"):observe(function(change)
                local dog = change.collection[1]
                if dog and dog.age < 5 then dog.store:write(function() dog.age = dog.age + 1 end) end
            end, { on = w })
            local own = rex:observe(function(change)
                if rex.age == 5 then log "five" token:invalidate() w:stop() end
            end)
            moonpool.wait_until(function() return rex.age == 5 and not w:is_running() end, 10)
            own:invalidate()
            """, logs: ["five"])
    }
}
