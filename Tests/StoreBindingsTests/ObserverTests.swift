import Foundation
import LuaHost
import ObjectStore
import StoreBindings
import Testing

@Suite struct ScriptObserverTests {
    let session: Session
    init() throws { session = try Session() }

    @Test func `observed results report the first state and then each change`() {
        session.expect(
            """
            local dogs, seen = store:objects("Dog"):where("score >= 0"), {}
            local token = dogs:observe(function(change)
                seen[#seen + 1] = change.type
                assert(change.collection[1] == dogs[1])
                if change.type == "update" then
                    last = { ins = change.insertions, del = change.deletions, mod = change.modifications, new = change.modifications_new }
                    for _, d in ipairs(change:deleted()) do gone = d.name assert(d:is_frozen()) end
                    for _, d in ipairs(change:inserted()) do came = d.name end
                    for i, d in ipairs(change:modified()) do
                        changed = d.name
                        for _, p in ipairs(change:properties(i)) do prop = p.name .. ":" .. tostring(p.old) .. ">" .. tostring(p.new) end
                    end
                end
            end, { name = "watch" })
            turn()
            assert(same(seen, { "initial" }))
            local rex = dog()
            turn()
            assert(#seen == 2 and same(last.ins, { 1 }) and same(last.del, {}) and came == "Rex")
            store:write(function() rex.age = 5 end)
            turn()
            assert(same(last.mod, { 1 }) and same(last.new, { 1 }) and changed == "Rex" and prop == "age:nil>5", prop)
            store:write(function() store:delete(rex) end)
            turn()
            assert(same(last.del, { 1 }) and gone == "Rex")
            assert(token.is_valid and token:stats().calls == 4 and token:stats().where:find("^test.lua:"))
            token:invalidate()
            assert(not token.is_valid)
            dog()
            turn()
            assert(#seen == 4)
            """)
        #expect(session.holds == 0)
    }

    @Test func `changes of objects and sections print their content, and are plain tables`() {
        session.expect(
            """
            local rex, seen = dog(), {}
            local function note(change) seen[#seen + 1] = tostring(change) end
            local object = rex:observe(note)
            local sections = store:objects("Dog"):group_by("age"):observe(note)
            turn()
            assert(same(seen, { "change { initial }" }), seen[1])
            seen = {}
            store:write(function() rex.age = 5 rex.name = "Max" end)
            turn()
            assert(seen[1] == "change { age: nil -> 5, name: Rex -> Max }", seen[1])
            assert(seen[2] == "change { section_deletions = 1, section_insertions = 1, sections = 0 }", seen[2])
            local last
            local own = rex:observe(function(change) last = change end)
            store:write(function() rex.age = 6 end)
            turn()
            last.properties[1].new = setmetatable({}, { __tostring = function() error("broken", 0) end })
            assert(select(2, pcall(tostring, last)):find("broken"))
            last.properties = "nonsense"
            assert(tostring(last) == "change {  }", tostring(last))
            last.type = nil
            assert(next(setmetatable(last, nil)) and tostring(last):find("^table: "))
            seen = {}
            store:write(function() store:delete(rex) end)
            turn()
            assert(seen[1] == "change { deleted }", seen[1])
            """)
    }

    @Test func `objects, single properties and the store are observed`() {
        session.expect(
            """
            local rex, log = dog(), {}
            local a = rex:observe(function(change)
                log[#log + 1] = change.type
                for _, p in ipairs(change.properties) do log[#log + 1] = p.name .. "=" .. tostring(p.new) .. " was " .. tostring(p.old) end
            end)
            local b = rex:observe_value("name", function(new, old) log[#log + 1] = new .. "<" .. old end)
            local c = store:observe(function(type, s) assert(s == store) stores = (stores or 0) + 1 end)
            local d = rex:observe_value("marks", function(new, old) marks = #new assert(old == nil) end)
            store:write(function() rex.name = "Max" rex.marks:append(1, 2) end)
            assert(stores == 1)
            turn()
            assert(log[1] == "change" and marks == 2)
            local text = table.concat(log, ";")
            assert(text:find("name=Max was Rex", 1, true) and text:find("Max<Rex", 1, true), text)
            store:write(function() store:delete(rex) end)
            turn()
            assert(log[#log] == "deleted" and not a.is_valid)
            """)
    }

    @Test
    func `a single property is reported with its old and new value, and only once committed`() {
        session.expect(
            """
            local rex, log = dog { age = 3 }, {}
            local token = rex:observe_value("age", function(new, old) log[#log + 1] = tostring(old) .. ">" .. tostring(new) end)
            turn()
            store:begin_write() rex.age = 9 store:cancel_write() turn()
            assert(#log == 0)
            store:write(function() rex.age = 4 rex.age = 5 end)
            assert(#log == 0)
            store:write(function() rex.name = "Max" end)
            assert(log[1] == "3>5" and #log == 1)
            store:write(function() rex.age = 5 end) turn()
            assert(log[2] == "5>5" and #log == 2)
            store:write(function() rex.age = nil end) turn()
            assert(log[3] == "5>nil" and #log == 3)
            store:write(function() store:delete(rex) end) turn()
            assert(not token.is_valid)
            """)
    }

    @Test func `the observers of given tokens do not receive silent writes`() {
        session.expect(
            """
            local calls = { 0, 0 }
            local dogs = store:objects "Dog"
            local a = dogs:observe(function() calls[1] = calls[1] + 1 end)
            local b = dogs:observe(function() calls[2] = calls[2] + 1 end)
            turn()
            store:write(function() store:create("Dog", { id = 5, name = "x", score = 1, good = true }) end, { without_notifying = { a } })
            turn()
            assert(calls[1] == 1 and calls[2] == 2)
            store:begin_write()
            store:create("Dog", { id = 6, name = "x", score = 1, good = true })
            store:commit_write { without_notifying = { b } }
            turn()
            assert(calls[1] == 2 and calls[2] == 2)
            """)
    }

    @Test
    func `a collected or closed token stops observing, even if its function references it`() {
        session.expect(
            """
            calls = 0
            do
                local token
                token = store:objects("Dog"):observe(function() calls = calls + 1 return token end)
                turn()
                assert(calls == 1)
            end
            """)
        #expect(session.module.activeTokens.count == 1)
        session.expect("collectgarbage() collectgarbage() dog() turn() assert(calls == 1)")
        #expect(session.module.activeTokens.isEmpty)
        #expect(session.holds == 0)
        session.expect(
            """
            do local token <close> = store:objects("Dog"):observe(function() calls = calls + 1 end) turn() end
            dog { id = 2 } turn()
            assert(calls == 2)
            """)
    }

    @Test func `an error in an observer is reported with its name, and the observer continues`()
        throws
    {
        session.expect(
            """
            calls = 0
            token = store:objects("Dog"):observe(function() calls = calls + 1 error("oops") end, { name = "bad" })
            """)
        try session.run("turn()")
        #expect(session.reports.count == 1)
        #expect(session.reports.first?.message == "test.lua:2: oops")
        #expect(session.reports.first?.observer == "'bad'")
        session.reports = []
        try session.run("dog() turn() assert(calls == 2 and token.is_valid)")
        #expect(session.reports.count == 1)
        session.reports = []
    }

    @Test func `observing in an invalid context is an error`() {
        session.expect(
            """
            local rex, dogs = dog(), store:objects "Dog"
            store:begin_write()
            assert(code(dogs.observe, dogs, print) == "already_in_write")
            store:cancel_write()
            assert(code(dogs.observe, dogs) == "invalid_argument")
            assert(code(dogs.observe, dogs, print, { keypaths = { "nope" } }) == "unknown_property")
            assert(code(dogs.observe, dogs, print, { keypath = {} }) == "invalid_argument")
            local far = ("owner."):rep(100000) .. "name"
            assert(message(dogs.observe, dogs, print, { keypaths = { far } }):find("too long", 1, true))
            assert(code(rex.observe_value, rex, "nope", print) == "unknown_property")
            store:write(function() store:delete(rex) end)
            assert(code(function() rex:observe(print) end) == "invalid_object")
            """)
    }

    @Test func `the examples of the article on observing print what they show`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/ObjectStore/ObjectStore.docc/Observing.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let blocks = text.matches(of: /```lua\n([\s\S]*?)```/).map { String($0.1) }
        #expect(!blocks.isEmpty)
        for block in blocks {
            let shown = block.matches(of: /--> (.*)/).map { String($0.1) }
            let code = block.replacing("moonpool.sleep(0)", with: "turn()")
            session.expect(
                "moonpool.wait_until = function(holds) repeat turn() until holds() return true end "
                    + "local shown = {} local function print(v) shown[#shown + 1] = tostring(v) end "
                    + code
                    + " shown = table.concat(shown, '|') assert(shown == '\(shown.joined(separator: "|"))', shown)"
            )
        }
    }

    @Test func `in a handler at the beginning of a write, already_in_write names the ways out`() {
        session.expect(
            """
            local rex, faults = dog { id = 90 }, {}
            local function try(f, ...)
                local ok, err = pcall(f, ...)
                assert(not ok and err.code == "already_in_write", tostring(err))
                faults[#faults + 1] = err.message
            end
            local function all()
                try(store.write, store, print)
                try(store.begin_write, store)
                try(rex.observe, rex, print)
                try(store.observe, store, print)
                try(store.define, store, { Other = { id = "int" } })
            end
            local token = rex:observe(function() if store.is_in_write then all() else store:write(all) end end)
            turn()
            store:write(function() rex.age = 5 end)
            store:write(function() end)
            assert(#faults == 5)
            for _, text in ipairs(faults) do
                assert(text:find("this handler is called at the beginning of a write; change objects directly", 1, true)
                    and text:find("store:write_async or moonpool.after", 1, true), text)
            end
            faults = {}
            store:write(function() rex.age = 6 end)
            turn()
            assert(#faults == 5)
            for _, text in ipairs(faults) do assert(not text:find("handler", 1, true), text) end
            """)
    }

    @Test func `key paths filter changes, and a change keeps its collection`() {
        session.expect(
            """
            local rex, calls = dog { owner = { name = "Ann" } }, 0
            local token = store:objects("Dog"):observe(function(change) calls = calls + 1 kept = change end, { keypaths = { "name" } })
            turn()
            store:write(function() rex.age = 1 end) turn()
            assert(calls == 1)
            store:write(function() rex.name = "New" end) turn()
            assert(calls == 2 and kept.modifications[1] == 1 and kept.collection[1] == rex)
            assert(code(function() kept:modified() end) == "invalid_object")
            assert(token:why().keypath == "name")
            """)
    }

    @Test func `lists and backlinks are observed as collections`() {
        session.expect(
            """
            local rex, log = dog { owner = { name = "Ann" } }, {}
            local ann = rex.owner
            local a = ann.dogs:observe(function(change) log[#log + 1] = "list" .. #change.insertions assert(change.collection == ann.dogs) end)
            local b = ann.owned:observe(function(change) log[#log + 1] = "back" .. #change.deletions end)
            turn()
            store:write(function() ann.dogs:append(rex) rex.owner = nil end)
            turn()
            assert(table.concat(log, ",") == "list0,back0,list1,back1", table.concat(log, ","))
            """)
        #expect(
            session.module.activeTokens.map(\.subject) == [
                "Person.dogs", "Dog linking to an object",
            ])
    }

    @Test func `queued writes run on the loop`() throws {
        session.expect(
            """
            store:write_async(function() store:create("Toy", { "ball", 1 }) end)
            assert(#store:objects("Toy") == 0)
            turn()
            assert(#store:objects("Toy") == 1)
            store:write_async(function() error("no") end, function(err) failed = err end)
            turn()
            assert(failed:find("no"))
            """)
        try session.run("store:write_async(function() error('lost') end) turn()")
        #expect(session.reports.map(\.message) == ["test.lua:1: lost"])
        session.reports = []
        #expect(session.holds == 0)
    }
}
