import LuaHost
import ObjectStore
import StoreBindings
import Testing

@Suite struct LinkListTests {
    private static let schema = """
        Dog = { id = "int primary", friends = "Dog[]", houses = "House[]", liked = "backlinks Dog.friends" },
        House = { id = "int primary" },
        """

    private func session() throws -> Session {
        let session = try Session(Self.schema)
        session.expect(
            """
            dogs = {}
            function write(f) return store:write(f) end
            write(function() for i = 1, 2000 do dogs[i] = store:create("Dog", { id = i }) end end)
            rex = dogs[1]
            """)
        return session
    }

    @Test
    func `arrays of objects of any length become lists of links, in order and with repetitions`()
        throws
    {
        let session = try session()
        session.expect(
            """
            for _, length in ipairs { 1, 15, 16, 17, 0, 300, 2000, 2 } do
              local given = {}
              for i = 1, length do given[i] = dogs[i % 7 == 0 and 7 or i] end
              write(function()
                rex.friends = given
                assert(#rex.friends == length)
                rex.friends = given
              end)
              assert(#rex.friends == length)
              local liked = {}
              for i = 1, length do
                assert(rex.friends[i] == given[i])
                liked[given[i].id] = (liked[given[i].id] or 0) + 1
              end
              for i = 1, 2000 do assert(#dogs[i].liked == (liked[i] or 0)) end
            end
            -- Elements outside the array part of a table, and in any order.
            local given = { [3] = dogs[3], [1] = dogs[1], [2] = dogs[2] }
            write(function() rex.friends = given end)
            assert(rex.friends[1].id == 1 and rex.friends[2].id == 2 and rex.friends[3].id == 3)
            """)
    }

    @Test
    func `a value that is not an array of such objects is refused, and the list is unchanged`()
        throws
    {
        let session = try session()
        session.expect(
            """
            local gone, house
            write(function()
              rex.friends = { dogs[2], dogs[3] }
              house = store:create("House", { id = 1 })
              gone = store:create("Dog", { id = 3000 })
            end)
            write(function() store:delete(gone) end)
            assert(code(function() rex.friends = { dogs[2] } end) == "not_in_write")
            local other = moonpool.open { in_memory = "other", schema = { Dog = { id = "int primary" } } }
            local stranger = other:write(function() return other:create("Dog", { id = 1 }) end)
            write(function()
              assert(code(function() rex.friends = { house } end) == "type_mismatch")
              assert(code(function() rex.friends = { dogs[2], house } end) == "type_mismatch")
              assert(code(function() rex.houses = { dogs[2] } end) == "type_mismatch")
              assert(code(function() rex.friends = { dogs[2], gone } end) == "invalid_object")
              assert(code(function() rex.friends = { stranger } end) == "invalid_object")
              assert(code(function() rex.friends = { dogs[2], 3 } end) == "type_mismatch")
              assert(code(function() rex.friends = { dogs[2], name = dogs[3] } end) == "type_mismatch")
              assert(code(function() rex.friends = { dogs[2], [4] = dogs[3] } end) == "type_mismatch")
              assert(code(function() rex.liked = { dogs[2] } end) == "type_mismatch")
              assert(#rex.friends == 2 and rex.friends[2] == dogs[3] and #rex.houses == 0)
              store:delete(rex)
              assert(code(function() rex.friends = { dogs[2] } end) == "invalid_object")
            end)
            """)
    }
}
