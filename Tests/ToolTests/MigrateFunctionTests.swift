import Testing

/// The functions of `moonpool.migrate` do what the command does.
@Suite struct MigrateFunctionTests {
    private func run(_ script: String, _ shop: MigrationShop) throws -> Tool.Outcome {
        let path = try shop.folder.write(script, to: "script.lua")
        return try Tool.run([path, shop.store], in: shop.folder.path)
    }

    @Test func `scripts can migrate, report and revert`() throws {
        let shop = try MigrationShop()
        try run(
            """
            local migrate, path, dir = moonpool.migrate, arg[1], { dir = "migrations" }
            local first = migrate.up(path, { dir = "migrations", to = 1 })
            assert(#first.applied == 1 and first.applied[1].name == "people")
            assert(migrate.check(path, dir) == 1 and #migrate.status(path, dir).pending == 2)
            local trial = migrate.up(path, { dir = "migrations", dry_run = true })
            assert(trial.dry_run and #trial.applied == 2 and migrate.check(path, dir) == 1)
            local sample = trial.applied[1].classes[1].samples[1]
            assert(sample.before.first == "F1" and sample.after.name == "F1 L1")
            local second = migrate.up(path, { dir = "migrations", backup = true })
            assert(second.backup == path .. ".backup-1")
            assert(migrate.check(path, dir) == 0)
            local undone = migrate.undo(path, dir)
            assert(undone.restored == second.backup)
            migrate.up(path, { dir = "migrations", to = 2, backup = false })
            local down = migrate.down(path, dir)
            assert(down.down.name == "names")
            print(migrate.status(path, dir).schema_version)
            """, shop
        ).expectOutput("1\n", error: "")
    }

    @Test func `an open store of the script is migrated`() throws {
        let shop = try MigrationShop()
        let outcome = try run(
            """
            local store = moonpool.open(arg[1])
            moonpool.migrate.up(store, { dir = "migrations", to = 1 })
            local person = store:object("Person", 3)
            moonpool.migrate.up(store, { dir = "migrations" })
            print(person.name, person.age, store.schema_version)
            print(select(2, pcall(moonpool.migrate.undo, store, { dir = "migrations" })).message)
            """, shop)
        #expect(outcome.error == "")
        #expect(outcome.lines == ["F3 L3\t23\t3", "'\(shop.store)' is open; close it first"])
    }

    @Test func `errors have codes, a location and the wrong argument`() throws {
        let shop = try MigrationShop([
            "return { schema = { A = { x = 'int' } }, up = function(m) m:create('A', { x = 'one' }) end }"
        ])
        let outcome = try run(
            """
            local function try(f, ...)
              local ok, err = pcall(f, ...)
              print(ok, type(err) == "userdata" and err.code or "", err)
            end
            local migrate = moonpool.migrate
            try(migrate.up, arg[1], { dir = "migrations" })
            try(migrate.up, arg[1], { dirr = "migrations" })
            try(migrate.up, arg[1])
            try(migrate.up, arg[1], { dir = "migrations", to = "x" })
            try(migrate.check, "none.moonpool", { dir = "migrations" })
            local store = moonpool.open { in_memory = "m" }
            try(migrate.up, store, { dir = "migrations" })
            print(migrate.status(store, { dir = "migrations" }).state)
            """, shop)
        #expect(outcome.error == "")
        let lines = outcome.lines
        #expect(lines.count == 7)
        #expect(lines[0].hasPrefix("false\ttype_mismatch\t"))
        #expect(lines[0].contains("migrations/0001_people.lua:1: "))
        #expect(lines[1].contains("unknown option 'dirr'; did you mean 'dir'?"))
        #expect(lines[2].contains("bad argument #2 to 'up' (table of options expected"))
        #expect(lines[3].contains("option 'to' must be a whole number, 0 or more"))
        #expect(lines[4].contains("there is no store 'none.moonpool'"))
        #expect(lines[5].contains("is in memory, not in a file"))
        #expect(lines[6] == "pending")
    }

    @Test func `init, merge and squash are functions too, and a killed init finishes`() throws {
        let shop = try MigrationShop()
        let outcome = try run(
            """
            local migrate = moonpool.migrate
            moonpool.open({ path = "a.moonpool", schema = { A = { x = "int" } } }):close()
            print(migrate.init("a.moonpool", { dir = "a" }).file)
            os.remove "a.moonpool"  -- the new store has no record, like that of a killed init
            moonpool.open({ path = "a.moonpool", schema = { A = { x = "int" } } }):close()
            print(#migrate.init("a.moonpool", { dir = "a" }).recorded, migrate.check("a.moonpool", { dir = "a" }))
            for _, name in ipairs { "0002_mail", "0002_phone" } do
              local file <close> = io.open("a/" .. name .. ".lua", "w")
              file:write("return { changes = { A = { " .. name:sub(6) .. " = 'string?' } } }")
            end
            print(pcall(migrate.merge, "a"))
            print(migrate.merge("a", { files = { "0002_phone.lua" } }).steps[1])
            print(migrate.squash("a", { to = 2 }).steps[1])
            """, shop)
        #expect(outcome.error == "")
        let lines = outcome.lines
        #expect(lines.count == 5)
        #expect(lines.first == "a/0001_start.lua")
        #expect(lines.dropFirst().first?.hasPrefix("1\t0") == true)
        #expect(lines[2].contains("several migrations have the same number"))
        #expect(
            lines[3...] == [
                "'0002_phone.lua' becomes '0003_phone.lua'",
                "'0001_start.lua' to '0002_mail.lua' become '0002_squashed.lua'",
            ])
    }

    @Test func `a migration does not run in a store whose version a program has set`() throws {
        let shop = try MigrationShop([
            "return { schema = { A = { x = 'int' } }, up = function(m) m:create('A', { x = 2 }) end }",
            "return { changes = { A = { y = 'int?' } } }",
        ])
        let outcome = try run(
            """
            local migrate, path, dir = moonpool.migrate, arg[1], { dir = "migrations" }
            moonpool.open({ path = path, schema = { A = { x = "int" } }, schema_version = 1 }):close()
            local ok, err = pcall(migrate.up, path, dir)
            print(ok, err.code, err.message:find "baseline" ~= nil, migrate.check(path, dir))
            print(select(2, pcall(migrate.repair, path, dir)).message:find "baseline" ~= nil)
            migrate.baseline(path, dir)
            migrate.up(path, dir)
            print(#moonpool.open(path):objects "A", (migrate.check(path, dir)))
            """, shop)
        #expect(outcome.error == "")
        let lines = outcome.lines
        #expect(lines.first?.hasPrefix("false\tversion_too_low\ttrue\t2") == true, "\(lines)")
        #expect(lines.dropFirst().first == "true")
        #expect(lines.last == "0\t0")
    }

    @Test func `options that are wrong or have no effect are refused`() throws {
        let outcome = try run(
            """
            for _, options in ipairs {
              { sample = 3 }, { dry_run = true, keep = 1 }, { dry_run = true, backup = false }, { dry_run = 1 },
              { keep = -1 }, { lock_timeout = 0/0 }, { backup = "yes" }, { dir = 5 }, { continue = true },
            } do
              options.dir = options.dir or "migrations"
              local ok, err = pcall(moonpool.migrate.up, arg[1], options)
              assert(not ok and err.code == "invalid_argument" and not io.open(arg[1]), moonpool.inspect(options))
            end
            """, MigrationShop())
        #expect(outcome.error == "")
    }

    @Test(arguments: [
        "os = 'x'", "os = nil", "package = 'x'", "package.path = nil", "package.loaded = nil",
        "require, dofile, loadfile = nil, 5, {}",
        """
        require, dofile = nil, nil
        setmetatable(_G, { __index = function(_, k) error("read " .. k) end, __newindex = function(_, k) error(k) end })
        """,
    ])
    func `a script that has changed its globals can migrate`(change: String) throws {
        let shop = try MigrationShop()
        try run(
            """
            local migrate, path, print, dir = moonpool.migrate, arg[1], print, { dir = "migrations" }
            \(change)
            local before = rawget(_G, "require")
            migrate.up(path, dir)
            print(migrate.check(path, dir), #migrate.test("migrations").tests, rawget(_G, "require") == before)
            """, shop
        ).expectOutput("0\t4\ttrue\n", error: "")
    }

    @Test func `failing migration tests report their location`() throws {
        let shop = try MigrationShop()
        try shop.write(
            """
            return {
              { name = "joins", before = function(s) s:create("Person", { id = 9, first = "A", last = "B", age = "" }) end,
                after = function(s) assert(s:object("Person", 9).name == "A B") end,
                down = function(s) assert(s:object("Person", 9).last == "B") end },
              { name = "fails", after = function(s) error "not so" end },
            }
            """, to: "0002_names_test.lua")
        try shop.write("return { befor = print }", to: "0003_ages_test.lua")
        let outcome = try shop.test().expectExit(1)
        #expect(
            outcome.lines == [
                "ok      0001 people (on an empty store)", "ok      0002 names: joins",
                "failed  0002 names: fails", "        migrations/0002_names_test.lua:5: not so",
                "ok      0002 names: generated objects",
                "failed  0003 ages",
                "        'migrations/0003_ages_test.lua': unknown key 'befor'; did you mean 'before'?",
                "5 tests, 2 failed",
            ])
        let json = try shop.test("--json")
        #expect(try MigrationShop.json(json, "failures") == "2")
    }
}
