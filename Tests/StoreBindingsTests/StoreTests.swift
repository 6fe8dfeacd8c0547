import LuaHost
import ObjectStore
import StoreBindings
import Testing

@Suite struct ScriptStoreTests {
    let session: Session
    init() throws { session = try Session() }

    @Test func `writes return results, roll back on errors and cannot nest`() throws {
        session.expect(
            """
            local a, b = store:write(function() return 1, "x" end)
            assert(a == 1 and b == "x")
            local ok, err = pcall(store.write, store, function() store:create("Toy", { "a", 1 }) error({ mine = true }) end)
            assert(not ok and err.mine and #store:objects("Toy") == 0 and not store.is_in_write)
            assert(code(function() store:create("Toy", { "a", 1 }) end) == "not_in_write")
            assert(message(function() store:create("Toy", { label = "a", price = 1 }) end):find("store:write", 1, true))
            store:begin_write()
            assert(store.is_in_write and code(store.begin_write, store) == "already_in_write")
            assert(code(store.define, store, { X = { a = "int" } }) == "already_in_write")
            store:cancel_write()
            assert(code(store.cancel_write, store) == "not_in_write" and code(store.commit_write, store) == "not_in_write")
            """)
    }

    @Test func `a closed store is released with its last object`() throws {
        session.expect(
            """
            other = moonpool.open { in_memory = "released", schema = { Dog = { name = "string" } } }
            rex = other:write(function() return other:create("Dog", { name = "Rex" }) end)
            tim = rex:freeze()
            dogs = other:objects "Dog"
            assert(#dogs == 1 and dogs[1] == rex)
            """)
        weak let store = session.module.openStores.last
        #expect(store != nil && session.module.openStores.count == 2)
        session.expect(
            """
            other:close()
            assert(code(function() return rex.name end) == "closed" and tim.name == "Rex")
            assert(code(function() return dogs[1] end) == "closed")
            assert(code(function() for dog in dogs:each() do end end) == "closed")
            assert(code(other.objects, other, "Dog") == "closed" and not rex:is_valid())
            other, rex, tim, dogs = nil, nil, nil, nil
            for i = 1, 4 do collectgarbage() end
            """)
        #expect(store == nil)
    }

    @Test func `a savepoint rolls back a part of a write`() {
        session.expect(
            """
            assert(code(store.savepoint, store, function() end) == "not_in_write")
            assert(message(store.savepoint, store, function() end):find("store:write", 1, true))
            local inner
            store:write(function()
              local a, b = store:savepoint(function() return store:create("Toy", { label = "a", price = 1 }), 2 end)
              assert(a.label == "a" and b == 2)
              local reason = {}
              local ok, err = pcall(store.savepoint, store, function()
                inner = store:create("Toy", { label = "b", price = 1 })
                a.price = 9
                store:savepoint(function() store:delete(a) end)
                assert(not a:is_valid() and #store:objects "Toy" == 1)
                for _, name in ipairs { "begin_write", "commit_write", "cancel_write", "undo", "redo" } do
                  assert(code(store[name], store) == "already_in_write", name)
                end
                assert(code(store.write, store, function() end) == "already_in_write")
                error(reason)
              end)
              assert(not ok and err == reason and store.is_in_write)
              assert(a:is_valid() and a.price == 1 and not inner:is_valid() and #store:objects "Toy" == 1)
              local wrong = pcall(store.savepoint, store, function() store:objects "Toi" end)
              assert(not wrong)
              assert(code(store.savepoint, store) == "invalid_argument")
            end)
            assert(#store:objects "Toy" == 1)
            store:write(function() store:create("Toy", { label = "c", price = 1 }) end)
            assert(not inner:is_valid())
            """)
    }

    @Test func `an unmanaged graph that cannot be stored changes nothing`() {
        session.expect(
            """
            local s <close> = moonpool.open {
              in_memory = "graph",
              schema = { Person = { name = "string primary", age = "int?", friend = "Person", friends = "Person[]" } },
            }
            s:write(function() s:create("Person", { name = "Bob", age = 1 }) end)
            for _, mode in ipairs { "error", "all", "modified" } do
              s:write(function()
                local ann = moonpool.new("Person", { name = "Ann" })
                local bob = moonpool.new("Person", { name = mode == "error" and "Ben" or "Bob", age = 50, friend = ann })
                ann.friends = { bob, moonpool.new("Person", { name = "Cid", friend = moonpool.new("Person", {}) }) }
                assert(code(s.add, s, ann, mode) == "missing_value")
                assert(#s:objects "Person" == 1 and s:object("Person", "Bob").age == 1)
                assert(s:object("Person", "Bob").friend == nil)
              end)
            end
            """)
    }

    @Test func `the same path opens the same store, and closing is final`() {
        session.expect(
            """
            local a = moonpool.open { in_memory = "twice", schema = { Toy = { label = "string" } } }
            local b = moonpool.open { in_memory = "twice" }
            assert(a == b)
            assert(code(moonpool.open, { in_memory = "twice", durability = "async" }) == "invalid_argument")
            a:write(function() a:create("Toy", { label = "x" }) end)
            local toy = a:objects("Toy")[1]
            a:close()
            a:close()
            assert(a.is_closed and tostring(a):find("closed"))
            assert(code(function() return toy.label end) == "closed")
            assert(code(function() return a:objects("Toy") end) == "closed")
            assert(tostring(toy) == "Toy (of a closed store)")
            do local c <close> = moonpool.open { in_memory = "scoped" } scoped = c end
            assert(scoped.is_closed)
            """)
    }

    @Test func `options are checked by name and type`() {
        session.expect(
            """
            assert(code(moonpool.open) == "invalid_argument")
            assert(message(moonpool.open, { pth = "x" }):find("path", 1, true))
            assert(code(moonpool.open, { path = "a", in_memory = "b" }) == "invalid_argument")
            assert(code(moonpool.open, { in_memory = "a", durability = "never" }) == "invalid_argument")
            assert(code(moonpool.open, { in_memory = "a", schema = {}, schema_version = -1 }) == "invalid_argument")
            -- Without a schema, the file must have the version.
            assert(code(moonpool.open, { in_memory = "a", schema_version = 1 }) == "migration_needed")
            -- A migration would do nothing, silently.
            assert(code(moonpool.open, { in_memory = "a", migration = print }) == "invalid_argument")
            assert(code(moonpool.open, { in_memory = "a", read_only = 1 }) == "invalid_argument")
            assert(code(moonpool.open, "") == "invalid_argument" and code(moonpool.open, { in_memory = "" }) == "invalid_argument")
            assert(message(moonpool.open, { in_memory = "a", max_live_versions = 0 }):find("from 1 to 2^50", 1, true))
            assert(message(moonpool.open, { in_memory = "a", threads = 0 }):find("from 1 to 2^50", 1, true))
            assert(code(moonpool.open, { in_memory = "a", schema = { Dog = { name = "strin" } } }) == "invalid_schema")
            assert(code(moonpool.open, { in_memory = "a", schema = { Dog = { name = {} } } }) == "invalid_schema")
            assert(code(moonpool.open, { in_memory = "a", schema = { Dog = 1 } }) == "invalid_schema")
            assert(message(moonpool.open, { in_memory = "a", schema = { Dog = { name = { type = "int", indx = true } } } }):find("indexed"))
            """)
    }

    @Test func `errors have codes and similar names`() {
        session.expect(
            """
            local rex = dog()
            assert(code(store.objects, store, "Dgo") == "unknown_class")
            assert(message(store.objects, store, "Dgo"):find("'Dog'"))
            assert(code(function() return rex.nmae end) == "unknown_property")
            assert(message(function() return rex.nmae end):find("'name'"))
            assert(message(function() rex:updat {} end):find("'update'"))
            assert(code(function() rex.nmae = 1 end) == "unknown_property")
            assert(code(function() return rex[1] end) == "unknown_property")
            assert(code(function() rex.name = "x" end) == "not_in_write")
            store:begin_write()
            for number, shown in pairs { [2 ^ 63] = "9.2", [1 / 0] = "inf", [1.5] = "1.5" } do
                local said = message(function() rex.age = number end)
                assert(said:find(shown, 1, true) and said:find("not a whole number of 64 bits", 1, true), said)
            end
            for name, make in pairs { born = "date", tag = "uuid", code = "object_id" } do
                local said = message(function() rex[name] = "x" end)
                assert(said:find("create it with moonpool." .. make, 1, true), said)
            end
            assert(message(function() rex.marks:append { 1, 2 } end):find("an element of 'marks' of 'Dog' expects int, got a table", 1, true))
            assert(message(moonpool.json.encode, { 1, nil, 3 }):find("use moonpool.null for nil", 1, true))
            assert(code(function() rex.name = 1 end) == "type_mismatch")
            assert(code(function() rex.name = nil end) == "missing_value")
            assert(code(function() rex.name = "\\xff" end) == "type_mismatch")
            assert(code(function() rex.age = 1.5 end) == "type_mismatch")
            assert(code(function() rex.age = {} end) == "type_mismatch")
            assert(code(function() rex.age = print end) == "type_mismatch")
            assert(code(function() rex.id = 2 end) == "invalid_argument")
            assert(code(function() rex.class = "Cat" end) == "invalid_argument")
            assert(code(function() rex.owner = rex end) == "type_mismatch")
            assert(code(function() rex.marks = { 1, nil, 3, x = 1 } end) == "type_mismatch")
            assert(code(function() rex.marks[5] = 1 end) == "out_of_range")
            assert(code(function() rex.marks:insert(0, 1) end) == "out_of_range")
            assert(code(function() rex.marks:remove(math.mininteger) end) == "out_of_range")
            assert(message(function() rex.marks[math.maxinteger] = 1 end):find(math.maxinteger, 1, true))
            assert(code(function() rex.marks:append("x") end) == "type_mismatch")
            local loop = {} loop.owner = loop loop.dogs = { loop }
            assert(code(function() store:create("Person", { name = "x", dogs = { { id = 7, name = "y", score = 1, good = true, owner = loop } } }) end) ~= "no error")
            assert(code(function() store:create("Dog", { id = 9 }) end) == "missing_value")
            assert(code(function() store:create("Dog", { id = 9, nmae = 1 }) end) == "unknown_property")
            assert(code(function() store:create("Dgo", {}) end) == "unknown_class")
            assert(code(function() store:create("Toy", { 1, 2, 3 }) end) ~= "no error")
            assert(code(function() store:delete(5) end) == "invalid_argument")
            store:cancel_write()
            assert(code(store.object, store, "Toy", 1) == "invalid_argument")
            assert(code(store.object, store, "Dog", "x") == "type_mismatch")
            assert(code(function() return store.nope end) == "unknown_property")
            assert(code(store.create) == "invalid_argument")
            local other = moonpool.open { in_memory = "other", schema = { Person = { name = "string primary" } } }
            local ann = other:write(function() return other:create("Person", { name = "Ann" }) end)
            assert(code(function() store:write(function() rex.owner = ann end) end) == "invalid_object")
            assert(code(function() store:write(function() store:delete(ann) end) end) == "invalid_object")
            """)
    }

    @Test func `errors print with file and line`() throws {
        #expect(throws: LuaError.self) { try session.run("\nstore:create('Toy', {})") }
        do {
            try session.run("\nstore:create('Toy', {})")
        } catch {
            #expect(error.message.hasPrefix("test.lua:2: "))
            #expect((error.underlying as? StoreError)?.code == .notInWrite)
        }
    }

    @Test func `dates, identifiers and data are created, compared and printed`() {
        session.expect(
            """
            local d = moonpool.date { year = 2026, month = 2, day = 28, hour = 23 }
            assert(tostring(d) == "2026-02-28T23:00:00Z" and d.month == 2 and d.seconds == 1772319600.0)
            assert(d + 3600 > d and (d + 90) - d == 90.0 and d - 60 < d and d <= d and d == moonpool.date(d.seconds))
            assert(moonpool.date(0) == moonpool.date "1970-01-01" and moonpool.date() > d - 1e10)
            assert(code(moonpool.date, "yesterday") == "invalid_argument" and code(moonpool.date, {}) == "invalid_argument")
            assert(message(moonpool.date, { year = 2026, hours = 4 }):find("did you mean 'hour'", 1, true))
            assert(moonpool.date(os.date("!*t", 86400)) == moonpool.date(86400))
            assert(code(moonpool.date, 1e300) == "invalid_argument" and code(function() return d + 1e300 end) == "invalid_argument")
            assert(code(function() d.year = 1 end) == "invalid_argument" and code(function() return d.yaer end) == "unknown_property")
            local u = moonpool.uuid()
            assert(#tostring(u) == 36 and moonpool.uuid(tostring(u)) == u and u ~= moonpool.uuid())
            assert(code(moonpool.uuid, "x") == "invalid_argument")
            local o = moonpool.object_id()
            assert(#tostring(o) == 24 and moonpool.object_id(tostring(o)) == o and o < moonpool.object_id())
            assert(tostring(moonpool.data "a\\0b") == "a\\0b" and #moonpool.data "abc" == 3 and moonpool.data "a" == moonpool.data "a")
            assert(tostring(moonpool.null) == "null" and d:to_table().year == 2026)
            """)
    }

    @Test func `the prompt reads the type and the members of a value`() throws {
        try session.run("rex = dog() dogs = store:objects('Dog')")
        let values = try session.run("return rex, dogs, rex.marks, store, moonpool.date(0), 5")
        let kinds = values.map { value in
            switch session.module.inspect(value) {
            case .object(let object): object.classSchema.name
            case .results: "results"
            case .sections: "sections"
            case .list(let list): list.property.name
            case .nested: "nested"
            case .set(let set): set.property.name
            case .map(let map): map.property.name
            case .values: "values"
            case .projection: "projection"
            case .projectedResults: "projections"
            case .store: "store"
            case .text(let text): text
            case .token: "token"
            case nil: "nothing"
            }
        }
        #expect(kinds == ["Dog", "results", "marks", "store", "1970-01-01T00:00:00Z", "nothing"])
        #expect(session.module.members(of: values[0]).map(\.name).contains("breed"))
        #expect(session.module.members(of: values[1]).map(\.name).contains("where"))
    }

    @Test func `all resources of a script end with it`() throws {
        weak var module: StoreModule?
        weak var store: Store?
        weak var state: LuaState?
        do {
            let session = try Session()
            try session.run(
                "dog { owner = { name = 'Ann' } } t = store:objects('Dog'):observe(print) f = store:objects('Dog'):freeze() x = f[1]"
            )
            module = session.module
            store = session.module.openStores.first
            state = session.state
        }
        #expect(module == nil)
        #expect(store == nil)
        #expect(state == nil)
    }
}
