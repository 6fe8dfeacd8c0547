import ScriptHost
import Testing

/// The values that a script can send to another script, and their received form.
@Suite struct CrossingTests {
    /// Runs a script whose workers return a description of the values that they receive.
    @discardableResult
    private func run(
        _ source: String, logs lines: [String]? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ScriptFixture {
        let script = try expectScript(
            """
            local schema = {
                Dog = { id = "int primary", name = "string", toys = "Toy[]", marks = "int[]", tags = "string<>",
                        notes = "mixed{}", owner = "Person" },
                Toy = { label = "string" },
                Person = { name = "string primary", dogs = "backlinks Dog.owner" },
            }
            local name = "\(freshName())"
            local store = moonpool.open { in_memory = name, schema = schema }
            local rex = store:write(function()
                return store:create("Dog", { id = 1, name = "Rex", toys = { { label = "ball" }, { label = "bone" } },
                    marks = { 3, 1, 2 }, tags = { "b", "a" }, notes = { x = 1 }, owner = { name = "Ann" } })
            end)
            local function fails(w, ...)
                local ok, err = pcall(w.post, w, ...)
                return ok and "no error" or err.code .. ": " .. err.message
            end
            moonpool.on_message(log)
            \(source)
            """, logs: lines, sourceLocation: sourceLocation)
        #expect(script.reports.map(\.text) == [], sourceLocation: sourceLocation)
        return script
    }

    @Test func `a message copies plain values, nested tables and shared ones`() throws {
        try run(
            """
            local shared = { 1 }
            local w = moonpool.worker("w", function(...)
                local nothing, yes, int, float, text, t = ...
                moonpool.post_to_parent(select("#", ...))
                moonpool.post_to_parent(nothing == nil and yes == true)
                moonpool.post_to_parent(math.type(int) .. " " .. math.type(float))
                moonpool.post_to_parent(#text)
                moonpool.post_to_parent(t.a == t.b and t.a[1] == 1 and t[1] == "one" and t[2.5] == "x" and t[true] == 9)
                moonpool.post_to_parent(t.deep.er.est)
            end, nil, true, 2^53 | 0, 1.5, "a\\0b\\xff", {
                "one", a = shared, b = shared, [2.5] = "x", [true] = 9, deep = { er = { est = "here" } } })
            w:join()
            """, logs: ["6", "true", "integer float", "4", "true", "here"])
    }

    @Test func `empty objects of JSON remain objects in a message`() throws {
        try run(
            """
            local w = moonpool.worker("w", function(...)
                moonpool.on_message(function(...) moonpool.post_to_parent(moonpool.json.encode { ... }) end)
            end)
            w:post(moonpool.json.empty_object, moonpool.json.decode '{"a":{},"b":[],"c":{"d":{}}}')
            store:write(function() rex.notes = { x = moonpool.json.empty_object } end)
            w:post(rex:to_table().notes)
            local done = 0
            w:on_message(function(text) log(text) done = done + 1 end)
            moonpool.wait_until(function() return done == 2 end, 10)
            w:stop()
            """, logs: [#"[{},{"a":{},"b":[],"c":{"d":{}}}]"#, #"[{"x":{}}]"#])
    }

    @Test func `a message copies dates, identifiers, decimals, data and null`() throws {
        try run(
            """
            local w = moonpool.worker("w", function(date, uuid, id, decimal, data, null)
                for _, value in ipairs { date, uuid, id, decimal, data } do
                    moonpool.post_to_parent(tostring(value))
                end
                moonpool.post_to_parent(null == moonpool.null)
                moonpool.post_to_parent(date)
            end, moonpool.date("2026-11-20T10:00:00Z"), moonpool.uuid("00112233-4455-6677-8899-aabbccddeeff"),
                moonpool.object_id("00112233445566778899aabb"), moonpool.decimal("0.10"), moonpool.data("raw"),
                moonpool.null)
            w:join()
            """,
            logs: [
                "2026-11-20T10:00:00Z", "00112233-4455-6677-8899-aabbccddeeff",
                "00112233445566778899aabb", "0.10", "raw", "true", "2026-11-20T10:00:00Z",
            ])
    }

    @Test func `a message copies the change of an object's observer as a plain table`() throws {
        try run(
            """
            local w = moonpool.worker("w", function()
                moonpool.on_message(function(change)
                    local entry = change.properties[1]
                    moonpool.post_to_parent(change.type, change.object.name, entry.name, entry.old, entry.new, getmetatable(change))
                    moonpool.stop()
                end)
            end)
            local token = rex:observe(function(change) w:post(change) end)
            w:on_message(function(...) log(table.concat({ ... }, " ")) log(select("#", ...)) end)
            store:write(function() rex.name = "Max" end)
            store:refresh()
            w:join()
            token:invalidate()
            """, logs: ["change Max name Rex Max", "6"])
    }

    @Test func `a message refuses values that cannot be sent, with their path`() throws {
        try run(
            """
            local w = moonpool.worker("w", function() moonpool.on_message(print) end)
            local cycle = { a = {} } cycle.a.b = cycle
            local deep = {} for _ = 1, 200 do deep = { deep } end
            log(fails(w, 1, { x = coroutine.create(print) }))
            log(fails(w, cycle))
            log(fails(w, deep):match("nested more than 100 deep"))
            log(fails(w, setmetatable({}, {})))
            log(fails(w, { [{}] = 1 }))
            log(fails(w, io.stdout))
            local token = store:observe(print)
            log(fails(w, token))
            token:invalidate()
            log(fails(w, moonpool.new("Dog", {})))
            w:stop()
            """,
            logs: [
                "invalid_argument: argument 2, field 'x': a coroutine cannot be sent to another thread",
                "invalid_argument: argument 1, field 'a', field 'b': the table contains itself; only trees of "
                    + "tables can be sent to another thread",
                "nested more than 100 deep",
                "invalid_argument: argument 1: a table with a metatable cannot be sent to another thread; send a "
                    + "plain copy of its fields",
                "invalid_argument: argument 1: a table as a key cannot be sent to another thread; use strings or "
                    + "numbers as keys",
                "invalid_argument: argument 1: a userdata cannot be sent to another thread",
                "invalid_argument: argument 1: an observer's token cannot be sent to another thread",
                "invalid_argument: argument 1: an unmanaged object cannot be sent to another thread; "
                    + "add it to a store with store:add first",
            ])
    }

    @Test func `a message resolves objects and collections in the receiver's store`() throws {
        try run(
            """
            local w = moonpool.worker("w", function(t)
                moonpool.post_to_parent(t.dog.name .. " " .. t.dog.owner.name)
                moonpool.post_to_parent(#t.toys .. " " .. t.toys[2].label)
                moonpool.post_to_parent(#t.tags .. " " .. t.tags[1] .. " " .. t.notes.x .. " " .. t.marks[1])
                moonpool.post_to_parent(#t.results .. " " .. t.results[1].name)
                moonpool.post_to_parent(#t.sorted .. " " .. t.sorted[1].label)
                moonpool.post_to_parent(#t.back .. " " .. t.back[1].name)
                moonpool.post_to_parent(tostring(t.high) .. " " .. t.high[1] .. " " .. t.low[1])
                moonpool.post_to_parent(t.dog.store == t.store and not t.store.is_frozen)
                t.store:write(function() t.dog.name = "Max" t.marks:append(9) end)
            end, {
                dog = rex, toys = rex.toys, tags = rex.tags, notes = rex.notes, marks = rex.marks, store = store,
                results = store:objects("Dog"):where("name == $1", "Rex"),
                sorted = rex.toys:sorted("label", "desc"), back = rex.owner.dogs,
                high = rex.marks:where("SELF > 1"):sorted("desc"), low = rex.marks:sorted():freeze(),
            })
            w:join()
            store:refresh()
            log(rex.name .. " " .. #rex.marks)
            """,
            logs: [
                "Rex Ann", "2 bone", "2 a 1 3", "1 Rex", "2 bone", "1 Rex", "Values of int (2) 3 1",
                "true", "Max 4",
            ])
    }

    @Test func `an object deleted on the way arrives as nil; a deleted one is refused`() throws {
        try run(
            """
            local w = moonpool.worker("w", function(name)
                local dogs = moonpool.open { in_memory = name }:objects "Dog"
                moonpool.wait_until(function() return #dogs == 0 end, 60)
                moonpool.on_message(function(dog, toys, results)
                    moonpool.post_to_parent(("%s %s %d %s"):format(dog, toys, #results, results:is_valid()))
                end)
            end, name)
            w:post(rex, rex.toys, rex.toys:where("label != nil"))
            local owner = rex.owner
            store:write(function() store:delete(rex) end)
            log(fails(w, rex):match("^[^;]*"))
            w:on_message(function(text) log(text) w:stop() end)
            w:join()
            """,
            logs: [
                "invalid_object: argument 1: this 'Dog' was deleted",
                "nil nil 0 false",
            ])
    }

    @Test func `a message refuses objects of an open write until it is committed`() throws {
        try run(
            """
            local w = moonpool.worker("w", function()
                moonpool.on_message(function(dog) moonpool.post_to_parent(dog.name) end)
            end)
            store:begin_write()
            local new = store:create("Dog", { id = 2, name = "New" })
            log(fails(w, new):match("^[^:]*"))
            log(fails(w, new.toys):match("^[^:]*"))
            w:post(rex)
            store:commit_write()
            w:post(new)
            w:stop() w:join()
            """, logs: ["already_in_write", "already_in_write", "Rex", "New"])
    }

    @Test func `an explicit reference of a write is usable after its end`() throws {
        try run(
            """
            local w = moonpool.worker("w", function(store)
                moonpool.on_message(function(ref)
                    local ok, found = pcall(store.resolve, store, ref)
                    moonpool.post_to_parent(tostring(ok and (found and found.name) or found.code))
                end)
            end, store)
            local answer
            moonpool.on_message(function(text) answer = text log(text) end)
            local function send(ref)
                answer = nil
                w:post(ref)
                moonpool.wait_until(function() return answer end, 10)
            end
            store:begin_write()
            local kept = moonpool.reference(store:create("Dog", { id = 2, name = "New" }))
            send(kept)
            log(select(2, pcall(moonpool.reference, store:object("Dog", 2).toys:where "label != nil")).code)
            store:commit_write()
            send(kept)
            store:begin_write()
            local lost = moonpool.reference(store:create("Dog", { id = 3, name = "Lost" }))
            store:cancel_write()
            log(store:resolve(lost))
            w:stop() w:join()
            """, logs: ["already_in_write", "already_in_write", "New", "nil"])
    }

    @Test func `a message advances the receiver to the commits before the message`() throws {
        let script = try run(
            """
            local w = moonpool.worker("w", function(store)
                store.autorefresh = false
                moonpool.on_message(function(dog) moonpool.post_to_parent(dog.name) end)
            end, store)
            for i = 10, 20 do
                w:post(store:write(function() return store:create("Dog", { id = i, name = "N" .. i }) end))
            end
            w:stop() w:join()
            """)
        #expect(script.log == (10...20).map { "N\($0)" })
    }

    @Test func `a message passes frozen values unchanged`() throws {
        try run(
            """
            local frozen, list, results = rex:freeze(), rex.toys:freeze(), store:objects("Toy"):freeze()
            local version = store:freeze()
            store:write(function() rex.name = "Later" store:delete_all("Toy") end)
            local w = moonpool.worker("w", function(dog, list, results, version, live)
                moonpool.post_to_parent(dog.name .. " " .. live.name .. " " .. tostring(dog:is_frozen()))
                moonpool.post_to_parent(#list .. " " .. list[1].label .. " " .. #results)
                moonpool.post_to_parent(#version:objects("Toy") .. " " .. tostring(version.is_frozen))
                moonpool.post_to_parent(#live.store:objects("Toy"))
                moonpool.post_to_parent(select(2, pcall(function() dog.name = "x" end)).code)
                moonpool.post_to_parent(dog:thaw().name)
                moonpool.post_to_parent(dog)
            end, frozen, list, results, version, rex)
            moonpool.on_message(function(value)
                log(type(value) == "userdata" and value.name .. " " .. tostring(value == frozen) or value)
            end)
            w:join()
            """,
            logs: [
                "Rex Later true", "2 ball 2", "2 true", "0", "frozen", "Later", "Rex true",
            ])
    }

    @Test func `many threads read one frozen version at once`() throws {
        let script = try run(
            """
            store:write(function()
                for i = 100, 1099 do store:create("Dog", { id = i, name = "N" .. i, marks = { i } }) end
            end)
            local frozen, workers = store:objects("Dog"):where("id >= 100"):freeze(), {}
            local total = 0
            moonpool.on_message(function(sum) total = total + sum end)
            for i = 1, 8 do
                workers[i] = moonpool.worker("reader", function(dogs)
                    local sum = 0
                    for _ = 1, 5 do
                        for dog in dogs:each() do sum = sum + dog.marks[1] + #dog.name end
                    end
                    moonpool.post_to_parent(sum)
                end, frozen)
            end
            store:write(function() store:delete_all() end)
            for _, w in ipairs(workers) do w:join() end
            log(total)
            """)
        let sum = (100...1099).reduce(0) { $0 + $1 + "N\($1)".utf8.count }
        #expect(script.log == ["\(sum * 5 * 8)"])
    }

    @Test func `a message resolves explicit references once, in the same file`() throws {
        try run(
            """
            local other = moonpool.open { in_memory = "crossing other", schema = schema }
            local ref, used = moonpool.reference(rex), moonpool.reference(store:objects "Dog")
            log(other:resolve(ref))
            log(#store:resolve(used))
            log(select(2, pcall(store.resolve, store, used)).code)
            log(tostring(used) .. " " .. tostring(ref))
            local w = moonpool.worker("w", function(ref, store)
                moonpool.post_to_parent(store:resolve(ref).name)
                moonpool.post_to_parent(ref.is_resolved)
            end, ref, store)
            w:join()
            log(ref.is_resolved)
            log(select(2, pcall(moonpool.reference, moonpool.new("Dog", {}))).code)
            log(select(2, pcall(moonpool.reference, 1)).code)
            store:write(function() store:delete(rex) end)
            log(select(2, pcall(moonpool.reference, rex)).code)
            """,
            logs: [
                "nil", "1", "invalid_argument", "reference (resolved) reference", "Rex", "true",
                "true", "invalid_argument", "invalid_argument", "invalid_object",
            ])
    }

    @Test func `a message in transit keeps an in-memory store alive`() throws {
        try run(
            """
            moonpool.on_message(function(dog) log(dog.name) end)
            moonpool.worker("maker", function()
                local own = moonpool.open { in_memory = "only in the worker", schema = { Dog = { name = "string" } } }
                moonpool.post_to_parent(own:write(function() return own:create("Dog", { name = "Traveler" }) end))
            end):join()
            """, logs: ["Traveler"])
    }

    @Test func `a message opens a file for the receiver with any path of the sender`() throws {
        let folder = try Folder()
        try run(
            """
            local file = moonpool.open { path = "\(folder.path)/./zoo.moonpool", schema = schema }
            local dog = file:write(function() return file:create("Dog", { id = 1, name = "Filed" }) end)
            moonpool.worker("w", function(dog)
                local store = moonpool.open "\(folder.path)/zoo.moonpool"
                moonpool.post_to_parent(dog.name .. " " .. tostring(dog.store == store))
            end, dog):join()
            file:close()
            """, logs: ["Filed true"])
    }

    @Test func `a worker continues when its parent closes the store during a call`() throws {
        let script = try run(
            """
            local w = moonpool.worker("w", function(dog)
                local token = dog:observe(function(change) moonpool.post_to_parent(change.type) end)
                moonpool.on_message(function()
                    dog.store:write(function() dog.name = "After" end)
                    moonpool.post_to_parent(dog.name)
                    dog.store:refresh()
                    dog.store:close()
                    moonpool.post_to_parent(tostring(dog:is_valid()))
                end)
            end, rex)
            store:close()
            w:post(1)
            w:stop() w:join()
            """)
        #expect(script.log.sorted() == ["After", "change", "false"])
    }
}
