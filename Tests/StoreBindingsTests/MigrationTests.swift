import StoreBindings
import Testing

@Suite struct ScriptMigrationTests {
    let session: Session
    init() throws {
        session = try Session()
        session.expect(
            """
            before = { Dog = { id = "int primary", name = "string", age = "int?", owner = "Person" },
                       Person = { name = "string primary", dogs = "backlinks Dog.owner" } }
            name = 0
            -- A store in memory lives while one is open: a twin keeps it, and is closed before the next opening.
            function fill()
                name = name + 1
                path = os.tmpname()
                os.remove(path)
                local s <close> = moonpool.open { path = path, schema = before, durability = "memory" }
                s:write(function()
                    local ann = s:create("Person", { name = "Ann" })
                    for i = 1, 3 do s:create("Dog", { id = i, name = "d" .. i, age = i > 1 and i or nil, owner = ann }) end
                end)
            end
            function reopen(options)
                options.path, options.durability = path, "memory"
                return moonpool.open(options)
            end
            function done() os.remove(path) os.remove(path .. "-lock") end
            """)
    }

    @Test func `each visits old and new objects, including links`() {
        session.expect(
            """
            fill()
            local versions
            local s <close> = reopen {
                schema_version = 3, drops = { "Dog.age" },
                schema = { Dog = { id = "int primary", label = "string", owner = "Person", years = "int" },
                           Person = before.Person },
                migration = function(m)
                    versions = { m.old_version, m.new_version, m.old.schema_version, tostring(m) }
                    m:rename_property("Dog", "name", "label")
                    assert(m.old.is_frozen and m.new.is_in_write and not m.new.is_frozen)
                    assert(#m.old:objects("Dog") == 3 and m.old:object("Dog", 2).name == "d2")
                    assert(m.old:schema().Dog.age == "int?" and m.old:schema("Dog").name == "string")
                    assert(m.old:object("Person", "Ann").dogs[3].id == 3)
                    assert(#m:objects("Dog") == 3 and #m.new:objects("Dog"):where("label == 'd3'") == 1)
                    m:each("Dog", function(old, new)
                        assert(old.owner.name == "Ann" and new.owner.name == "Ann" and old ~= new)
                        assert(old:is_frozen() and not new:is_frozen())
                        assert(code(function() old.name = "x" end) == "frozen")
                        assert(code(function() return new.name end) == "unknown_property")
                        new.years = old.age or -1
                        new:update { label = old.name .. "!" }
                    end)
                end }
            assert(versions[1] == 0 and versions[2] == 3 and versions[3] == 0, versions[4])
            local d = s:object("Dog", 1)
            assert(d.label == "d1!" and d.years == -1 and s:object("Dog", 3).years == 3)
            assert(s.schema_version == 3 and s:schema("Dog").years == "int")
            done()
            """)
    }

    @Test func `only a migration can rename`() {
        session.expect(
            """
            fill()
            local kept
            local store = reopen {
                schema = { Dog = { id = "int primary", label = "string", age = "int?", owner = "Person" }, Person = before.Person },
                schema_version = 1,
                migration = function(m) kept = m m:rename_property("Dog", "name", "label") end,
            }
            assert(store:object("Dog", 1).label == "d1")
            assert(not pcall(function() return store.rename_property end))
            assert(code(function() kept:rename_property("Dog", "label", "name") end) == "invalid_argument")
            store:close()
            done()
            """)
    }

    @Test func `a migration creates, deletes and removes classes, and keeps handles alive`() {
        session.expect(
            """
            fill()
            local kept
            local s <close> = reopen {
                schema_version = 1,
                schema = { Cat = { id = "int primary", name = "string" }, Person = { name = "string primary" } },
                migration = function(m)
                    m:each("Dog", function(old, new) kept = m:create("Cat", { id = old.id, name = old.name }) end)
                    m:create("Cat", { id = 1, name = "again" }, "all")
                    m:delete(m.new:object("Cat", 2))
                    assert(m:delete_class("Dog") and not m:delete_class("Dog") and not m:delete_class("Dgo"))
                    assert(code(m.create, m, "Dog", { id = 9 }) == "unknown_class")
                    assert(#m.old:objects("Dog") == 3 and m.old:objects("Dog")[1].name == "d1")
                    m:delete(m:objects("Person"))
                end }
            assert(kept.name == "d3" and kept == s:object("Cat", 3) and kept.store == s)
            assert(s:object("Cat", 1).name == "again" and not s:object("Cat", 2) and #s:objects("Person") == 0)
            assert(code(s.objects, s, "Dog") == "unknown_class")
            done()
            """)
    }

    @Test func `an error in the function is raised again, and nothing has changed`() {
        session.expect(
            """
            fill()
            local leaked, old, new
            local ok, err = pcall(reopen, {
                schema_version = 1, schema = { Dog = { id = "int primary" } },
                migration = function(m)
                    leaked, new = m, m.new
                    m:each("Dog", function(o) old = o if o.id == 2 then error({ mine = true }) end end)
                end })
            assert(not ok and err.mine)
            assert(code(leaked.each, leaked, "Dog", print) == "invalid_argument")
            assert(code(function() return leaked.new end) == "invalid_argument")
            assert(new.is_closed and code(new.objects, new, "Dog") == "closed" and tostring(leaked) ~= "")
            assert(old.id == 2)
            local s <close> = reopen { schema = before }
            assert(#s:objects("Dog") == 3 and s.schema_version == 0)
            done()
            """)
    }

    @Test func `a migration cannot commit, cancel, begin, define or observe`() {
        session.expect(
            """
            fill()
            local s <close> = reopen {
                schema_version = 1, schema = before,
                migration = function(m)
                    local n = m.new
                    for _, name in ipairs { "commit_write", "cancel_write", "begin_write" } do
                        assert(code(n[name], n) == "already_in_write", name)
                    end
                    assert(code(n.write, n, print) == "already_in_write")
                    assert(code(n.define, n, before) == "already_in_write")
                    assert(code(n.observe, n, print) == "already_in_write")
                    local dogs = n:objects("Dog")
                    assert(code(dogs.observe, dogs, print) == "already_in_write")
                    assert(code(m.each, m, "Dog") == "invalid_argument")
                    assert(code(m.each, m, 1, print) == "invalid_argument")
                    assert(code(m.each, m, "Dgo", print) == "unknown_class")
                end }
            assert(s.schema_version == 1 and #s:objects("Dog") == 3)
            done()
            """)
    }

    @Test func `a store that its own migration closes is not opened`() {
        session.expect(
            """
            fill()
            assert(code(reopen, { schema_version = 1, schema = before, migration = function(m) m.new:close() end }) == "closed")
            local s <close> = reopen { schema = before }
            assert(#s:objects("Dog") == 3)
            done()
            """)
    }

    @Test func `define loses data only if it is forced or migrated`() {
        session.expect(
            """
            local less = { Dog = { id = "int primary", name = "string" } }
            assert(code(store.define, store, less) == "migration_needed")
            assert(message(store.define, store, less):find("force", 1, true))
            assert(code(store.define, store, less, 1) == "invalid_argument")
            assert(code(store.define, store, less, { forced = true }) == "invalid_argument")
            local rex
            store:write(function() rex = store:create("Dog", { id = 1, name = "Rex", score = 1, good = true, age = 4 }) end)
            local seen = 0
            local token = store:objects("Dog"):observe(function(c) if c.type == "update" then seen = seen + #c.modifications end end)
            turn()
            store:define({ Dog = { id = "int primary", label = "string", age = "string" } }, function(m)
                assert(m.old_version == 0 and m.new_version == 0)
                m:rename_property("Dog", "name", "label")
                m:each("Dog", function(old, new) new.age = "about " .. old.age end)
            end)
            assert(rex.label == "Rex" and rex.age == "about 4")
            assert(code(function() return rex.name end) == "unknown_property")
            assert(code(function() rex.name = "x" end) == "unknown_property")
            turn()
            assert(seen == 1 and token.is_valid)
            store:define({ Dog = { id = "int primary" } }, { force = true })
            assert(code(function() return rex.label end) == "unknown_property" and rex.id == 1)
            assert(code(store.define, store, { Dog = { id = "int primary", x = "int" } }, function() error("no", 0) end) == "no")
            assert(code(function() return rex.x end) == "unknown_property")
            assert(code(store.define, store, {}, function(m) m:rename_class("Toy", "Plaything") end) == "invalid_schema")
            """)
    }

    @Test func `renaming or removing a class affects the values of a script`() {
        session.expect(
            """
            local toy, dog
            store:write(function()
                toy = store:create("Toy", { label = "ball", price = 2 })
                dog = store:create("Dog", { id = 1, name = "Rex", score = 1, good = true, toys = { toy } })
            end)
            local schema = store:schema()
            schema.Thing, schema.Toy, schema.Dog.toys = schema.Toy, nil, "Thing[]"
            store:define(schema, function(m) m:rename_class("Toy", "Thing") end)
            assert(toy.label == "ball" and toy.class == "Thing" and dog.toys[1] == toy)
            assert(code(store.create, store, "Toy", { label = "x", price = 1 }) == "unknown_class")
            store:write(function() store:create("Thing", { label = "x", price = 1 }) end)
            assert(#store:objects("Thing") == 2)
            store:define { Toy = { other = "int" } }
            store:write(function() assert(store:create("Toy", { other = 1 }).class == "Toy") end)
            assert(toy.class == "Thing" and #store:objects("Toy") == 1)
            schema = store:schema()
            schema.Thing, schema.Dog.toys = nil, nil
            store:define(schema, function(m) m:delete_class("Thing") end)
            assert(not toy:is_valid() and code(function() return toy.label end) == "invalid_object")
            assert(dog.name == "Rex")
            assert(store:schema().Thing == nil)
            store:define({}, function(m)
                for name in pairs(m.old:schema()) do m:delete_class(name) end
                assert(m.old:objects("Dog")[1].name == "Rex")
            end)
            assert(next(store:schema()) == nil and not dog:is_valid())
            """)
    }

    @Test func `an object of a class whose removal was rolled back can change`() {
        session.expect(
            """
            local toy
            store:write(function() toy = store:create("Toy", { label = "ball", price = 2 }) end)
            local schema = store:schema()
            schema.Toy, schema.Dog.toys = nil, nil
            local function remove(m)
                m:delete_class("Toy")
                error("no", 0)
            end
            assert(code(store.define, store, schema, remove) == "no")
            assert(toy:is_valid() and toy.label == "ball")
            store:write(function() toy.label = "rope" end)
            assert(toy.label == "rope" and store:objects("Toy")[1].label == "rope")
            """)
    }

    @Test func `an open file refuses another schema version`() {
        session.expect(
            """
            fill()
            local s <close> = reopen { schema = before, schema_version = 2 }
            assert(reopen { schema = before, schema_version = 2 } == s)
            assert(code(reopen, { schema = before, schema_version = 3 }) == "invalid_argument")
            assert(code(reopen, { schema = before, schema_version = 1 }) == "version_too_low")
            local other = { Dog = { id = "int primary", name = "int" } }
            assert(code(reopen, { schema = other, schema_version = 2 }) == "migration_needed")
            local said = message(reopen, { schema = other, schema_version = 2 })
            assert(said:find(path .. "' is open with another schema; close it first", 1, true) and said:find("'Dog.name'", 1, true), said)
            s:close()
            for code_wanted, options in pairs {
                version_too_low = { schema = before, schema_version = 1 }, migration_needed = { schema = other, schema_version = 2 },
                duplicate_key = { schema = { Dog = { name = "string primary" }, Person = { name = "string primary" } },
                                  schema_version = 3, drops = { "Dog.id", "Dog.age", "Dog.owner", "Person.dogs" },
                                  migration = function(m) m:each("Dog", function(_, new) new.name = "same" end) end },
            } do
                assert(code(reopen, options) == code_wanted, code_wanted .. " " .. message(reopen, options))
                assert(message(reopen, options):find("'" .. path .. "'", 1, true), message(reopen, options))
            end
            assert(code(moonpool.open, { path = path, schema = before, migration = 5 }) == "invalid_argument")
            done()
            """)
    }

    @Test func `an option empties a file instead of migrating it`() {
        session.expect(
            """
            fill()
            local s <close> = reopen { schema_version = 1, schema = before, delete_if_migration_needed = true,
                                       migration = function() error("not called") end }
            assert(#s:objects("Dog") == 0 and s.schema_version == 1)
            done()
            """)
    }
}
