import Glibc
import ObjectStore
import Testing

/// Processes of two schema versions that use one store while it is migrated.
@Suite struct TwoVersionProgramTests {
    private static let first = """
        return {
          schema = {
            Dog = { id = "int primary", born = "string", age = "string", tag = "string" },
            Owner = { name = "string" },
          },
          up = function(m)
            for id = 1, 3000 do
              m:create("Dog", { id = id, born = "b" .. id, age = tostring(id), tag = "t" .. id })
            end
            m:create("Owner", { name = "Ann" })
          end,
        }
        """
    private static let second = """
        return {
          changes = { Dog = { age = "int", size = { type = "double", default = 1.5 } }, Walk = { dog = "Dog" } },
          renames = { ["Dog.born"] = "birthday", Owner = "Person" },
          drops = { "Dog.tag" },
        }
        """
    /// Observes the dogs, and prints those that change.
    private static let observer = """
        local store = moonpool.open { path = arg[1], schema_version = tonumber(arg[2]) }
        local dogs = store:objects "Dog"
        tokens = {
          dogs:observe(function(change)
            if change.type == "initial" then print "ready" io.flush() return end
            for _, index in ipairs(change.modifications) do
              print("dog", dogs[index].id, math.type(dogs[index].age) or "string", dogs[index].age)
            end
            io.flush()
          end),
          store:observe(function(kind, _, schema)
            if kind == "schema" then print("schema", schema.event, schema.version) io.flush() end
          end),
        }
        moonpool.after(3600, print)
        """

    private func shop() throws -> MigrationShop {
        let shop = try MigrationShop([Self.first, Self.second])
        try shop.migrate("up", "--to", "1").expectSuccess()
        return shop
    }

    private func observing(_ shop: MigrationShop, _ version: Int) throws -> Subprocess {
        let script = try shop.folder.write(Self.observer, to: "observer.lua")
        return try Subprocess(Tool.path, [script, shop.store, "\(version)"], until: "ready")
    }

    private func run(_ shop: MigrationShop, version: Int, _ code: String) throws -> Tool.Outcome {
        try Tool.lua(
            "local store = moonpool.open { path = arg[1], schema_version = \(version) } \(code)",
            shop.store)
    }

    @Test func `programs of two versions use a store, and complete waits for the old ones`() throws
    {
        let shop = try shop()
        let old = try observing(shop, 1)
        try shop.migrate("start", "--pace", "100").expectSuccess("programs of both versions")
        try old.wait(within: 20) { old.output.contains("schema\tboth\t1") }
        let new = try observing(shop, 2)
        try run(
            shop, version: 2,
            "store:write(function() local d = store:object('Dog', 3) d.age = 33 d.size = 2 end)"
        ).expectSuccess()
        try run(
            shop, version: 1,
            "store:write(function() store:object('Dog', 4).age = '44' store:object('Dog', 5).tag = 'x' end)"
        ).expectSuccess()
        try old.wait(within: 20) { old.output.contains("dog\t5") }
        try new.wait(within: 20) { new.output.contains("dog\t4") }
        #expect(
            old.output.hasSuffix("dog\t3\tstring\t33\ndog\t4\tstring\t44\ndog\t5\tstring\t5\n"),
            "\(old.output)")
        #expect(new.output == "ready\ndog\t3\tinteger\t33\ndog\t4\tinteger\t44\n")

        let status = try shop.migrate("status", "--json")
        #expect(try MigrationShop.json(status, "started.state") == "both")
        try shop.migrate("complete").expectError("schema version 1 of", "(moonpool)")
        try shop.migrate("up").expectError("migration 2 (names) is started")

        let completing = try shop.start("complete", "--wait", "30")
        try old.kill()
        try completing.finish(within: 30).expectSuccess("backup: ")
        try new.wait(within: 20) { new.output.contains("schema\tcompleted\t2") }
        try shop.migrate("check").expectSuccess()
        try Tool.run(["check", shop.store]).expectSuccess()
        #expect(
            try shop.value("store:object('Dog', 3).age + store:object('Dog', 3).size") == "35.0")
    }

    @Test func `a killed conversion continues to the result of an offline one`() throws {
        let shop = try shop()
        let (original, offline) = (
            try MigrationShop.export(shop.store), shop.folder.path + "/offline.moonpool"
        )
        try Tool.run(["backup", shop.store, offline]).expectSuccess()
        try shop.migrateFolder("up", offline).expectSuccess()

        let store = try Store(StoreConfiguration(.file(shop.store)), scheduler: StillScheduler())
        for target in [0, 700, 1500] {
            let process = try shop.start("start", "--pace", "30")
            let deadline = ContinuousClock.now + .seconds(20)
            var converted = -1
            while converted <= target, ContinuousClock.now < deadline {
                try store.refresh()
                converted = try store.startedMigration()?.converted ?? -1
            }
            try process.kill()
            #expect(converted > target)
        }
        try store.refresh()
        #expect(try store.verify() == [])
        store.close()
        try shop.migrate("start", "--pace", "100").expectSuccess()
        #expect(try MigrationShop.export(shop.store) == original)

        // A complete that is killed has happened or not.
        for polls in [0, 1, 2] {
            let process = try shop.start("complete", "--no-backup")
            for _ in 0..<polls { _ = try Tool.run(["-e", ""]) }
            try process.kill()
        }
        let complete = try shop.migrate("complete")
        #expect(
            complete.exitCode == 0 || complete.error.contains("no migration"), "\(complete.error)")
        #expect(try MigrationShop.export(shop.store) == MigrationShop.export(offline))
        try shop.migrate("check").expectSuccess()
        try Tool.run(["check", shop.store]).expectSuccess()
    }

    @Test func `an abort leaves the old version, and start refuses a function`() throws {
        let shop = try shop()
        try shop.migrate("start").expectSuccess()
        _ = try run(shop, version: 2, "store:write(function() store:create('Walk', {}) end)")
        try shop.migrate("abort").expectSuccess("lost: 1 object of Walk")
        #expect(try shop.value("store.schema_version") == "1")
        try shop.migrate("abort").expectSuccess("names  not started")
        try shop.write(
            "return { changes = { Dog = { size = 'double' } }, up = function(m) end }",
            to: "0002_names.lua")
        try shop.migrate("start").expectError("has a function 'up'")
    }

    @Test func `complete and down can be repeated, and need a migration that was started`() throws {
        let shop = try shop()
        try shop.migrate("complete").expectError("no migration of")
        try shop.migrate("start", "--pace", "100").expectSuccess()
        let complete = try shop.migrate("complete", "--json").expectSuccess()
        let before = try MigrationShop.export(shop.store)
        let again = try shop.migrate("complete", "--json")
        for field in ["backup", "completed.number", "completed.name"] {
            #expect(try MigrationShop.json(again, field) == MigrationShop.json(complete, field))
        }
        try shop.write("return { changes = { Dog = { note = 'string' } } }", to: "0003_note.lua")
        try shop.migrate("complete").expectSuccess("0002 names  already complete")
        let down = try shop.migrate("down", "--to", "2")
        #expect(down.exitCode == 0 && down.output == "nothing to revert\n", "\(down)")
        #expect(try MigrationShop.export(shop.store) == before)
        unlink(shop.migrations + "/0003_note.lua")
        try shop.migrate("abort").expectError("no migration of")
    }

    @Test(arguments: [false, true])
    func `the backup before the end of a migration has all commits before it`(isUp: Bool) throws {
        let shop = try shop()
        if !isUp { #expect(try shop.migrate("start", "--pace", "100").exitCode == 0) }
        let script = try shop.folder.write(
            """
            local store = moonpool.open(arg[1])
            for count = 1, math.huge do
              store:write(function() store:object("Dog", 1).born = "count " .. count end)
              print(count) io.flush()
            end
            """, to: "writer.lua")
        let writer = try Subprocess(Tool.path, [script, shop.store], until: "20\n")
        let ended =
            try isUp
            ? shop.migrate("up", "--backup", "--json")
            : shop.migrate("complete", "--force", "--json")
        #expect(ended.exitCode == 0, "\(ended.error)")
        let outcome = try writer.finish(within: 20)
        #expect(outcome.error.contains("'Dog' has no property 'born'"), "\(outcome.error)")
        let backup = try MigrationShop.json(ended, "backup")
        let old = try Tool.lua("print(moonpool.open(arg[1]):object('Dog', 1).born)", backup)
        #expect(try old.output == shop.value("store:object('Dog', 1).birthday") + "\n")
    }

    @Test func `undo after complete keeps later writes for programs of both versions`() throws {
        let shop = try namedShop()
        try shop.migrate("start", "--pace", "100").expectSuccess()
        try shop.migrate("complete").expectSuccess()
        _ = try shop.value(
            """
            store:write(function()
              store:object("Dog", 1).name = "Rex King"
              store:create("Dog", { id = 1000, name = "Ada Lovelace" })
              store:delete(store:object("Dog", 2))
            end)
            """)
        try shop.migrate("undo").expectSuccess("kept 1 commit")
        func dogs(_ version: Int) throws -> String {
            try Tool.lua(
                """
                local store = moonpool.open { path = arg[1], schema_version = tonumber(arg[2]) }
                for _, id in ipairs { 1, 2, 3, 1000 } do
                  local dog = store:object("Dog", id)
                  print(dog and (arg[2] == "2" and dog.name or dog.first .. "+" .. dog.last) or "none")
                end
                """, shop.store, "\(version)"
            ).output
        }
        #expect(try dogs(1) == "Rex+King\nnone\nF3+L3\nAda+Lovelace\n")
        #expect(try dogs(2) == "Rex King\nnone\nF3 L3\nAda Lovelace\n")
        try shop.migrate("complete").expectSuccess()
        try Tool.run(["check", shop.store]).expectSuccess()
    }

    @Test func `undo names the option if later writes do not convert to the old version`() throws {
        let shop = try MigrationShop([
            "return { schema = { Dog = { id = 'int primary', age = 'int', note = 'string' } } }",
            "return { changes = { Dog = { age = 'string' } }, drops = { 'Dog.note' }, each = {} }",
        ])
        #expect(try shop.migrate("up", "--to", "1").exitCode == 0)
        _ = try shop.value(
            "store:write(function() store:create('Dog', { id = 1, age = 7, note = 'x' }) end)")
        #expect(try shop.migrate("start").exitCode == 0)
        #expect(try shop.migrate("complete").exitCode == 0)
        _ = try shop.value("store:write(function() store:object('Dog', 1).age = 'old' end)")
        let undo = try shop.migrate("undo")
        #expect(undo.exitCode == 1)
        #expect(undo.error.contains("discard the writes with --discard-later-writes"), "\(undo)")
        #expect(try shop.value("store:object('Dog', 1).age") == "old")
        #expect(try shop.migrate("undo", "--discard-later-writes").exitCode == 0)
        #expect(try shop.value("store:object('Dog', 1).age") == "7")
    }

    private static let names = """
        return {
          changes = { Dog = { name = "string" } },
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

    private func namedShop() throws -> MigrationShop {
        let shop = try MigrationShop([
            """
            return {
              schema = { Dog = { id = "int primary", first = "string", last = "string" } },
              up = function(m)
                for id = 1, 500 do m:create("Dog", { id = id, first = "F" .. id, last = "L" .. id }) end
              end,
            }
            """, Self.names,
        ])
        try shop.migrate("up", "--to", "1").expectSuccess()
        return shop
    }

    @Test func `functions convert each write of programs of two versions`() throws {
        let shop = try namedShop()
        let (original, offline) = (
            try MigrationShop.export(shop.store), shop.folder.path + "/offline.moonpool"
        )
        try Tool.run(["backup", shop.store, offline]).expectSuccess()
        try shop.migrateFolder("up", offline).expectSuccess()
        try run(
            shop, version: 1, "store:write(function() store:object('Dog', 7).first = 'bad' end)"
        ).expectSuccess()
        let failed = try shop.migrate("start", "--pace", "100").expectExit(
            1, "Dog id = 7: line 6: no name")
        #expect(!failed.output.contains("without 'down'"), "\(failed.output)")
        try run(shop, version: 1, "store:write(function() store:object('Dog', 7).first = 'F7' end)")
            .expectSuccess()
        try shop.migrate("start", "--pace", "100").expectSuccess()
        #expect(try MigrationShop.export(shop.store) == original)

        try run(
            shop, version: 2,
            "store:write(function() store:object('Dog', 3).name = 'Bob Ray Lee' end)"
        ).expectSuccess()
        let read = try run(
            shop, version: 1,
            "local d = store:object('Dog', 3) print(d.first, d.last) "
                + "print(pcall(store.write, store, function() d.first = 'bad' end))")
        #expect(read.output.hasPrefix("Bob\tRay Lee\nfalse\t"), "\(read.output)")
        #expect(
            read.output.contains(
                "'Dog' id = 3 cannot be converted by migration 2 (names, up, line 6): no name"),
            "\(read.output)")
        try run(
            shop, version: 1,
            "store:write(function() local d = store:object('Dog', 3) d.first, d.last = 'F3', 'L3' end)"
        ).expectSuccess()
        try shop.migrate("complete").expectSuccess()
        #expect(try MigrationShop.export(shop.store) == MigrationShop.export(offline))
        try Tool.run(["check", shop.store]).expectSuccess()
        try shop.migrate("down", "--to", "1").expectSuccess()
        #expect(try MigrationShop.export(shop.store) == original)
    }

    @Test func `complete waits for a program that only reads`() throws {
        let shop = try namedShop()
        let script = try shop.folder.write(
            """
            store = moonpool.open { path = arg[1], read_only = true }
            print "ready" io.flush()
            moonpool.after(3600, print)
            """, to: "reader.lua")
        let reader = try Subprocess(Tool.path, [script, shop.store], until: "ready")
        try shop.migrate("start", "--pace", "100").expectSuccess()
        try shop.migrate("complete").expectError("in use by process")
        try reader.kill()
        try shop.migrate("complete").expectSuccess()
    }

    @Test func `start and status show what the lack of functions for old programs means`() throws {
        let shop = try namedShop()
        try shop.write(
            """
            return {
              changes = { Dog = { name = "string" } }, drops = { "Dog.first", "Dog.last" },
              each = { Dog = function(old, new) new.name = old.first end },
            }
            """, to: "0002_names.lua")
        try shop.migrate("start", "--pace", "100").expectSuccess(
            "without 'down', old programs see the default in Dog.first, Dog.last of new objects")
        try shop.migrate("start", "--pace", "100").expectSuccess()
        try shop.write(
            """
            return {
              changes = { Dog = { name = "string" } }, drops = { "Dog.first", "Dog.last" },
              each = { Dog = function(old, new) end }, up = function(m) end,
            }
            """, to: "0002_names.lua")
        try shop.migrate("status").expectSuccess()
        let refused = try shop.migrate("complete")
        #expect(refused.error.contains("was edited or removed"), "\(refused.error)")
        try shop.migrate("abort").expectSuccess()
        #expect(
            try shop.migrate("start").error.contains("expected either 'each', or 'up' and 'down'"))
    }

    @Test func `a test of a migration runs its functions`() throws {
        let shop = try namedShop()
        try shop.write(
            """
            return {
              before = function(store) store:create("Dog", { id = 900, first = "Ann", last = "Lee" }) end,
              after = function(store) assert(store:object("Dog", 900).name == "Ann Lee") end,
              down = function(store) assert(store:object("Dog", 900).last == "Lee") end,
            }
            """, to: "0002_names_test.lua")
        try shop.test().expectSuccess()
    }

    @Test func `a script starts a migration of its own store again after a failure`() throws {
        let shop = try namedShop()
        try shop.write(
            "return { changes = { Dog = { size = 'double' } }, up = function(m) end }",
            to: "0002_names.lua")
        let file = try shop.folder.write(Self.names, to: "names.txt")
        let outcome = try Tool.lua(
            """
            local store = moonpool.open(arg[1])
            local options = { dir = arg[2] }
            print(pcall(moonpool.migrate.start, store, options))
            local text = io.open(arg[3]):read "a"
            io.open(arg[2] .. "/0002_names.lua", "w"):write(text):close()
            print(moonpool.migrate.start(store, options).started.state)
            """, shop.store, shop.migrations, file)
        #expect(outcome.output.contains("has a function 'up'"), "\(outcome.output)")
        #expect(outcome.output.hasSuffix("both\n"), "\(outcome.output)\(outcome.error)")
    }
}
