import Testing

/// The schema changes of a script as migrations.
@Suite struct SessionMigrationTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Runs code after the creation of a store with two objects of a class; `base` is the version of the store then.
    private func run(_ code: String) throws -> Tool.Outcome {
        let script = """
            local store = moonpool.open "zoo.moonpool"
            if not next(store:schema()) then
              store:define { Dog = { id = "int primary", name = "string", good = "string" } }
              store:write(function()
                for id = 1, 2 do store:create("Dog", { id = id, name = "D" .. id, good = id == 1 and "yes" or "no" }) end
              end)
            end
            local base = store.version

            """
        let path = try folder.write(script + code, to: "script.lua")
        return try Tool.run([path], in: folder.path)
    }

    private func text(_ name: String) throws -> String {
        try Tool.lua("io.write(io.open(arg[1]):read 'a')", name, in: folder.path).output
    }

    @Test func `renames, conversions and losses become migrations that run on a copy`() throws {
        let outcome = try run(
            """
            store:define { Dog = { "...", age = "int?" } }
            store:define({ Dog = { "...", good = "bool" } }, function(m)
              m:each("Dog", function(old, new) new.good = old.good == "yes" end)
            end)
            store:define({ Dog = { id = "int primary", title = "string", good = "bool", age = "int?" } },
              function(m) m:rename_property("Dog", "name", "title") end)
            store:define({ Dog = { id = "int primary", title = "string", age = "int?" } }, { force = true })
            local report = store:migration_since(base, { dir = "m", name = "reshape" })
            for _, file in ipairs(report.files) do print(file) end
            for _, applied in ipairs(report.rehearsal.applied) do print(applied.name) end
            print(#report.recorded, store:migration_since(store.version, { dir = "m" }))
            """)
        #expect(outcome.error == "")
        #expect(
            outcome.lines == [
                "m/0001_start.lua", "m/0002_reshape.lua", "m/0003_reshape_2.lua",
                "m/0004_reshape_3.lua", "reshape", "reshape_2", "reshape_3", "4\tnil",
            ])
        #expect(try text("m/0002_reshape.lua").contains("int?"))
        #expect(try text("m/0003_reshape_2.lua").contains("m:rename_property"))
        #expect(try text("m/0004_reshape_3.lua").contains("Dog.good"))
        try Tool.run(["migrate", "check", "zoo.moonpool", "--dir", "m"], in: folder.path)
            .expectSuccess()
        try Tool.run(["migrate", "up", "fresh.moonpool", "--dir", "m"], in: folder.path)
            .expectSuccess()
    }

    @Test func `undo passes over the commit that records the migrations`() throws {
        let outcome = try run(
            """
            store:define { Dog = { "...", age = "int?" } }
            store:write(function() store:object("Dog", 1).age = 3 end)
            store:migration_since(base)
            store:undo()
            print(store:object("Dog", 1).age, #moonpool.migrate.status("zoo.moonpool", { dir = "migrations" }).applied)
            """)
        #expect(outcome.error == "")
        #expect(outcome.output == "nil\t2\n")
    }

    @Test func `a later call continues the folder`() throws {
        let first = try run(
            """
            store:define { Dog = { "...", age = "int?" } }
            print(store:migration_since(base).files[2])
            store:define { Cat = { name = "string" } }
            print(table.unpack(store:migration_since(base + 1).files))
            """)
        #expect(first.error == "")
        #expect(first.lines == ["migrations/0002_add_dog_age.lua", "migrations/0003_add_cat.lua"])
    }

    @Test(arguments: [
        ("", "print(store:migration_since(base))", "nil"),
        (
            "store:define { Cat = { name = 'string' } }",
            "print(pcall(store.migration_since, store, 99))",
            "version 99 does not exist"
        ),
        (
            "for id = 1, 3 do store:define { ['C' .. id] = { name = 'string' } } end",
            "store:migration_since(base, { name = 'cats' }) store:define { D = { a = 'int' } } "
                + "print(pcall(store.migration_since, store, base + 3, { name = 'cats' }))",
            "'migrations/0002_cats.lua' already has the name 'cats'"
        ),
        (
            "local suffix = '!' store:define({ Dog = { '...', name = 'string' } }, function(m) "
                + "m:each('Dog', function(old, new) new.name = old.name .. suffix end) end)",
            "print(pcall(store.migration_since, store, base))",
            "a function that uses the local 'suffix'"
        ),
        (
            "store:define { Cat = { name = 'string' } } for _ = 1, 101 do store:write(function() "
                + "store:object('Dog', 1).name = 'x' end) end",
            "print(pcall(store.migration_since, store, base))",
            "cannot be read, because the store keeps"
        ),
        (
            "store:define { Cat = { name = 'string' } }",
            "print(pcall(store.migration_since, store, 0))",
            "changed the schema"
        ),
    ]) func `what cannot be written is refused, and leaves no files`(
        change: String, call: String, expected: String
    ) throws {
        // The first run creates the store, so that the script has only its own changes.
        #expect(try run("").error == "")
        let outcome = try run(change + "\n" + call)
        #expect(outcome.error == "")
        #expect(outcome.output.contains(expected), "\(outcome.output)")
        if !call.contains("cats") {
            #expect(!TemporaryFolder.names(in: folder.path).contains("migrations"))
        }
    }
}
