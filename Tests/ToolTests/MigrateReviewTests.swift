import Glibc
import Testing

/// Output about migrations for CI systems and reviewers, and migrations of many stores.
@Suite struct MigrateReviewTests {
    @Test func `check, lint and test write findings for CI systems`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "2").expectSuccess()
        _ = try shop.value("store:write(function() store:object('Person', 4).age = 'old' end)")
        let github = try shop.migrate("check", "--format", "github").expectExit(
            2, "(Person id = 4)")
        #expect(
            github.output.hasPrefix(
                "::error title=failure,file=migrations/0003_ages.lua,line="), "\(github.output)")
        let junit = try shop.migrate("check", "--format", "junit")
        #expect(junit.output.hasPrefix("<?xml version=\"1.0\""))
        #expect(junit.output.contains("<testcase name=\"migrations/0003_ages.lua Person id = 4\""))
        let json = try shop.migrate("check", "--format", "json")
        try MigrationShop.expectJSON(
            json,
            [
                "version": "1",
                "findings[1].object": "Person id = 4",
                "findings[1].number": "3",
            ])
        let lint = try shop.migrate("lint", "--json").expectExit(1)
        #expect(try MigrationShop.json(lint, "findings[1].file") == "migrations/0003_ages.lua")
        try shop.test("--format", "junit").expectSuccess("<testcase name=\"0002 names\"/>")
    }

    @Test func `the checks and the report of a team run`() throws {
        let shop = try MigrationShop()
        let page = "Sources/ScriptHost/ScriptHost.docc/NumberedMigrations.md"
        let example = try #require(
            ReadmeTests.blocks("lua", in: page).first { $0.contains("keys = function") })
        try shop.write(example, to: "checks.lua")
        try shop.migrate("up", "--to", "1").expectSuccess()
        try shop.migrate("check").expectExit(1)
        try shop.write(
            """
            local words = require "words"
            return {
              first = function(migration, report)
                migration.name, migration.schema.Person.age, migration.number = "", nil, 0
                report.classes, migration.drops[1] = nil, nil
              end,
              name = function(migration) return #migration.drops == 0 or words.drops(migration) end,
              report = function(migration, report)
                if migration.name ~= "ages" then return end
                assert(report.classes[1].changed == 5 and migration.schema.Person.age.type_name == "int")
                return { "one", "two" }
              end,
              wrong = function(migration) if migration.number == 3 then error "not so" end end,
            }
            """, to: "checks.lua")
        try shop.write(
            "return { drops = function(m) return m.path .. ' drops ' .. m.drops[1] end }",
            to: "words.lua")
        let check = try shop.migrate("check", "--format", "json").expectExit(2)
        let expected = [
            ("name", "2", "migrations/0002_names.lua drops Person.first"), ("report", "3", "one"),
            ("report", "3", "two"), ("wrong", "3", "migrations/checks.lua:13: not so"),
        ]
        for (index, finding) in expected.enumerated() {
            let path = "findings[\(index + 1)]."
            #expect(try MigrationShop.json(check, path + "kind") == "check")
            #expect(try MigrationShop.json(check, path + "code") == finding.0)
            #expect(try MigrationShop.json(check, path + "number") == finding.1)
            #expect(try MigrationShop.json(check, path + "message") == finding.2)
        }
        #expect(try shop.migrate("lint").output.contains("name: migrations/0002_names.lua drops"))
        let text = try contents(of: Tool.root + "/" + page)
        let start = try #require(text.range(of: "moonpool report.lua")).upperBound
        let script = text[start...].split(separator: "\n").dropFirst().prefix {
            $0.hasPrefix("    ")
        }
        try Tool.run(
            script: script.joined(separator: "\n"), arguments: [shop.store, shop.migrations]
        ).expectOutput("names\tPerson\t0\t5\t0\nages\tPerson\t0\t5\t0\n")
        for wrong in ["return 5", "return { 5 }", "return { a = 5 }", "return {", "error 'x'"] {
            try shop.write(wrong, to: "checks.lua")
            try shop.migrate("check").expectError("migrations/checks.lua", code: 2)
            try shop.migrate("status").expectSuccess()
        }
    }

    @Test(arguments: [
        "--jobs 2", "--canary 1", "--stop-after-failures 1", "--dry-run --backup",
        "--dry-run --no-backup", "--dry-run --keep 2", "--fail-on ,", "--fail-on drops,",
    ])
    func `options without effect are refused`(options: String) throws {
        let shop = try MigrationShop()
        let words = options.split(separator: " ").map(String.init)
        try Tool.run(
            ["migrate", "up", shop.store, "--dir", "migrations"] + words, in: shop.folder.path
        ).expectError("--", code: 64)
    }

    @Test func `--fail-on refuses drops and rewrites before anything is applied`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "1").expectSuccess()
        try shop.migrate("up", "--fail-on", "drops").expectExit(
            3, "5 values of Person.first would be dropped")
        #expect(try shop.value("store.schema_version") == "1")
        try shop.migrate("check", "--fail-on", "drops,rewrites").expectExit(3)
        try shop.migrate("check").expectExit(1)
        try shop.migrate("check", "--fail-on", "losses").expectExit(64)
    }

    @Test func `a dry run is written as text and JSON`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "1").expectSuccess()
        func report(_ name: String) throws -> String {
            try shop.migrate("up", "--dry-run", "--report", name).expectSuccess()
            return try contents(of: shop.folder.path + "/" + name)
        }
        #expect(try report("r.txt").contains("id = 1: name = nil → \"F1 L1\""))
        try Tool.run(
            [
                "-e",
                "local r = moonpool.json.decode(io.read 'a') local c = r.migrations[1].classes.Person "
                    + "print(r.version, c.changed, c.dropped_values, c.rewritten_values, c.samples[1].key, "
                    + "c.samples[1].changes[1].property)",
            ],
            input: try report("r.json")
        ).expectOutput("1\t5\t10\t0\tid = 1\tname\n")
        try shop.migrate("up", "--dry-run", "--report", "r.html").expectError(".txt or .json")
        try shop.migrate("up", "--report", "r.txt").expectExit(64)
    }

    @Test func `a sample contains some objects and the objects that they link to`() throws {
        let shop = try MigrationShop([
            """
            return {
              schema = { Dog = { id = "int primary", owner = "Person" }, Person = { id = "int primary", name = "string" } },
              up = function(m)
                for i = 1, 100 do
                  m:create("Dog", { id = i, owner = m:create("Person", { id = 1000 + i, name = "P" .. i }) })
                end
              end,
            }
            """,
            """
            return {
              changes = { Dog = { label = "string" } },
              up = function(m) m:each("Dog", function(old, new) new.label = old.owner.name end) end,
            }
            """,
        ])
        try shop.migrate("up", "--to", "1").expectSuccess()
        try shop.migrate("up", "--dry-run", "--sample", "10").expectSuccess(
            "Dog: 10 objects before, 10 after; 0 created, 0 deleted, 10 changed")
        #expect(try shop.value("#store:objects 'Dog'") == "100")
    }

    @Test func `init, plan and up create and apply the first migration of a store`() throws {
        let folder = try TemporaryFolder()
        let store = folder.path + "/zoo.moonpool"
        let fill = """
            local s = moonpool.open { path = arg[1], schema = { Dog = { id = "int primary", name = "string", age = "string" } } }
            s:write(function() for i = 1, 3 do s:create("Dog", { id = i, name = "d" .. i, age = tostring(i) }) end end)
            """
        try Tool.run(["-e", fill, "-", store]).expectSuccess()
        let initial = try Tool.run(["migrate", "init", store, "--dir", "m"], in: folder.path)
            .expectSuccess()
        #expect(initial.lines.first == "wrote m/0001_start.lua")
        _ = try folder.write(
            #"return { Dog = { id = "int primary", label = "string", age = "int", kind = { type = "string", default = "dog" } } }"#,
            to: "schema.lua")
        try Tool.run(["migrate", "plan", "--dir", "m", "schema.lua"], in: folder.path)
            .expectSuccess("→ m/0002_rename_name_to_label.lua")
        try Tool.run(["migrate", "up", store, "--dir", "m"], in: folder.path).expectSuccess()
        let look =
            "local d = moonpool.open(arg[1]):object('Dog', 2) print(d.label, d.age + 1, d.kind)"
        #expect(try Tool.run(["-e", look, "-", store]).output == "d2\t3\tdog\n")
        let check = try Tool.run(["migrate", "check", store, "--dir", "m"], in: folder.path)
        #expect(check.output.hasPrefix("up to date"), "\(check.output)")
        let again = try Tool.run(["migrate", "plan", "--dir", "m", "schema.lua"], in: folder.path)
        #expect(again.lines == ["the folder already leads to this schema"])
    }

    @Test func `status and check of many stores print one table and one report`() throws {
        let shop = try MigrationShop()
        for (name, number) in [("a", "1"), ("b", "2"), ("c", "3")] {
            try shop.migrateFolder("up", "\(name).moonpool", "--to", number).expectSuccess()
        }
        func run(_ command: String, _ options: String...) throws -> Tool.Outcome {
            try Tool.run(
                ["migrate", command, "*.moonpool", "--dir", "migrations"] + options,
                in: shop.folder.path)
        }
        let status = try run("status").expectSuccess()
        #expect(
            status.lines == [
                "store       version  applied  pending  state",
                "a.moonpool        1        1        2  pending",
                "b.moonpool        2        2        1  pending",
                "c.moonpool        3        3        0  up to date",
                "3 stores: 1 up to date, 2 pending",
            ], "\(status.output)")
        let json = try run("status", "--json")
        try MigrationShop.expectJSON(
            json,
            [
                "stores[2].report.state": "pending",
                "summary.pending": "2",
            ])
        try run("check").expectExit(1)
        _ = try shop.folder.write("no store", to: "d.moonpool")
        let broken = try run("status").expectExit(1)
        #expect(broken.lines.contains("d.moonpool: 'd.moonpool' is not a store"))
        #expect(broken.lines.last == "4 stores: 1 up to date, 2 pending, 1 error")
        let github = try run("check", "--format", "github").expectExit(2)
        #expect(
            github.lines == [
                "::error title=file_corrupt::d.moonpool: 'd.moonpool' is not a store"
            ], "\(github.output)")
        let junit = try run("check", "--format", "junit")
        #expect(junit.output.split(separator: "<?xml").count == 1, "\(junit.output)")
        #expect(junit.output.contains(#"tests="4" failures="1""#), "\(junit.output)")
        try run("up", "--dry-run", "--report", "report.txt").expectError("need a single store")
    }

    @Test func `many stores are migrated one by one, and a second run continues`() throws {
        let shop = try MigrationShop()
        mkdir(shop.folder.path + "/tenants", 0o755)
        for name in ["a", "b", "c"] {
            let store = "tenants/\(name).moonpool"
            try shop.migrateFolder("up", store, "--to", "2").expectSuccess()
        }
        func fleet(_ options: String...) throws -> Tool.Outcome {
            try Tool.run(
                ["migrate", "up", "tenants/*.moonpool", "--dir", "migrations", "--json"] + options,
                in: shop.folder.path)
        }
        func setAge(_ age: String) throws {
            _ = try Tool.lua(
                "local s = moonpool.open(arg[1]) s:write(function() s:object('Person', 1).age = '\(age)' end)",
                shop.folder.path + "/tenants/a.moonpool")
        }
        try setAge("old")
        let canary = try fleet("--canary", "1", "--jobs", "2").expectExit(1)
        #expect(try MigrationShop.json(canary, "not_started") == "2")
        #expect(try MigrationShop.json(canary, "stores[1].error").contains("no age: old"))
        let rest = try fleet("--jobs", "2", "--stop-after-failures", "3")
        try MigrationShop.expectJSON(rest, ["migrated": "2", "failed": "1"])
        try setAge("7")
        let last = try fleet().expectSuccess()
        try MigrationShop.expectJSON(last, ["up_to_date": "2", "migrated": "1"])
        try shop.migrateFolder("up", "none/*.moonpool").expectExit(1)
    }

    @Test func `a pattern selects stores without their backups, and options by no name`() throws {
        let shop = try MigrationShop([
            """
            return { schema = { P = { id = "int primary", n = "int" } } }
            """,
            """
            return { schema = { P = { id = "int primary" } }, drops = { "P.n" } }
            """,
        ])
        mkdir(shop.folder.path + "/tenants", 0o755)
        func run(_ words: String..., in folder: String = "") throws -> Tool.Outcome {
            try Tool.run(words, in: shop.folder.path + folder)
        }
        for store in ["a.moonpool", "./-x.moonpool"] {
            try run("migrate", "up", store, "--dir", "../migrations", "--to", "1", in: "/tenants")
                .expectSuccess()
            let code =
                "local s = moonpool.open(arg[1]) s:write(function() s:create('P', { id = 1, n = 2 }) end)"
            try run("-e", code, "-", store, in: "/tenants").expectSuccess()
        }
        try run("backup", "a.moonpool", "a.moonpool.backup-1", in: "/tenants").expectSuccess()
        let refused = try run(
            "migrate", "up", "*", "--dir", "../migrations", "--fail-on", "drops", "--json",
            in: "/tenants"
        ).expectExit(3)
        #expect(try MigrationShop.json(refused, "failed") == "2")
        #expect(try MigrationShop.json(refused, "stores[1].error").contains("P.n"))
        let done = try run("migrate", "up", "*", "--dir", "../migrations", "--json", in: "/tenants")
            .expectSuccess()
        #expect(try MigrationShop.json(done, "migrated") == "2")
        let schema = try run("schema", "a.moonpool.backup-1", in: "/tenants")
        #expect(schema.output.contains("n "), "\(schema.output)")
    }

    @Test func `init leaves no folder if there is no store`() throws {
        let folder = try TemporaryFolder()
        let outcome = try Tool.run(
            ["migrate", "init", "zoo.moonpool", "--dir", "m"], in: folder.path)
        #expect(outcome.exitCode != 0)
        #expect(TemporaryFolder.names(in: folder.path) == [])
    }

    /// A process that holds the write lock of a store until it is killed.
    private func writer(_ shop: MigrationShop) throws -> Subprocess {
        return try Subprocess(
            lua:
                "local s = moonpool.open(arg[1]) s:begin_write() print 'held' io.flush() while true do end",
            shop.store, in: shop.folder.path, until: "held")
    }

    @Test func `SIGTERM ends the wait for the write lock`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "1").expectSuccess()
        let writer = try writer(shop)
        let up = try shop.start("up", "--json")
        try up.wait { up.error.contains("waiting for process") }
        up.send(SIGTERM)
        let outcome = try up.finish().expectExit(143)
        #expect(try MigrationShop.json(outcome, "error.code") == "interrupted")
        try writer.kill()
    }

    @Test func `SIGTERM stops the migration of many stores`() throws {
        let shop = try MigrationShop([MigrationShop.first])
        for name in ["a", "b", "c"] {
            try shop.migrateFolder("up", "\(name).moonpool").expectSuccess()
        }
        try shop.write(
            "return { changes = { Person = { note = 'string?' } }, "
                + "up = function(m) io.stderr:write 'begun' while true do end end }",
            to: "0002_note.lua")
        let fleet = try Subprocess(
            Tool.path, ["migrate", "up", "*.moonpool", "--dir", "migrations", "--json"],
            in: shop.folder.path)
        try fleet.wait { fleet.error.contains("begun") }
        fleet.send(SIGTERM)
        let outcome = try fleet.finish().expectExit(143)
        try MigrationShop.expectJSON(
            outcome,
            [
                "error.code": "interrupted",
                "stores[1].state": "interrupted",
                "not_started": "2",
            ])
        for name in ["a", "b", "c"] {
            let status = try shop.migrateFolder("status", "\(name).moonpool")
            #expect(status.lines.last == "1 pending, schema version 1", "\(status.output)")
        }
    }

    @Test func `a lock timeout is an error`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "1").expectSuccess()
        let writer = try writer(shop)
        let up = try shop.migrate("up", "--lock-timeout", "0", "--json").expectExit(1)
        #expect(try MigrationShop.json(up, "error.code") == "limit_exceeded")
        try writer.kill()
        try shop.migrate("up").expectSuccess()
    }

    @Test func `backups are kept up to a number, and a failed up leaves none`() throws {
        let shop = try MigrationShop([
            MigrationShop.first, MigrationShop.second,
            MigrationShop.third.replacing(
                "  up = function(m)",
                with:
                    "  down = function(m) m:each('Person', function(o, n) n.age = tostring(o.age) end) end,\n  up = function(m)"
            ),
        ])
        try shop.migrate("up").expectSuccess()
        for _ in 1...3 {
            try shop.migrate("down", "--no-backup").expectSuccess()
            try shop.migrate("up", "--backup", "--keep", "2").expectSuccess()
        }
        let backups = TemporaryFolder.names(in: shop.folder.path).filter { $0.contains(".backup-") }
        #expect(backups.count == 2, "\(backups)")
    }

    @Test func `a program opens a store with the folder's migrations`() throws {
        let shop = try MigrationShop()
        let open = """
            local s = moonpool.open { path = arg[1], migrations = "migrations" }
            print(s.schema_version, s:object("Person", 3).age)
            """
        try Tool.run(["-e", open, "-", shop.store], in: shop.folder.path).expectOutput("3\t23\n")
        let refused = try Tool.lua(
            "moonpool.open { path = arg[1], schema_version = 9, schema = { Person = { id = 'int primary' } } }",
            shop.store)
        #expect(refused.error.contains("moonpool migrate up"), "\(refused.error)")
    }

    @Test(arguments: [
        ("Person.frist", "did you mean 'first'?"), ("Persn.first", "did you mean 'Person'?"),
        ("Person.", "which neither schema declares"),
    ])
    func `a declared loss of an unknown name is refused`(name: String, hint: String) throws {
        let second = MigrationShop.second.replacing(
            "Person.last\"", with: "Person.last\", \"\(name)\"")
        let shop = try MigrationShop([MigrationShop.first, second, MigrationShop.third])
        try shop.migrate("up").expectError(
            "drops contains '\(name)', which neither schema declares", hint)
        let check = try shop.migrate("check").expectExit(2)
        #expect(
            check.lines.last?.hasPrefix("2 pending, 1 problem, schema version 1") == true,
            "\(check.output)")
    }

    /// The outcome of `migrate test` for a migration from a schema with the given `up` and `down`.
    private func tested(_ declarations: String) throws -> Tool.Outcome {
        let first = """
            return { schema = { Owner = { name = "string primary" }, Pet = { id = "int primary", name = "string",
              tags = "string{}", weights = "double[]", owner = "Owner?", born = "date?", homes = "Home[]" },
              Home = { embedded = true, street = "string", floor = "int" } } }
            """
        let second = "return { \(declarations) }"
        let shop = try MigrationShop([first, second])
        return try shop.test()
    }

    @Test func `a down that does not restore everything fails its test`() throws {
        let outcome = try tested(
            "changes = {}, up = function(m) m:each('Pet', function(o, n) n.name = o.name .. '!' end) end, "
                + "down = function(m) end"
        ).expectExit(1, "after up and down, 'Pet.name' of Pet id = 1 was \"E\" and is \"E!\"")
        #expect(
            outcome.lines.contains("failed  0002 names: generated objects"), "\(outcome.output)")
        let home = try tested(
            "changes = {}, up = function(m) m:each('Home', function(o, n) n.floor = 7 end) end, "
                + "down = function(m) end")
        #expect(
            home.output.contains("after up and down, 'Home.floor' of Pet id = 1, homes[1] was"),
            "\(home.output)")
    }

    @Test(arguments: [
        "changes = {}, up = function(m) m:each('Pet', function(o, n) n.name = o.name .. '!' end) end, "
            + "down = function(m) m:each('Pet', function(o, n) n.name = o.name:sub(1, -2) end) end",
        "changes = {}, up = function(m) m:each('Pet', function(o, n) n.name = o.name:lower() end) end, "
            + "down_drops = { 'Pet.name' }, down = function(m) end",
        "changes = { Pet = { title = 'string' } }, drops = { 'Pet.name' }, "
            + "up = function(m) m:rename_property('Pet', 'name', 'title') end, "
            + "down = function(m) m:rename_property('Pet', 'title', 'name') end",
        "changes = {}, drops = { 'Pet.born' }, down = function(m) end",
        "changes = {}, drops = { 'Home.floor' }, down = function(m) end",
    ])
    func `a down that restores all values without declared loss passes its test`(
        declarations: String
    ) throws {
        let outcome = try tested(declarations).expectSuccess()
        #expect(
            outcome.lines.contains("ok      0002 names: generated objects"), "\(outcome.output)")
    }

    @Test func `generated objects include classes without a primary key`() throws {
        let first = "return { schema = { Toy = { name = 'string', note = 'string?' } } }"
        let second =
            "return { changes = { Toy = { note = { type = 'string', default = '' } } }, down = function(m) end }"
        let shop = try MigrationShop([first, second])
        try shop.test().expectExit(1, "after up and down, 'Toy.note' of Toy")
    }

    @Test func `generated objects that up rejects are reported as skipped`() throws {
        let outcome = try tested(
            "changes = {}, up = function(m) m:each('Pet', function(o, n) error 'never' end) end, down = function(m) end"
        ).expectSuccess("up rejects them: ")
        #expect(
            outcome.lines.contains("skipped 0002 names: generated objects"), "\(outcome.output)")
    }
}
