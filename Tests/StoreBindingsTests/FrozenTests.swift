import Testing

/// Frozen versions, equality and copies in scripts.
@Suite struct FrozenTests {
    let session: Session

    init() throws { session = try Session() }

    @Test func `objects, lists and results freeze and thaw`() {
        session.expect(
            """
            local rex = dog { id = 1, name = "Rex", age = 3, marks = { 1, 2 }, owner = { name = "Ann" } }
            local frozen, marks, all = rex:freeze(), rex.marks:freeze(), store:objects("Dog"):freeze()
            assert(frozen:is_frozen() and marks:is_frozen() and all:is_frozen() and not rex:is_frozen())
            assert(frozen:freeze() == frozen and marks:freeze() == marks and all:freeze() == all)
            assert(rex:freeze() == frozen and frozen ~= rex and rex.marks:freeze() == marks and marks ~= rex.marks)
            assert(all[1] == frozen and frozen.owner.owned[1] == frozen)
            store:write(function() rex.age = 4 rex.marks:append(3) store:create("Dog", { id = 2, name = "Max", score = 1, good = true }) end)
            assert(rex:freeze() ~= frozen)
            assert(frozen.age == 3 and #marks == 2 and #all == 1 and #all:where("age == 3") == 1)
            assert(all:where("age > 1"):sorted("name"):is_frozen())
            assert(frozen:thaw() == rex and frozen:thaw().age == 4 and #marks:thaw() == 3 and #all:thaw() == 2)
            assert(rex:thaw() == rex and rex.marks:thaw() == rex.marks)
            assert(code(function() frozen.age = 5 end) == "frozen")
            assert(code(function() frozen:update { age = 5 } end) == "frozen")
            assert(code(function() marks:append(1) end) == "frozen")
            assert(code(function() all:update { age = 5 } end) == "frozen")
            assert(code(function() frozen:observe(print) end) == "frozen")
            assert(code(function() all:observe(print) end) == "frozen")
            store:write(function()
                assert(code(store.delete, store, frozen) == "frozen")
                assert(code(store.delete, store, all) == "frozen")
                store:delete(rex)
            end)
            assert(frozen.age == 3 and frozen.owner.name == "Ann" and marks[2] == 2)
            assert(frozen:thaw() == nil and marks:thaw() == nil)
            assert(code(function() return rex:freeze() end) == "invalid_object")
            """)
    }

    @Test func `a store freezes to one store for each version`() {
        session.expect(
            """
            local rex = dog { id = 1, age = 3 }
            local past = store:freeze()
            assert(past.is_frozen and past.is_read_only and not past.is_in_write and not store.is_frozen)
            assert(store:freeze() == past and past:freeze() == past and past:thaw() == store and store:thaw() == store)
            assert(rex:freeze().store == past and moonpool.store_of(rex:freeze()) == past)
            assert(past.version == store.version and past.path == store.path)
            store:write(function() rex.age = 4 store:create("Dog", { id = 2, name = "Max", score = 1, good = true }) end)
            assert(store:freeze() ~= past and past.version < store.version)
            assert(past:object("Dog", 1).age == 3 and past:object("Dog", 2) == nil and #past:objects "Dog" == 1)
            assert(past:schema("Toy").label == "string" and past:schema().Dog)
            assert(past:refresh() == false and past.autorefresh == false)
            past.autorefresh = false
            assert(code(function() past.autorefresh = true end) == "frozen")
            for _, name in ipairs { "write", "begin_write", "create", "delete", "delete_all", "add", "define", "observe" } do
                assert(code(past[name], past) == "frozen", name)
            end
            assert(code(past.object, past, "Toy", 1) == "invalid_argument")
            assert(code(past.objects, past, "Cat") == "unknown_class")
            local old = past:object("Dog", 1)
            past:close()
            assert(past.is_closed and tostring(past):find("closed"))
            assert(code(past.objects, past, "Dog") == "closed")
            assert(code(function() return old.age end) == "closed" and not old:is_valid())
            assert(tostring(old):find("closed"))
            """)
    }

    @Test func `freezing inside a write shows the version before it`() {
        session.expect(
            """
            local rex = dog { id = 1, age = 1 }
            store:write(function()
                rex.age = 2
                local max = store:create("Dog", { id = 2, name = "Max", score = 1, good = true })
                assert(rex:freeze().age == 1)
                assert(code(max.freeze, max) == "already_in_write")
                assert(#store:objects("Dog"):freeze() == 1)
            end)
            """)
    }

    @Test func `frozen values outlive the store`() {
        session.expect(
            """
            local other = moonpool.open { in_memory = "short-lived of " .. tostring(store), schema = store:schema() }
            local rex = other:write(function() return other:create("Dog", { id = 1, name = "Rex", score = 1, good = true }) end)
            local frozen, all = rex:freeze(), other:objects("Dog"):freeze()
            other:close()
            collectgarbage()
            assert(frozen.name == "Rex" and #all == 1 and all[1] == frozen)
            assert(code(function() return frozen:thaw() end) == "closed")
            assert(code(function() return rex.name end) == "closed")
            assert(code(other.freeze, other) == "closed" and code(other.pins, other) == "closed")
            """)
    }

    @Test func `handles of the same object are equal`() {
        session.expect(
            """
            local rex = dog { id = 1, age = 3, owner = { name = "Ann" } }
            local dogs = store:objects "Dog"
            assert(rex == store:object("Dog", 1) and rex == dogs[1] and rex ~= rex.owner)
            assert(rex.marks == rex.marks and rex.marks ~= rex.notes)
            assert(dogs == store:objects "Dog" and dogs ~= store:objects "Person")
            assert(dogs:where("age > $1", 2) == dogs:where("age > $1", 2))
            assert(dogs:where("age > $1", 2) ~= dogs:where("age > $1", 3))
            assert(dogs:where "age > 2" ~= dogs:where "age > 2":sorted "name")
            assert(dogs:sorted "name" == store:objects "Dog":sorted "name")
            assert(dogs:limit(1) ~= dogs:limit(2) and dogs ~= 1 and dogs ~= rex)
            assert(rex.owner.owned == rex.owner.owned and dogs:freeze() ~= dogs)
            """)
    }

    @Test func `to_table copies up to a depth and keeps cycles`() {
        session.expect(
            """
            local rex = dog { id = 1, age = 3, owner = { name = "Ann" }, toys = { { "ball", 1.5 } } }
            local ann = rex.owner
            store:write(function() ann.dogs:append(rex, rex) end)
            local one = rex:to_table()
            assert(one.name == "Rex" and one.owner == ann and one.toys[1].label == "ball" and type(one.toys[1]) == "userdata")
            local two = rex:to_table(2)
            assert(two.owner.name == "Ann" and two.owner.dogs[1] == two and two.toys[1].price == 1.5)
            local many = ann:to_table(1 << 40)
            assert(many.dogs[1] == many.dogs[2] and many.dogs[1].owner == many)
            assert(rex:to_table(0).owner == ann and rex:to_table(-5).owner == ann)
            assert(rex:freeze():to_table(2).owner.name == "Ann")
            local all = store:objects("Dog"):to_table(2)
            assert(#all == 1 and all[1].owner.dogs[1] == all[1])
            assert(store:objects("Dog"):to_table()[1] == rex)
            assert(ann.dogs:to_table()[1] == rex and ann.dogs:to_table(1)[2].name == "Rex")
            """)
    }

    @Test func `pins contain the script's line`() {
        session.expect(
            """
            assert(#store:pins() == 0)
            local rex = dog { id = 1 }
            local frozen = rex:freeze()
            store:write(function() rex.age = 9 end)
            local pins = store:pins()
            assert(#pins == 1 and pins[1].kind == "frozen" and pins[1].version < store.version)
            assert(pins[1].source == "test.lua" and pins[1].line == 3, tostring(pins[1].line))
            assert(pins[1].since and pins[1].bytes >= 0 and pins[1].held_by:find("test.lua:3"))
            """)
    }

    @Test func `max_live_versions refuses a write that would exceed it`() {
        session.expect(
            """
            local limited = moonpool.open { in_memory = "limited of " .. tostring(store), max_live_versions = 3, schema = { Dog = { id = "int primary" } } }
            local held = {}
            local function add(id) limited:write(function() limited:create("Dog", { id = id }) end) end
            for id = 1, 3 do held[id] = limited:freeze() add(id) end
            assert(code(add, 4) == "too_many_versions")
            assert(message(add, 4):find("test.lua:4"), message(add, 4))
            held[1]:close()
            add(4)
            limited:close()
            """)
    }

    @Test func `should_compact must be a function`() {
        session.expect(
            """
            assert(not pcall(moonpool.open, { in_memory = "x", should_compact = 1 }))
            assert(not pcall(moonpool.open, { in_memory = "x", max_live_versions = -1 }))
            """)
    }
}
