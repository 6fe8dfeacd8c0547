import LuaHost
import ObjectStore
import Testing

/// `observe_value`: `invalidated`, and the options `initial` and `prior`.
@Suite struct ValueObserverTests {
    let session: Session
    let writer: Store

    init() throws {
        session = try Session()
        let location = try #require(session.module.openStores.first).configuration.location
        writer = try Store(StoreConfiguration(location), scheduler: ManualScheduler())
        let writer = writer
        // Changes or deletes the dog with the key 1 in another store of the same file.
        session.state.globals["elsewhere"] = .function(
            session.state.makeFunction("elsewhere") { call in
                let age = call.isNil(1) ? nil : try call.integer(1)
                try writer.write {
                    let dog = try #require(try writer.object("Dog", primaryKey: .int(1)))
                    guard let age else { return try writer.delete(dog) }
                    try dog.set("age", .int(age))
                }
                return .none
            })
        session.expect(
            """
            log = {}
            function note(name)
                return function(new, old, prior) log[#log + 1] = ("%s %s %s %s"):format(name, new, old, prior) end
            end
            function logged(...)
                local wanted = { ... }
                assert(same(log, wanted), table.concat(log, "; "))
                log = {}
            end
            """)
    }

    @Test func `invalidated becomes true when the object or the owner of a collection is deleted`()
    {
        session.expect(
            """
            local rex = dog()
            local ann = store:write(function() return store:create("Person", { name = "Ann", dogs = { rex } }) end)
            local tokens = {
                rex:observe_value("invalidated", note "rex"),
                rex.marks:observe_value("invalidated", note "marks", { name = "marks" }),
                ann.dogs:observe_value("invalidated", note "dogs", { initial = true }),
            }
            turn() logged("dogs false nil nil")
            store:write(function() rex.name = "Max" rex.marks:append(1) end) turn()
            assert(#log == 0 and tokens[1]:stats().calls == 0)
            store:write(function() store:delete(rex) end) turn()
            logged("rex true false nil", "marks true false nil")
            assert(not tokens[1].is_valid and not tokens[2].is_valid and tokens[3].is_valid)
            store:write(function() store:delete(ann) end) turn()
            logged("dogs true false nil")
            """)
    }

    @Test func `invalidated is refused with a reason where nothing can be observed`() {
        session.expect(
            """
            local rex = dog()
            local new = store:new("Dog", { id = 2 })
            for _, f in ipairs { new.observe, new.observe_value } do
                assert(code(f, new, "age", print) == "invalid_argument")
                assert(message(f, new, "age", print):find("add it to a store with store:add first", 1, true))
            end
            assert(code(rex.marks.observe_value, rex.marks, "age", print) == "invalid_argument")
            assert(message(rex.marks.observe_value, rex.marks, "age", print):find("use observe for its elements", 1, true))
            assert(code(rex.observe_value, rex:freeze(), "invalidated", print) == "frozen")
            assert(message(rex.observe_value, rex, "invalidated", print, { initial = 1 }):find("'initial' must be true or false", 1, true))
            assert(message(rex.observe_value, rex, "age", print, { prior = true, throttle = 1 }):find("pass one of them", 1, true))
            assert(message(rex.observe, rex, print, { prior = true }):find("prior", 1, true))
            """)
    }

    @Test func `a property named invalidated is observed itself`() throws {
        let session = try Session("Ticket = { invalidated = \"bool\" }")
        session.expect(
            """
            local ticket = store:write(function() return store:create("Ticket", { invalidated = false }) end)
            local seen
            local token = ticket:observe_value("invalidated", function(new) seen = new end)
            store:write(function() ticket.invalidated = true end) turn()
            assert(seen == true and ticket:is_valid())
            """)
    }

    @Test func `the initial call has the present value, also of collections and paths`() {
        session.expect(
            """
            local rex = dog { age = 3, owner = { name = "Ann" } }
            local tokens = {
                rex:observe_value("age", note "age", { initial = true }),
                rex:observe_value("owner.name", note "path", { initial = true }),
                rex:observe_value("marks", function(new, old) log[#log + 1] = #new .. " marks" end, { initial = true }),
            }
            assert(#log == 0)
            turn()
            logged("age 3 nil nil", "path Ann nil nil", "0 marks")
            tokens[3]:invalidate()
            store:write(function() rex.age = 4 rex.owner = { name = "Bob" } rex.marks:append(1) end)
            turn()
            logged("age 4 3 nil", "path Bob Ann nil")
            store:write(function() rex.age = 5 rex.owner = { name = "Cid" } end) turn()
            logged("age 5 4 nil", "path Cid Bob nil")
            """)
    }

    @Test(arguments: ["store:refresh()", "turn()", "store:write(function() end)"])
    func `the prior call comes before the store moves, with its old values`(move: String) {
        session.expect(
            """
            local rex = dog { age = 3 }
            local failed
            local function prior(new, old, is_prior)
                log[#log + 1] = ("%s %s %s, now %s"):format(new, old, is_prior, rex:is_valid() and rex.age or "gone")
                if not is_prior then return end
                for _, f in ipairs { store.begin_write, store.refresh, store.close } do
                    failed = (failed or "") .. " " .. tostring(code(f, store))
                end
                local ok, err = pcall(function() rex.age = 9 end)
                failed = failed .. " " .. err.code
            end
            local tokens = {
                rex:observe_value("age", prior, { prior = true }),
                rex:observe_value("invalidated", prior, { prior = true }),
            }
            elsewhere(4) elsewhere(5)
            \(move)
            turn()
            logged("nil 3 true, now 3", "5 3 nil, now 5")
            assert(failed == " already_in_write no error already_in_write already_in_write", failed)
            elsewhere()
            \(move)
            turn()
            logged("nil false true, now 5", "true false nil, now gone")
            """)
    }

    @Test func `the prior call of an own write comes before its commit, once for each later call`()
    {
        session.expect(
            """
            local rex = dog { age = 3, owner = { name = "Ann" } }
            local silent = rex:observe_value("age", note "silent", { prior = true })
            local tokens = {
                rex:observe_value("age", note "age", { prior = true }),
                rex:observe_value("owner.name", note "path", { prior = true }),
            }
            store:write(function() rex.age = 4 log[1] = "body" end, { without_notifying = { silent } })
            logged("body", "age nil 3 true")
            silent:invalidate()
            elsewhere(6)
            store:refresh()
            logged("age 6 3 nil")
            store:write(function() rex.owner = { name = "Bob" } end) turn()
            logged("path nil Ann true", "path Bob Ann nil")
            store:write(function() rex.name = "Max" rex.owner = store:object("Person", "Bob") end) turn()
            assert(#log == 0, log[1])
            pcall(store.write, store, function() rex.age = 1 error("no") end) turn()
            assert(#log == 0, log[1])
            """)
    }

    @Test func `an error in a prior call is reported, and the store moves`() throws {
        try session.run(
            """
            local rex = dog { age = 3 }
            local token = rex:observe_value("age", function(new, old, prior) if prior then error("no", 0) end end, { prior = true })
            elsewhere(4)
            assert(store:refresh() and rex.age == 4)
            """)
        #expect(session.reports.map(\.message) == ["no"])
    }
}
