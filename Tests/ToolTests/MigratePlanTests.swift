import Glibc
import TestSupport
import Testing

/// `moonpool migrate plan` writes the next migration, and `lint` reports what it would lose or break.
@Suite struct MigratePlanTests {
    /// A store with people, and a schema script.
    struct World {
        let folder: TemporaryFolder
        var store: String { folder.path + "/people.moonpool" }

        static let before = """
            { Person = { id = "int primary", surname = "string", age = "string", nick = "string?", size = "double" },
              Note = { text = "string" }, Dog = { name = "string", age = "int" } }
            """

        init() throws {
            folder = try TemporaryFolder()
            let outcome = try Tool.run(
                script: """
                    local store = moonpool.open { path = arg[1], schema = \(Self.before) }
                    store:write(function()
                      for id = 1, 7 do
                        store:create("Person", {
                          id = id, surname = "S" .. id % 3, age = id == 5 and "old" or tostring(id), size = id / 2,
                          nick = id > 2 and "N" .. id or nil,
                        })
                      end
                      store:create("Note", { text = "one" })
                      store:create("Dog", { name = "Rex", age = 3 })
                    end)
                    """, arguments: [store])
            #expect(outcome.error == "")
        }

        func run(_ command: String, _ schema: String, _ options: String...) throws -> Tool.Outcome {
            let script = try folder.write("return \(schema)\n", to: "schema.lua")
            return try Tool.run(["migrate", command, store, script] + options, in: folder.path)
        }
    }

    static let after = """
        { Person = { id = "int primary", last_name = "string", age = "int", nick = "string", size = "double" },
          Animal = { name = "string", age = "int" } }
        """

    @Test func `plan converts an embedded object to a map in a mixed value`() throws {
        let shop = try MigrationShop([
            """
            return {
              schema = { Dog = { id = "int primary", toy = "Toy" }, Toy = { embedded = true, label = "string", ["end"] = "int?" } },
              up = function(m)
                m:create("Dog", { id = 1, toy = { label = "ball" } })
                m:create("Dog", { id = 2 })
              end,
            }
            """
        ])
        try shop.migrate("up").expectSuccess()
        let schema = try shop.folder.write(
            "return { Dog = { id = 'int primary', toy = 'mixed' }, Toy = { embedded = true, label = 'string', ['end'] = 'int?' } }",
            to: "schema.lua")
        try Tool.run(["migrate", "plan", "--dir", shop.migrations, schema, "--name", "names"])
            .expectSuccess()
        try shop.migrate("up").expectSuccess()
        #expect(
            try shop.value("store:object('Dog', 1).toy.label, store:object('Dog', 2).toy")
                == "ball\tnil")
    }

    @Test func `plan writes a valid script that keeps possibly renamed values`() throws {
        let world = try World()
        let plan = try world.run("plan", Self.after).expectSuccess(
            #"m:rename_property("Person", "surname", "last_name")  -- RENAMED?"#,
            #"m:rename_class("Dog", "Animal")  -- RENAMED?"#, #"drops = { "Note" }"#,
            "new.age = math.tointeger(tonumber(old.age)) or error(tostring(old) .. \": age = \"",
            "Person.nick is required", #"m:rename_class("Animal", "Dog")"#)
        #expect(plan.error == "")
        // Completes the parts that the script leaves open.
        let script = plan.output
            .replacing(
                "or error(tostring(old) .. \": age = \" .. tostring(old.age) .. \" does not convert from string to int\")",
                with: "or 0"
            )
            .replacing(
                "if new.nick == nil then error(tostring(old) .. \": Person.nick is required\") end",
                with: "new.nick = old.nick or \"\"")
        mkdir(world.folder.path + "/migrations", 0o755)
        _ = try world.folder.write(script, to: "migrations/0001_plan.lua")
        let up = try Tool.run(
            ["migrate", "up", world.store, "--dir", "migrations"], in: world.folder.path)
        #expect(up.error == "")
        try Tool.lua(
            """
            local store = moonpool.open(arg[1])
            local p = store:object("Person", 4)
            print(p.last_name, p.age, p.nick, #p.nick, store:object("Person", 5).age, store:objects("Animal")[1].name)
            """, world.store
        ).expectOutput("S1\t4\tN4\t2\t0\tRex\n")
        // A second plan finds no changes.
        let again = try world.run("plan", Self.after)
        #expect(again.output.contains("-- The schema does not change."))
    }

    @Test func `plan keeps all features of a schema`() throws {
        let world = try World()
        let schema = """
            { Person = { { "id", "int primary" }, { "end", "string" }, { "size", type = "double", default = 1.5 },
                { "nick", type = "string?", map_to = "nick_name", default = "a\\"b" }, indexes = { { "end", "size" } } },
              Note = { text = "string fulltext", place = "Place" },
              Place = { x = "int{}", embedded = true } }
            """
        let plan = try world.run("plan", schema)
        #expect(plan.error == "")
        try Tool.run(
            [
                "-e",
                """
                local wanted = dofile "schema.lua"
                local got = load(io.read "a")().schema
                local a = moonpool.open { in_memory = "a", schema = wanted }
                local b = moonpool.open { in_memory = "b", schema = got }
                print(moonpool.json.encode(a:schema()) == moonpool.json.encode(b:schema()))
                """,
            ], input: plan.output, in: world.folder.path
        ).expectOutput("true\n")
    }

    @Test func `plan writes to a new file only`() throws {
        let world = try World()
        try world.run("plan", Self.after, "--output", "0001_plan.lua").expectSuccess()
        let written = try contents(of: world.folder.path + "/0001_plan.lua")
        #expect(written.hasPrefix("-- A migration of people.moonpool"))
        let again = try world.run("plan", Self.after, "--output", "0001_plan.lua").expectExit(1)
        #expect(again.error == "moonpool: '0001_plan.lua' already exists\n")
    }

    @Test func `plan asks about renames at a terminal`() throws {
        let world = try World()
        _ = try world.folder.write("return \(Self.after)\n", to: "schema.lua")
        let terminal = try PseudoTerminal(columns: 120)
        try terminal.start(
            Tool.path,
            [
                "migrate", "plan", world.store, world.folder.path + "/schema.lua", "--output",
                world.folder.path + "/plan.lua",
            ], environment: ["TERM": "xterm"])
        try terminal.wait(forText: "Was class 'Dog' renamed to 'Animal'? [y/n]")
        terminal.type("y\n")
        try terminal.wait(forText: "Was 'Person.surname' renamed to 'Person.last_name'? [y/n]")
        terminal.type("what\nn\n")
        #expect(try terminal.exitCode() == 0)
        let script = try contents(of: world.folder.path + "/plan.lua")
        #expect(script.contains("m:rename_class(\"Dog\", \"Animal\")\n"))
        #expect(script.contains("drops = { \"Person.surname\", \"Note\" }"))
        #expect(script.contains("new.last_name = \"\"  -- new and required (string): which value?"))
    }

    @Test func `lint reports values that a schema would lose or break`() throws {
        let world = try World()
        let lint = try world.run("lint", Self.after).expectExit(1)
        #expect(lint.error == "")
        let lines = lint.lines
        #expect(
            lines.contains { $0.hasPrefix("lost_objects: 1 object of class 'Note' would be lost") })
        #expect(
            lines.contains {
                $0.hasPrefix("lost_values: 7 objects would lose the value of 'Person.surname'")
            })
        let narrowed = try #require(lines.firstIndex { $0.hasPrefix("narrowed_type: 1 object") })
        #expect(lines[narrowed].contains("such as \"old\""))
        #expect(lines[narrowed + 1] == "  id = 5")
        let missing = try #require(
            lines.firstIndex {
                $0.hasPrefix("missing_values: 2 objects without a value of 'Person.nick'")
            })
        #expect(lines[missing + 1] == "  id = 1; id = 2")
    }

    @Test func `lint finds duplicate keys and embedded objects without a parent`() throws {
        let world = try World()
        let lint = try world.run(
            "lint",
            """
            { Person = { id = "int", surname = "string primary", age = "string", nick = "string?", size = "double" },
              Note = { text = "string", embedded = true }, Dog = { name = "string", age = "int" },
              Owner = { note = "Note" } }
            """, "--json"
        ).expectExit(1)
        try MigrationShop.expectJSON(
            lint,
            [
                "findings[1].rule": "parents",
                "findings[2].rule": "duplicate_keys",
                "findings[2].count": "7",
                "findings[2].objects[1]": "id = 1",
            ])
    }

    @Test func `a missing, failing or invalid schema script is an error`() throws {
        let world = try World()
        let missing = try Tool.run(["migrate", "plan", world.store, "none.lua"], in: "/")
            .expectExit(1)
        #expect(
            missing.error
                == "moonpool: the schema script 'none.lua' cannot be read: No such file or directory\n"
        )
        try world.run("lint", "7").expectError("to return a schema", code: 2)
        try world.run("plan", "{ Dog = { age = 'itn' } }").expectError("did you mean 'int'?")
        let loose = try world.run("plan", "{ Dog = { friend = 'Cat' } }")
        #expect(loose.exitCode == 1 && loose.output == "")
        #expect(loose.error.contains("'Dog.friend' links to class 'Cat', which is not declared"))
        let raising = try world.run("plan", "error 'no schema today'", "--json").expectExit(1)
        #expect(try MigrationShop.json(raising, "error.message").hasSuffix("no schema today"))
    }

    @Test func `plan writes no file if only the order of properties differs`() throws {
        let shop = try MigrationShop([
            "return { schema = { P = { id = 'int primary', b = 'string' } } }",
            "return { changes = { P = { a = 'string' } } }",
        ])
        let schema = try shop.folder.write(
            "return { P = { id = 'int primary', a = 'string', b = 'string' } }", to: "schema.lua")
        let plan = try shop.migrateFolder("plan", schema).expectSuccess()
        #expect(plan.lines == ["the folder already leads to this schema"])
    }

    @Test func `plan quotes names that are not names in Lua`() throws {
        let shop = try MigrationShop([
            "return { schema = { ['Ünit'] = { id = 'int primary' }, ['end'] = { ['é'] = 'int' } } }"
        ])
        let schema = try shop.folder.write(
            "return { ['Ünit'] = { id = 'int primary', ['ü'] = 'int' }, ['end'] = { ['and'] = 'string' } }",
            to: "schema.lua")
        try shop.migrateFolder("plan", schema).expectSuccess()
        try shop.migrate("up").expectSuccess()
        #expect(try shop.value("store:schema('end')['and']") == "string")
    }

    /// Plans the change from one schema of a class `P` to another, with a folder that has the first one.
    private func planned(
        _ old: String, _ new: String, _ values: String
    ) throws -> (shop: MigrationShop, text: String) {
        let shop = try MigrationShop(["return { schema = { P = \(old) } }"])
        try shop.migrate("up").expectSuccess()
        _ = try shop.value("store:write(function() store:create('P', \(values)) end)")
        let schema = try shop.folder.write("return { P = \(new) }", to: "schema.lua")
        try shop.migrateFolder("plan", schema, "--name", "next").expectSuccess()
        return (shop, try contents(of: shop.migrations + "/0002_next.lua"))
    }

    @Test(arguments: [
        (
            "{ id = 'int primary', title = 'string', status = 'string?' }",
            "{ id = 'int primary', summary = 'string' }"
        ),
        (
            "{ id = 'int primary', title = 'string' }",
            "{ id = 'int primary', title2 = 'string', title3 = 'string' }"
        ),
        (
            "{ id = 'int primary', title = 'string', a = 'int?', b = 'int?' }",
            "{ id = 'int primary', title = 'string', c = 'int?', d = 'int?' }"
        ),
        (
            "{ id = 'int primary', title = 'string', a = 'int?', b = 'int?' }",
            "{ id = 'int primary', title = 'int', a = 'string', b = 'string' }"
        ),
    ])
    func `plan does not guess among several renames; lint and up fail until one is chosen`(
        old: String, new: String
    ) throws {
        let (shop, text) = try planned(old, new, "{ id = 1, title = 'one' }")
        #expect(text.contains("-- CHOOSE"), "\(text)")
        #expect(text.contains("    -- m:rename_property("), "\(text)")
        #expect(!text.contains("    m:rename_property("), "\(text)")
        #expect(!text.contains("  drops ="), "\(text)")
        for command in ["lint", "up", "check"] {
            let outcome = try shop.migrate(command)
            #expect(outcome.exitCode != 0)
            #expect((outcome.output + outcome.error).contains("choose what keeps the values of"))
        }
        #expect(try shop.value("store:object('P', 1).title") == "one")
    }

    @Test(arguments: [
        "{ Note = { text = 'string' } }",
        "{ Tag = { word = 'string' }, Note = { text = 'string', size = 'int' } }",
        "{ Tag = { embedded = true, word = 'string' }, Note = { text = 'string', size = 'int' } }",
        "{ Tag = { word = 'string' }, Note = { text = 'string', size = 'int', indexes = { { 'text', 'size' } } } }",
    ])
    func `the next migration leads to exactly the schema, also without indexes and embedding`(
        after: String
    ) throws {
        let shop = try MigrationShop([
            """
            return { schema = {
              Tag = { embedded = true, word = 'string' },
              Note = { text = 'string', size = 'int', indexes = { { 'text', 'size' } } },
            } }
            """
        ])
        try shop.migrate("up").expectSuccess()
        let schema = try shop.folder.write("return \(after)", to: "schema.lua")
        let plan = ["migrate", "plan", "--dir", "migrations", schema]
        try Tool.run(plan, in: shop.folder.path).expectSuccess()
        try shop.migrate("up").expectSuccess()
        let outcome = try Tool.lua(
            "moonpool.open { path = arg[1], schema = dofile(arg[2]), schema_version = 2 }",
            shop.store, schema)
        #expect(outcome.error == "")
        #expect(try Tool.run(plan, in: shop.folder.path).output.contains("already leads to"))
    }

    @Test func `changes can end the embedding of a class, and remove its indexes`() throws {
        let shop = try MigrationShop([
            """
            return { schema = {
              Tag = { embedded = true, word = 'string' },
              Note = { text = 'string', size = 'int', indexes = { { 'text', 'size' } } },
            } }
            """, "return { changes = { Tag = { embedded = false }, Note = { indexes = {} } } }",
        ])
        try shop.migrate("up").expectSuccess()
        #expect(
            try shop.value("store:schema().Tag.embedded, store:schema().Note.indexes") == "nil\tnil"
        )
    }

    @Test(arguments: ["int", "string", "uuid", "object_id"])
    func `the next migration without a primary key can be reverted`(type: String) throws {
        let shop = try MigrationShop([
            "return { schema = { Note = { id = '\(type) primary', text = 'string', size = 'double' } } }"
        ])
        #expect(try shop.migrate("up").exitCode == 0)
        let key = ["int": "id", "string": "'n' .. id"][type] ?? "moonpool.\(type)()"
        _ = try shop.value(
            """
            store:write(function()
              for id = 1, 3 do store:create("Note", { id = \(key), text = "t" .. id, size = id }) end
            end)
            """)
        let schema = try shop.folder.write(
            "return { Note = { text = 'string', size = 'double' } }", to: "schema.lua")
        let plan = ["migrate", "plan", "--dir", "migrations", schema]
        #expect(try Tool.run(plan, in: shop.folder.path).exitCode == 0)
        let test = try Tool.run(["migrate", "test", "migrations"], in: shop.folder.path)
        #expect(test.exitCode == 0, "\(test)")
        #expect(try shop.migrate("up").exitCode == 0)
        let down = try shop.migrate("down")
        #expect(down.exitCode == 0, "\(down.error)")
        #expect(
            try shop.value("#store:objects('Note'):distinct('id'), store:objects('Note')[3].text")
                == "3\tt3")
    }

    @Test func `a choice among renames is created by editing the marked lines`() throws {
        let (shop, text) = try planned(
            "{ id = 'int primary', title = 'string', status = 'string' }",
            "{ id = 'int primary', summary = 'string' }", "{ id = 1, title = 'one', status = 's' }")
        let chosen = text.split(separator: "\n").map(String.init).filter { !$0.contains("error ") }
            .map { line in
                line.contains("-- After the choice in up, add to drops:")
                    ? "drops = { 'P.status', 'P.title' }," : line
            }.map { $0.contains("\"title\"") ? $0.replacing("-- m:", with: "m:") : $0 }
        try shop.write(chosen.joined(separator: "\n"), to: "0002_next.lua")
        try shop.migrate("up").expectSuccess()
        #expect(try shop.value("store:object('P', 1).summary") == "one")
    }

    @Test(arguments: [
        (
            "{ id = 'int primary', a = 'string', b = 'int' }",
            "{ id = 'int primary', a = 'int', b = 'string' }", "10\ttext"
        ),
        (
            "{ id = 'int primary', a = 'string', b = 'int', c = 'double' }",
            "{ id = 'int primary', a = 'double', b = 'string', c = 'int' }", "0.5\ttext"
        ),
        (
            "{ id = 'int primary', a = 'string', b = 'int' }",
            "{ id = 'int primary', b = 'string', c = 'int' }",
            "nil\ttext"
        ),
    ])
    func `exchanged names of different types are renames, in up and in down`(
        old: String, new: String, expected: String
    ) throws {
        let last = old.contains("double") ? ", c = 0.5" : ""
        let (shop, text) = try planned(old, new, "{ id = 1, a = 'text', b = 10\(last) }")
        let up = try shop.migrate("up")
        #expect(up.exitCode == 0, "\(up.error)\(text)")
        #expect(
            try shop.value(
                "(store:schema('P').a and store:object('P', 1).a), store:object('P', 1).b")
                == expected)
        let down = try shop.migrate("down")
        #expect(down.exitCode == 0, "\(down.error)\(text)")
        #expect(try shop.value("store:object('P', 1).a, store:object('P', 1).b") == "text\t10")
    }
}
