import Testing

/// `moonpool.new`, `store:add`, and copies between stores.
@Suite struct UnmanagedTests {
    static let schema = """
        Person = {
            name = "string primary", age = "int?", friend = "Person", pets = "Pet[]",
            home = "Home", places = "Home[]", rank = { type = "int", default = 5 },
        },
        Pet = { kind = "string", owner = "Person" },
        Home = { embedded = true, street = "string", landlord = "Person", inner = "Home" },
        """

    let session: Session

    init() throws { session = try Session(Self.schema) }

    @Test func `an added object becomes the stored object`() {
        session.expect(
            """
            local ann = moonpool.new("Person", { name = "Ann" })
            ann.age = 4
            assert(ann.name == "Ann" and ann.age == 4 and ann.class == "Person")
            assert(tostring(ann):find("unmanaged"))
            local same = ann
            local added = store:write(function() return store:add(ann) end)
            assert(added == ann and rawequal(added, ann))
            assert(same == store:object("Person", "Ann") and store:object("Person", "Ann") == same)
            assert(ann:is_valid() and ann.rank == 5 and ann.store == store)
            store:write(function() same.age = 5 end)
            assert(ann.age == 5)
            store:write(function() assert(store:add(ann) == ann) end)
            collectgarbage() collectgarbage()
            assert(ann.age == 5)
            """)
    }

    @Test func `an object is added with all linked objects, also in cycles`() {
        session.expect(
            """
            local ann = moonpool.new("Person", { name = "Ann" })
            local bob = moonpool.new("Person", { name = "Bob", friend = ann })
            ann.friend = bob
            ann.pets = { moonpool.new("Pet", { kind = "cat", owner = bob }), { kind = "dog", owner = ann } }
            ann.home = { street = "Main", landlord = bob }
            ann.places = { moonpool.new("Home", { street = "A", inner = { street = "B", landlord = ann } }) }
            store:write(function() store:add(ann) end)
            assert(ann.friend == bob and bob.friend == ann)
            assert(ann.pets[1].owner == bob and ann.pets[2].owner == ann)
            assert(ann.home.landlord == bob and ann.places[1].inner.landlord == ann)
            assert(#store:objects "Person" == 2 and #store:objects "Pet" == 2 and #store:objects "Home" == 3)
            """)
    }

    @Test func `a long chain and a deep nesting succeed or throw an error`() {
        session.expect(
            """
            local first = moonpool.new("Person", { name = "0" })
            local last = first
            for i = 1, 5000 do
                local next = moonpool.new("Person", { name = tostring(i) })
                if i % 2 == 0 then last.friend = next else last.pets = { { kind = "x", owner = next } } end
                last = next
            end
            last.friend = first
            store:write(function() store:add(first) end)
            assert(#store:objects "Person" == 5001 and last.friend == first)

            local loop = {} loop.inner = loop loop.street = "x"
            local me = moonpool.new("Home", { street = "y" }) me.inner = me
            store:write(function()
                assert(code(function() first.home = loop end) == "invalid_argument")
                assert(code(function() first.home = me end) == "invalid_argument")
                assert(code(store.add, store, moonpool.new("Person", { name = "z", home = me })) == "invalid_argument")
            end)
            assert(#store:objects "Home" == 0 and #store:objects "Person" == 5001)
            """)
    }

    @Test
    func `assigning an unmanaged object stores it, and a rollback removes it`() {
        session.expect(
            """
            local ann, bob = store:write(function()
                return store:create("Person", { name = "Ann" }), store:create("Person", { name = "Bob" })
            end)
            local cleo = moonpool.new("Person", { name = "Cleo" })
            store:begin_write()
            ann.friend = cleo
            assert(ann.friend == cleo and cleo:is_valid())
            store:cancel_write()
            assert(ann.friend == nil and #store:objects "Person" == 2 and not cleo:is_valid())

            store:write(function()
                ann.pets:append(moonpool.new("Pet", { kind = "cat" }), { kind = "dog" })
                ann.pets:insert(1, moonpool.new("Pet", { kind = "rat" }))
                ann:update { friend = moonpool.new("Person", { name = "Dora" }) }
                store:create("Person", { name = "Eve", friend = moonpool.new("Person", { name = "Finn" }) })
                ann.home = moonpool.new("Home", { street = "Main" })
                ann.places = { moonpool.new("Home", { street = "Side" }) }
            end)
            assert(ann.pets[1].kind == "rat" and #ann.pets == 3)
            assert(ann.friend.name == "Dora" and store:object("Person", "Eve").friend.name == "Finn")
            assert(ann.home.street == "Main" and ann.places[1].street == "Side")
            """)
    }

    @Test func `an update with an unmanaged object writes all of its values`() {
        session.expect(
            """
            store:write(function()
                store:create("Person", {
                    name = "Ann", age = 4, rank = 9, friend = { name = "Bob" }, pets = { { kind = "cat" } },
                    home = { street = "Main" },
                })
                assert(code(store.add, store, moonpool.new("Person", { name = "Ann" })) == "duplicate_key")
            end)
            local ann = moonpool.new("Person", { name = "Ann" })
            store:write(function() store:add(ann, "all") end)
            assert(#store:objects "Person" == 2)
            assert(ann.age == nil and ann.rank == 5 and ann.friend == nil and #ann.pets == 0 and ann.home == nil)
            """)
    }

    @Test func `an object that cannot be stored stays unmanaged and leaves no objects`() {
        session.expect(
            """
            local pet = moonpool.new("Pet", {})
            local ann = moonpool.new("Person", { name = "Ann", pets = { pet } })
            store:write(function()
                assert(code(store.add, store, ann) == "missing_value")
                assert(#store:objects "Person" == 0 and #store:objects "Pet" == 0)
                pet.kind = "cat"
                store:add(ann)
            end)
            assert(ann.pets[1] == pet)
            store:write(function()
                assert(code(store.add, store, moonpool.new("Missing", {})) == "unknown_class")
                assert(code(store.add, store, moonpool.new("Person", { nam = "x" })) == "unknown_property")
                assert(code(store.add, store, moonpool.new("Home", { street = "x" })) == "invalid_argument")
                assert(code(function() ann.friend = moonpool.new("Pet", { kind = "x" }) end) == "type_mismatch")
                assert(code(store.delete, store, moonpool.new("Pet", {})) == "invalid_object")
            end)
            assert(code(store.add, store, moonpool.new("Pet", { kind = "x" })) == "not_in_write")
            local unmanaged = moonpool.new("Pet", { kind = "x" })
            assert(code(function() unmanaged:observe(print) end) == "invalid_argument")
            assert(code(function() unmanaged:freeze() end) == "invalid_argument")
            assert(code(function() unmanaged[1] = 2 end) == "invalid_argument")
            """)
    }

    @Test func `an unmanaged object does not equal a stored object`() {
        session.expect(
            """
            store:write(function() store:create("Person", { name = "Ann", friend = { name = "Bob" } }) end)
            local bob = moonpool.new("Person", { name = "Bob" })
            assert(#store:objects("Person"):where("friend == $1", bob) == 0)
            assert(#store:objects("Person"):where("friend != $1", bob) == 2)
            """)
    }

    @Test func `an object of another store is copied by create and refused by add`() {
        session.expect(
            """
            local other = moonpool.open { in_memory = "other of " .. tostring(store), schema = store:schema() }
            local ann = store:write(function()
                local ann = store:create("Person", { name = "Ann", friend = { name = "Bob" }, home = { street = "Main" } })
                ann.friend.friend = ann
                return ann
            end)
            other:write(function()
                assert(message(other.add, other, ann):find("store:create"))
                assert(code(other.add, other, moonpool.new("Person", { name = "x", friend = ann })) == "invalid_object")
                local copy = other:create("Person", ann)
                assert(copy ~= ann and copy.store == other and copy.friend.friend == copy)
                assert(copy.home.street == "Main")
                assert(code(other.create, other, "Person", ann) == "duplicate_key")
                assert(other:create("Person", ann, "all") == copy)
            end)
            assert(#other:objects "Person" == 2)
            store:write(function() assert(store:create("Person", ann, "modified") == ann) end)
            other:close()
            """)
    }

    @Test func `a deleted object cannot be assigned`() {
        session.expect(
            """
            local ann, bob = store:write(function()
                return store:create("Person", { name = "Ann" }), store:create("Person", { name = "Bob" })
            end)
            store:write(function() store:delete(bob) end)
            store:write(function()
                assert(code(function() ann.friend = bob end) == "invalid_object")
                assert(code(store.add, store, bob) == "invalid_object")
                assert(code(store.create, store, "Person", bob) == "invalid_object")
            end)
            """)
    }
}
