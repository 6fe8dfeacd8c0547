import Glibc
import Testing

/// `migrate undo` and `down` after later writes.
@Suite struct MigrateUndoTests {
    private static let first = """
        return { schema = {
          Person = {
            id = "int primary", first = "string", last = "string", age = "string", phone = "string?",
            home = "Address?", homes = "Address[]", pets = "Pet[]", tags = "string<>", marks = "int{}",
            any = "mixed", friend = "Person?", born = "date?",
          },
          Pet = { name = "string", owner = "Person?" },
          Address = { embedded = true, street = "string", zip = "string" },
        } }
        """
    private static let second = """
        return {
          schema = {
            Person = {
              id = "int primary", name = "string", age = "int", mail = "string?",
              home = "Address?", homes = "Address[]", pets = "Animal[]", tags = "string<>", marks = "int{}",
              any = "mixed", friend = "Person?", born = "date?",
            },
            Animal = { name = "string", owner = "Person?", kind = "string" },
            Address = { embedded = true, street = "string", city = "string" },
            Toy = { name = "string" },
          },
          drops = { "Person.first", "Person.last", "Person.phone", "Address.zip" },
          up = function(m)
            m:rename_class("Pet", "Animal")
            m:each("Person", function(o, n) n.name, n.age = o.first .. " " .. o.last, tonumber(o.age) end)
            m:create("Animal", { name = "ghost", kind = "spirit" })
          end,
          down = function(m)
            m:rename_class("Animal", "Pet")
            m:each("Person", function(o, n)
              n.first, n.last = o.name:match "(%S+) (.*)"
              n.age = tostring(o.age)
            end)
          end,
        }
        """
    private static let fill = """
        for i = 1, 5 do
          local p = s:create("Person", {
            id = i, first = "F" .. i, last = "L" .. i, age = tostring(20 + i), phone = "+" .. i,
            home = { street = "S" .. i, zip = "z" .. i },
            homes = { { street = "A", zip = "1" }, { street = "B", zip = "2" } },
            pets = { { name = "pet" .. i } }, tags = { "a" }, marks = { m = i }, any = { 1, "x" },
          })
          p.pets[1].owner = p
        end
        """
    private static let later = """
        local function P(id) return s:object("Person", id) end
        local ghost = s:objects("Animal"):where("name = 'ghost'"):first()
        P(1).name, P(1).age, P(1).mail = "New Name", 99, "m@example.com"
        s:delete(P(2))
        P(3).home.street = "changed"
        P(3).tags:add("later")
        P(3).marks.z = 26
        P(3).any = { k = P(1) }
        local p = s:create("Person", {
          id = 10, name = "Ten Person", age = 1, home = { street = "T", city = "C" }, friend = P(1),
        })
        local pet = s:create("Animal", { name = "later pet", owner = p, kind = "dog" })
        p.pets:append(pet)
        P(4).pets:append(ghost)
        P(4).pets:append(pet)
        P(4).home = nil
        P(5).friend = p
        P(5).homes[1].street = "A2"
        P(5).homes:append { street = "C", city = "3" }
        s:create("Toy", { name = "ball" })
        """

    private func write(_ code: String, _ shop: MigrationShop) throws {
        try Tool.lua("local s = moonpool.open(arg[1]) s:write(function() \(code) end)", shop.store)
            .expectSuccess()
    }

    /// A store that was filled, migrated and then written to.
    private func written(_ code: String = later) throws -> MigrationShop {
        let shop = try MigrationShop([Self.first])
        try shop.migrate("up").expectSuccess()
        try write(Self.fill, shop)
        try shop.write(Self.second, to: "0002_names.lua")
        let up = try shop.migrate("up")
        #expect(up.lines.contains("  backup: \(shop.store).backup-1"), "\(up.error)\(up.output)")
        try write(code, shop)
        return shop
    }

    @Test func `undo reports values of embedded objects that the earlier schema lacks`() throws {
        let shop = try MigrationShop([
            """
            return { changes = { Zip = { embedded = true, code = "int?" },
                Inv = { id = "int primary", street = "string?", zip = "Zip" } } }
            """
        ])
        try shop.migrate("up").expectSuccess()
        try write("s:create('Inv', { id = 1, street = 'S', zip = { code = 1 } })", shop)
        try shop.write(
            """
            return { changes = { Addr = { embedded = true, street = "string?", no = "int?" }, Inv = { addr = "Addr" },
                Zip = { plus = "int?" } }, drops = { "Inv.street" },
              up = function(m)
                m:each("Inv", function(o, n) n.addr = { street = o.street } end)
                m:delete_property("Inv", "street")
              end }
            """, to: "0002_embedded.lua")
        try shop.migrate("up").expectSuccess()
        try write(
            """
            local inv = s:object("Inv", 1)
            inv.addr.street = "NEW" inv.addr.no = 7
            inv.zip = { code = 2, plus = 3 }
            s:create("Inv", { id = 2, zip = { code = 4, plus = 5 }, addr = { street = "X" } })
            """, shop)
        let undo = try shop.migrate("undo")
        let reason = "the schema before the migration does not have it"
        for line in [
            "  not kept: 1 value of Addr.no: \(reason)",
            "  not kept: 1 value of Addr.street: \(reason)",
            "  not kept: 1 value of Inv.addr: \(reason)",
            "  not kept: 2 values of Zip.plus: \(reason)",
        ] { #expect(undo.lines.contains(line), "\(undo.output)\(undo.error)") }
    }

    @Test func `undo applies later writes to the restored backup`() throws {
        let shop = try written()
        let undo = try shop.migrate("undo").expectSuccess()
        #expect(undo.lines.contains { $0.hasPrefix("kept 1 commit made since: 2 objects created") })
        for line in [
            "  not kept: 1 value of Person.mail: the schema before the migration does not have it",
            "  not kept: 2 values of Person.name: the schema before the migration does not have it",
            "  not kept: 1 value of Person.pets: the migration created the object",
            "  not kept: 1 object of Toy: the schema before the migration does not have it",
            "  without a value: Person.first in 1 object created after the migration",
        ] { #expect(undo.lines.contains(line), "\(undo.output)") }
        let script = """
            local s = moonpool.open(arg[1])
            local function P(id) return s:object("Person", id) end
            assert(s.schema_version == 1 and P(2) == nil)
            assert(P(1).first == "F1" and P(1).age == "99" and P(1).phone == "+1")
            assert(P(3).home.street == "changed" and P(3).home.zip == "z3")
            assert(P(3).tags:contains("later") and P(3).marks.z == 26 and P(3).marks.m == 3)
            assert(P(3).any.k.id == 1)
            assert(P(4).home == nil and #P(4).pets == 2 and P(4).pets[2].name == "later pet")
            assert(P(4).pets[2].owner.id == 10 and P(10).friend.id == 1 and P(5).friend.id == 10)
            assert(P(10).home.street == "T" and P(10).age == "1")
            assert(P(5).homes[1].street == "A2" and P(5).homes[1].zip == "1" and #P(5).homes == 3)
            assert(#s:objects("Pet") == 6)
            """
        let outcome = try Tool.run(["-e", script, "-", shop.store])
        #expect(outcome.error == "")
        for store in [shop.store, shop.store + ".undone-2"] {
            try Tool.run(["check", store]).expectSuccess()
        }
        let left = TemporaryFolder.names(in: shop.folder.path).filter { $0.contains(".undo-") }
        #expect(left.isEmpty, "\(left)")
        try shop.migrate("up").expectSuccess()
        #expect(try shop.value("store:object('Person', 1).age") == "99")
    }

    @Test func `a backup of a migration through a symbolic link is next to the file`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up").expectSuccess()
        try shop.write(
            """
            return {
              changes = { Person = { id = "int primary", name = "string", age = "int" } },
              drops = { "Person.note" },
            }
            """, to: "0004_notes.lua")
        let elsewhere = try TemporaryFolder()
        let link = elsewhere.path + "/link.moonpool"
        try #require(symlink(shop.store, link) == 0)
        let up = try Tool.run(["migrate", "up", link, "--dir", shop.migrations, "--backup"])
        #expect(up.lines.contains("  backup: \(shop.store).backup-3"), "\(up.error)\(up.output)")
        try shop.migrate("undo").expectSuccess()
        let again = ["migrate", "up", link, "--dir", shop.migrations, "--backup"]
        try Tool.run(again).expectSuccess()
        try Tool.run(["migrate", "undo", link, "--dir", shop.migrations]).expectSuccess()
        let names = TemporaryFolder.names(in: elsewhere.path).filter { !$0.hasPrefix(".") }
        #expect(names == ["link.moonpool"])
        #expect(target(of: link) == shop.store)
    }

    private func target(of link: String) -> String {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = readlink(link, &bytes, bytes.count)
        return String(
            decoding: bytes.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    @Test func `undo reports kept and lost writes as JSON`() throws {
        let shop = try written()
        let undo = try shop.migrate("undo", "--json")
        try MigrationShop.expectJSON(
            undo,
            [
                "later.commits": "1",
                "later.deleted": "1",
                "lost_commits": "0",
                "migrations[1]": "2",
            ])
        #expect(
            undo.output.contains(
                #"{"name":"Toy","count":1,"reason":"the schema before the migration does not have it"}"#
            ))
    }

    @Test func `undo can discard later writes`() throws {
        let shop = try written()
        let undo = try shop.migrate("undo", "--discard-later-writes")
        #expect(
            undo.lines.contains("1 commit made since the last migration is not in it"),
            "\(undo.output)")
        #expect(
            try shop.value("store:object('Person', 2).first .. store:object('Person', 1).age")
                == "F221")
        try shop.migrate("undo").expectError("no backup was made")
    }

    @Test func `undo reports a history without the later writes`() throws {
        let shop = try written("P = nil")
        try Tool.lua(
            "local s = moonpool.open { path = arg[1], history = 2 } for i = 1, 200 do "
                + "s:write(function() s:object('Person', 1).age = i end) end", shop.store
        ).expectSuccess()
        try shop.migrate("undo").expectSuccess(
            "because the history of the store does not contain all of them")
        #expect(try shop.value("store:object('Person', 1).age") == "21")
        try Tool.lua(
            "print(moonpool.open(arg[1]):object('Person', 1).age)", shop.store + ".undone-2"
        ).expectOutput("200\n")
    }

    @Test func `an object that the earlier schema rejects is reported, others are kept`() throws {
        let shop = try MigrationShop([
            #"return { schema = { P = { code = "string primary", id = "int" } } }"#
        ])
        try shop.migrate("up").expectSuccess()
        try write("s:create('P', { code = 'a', id = 1 })", shop)
        try shop.write(
            #"return { schema = { P = { code = "string", id = "int primary" } }, up = function(m) m:each("P", function() end) end }"#,
            to: "0002_key.lua")
        try shop.migrate("up", "--backup").expectSuccess()
        try write(
            "s:create('P', { code = 'a', id = 2 }) s:create('P', { code = 'b', id = 3 })", shop)
        try shop.migrate("undo").expectSuccess(
            "not kept: 1 object of P: 'P' already has an object with code = \"a\"\n")
        #expect(try shop.value("#store:objects('P') .. store:object('P', 'b').id") == "23")
        try Tool.run(["check", shop.store]).expectSuccess()
    }

    @Test func `undo of down keeps later writes too`() throws {
        let shop = try written("P = nil")
        try shop.migrate("down").expectSuccess()
        try write(
            "s:object('Person', 1).phone = 'later' s:object('Person', 3).friend = s:object('Person', 1)",
            shop)
        try shop.migrate("undo").expectSuccess("not kept: 1 value of Person.phone")
        #expect(
            try shop.value("store:object('Person', 3).friend.name .. store.schema_version")
                == "F1 L12")
    }

    @Test func `down translates later writes and counts dropped ones`() throws {
        let shop = try written()
        let down = try shop.migrate("down").expectSuccess()
        #expect(
            down.lines.contains(
                "  dropped: 1 value of Person.mail, 1 of them written since the migration"),
            "\(down.output)")
        #expect(
            try shop.value("store:object('Person', 1).first .. store:object('Person', 10).last")
                == "NewPerson")
    }

    @Test func `only a migration that can overwrite values makes a backup`() throws {
        let shop = try MigrationShop([MigrationShop.first])
        try shop.migrate("up").expectSuccess()
        try shop.write(
            """
            return { changes = { Person = { given = "string", note = "string?" } },
              drops = { "Person.first" },
              up = function(m) m:rename_property("Person", "first", "given") end }
            """, to: "0002_given.lua")
        #expect(try !shop.migrate("up").output.contains("backup:"))
        try shop.write(
            "return { changes = {}, up = function(m) m:each('Person', function(o, n) n.last = '' end) end }",
            to: "0003_erase.lua")
        #expect(try shop.migrate("up").lines.contains("  backup: \(shop.store).backup-2"))
        try shop.migrate("undo").expectSuccess()
        #expect(try shop.value("store:object('Person', 2).last") == "L2")
    }
}
