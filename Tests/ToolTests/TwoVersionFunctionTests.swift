import Testing

/// What the functions of a started migration can read, set and depend on.
@Suite struct TwoVersionFunctionTests {
    private static let dogs = """
        return {
          schema = {
            Home = { embedded = true, street = "string", no = "int" },
            Dog = { id = "int primary", name = "string", home = "Home", homes = "Home[]", friend = "Dog", age = "int" },
          },
          up = function(m)
            local last
            for id = 1, 5 do
              local name = "D" .. id
              last = m:create("Dog", {
                id = id, name = name, home = { street = "S", no = id }, homes = { { street = "T", no = 1 } }, age = id,
                friend = last,
              })
            end
          end,
        }
        """

    private func shop(_ second: String) throws -> MigrationShop {
        let shop = try MigrationShop([Self.dogs, second])
        try shop.migrate("up", "--to", "1").expectSuccess()
        return shop
    }

    /// A migration that adds a mixed property, which a function sets.
    private func adding(_ code: String) -> String {
        """
        local count = 0
        return {
          changes = { Dog = { mix = "mixed" } },
          each = { Dog = function(old, new) \(code) end },
        }
        """
    }

    /// Runs code of a program of one version.
    private func run(_ shop: MigrationShop, _ version: Int, _ code: String) throws -> String {
        let outcome = try Tool.lua(
            "local store = moonpool.open { path = arg[1], schema_version = \(version) } \(code)",
            shop.store
        ).expectSuccess()
        return outcome.output
    }

    @Test(arguments: [
        ("count = count + 1 new.mix = count", "it gives two values of 'mix' for the same object"),
        ("new.mix = tostring({})", "it gives two values of 'mix' for the same object"),
        ("new.mix = old.friend.name", "old.id ~= 1"),
        ("new.age = 7", "both versions share its values"),
        ("old.age = 7", "is the source of the conversion"),
        ("new.mix = new.mix", "has no value yet"),
        ("new.mix = old.nmae", "did you mean 'name'?"),
        ("local t = {} t[1] = t new.mix = t", "contains itself"),
        ("local t = {} t.x = t new.mix = t", "contains itself"),
    ])
    func `start refuses a function that is wrong for every object`(code: String, reason: String)
        throws
    {
        // The first dog has no friend.
        let isAboutLinks = reason == "old.id ~= 1"
        let shop = try shop(adding(isAboutLinks ? "if old.friend then \(code) end" : code))
        let start = try shop.migrate("start").expectExit(1)
        let expected = isAboutLinks ? "reads only its own object" : reason
        #expect((start.error + start.output).contains(expected), "\(start.error)\(start.output)")
        #expect(
            try shop.migrate("status", "--json").output.contains("\"started\":null")
                != isAboutLinks)
    }

    @Test(arguments: [
        ("x = 1", "cannot assign to the global 'x'"),
        ("rawset(_G, 'x', 1)", "cannot assign to protected tables"),
        ("string.x = 1", "cannot assign to string's 'x'"),
        ("math.pi = 3", "cannot assign to math's 'pi'"),
        ("rawset(table, 'x', 1)", "cannot assign to protected tables"),
        ("moonpool.date = 1", "cannot assign to moonpool's 'date'"),
        ("os.time()", "global 'os'"), ("math.random()", "field 'random'"),
        ("new.mix = { 1, nil, 3 }", "an array without gaps"),
        ("while true do end", "the limit of 1000000 instructions"),
        ("new.mix = ('x'):rep(1 << 30)", "not enough memory"),
    ])
    func `a function that fails leaves the file usable, and the object is recorded`(
        code: String, reason: String
    ) throws {
        let shop = try shop(adding(code))
        let start = try shop.migrate("start", "--json").expectExit(1)
        let state =
            "started.state, r.started.converted, r.started.remaining, r.started.failed_count"
        #expect(try MigrationShop.json(start, state) == "converting\t0\t5\t5")
        let message = try MigrationShop.json(start, "started.failed[1].message")
        #expect(message.contains(reason), "\(message)")
        #expect(try run(shop, 1, "print(store:object('Dog', 1).name)") == "D1\n")
        let abort = try shop.migrate("abort")
        #expect(abort.exitCode == 0 && !abort.output.contains("lost"), "\(abort.output)")
        try Tool.run(["check", shop.store]).expectSuccess()
    }

    @Test func `a mixed value takes arrays and tables with text as keys`() throws {
        let shop = try shop(adding("new.mix = { list = { 1, { 2 } }, name = old.name, none = {} }"))
        try shop.migrate("start").expectSuccess()
        #expect(
            try run(
                shop, 2,
                "local m = store:object('Dog', 2).mix print(m.name, m.list[1], m.list[2][1], #m.none)"
            )
                == "D2\t1\t2\t0\n")
    }

    /// The homes become embedded objects of another class, a link becomes a list, and texts become an embedded object.
    private static let places = """
        return {
          changes = {
            Place = { embedded = true, street = "string", label = { type = "string", default = "L" }, tags = "string<>" },
            Dog = { place = "Place", places = "Place[]", named = "Place{}", friend = "Dog[]" },
          },
          drops = { "Home", "Dog.home", "Dog.homes" },
          each = { Dog = {
            up = function(old, new)
              new.place = old.home and { street = old.home.street .. old.home.no, tags = { "b", "a" } }
              local places = {}
              for i, home in ipairs(old.homes) do places[i] = { street = home.street .. home.no } end
              new.places = places
              new.named = { [old.name] = { street = "N" } }
              new.friend = { old.friend }
            end,
            down = function(new, old)
              local function home(place)
                return place and { street = place.street:match "^%D*", no = math.tointeger(place.street:match "%d+$") }
              end
              old.home = home(new.place)
              local homes = {}
              for i, place in ipairs(new.places) do homes[i] = home(place) end
              old.homes = homes
              old.friend = new.friend[1]
            end,
          } },
        }
        """

    @Test func `functions set embedded objects and changed links whole`() throws {
        let shop = try shop(Self.places)
        let original = try MigrationShop.export(shop.store)
        let offline = shop.folder.path + "/offline.moonpool"
        try Tool.run(["backup", shop.store, offline]).expectSuccess()
        try shop.migrateFolder("up", offline).expectSuccess()
        try shop.migrate("start", "--pace", "100").expectSuccess()
        #expect(try MigrationShop.export(shop.store) == original)
        let migrated = try MigrationShop.export(offline)
        #expect(try MigrationShop.export(shop.store, "--schema-version", "2") == migrated)
        #expect(
            try run(
                shop, 2,
                "local d = store:object('Dog', 3) print(d.place.street, d.place.label, #d.places, #d.friend)"
            ) == "S3\tL\t1\t1\n")

        // A write through one version replaces the objects of the other, and only if they differ.
        _ = try run(
            shop, 1,
            """
            store:write(function()
              local dog = store:object("Dog", 3)
              dog.home.no = 33
              dog.homes:append { street = "U", no = 2 }
              store:object("Dog", 4).age = 44
              store:delete(store:object("Dog", 5))
            end)
            """)
        #expect(
            try run(
                shop, 2,
                "local d = store:object('Dog', 3) print(d.place.street, #d.places, d.places[2].street)"
            ) == "S33\t2\tU2\n")
        _ = try run(
            shop, 2,
            """
            store:write(function()
              store:object("Dog", 3).place.street = "W9"
              store:object("Dog", 2).place = nil
              store:object("Dog", 1).friend = { store:object("Dog", 2) }
              store:create("Dog", { id = 9, name = "N", age = 1, place = { street = "X1" } })
              store:delete(store:object("Dog", 4))
            end)
            """)
        #expect(
            try run(
                shop, 1,
                """
                local d = store:object("Dog", 3)
                print(d.home.street, d.home.no, store:object("Dog", 2).home, store:object("Dog", 1).friend.id)
                print(store:object("Dog", 9).home.street)
                store:undo()
                print(store:object("Dog", 2).home.street, #store:objects "Dog")
                store:redo()
                """) == "W\t9\tnil\t2\nX\nS\t4\n")
        try Tool.run(["check", shop.store]).expectSuccess()
        let (old, new) = (
            try MigrationShop.export(shop.store),
            try MigrationShop.export(shop.store, "--schema-version", "2")
        )
        // Both ways to end it leave the objects of one version, and no other embedded objects.
        let aborted = shop.folder.path + "/aborted.moonpool"
        try Tool.run(["backup", shop.store, aborted]).expectSuccess()
        try shop.migrateFolder("abort", aborted).expectSuccess()
        try shop.migrate("complete", "--no-backup").expectSuccess()
        #expect(try MigrationShop.export(aborted) == old)
        #expect(try MigrationShop.export(shop.store) == new)
        for (store, expected) in [
            (aborted, "intact: 2 classes, 11 objects"),
            (shop.store, "intact: 2 classes, 14 objects"),
        ] {
            let check = try Tool.run(["check", store])
            #expect(check.exitCode == 0 && check.output.contains(expected), "\(check.output)")
        }
        try shop.migrate("down").expectSuccess()
    }

    @Test(arguments: ["", "each = { Dog = function(old, new) new.label = old.name end },"])
    func `an index on a property of one version has all objects when both versions work`(
        functions: String
    ) throws {
        let shop = try shop(
            """
            return {
              changes = { Dog = {
                label = "string indexed", rank = "int indexed", size = { type = "int?", indexed = true },
                code = { type = "string", indexed = true, default = "c" },
              } },
              \(functions)
            }
            """)
        try shop.migrate("start", "--pace", "100").expectSuccess()
        _ = try run(
            shop, 1,
            "store:write(function() store:create('Dog', { id = 7, name = 'D7', age = 1 }) end)")
        let counts = """
            for _, text in ipairs { "label = 'D7'", "label = ''", "rank = 0", "code = 'c'", "size = nil" } do
              print(#store:objects("Dog"):where(text))
            end
            """
        let expected = functions.isEmpty ? "0\n6\n6\n6\n6\n" : "1\n0\n6\n6\n6\n"
        #expect(try run(shop, 2, counts) == expected)
        try Tool.run(["check", shop.store]).expectSuccess()
        try shop.migrate("complete").expectSuccess()
        #expect(try run(shop, 2, counts) == expected)
        try Tool.run(["check", shop.store]).expectSuccess()
    }
}
