import Testing

/// Embedded objects in scripts.
@Suite struct EmbeddedTests {
    let session: Session

    init() throws {
        session = try Session(
            """
            Person = { name = "string primary", home = "Home", places = "Home[]" },
            Home = {
                embedded = true, street = "string", inner = "Home", resident = "backlinks Person.home",
            },
            """)
    }

    /// Exporting, copying and posting an object include all nested levels.
    @Test func `the depth of embedded objects has the limit of exports and copies`() {
        session.expect(
            """
            local ann = store:write(function() return store:create("Person", { name = "Ann", home = { street = "0" } }) end)
            store:write(function()
                local home = ann.home
                for level = 2, 100 do
                    home.inner = { street = tostring(level) }
                    home = home.inner
                end
                assert(message(function() home.inner = { street = "101" } end):find("more than 100 objects", 1, true))
                assert(message(function() home:update { inner = {} } end):find("more than 100 objects", 1, true))
            end)
            assert(#store:objects "Home" == 100)
            assert(moonpool.json.encode(ann):find('"99"', 1, true))
            local lines = os.tmpname()
            store:export(lines, { format = "jsonl" })
            local copy = moonpool.open { in_memory = lines, schema = store:schema() }
            assert(copy:import(lines, { format = "jsonl" }).created == 1 and #copy:objects "Home" == 100)
            copy:close()
            os.remove(lines)
            store:write(function()
                ann.places:append { street = "A" }
                local nested = { street = "x" }
                for _ = 1, 98 do nested = { street = "x", inner = nested } end
                ann.places[1].inner = nested
                ann.places[1].inner = nil
                assert(code(function() ann.places[1].inner = { street = "x", inner = nested } end) == "invalid_argument")
            end)
            assert(#store:objects "Home" == 101)
            """)
    }

    @Test func `assigning values creates embedded objects`() {
        session.expect(
            """
            local ann = store:write(function()
                assert(code(store.create, store, "Home", { street = "x" }) == "invalid_argument")
                local ann = store:create("Person", { name = "Ann", home = { street = "Main" }, places = { { street = "A" } } })
                ann.places:append({ street = "B" }, { street = "C", inner = { street = "D" } })
                return ann
            end)
            assert(ann.home.street == "Main" and ann.home.resident[1] == ann and #ann.places == 3)
            assert(#store:objects "Home" == 5)
            local home = ann.home
            store:write(function()
                assert(message(function() ann.places[1] = home end):find("one parent"))
                home.street = "Other"
                ann.places:remove(3)
                ann.places[1] = { street = "E" }
            end)
            assert(ann.home.street == "Other" and #store:objects "Home" == 3)
            store:write(function() ann.home = nil end)
            assert(not home:is_valid() and code(function() return home.street end) == "invalid_object")
            store:write(function() store:delete(ann) end)
            assert(#store:objects "Home" == 0)
            """)
    }

    @Test func `the schema marks embedded classes`() {
        session.expect(
            """
            assert(store:schema("Home").embedded == true and store:schema("Person").embedded == nil)
            local copy = moonpool.open { in_memory = "copy of " .. tostring(store), schema = store:schema() }
            assert(copy:schema("Home").embedded == true)
            copy:define { Odd = { { "embedded", "bool" }, embedded = true } }
            assert(code(copy.define, copy, { Bad = { id = "int primary", embedded = true } }) == "invalid_schema")
            assert(code(copy.define, copy, { Bad = { id = "int", embedded = 1 } }) == "invalid_schema")
            assert(code(copy.define, copy, { Home = { street = "string" } }) == "migration_needed")
            copy:define { Plain = { embedded = "bool" } }
            assert(copy:schema("Plain").embedded == "bool")
            copy:close()
            """)
    }

    @Test func `a list of embedded objects can be observed`() {
        session.expect(
            """
            local ann = store:write(function()
                return store:create("Person", { name = "Ann", places = { { street = "A" }, { street = "B" } } })
            end)
            local received = {}
            local token = ann.places:observe(function(change)
                if change.type ~= "update" then return end
                received[#received + 1] = table.concat(change.deletions, ",") .. "|" .. table.concat(change.insertions, ",")
                    .. "|" .. table.concat(change.modifications, ",")
            end)
            turn()
            store:write(function() ann.places[2].street = "C" end) turn()
            store:write(function() ann.places:remove(1) end) turn()
            store:write(function() ann.places:append { street = "D" } end) turn()
            store:write(function() store:delete(ann) end) turn()
            assert(same(received, { "||2", "1||", "|2|", "1,2||" }), table.concat(received, " "))
            token:invalidate()
            """)
    }
}
