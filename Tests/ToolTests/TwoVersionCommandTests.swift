import Glibc
import ObjectStore
import Testing

/// Commands on a store that programs of two schema versions can use, and migrations that lead to one.
@Suite struct TwoVersionCommandTests {
    private static let dogs = """
        return {
          schema = { Dog = { id = "int primary", first = "string", last = "string", born = "string" } },
          up = function(m)
            for id = 1, 2500 do
              m:create("Dog", { id = id, first = "F" .. id, last = "L" .. id, born = "1 May" })
            end
          end,
        }
        """
    private static let names = """
        return {
          changes = { Dog = { name = "string", note = { type = "string?", default = "x" } } },
          renames = { ["Dog.born"] = "birthday" },
          drops = { "Dog.first", "Dog.last" },
          each = { Dog = {
            up = function(old, new)
              if old.first == "bad" then error "no name" end
              new.name = old.first .. " " .. old.last
            end,
            down = function(new, old) old.first, old.last = new.name:match "^(%S*) ?(.*)$" end,
          } },
        }
        """

    private func shop(_ second: String = names) throws -> MigrationShop {
        let shop = try MigrationShop([Self.dogs, second])
        try shop.migrate("up", "--to", "1").expectSuccess()
        return shop
    }

    /// A process that has the store open and prints the events of its schema.
    private func program(_ shop: MigrationShop) throws -> Subprocess {
        let script = try shop.folder.write(
            """
            local store = moonpool.open(arg[1])
            token = store:observe(function(kind, _, schema)
              if kind == "schema" then print(schema.event, schema.version) io.flush() end
            end)
            print "ready" io.flush()
            moonpool.after(3600, print)
            """, to: "program.lua")
        return try Subprocess(Tool.path, [script, shop.store], until: "ready")
    }

    @Test func `up runs in batches while another process has the store open`() throws {
        let shop = try shop()
        let offline = shop.folder.path + "/offline.moonpool"
        try Tool.run(["backup", shop.store, offline]).expectSuccess()
        try shop.migrateFolder("up", offline).expectSuccess()
        let other = try program(shop)
        let up = try shop.migrate("up", "--json").expectSuccess()
        #expect(!up.error.contains("wait until the migration ends"), "\(up.error)")
        try MigrationShop.expectJSON(up, ["applied[1].name": "names", "backup ~= nil": "true"])
        try other.wait(within: 20) {
            other.output == "ready\nstarted\t1\nboth\t1\ncompleted\t2\n"
        }
        #expect(try MigrationShop.export(shop.store) == MigrationShop.export(offline))
        try shop.migrate("check").expectSuccess()
        try Tool.run(["check", shop.store]).expectSuccess()
        try shop.migrate("down").expectSuccess()
        #expect(
            try shop.value("store:object('Dog', 7).born, store:object('Dog', 7).last")
                == "1 May\tL7")
        try other.kill()
    }

    @Test func `undo after up in batches returns to the store before the migration`() throws {
        let shop = try shop()
        let before = try MigrationShop.export(shop.store)
        let other = try program(shop)
        try shop.migrate("up").expectSuccess()
        try other.kill()
        _ = try shop.value("store:write(function() store:object('Dog', 9).birthday = 'later' end)")
        try shop.migrate("undo").expectSuccess("kept 1 commit")
        #expect(try shop.migrate("status").output.contains("0002 names  pending"))
        #expect(try shop.value("store:object('Dog', 9).born") == "later")
        _ = try shop.value("store:write(function() store:object('Dog', 9).born = '1 May' end)")
        #expect(try MigrationShop.export(shop.store) == before)
        try shop.migrate("up").expectSuccess()
        try shop.migrate("check").expectSuccess()
    }

    @Test func `up in batches takes the migration back if an object cannot be converted`() throws {
        let shop = try shop()
        let other = try program(shop)
        _ = try shop.value("store:write(function() store:object('Dog', 9).first = 'bad' end)")
        let before = try MigrationShop.export(shop.store)
        let up = try shop.migrate("up", "--json").expectExit(1)
        #expect(try MigrationShop.json(up, "error.code") == "conversion_failed")
        #expect(up.output.contains("Dog id = 9: line 7: no name"), "\(up.output)")
        #expect(try MigrationShop.export(shop.store) == before)
        #expect(try shop.migrate("status").output.contains("0002 names  pending"))
        try other.kill()
    }

    /// Functions that take about a millisecond for each object.
    private static let slow = names.replacing(
        "if old.first ==", with: "for _ = 1, 20000 do end if old.first ==")

    /// A store in which `up` was ended by a signal while it converted objects, and another program.
    private func interrupted(by signal: Int32) throws -> (
        shop: MigrationShop, outcome: Tool.Outcome, other: Subprocess
    ) {
        let shop = try shop(Self.slow)
        let other = try program(shop)
        let process = try shop.start("up")
        let store = try Store(
            StoreConfiguration(.file(shop.store), isReadOnly: true), scheduler: StillScheduler())
        defer { store.close() }
        let deadline = ContinuousClock.now + .seconds(60)
        while try store.startedMigration()?.converted ?? 0 == 0, ContinuousClock.now < deadline {
            try store.refresh()
        }
        process.send(signal)
        return (shop, try process.finish(within: 60), other)
    }

    @Test(arguments: [SIGINT, SIGKILL])
    func `up continues the migration in which an earlier up was interrupted`(signal: Int32) throws {
        let (shop, outcome, other) = try interrupted(by: signal)
        #expect(outcome.exitCode == 128 + signal)
        if signal != SIGKILL {
            #expect(
                outcome.error.contains(
                    "'0002_names.lua' was interrupted; migration 2 (names) is started, and "),
                "\(outcome.error)")
            #expect(
                outcome.error.contains(
                    " of 2500 objects are converted: moonpool migrate up continues it, abort takes it back"
                ), "\(outcome.error)")
        }
        let status = try shop.migrate("status", "--json")
        #expect(try MigrationShop.json(status, "started.state") == "converting")
        #expect(status.output.contains("\"rate\":null"))
        try shop.migrate("up", "--to", "1").expectExit(1)
        let up = try shop.migrate("up", "--json").expectSuccess()
        try MigrationShop.expectJSON(up, ["applied[1].name": "names", "backup ~= nil": "true"])
        try other.kill()
        let offline = shop.folder.path + "/offline.moonpool"
        try shop.migrateFolder("up", offline).expectSuccess()
        #expect(try MigrationShop.export(shop.store) == MigrationShop.export(offline))
        try shop.migrate("check").expectSuccess()
        try Tool.run(["check", shop.store]).expectSuccess()
    }

    @Test func `an interrupted up does not continue with another file; abort reverts`() throws {
        let (shop, _, other) = try interrupted(by: SIGKILL)
        try shop.write(Self.names, to: "0002_names.lua")
        try shop.migrate("up").expectError(
            "was edited or removed since it was started; abort the migration")
        let opening = try Tool.lua(
            "moonpool.open { path = arg[1], migrations = arg[2], schema_version = 2 }", shop.store,
            shop.migrations)
        #expect(opening.error.contains("was edited or removed"), "\(opening.error)")
        try shop.migrate("abort").expectSuccess()
        try shop.migrate("up").expectSuccess()
        #expect(try shop.value("store:object('Dog', 7).name") == "F7 L7")
        try other.kill()
    }

    @Test func `a full disk ends start, which continues when there is space`() throws {
        let shop = try shop()
        var information = stat()
        #expect(stat(shop.store, &information) == 0)
        try Tool.run(
            ["migrate", "start", shop.store, "--dir", "migrations"],
            withFilesUpTo: Int(information.st_size) / 512 + 8, in: shop.folder.path
        ).expectError("file size limit")
        try Tool.run(["check", shop.store]).expectSuccess()
        #expect(try shop.value("store:object('Dog', 7).first") == "F7")
        try shop.migrate("start", "--pace", "100").expectSuccess()
        #expect(try MigrationShop.export(shop.store, "--schema-version", "2").contains("\"F7 L7\""))
    }

    @Test func `a program of the old version continues after a forced complete`() throws {
        let shop = try shop()
        try shop.migrate("start", "--pace", "100").expectSuccess()
        let script = try shop.folder.write(
            """
            local store = moonpool.open(arg[1])
            local dog = store:object("Dog", 3)
            tokens = {
              dog:observe_value("first", print),
              store:objects("Dog"):where("last = 'L3'"):observe(function(change)
                print(change.type, change.schema and change.schema.event, change.error and change.error.code)
                io.flush()
              end),
              store:observe(function(kind, _, schema)
                if not schema then return end
                print(schema.event, schema.number, schema.name, schema.version)
                print(select(2, pcall(function() return dog.first end)))
                print(dog.id, #store:objects "Dog")
                io.flush()
              end),
            }
            moonpool.after(3600, print)
            """, to: "observed.lua")
        let process = try Subprocess(Tool.path, [script, shop.store], until: "initial")
        try shop.migrate("complete").expectExit(1)
        try shop.migrate("complete", "--force").expectSuccess()
        try Tool.run([
            shop.store, "-e", "store:write(function() store:object('Dog', 3).note = 'late' end)",
        ]).expectSuccess()
        try process.wait(within: 20) {
            process.output.contains("schema_changed") && process.output.contains("completed")
        }
        #expect(process.output.contains("error\tcompleted\tschema_changed\n"), "\(process.output)")
        #expect(process.output.contains("completed\t2\tnames\t2\n"), "\(process.output)")
        #expect(
            process.output.contains("'Dog' has no property 'first' since migration 2 (names)"),
            "\(process.output)")
        #expect(process.output.contains("3\t2500\n"), "\(process.output)")
        try process.wait(within: 20) { process.error.contains("key path 'first'") }
        process.send(SIGTERM)
        let outcome = try process.finish(within: 20)
        #expect(outcome.error.ranges(of: "key path 'first'").count == 1, "\(outcome.error)")
    }

    @Test func `of several processes that migrate, one applies each migration`() throws {
        let shop = try shop()
        let other = try program(shop)
        let processes = try (1...3).map { _ in try shop.start("up", "--json") }
        var applied = 0
        for process in processes {
            let outcome = try process.finish(within: 60).expectSuccess()
            applied += Int(try MigrationShop.json(outcome, "applied and #r.applied")) ?? 0
        }
        #expect(applied == 1)
        try shop.migrate("check").expectSuccess()
        try other.kill()
    }

    @Test func `up runs the functions with the refusals of start`() throws {
        let shop = try shop(Self.names.replacing("error \"no name\"", with: "print(old.first)"))
        _ = try shop.value("store:write(function() store:object('Dog', 9).first = 'bad' end)")
        let up = try shop.migrate("up", "--json").expectExit(1)
        try MigrationShop.expectJSON(
            up,
            [
                "error.code": "conversion_failed",
                "error.line": "7",
                "error.object": "Dog id = 9",
            ])
        let check = try shop.migrate("check", "--format", "json")
        #expect(check.output.contains("global 'print'"), "\(check.output)")
        let shared = try self.shop(
            """
            return { changes = {}, each = { Dog = function(old, new) new.last = old.first end } }
            """)
        try shared.migrate("up").expectError("both versions share its values")
    }

    @Test func `a misspelled property in down is found before the file changes`() throws {
        let shop = try shop(
            Self.names.replacing("old.first, old.last =", with: "old.frist, old.last ="))
        let version = try shop.value("store.version")
        try shop.migrate("start").expectError(
            "the function 'down' of 'Dog' in migration 2 (names) cannot be used",
            "did you mean 'first'?")
        #expect(try shop.value("store.version") == version)
    }

    @Test func `commands and scripts choose a schema version`() throws {
        let shop = try shop()
        #expect(try shop.value("store:started_migration()") == "nil")
        try shop.migrate("start", "--pace", "100").expectSuccess()
        #expect(try MigrationShop.export(shop.store).contains("\"first\":\"F3\""))
        let new = try MigrationShop.export(shop.store, "--schema-version", "2")
        #expect(new.contains("\"name\":\"F3 L3\"") && !new.contains("\"first\""))
        let schema = try Tool.run(["schema", shop.store, "--schema-version", "2"])
        #expect(schema.output.contains("birthday"), "\(schema.output)\(schema.error)")
        let stats = try Tool.run(["stats", shop.store, "--schema-version", "2"])
        #expect(stats.output.contains("schema version  2"), "\(stats.output)\(stats.error)")
        let rows = try shop.folder.write("id,name,birthday\n9000,Rex Fox,2 May\n", to: "rows.csv")
        try Tool.run(["import", shop.store, rows, "--class", "Dog", "--schema-version", "2"])
            .expectSuccess()
        #expect(try shop.value("store:object('Dog', 9000).last") == "Fox")
        try Tool.run([
            shop.store, "--schema-version", "2", "-e",
            """
            print(store.schema_version, store:object("Dog", 9000).name)
            local found = store:started_migration()
            print(found.number, found.name, found.state, found.converted, found.remaining, found.failed_count)
            print(found.programs, #found.failed, found.process)
            """,
        ]).expectOutput("2\tRex Fox\n2\tnames\tboth\t2500\t0\t0\nnil\t0\tnil\n")
        try Tool.run(["schema", shop.store, "--schema-version", "3"]).expectError(
            "version 3 was requested")
    }

    @Test func `signals pause start, and a second start names the process of the first`() throws {
        let shop = try shop()
        // The conversion waits for a program that cannot run its functions.
        let plain = try Store(StoreConfiguration(.file(shop.store)), scheduler: StillScheduler())
        for (signal, status) in [(SIGINT, 130), (SIGTERM, 143)] {
            let process = try shop.start("start")
            try process.wait(within: 20) { process.error.contains("waiting for process") }
            let second = try shop.migrate("start").expectError("already converts the objects of")
            let state = try shop.migrate("status", "--json")
            let number = try MigrationShop.json(state, "started.process")
            #expect(second.error.contains("process \(number) already"), "\(second.error)")
            #expect(try MigrationShop.json(state, "started.state") == "converting")
            process.send(signal)
            let outcome = try process.finish(within: 20)
            #expect(outcome.exitCode == status)
            #expect(
                outcome.error.contains(
                    "2500 of 2500 objects are converted: moonpool migrate start"),
                "\(outcome.error)")
        }
        plain.close()
        for command in ["up", "down", "undo", "baseline"] {
            let refused = try shop.migrate(command, "--json")
            #expect(
                try MigrationShop.json(refused, "error.code") == "schema_in_transition",
                "\(command): \(refused.output)")
        }
        try shop.migrate("start", "--pace", "100").expectSuccess()
    }

    @Test func `status reports a file that was edited after start`() throws {
        let shop = try shop()
        try shop.migrate("start", "--pace", "100").expectSuccess()
        try shop.migrate("check").expectExit(1)
        try shop.write(Self.names.replacing("no name", with: "nameless"), to: "0002_names.lua")
        let status = try shop.migrate("status")
        #expect(
            status.output.contains(
                "problem: the file of migration 2 (names) was edited or removed since it was started"
            ),
            "\(status.output)")
        #expect(try shop.migrate("complete").error.contains("was edited or removed"))
        try shop.migrate("abort").expectSuccess()
    }

    @Test func `plan writes renames and functions for one object, which start can run`() throws {
        let shop = try MigrationShop([
            """
            return {
              schema = {
                Dog = { id = "int primary", age = "string", born = "date", weight = "int", old = "data" },
                Owner = { id = "int primary", phone = "string" },
              },
              up = function(m)
                m:create("Dog", { id = 1, age = "7", born = moonpool.date "2020-02-02", weight = 12, old = moonpool.data "x" })
                m:create("Owner", { id = 1, phone = "1" })
              end,
            }
            """
        ])
        try shop.migrate("up").expectSuccess()
        let schema = try shop.folder.write(
            """
            return {
              Dog = { id = "int primary", age = "int", birthday = "date", weight = "double", size = "decimal" },
              Person = { id = "int primary", phone = "string" },
            }
            """, to: "schema.lua")
        try shop.migrateFolder("plan", schema, "--name", "next").expectSuccess()
        let text = try contents(of: shop.migrations + "/0002_next.lua")
        for line in [
            "[\"Owner\"] = \"Person\",", "[\"Dog.born\"] = \"birthday\",",
            "drops = { \"Dog.old\" },",
            "up = function(old, new)", "down = function(new, old)",
            "new.age = math.tointeger(tonumber(old.age)) or error(\"age = ",
            "old.weight = math.tointeger(tonumber(new.weight)) or error(",
        ] {
            #expect(text.contains(line), "\(line)\n\(text)")
        }
        let start = try shop.migrate("start")
        #expect(start.exitCode == 0, "\(start.error)\(text)")
        try shop.migrate("complete").expectSuccess()
        try shop.expectValues([
            "store:object('Dog', 1).age + store:object('Dog', 1).weight": "19.0",
            "store:object('Person', 1).phone": "1",
        ])
        let down = try shop.migrate("down")
        #expect(down.exitCode == 0, "\(down.error)\(text)")
        #expect(
            try shop.value("store:object('Dog', 1).age, store:object('Owner', 1).phone") == "7\t1")
        try shop.test().expectSuccess()
    }

    @Test func `merge and squash keep functions for one object`() throws {
        let shop = try shop()
        try shop.write(
            "return { changes = { Dog = { size = { type = 'int', default = 1 } } } }",
            to: "0002_size.lua")
        try shop.migrateFolder("merge", "0002_names.lua").expectSuccess()
        try shop.migrate("up").expectSuccess()
        #expect(
            try shop.value("store:object('Dog', 3).name, store:object('Dog', 3).size") == "F3 L3\t1"
        )
        try shop.migrateFolder("squash", "--to", "3").expectSuccess()
        try shop.migrate("check").expectSuccess()
        let new = shop.folder.path + "/new.moonpool"
        try shop.migrateFolder("up", new).expectSuccess()
        #expect(try MigrationShop.export(new) == MigrationShop.export(shop.store))
    }
}
