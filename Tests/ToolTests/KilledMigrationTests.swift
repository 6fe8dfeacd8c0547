import Glibc
import Testing

/// After a migrating process is killed, the file has its content before or after the migration.
@Suite struct KilledMigrationTests {
    static let count = 3000

    /// Prints lines during the work and at the end, so that a test can choose when to kill it.
    private static let migration = """
        return {
          schema = { Person = { id = "int primary", name = "string indexed", age = "int" } },
          drops = { "Person.first", "Person.last" },
          up = function(m)
            m:each("Person", function(old, new)
              new.name = old.first .. " " .. old.last
              if old.id % 100 == 0 then io.write(old.id, "\\n") io.flush() end
            end)
            m:delete(m:objects("Person"):where "id > \(count - 10)")
            io.write "end\\n" io.flush()
          end,
        }
        """

    /// Prints "before" or "after" for a consistent store, otherwise the inconsistency.
    private static let checker = """
        local store = moonpool.open(arg[1])
        local people = store:objects "Person"
        if store.schema_version == 1 then
          assert(#people == \(count), "objects before")
          for person in people:each() do assert(person.first == "F" .. person.id and person.last == "L") end
          print "before"
        else
          assert(store.schema_version == 2 and #people == \(count - 10), "objects after")
          for person in people:each() do assert(person.name == "F" .. person.id .. " L") end
          assert(#people:where "name == 'F77 L'" == 1, "index")
          print "after"
        end
        """

    private static let rounds =
        getenv("MOONPOOL_KILLS").flatMap { Int(String(cString: $0)) } ?? 10

    @Test func `a killed migration leaves the old or the new data`() throws {
        let shop = try MigrationShop([
            """
            return {
              schema = { Person = { id = "int primary", first = "string", last = "string", age = "int" } },
              up = function(m)
                for id = 1, \(Self.count) do
                  m:create("Person", { id = id, first = "F" .. id, last = "L", age = id % 90 })
                end
              end,
            }
            """, Self.migration,
        ])
        try shop.migrate("up", "--to", "1").expectSuccess()
        let checker = try shop.folder.write(Self.checker, to: "checker.lua")
        var random = SystemRandomNumberGenerator()
        var outcomes: [String] = []
        for round in 1...Self.rounds {
            let store = "\(shop.folder.path)/round-\(round).moonpool"
            try Tool.run(["backup", shop.store, store]).expectSuccess()
            let process = try Subprocess(
                Tool.path,
                ["migrate", "up", store, "--dir", "migrations", "--no-backup"],
                in: shop.folder.path)
            // Half of the kills occur near the end, during the commit.
            let last = Self.count / 100 + 1
            let enough =
                Bool.random(using: &random) ? last : Int.random(in: 0...last, using: &random)
            try process.wait { process.error.utf8.count { $0 == 10 } >= enough }
            try process.kill()
            let checked = try Tool.run([checker, store])
            #expect(checked.error == "", "round \(round), killed after \(enough) lines")
            outcomes.append(String(checked.output.dropLast()))
            let sound = try Tool.run(["check", store])
            #expect(sound.exitCode == 0, "round \(round): \(sound.output)\(sound.error)")
            // Migrating again always succeeds.
            let again = try shop.migrateFolder("up", store, "--no-backup")
            #expect(again.exitCode == 0, "round \(round): \(again.error)")
            #expect(try Tool.run([checker, store]).output == "after\n", "round \(round)")
        }
        #expect(outcomes.allSatisfy { $0 == "before" || $0 == "after" }, "\(outcomes)")
    }

    /// The store was written by a build that committed `{ batch = 2, resumable = true }` in batches of its own: its
    /// migration 2 has stopped after two of five objects, and a program has created an object since.
    @Test func `a migration that an earlier build was interrupted in can be undone`() throws {
        let shop = try MigrationShop([
            """
            return {
              schema = { Item = { id = "int primary", price = "int" } },
              up = function(m) for id = 1, 5 do m:create("Item", { id = id, price = 100 }) end end,
            }
            """,
            """
            return {
              changes = { Item = { price = "string" } },
              up = function(m)
                m:each("Item", function(old, new) new.price = old.price * 2 .. "" end, { batch = 2, resumable = true })
              end,
            }
            """,
        ])
        let backup = shop.store + ".backup-1"
        try shop.migrateFolder("up", backup, "--to", "1").expectSuccess()
        let fixture = Tool.root + "/Tests/ObjectStoreTests/Fixtures/interrupted.store"
        try Subprocess("/bin/cp", [fixture, shop.store]).finish().expectSuccess()
        try Tool.run(["check", shop.store]).expectSuccess()
        #expect(try shop.value("store:object('Item', 9).price") == "1")
        for command in ["up", "down", "start", "repair"] {
            let refused = try shop.migrate(command).expectExit(1)
            #expect(
                refused.error.contains(
                    "an earlier build of Moonpool was interrupted in migration 2; return to its backup with "
                        + "moonpool migrate undo"), "\(command): \(refused.error)")
        }
        let define = try Tool.lua(
            "moonpool.open(arg[1]):define { Extra = { x = 'int' } }", shop.store)
        #expect(define.error.contains("finish the migration with that build"), "\(define.error)")
        try shop.migrate("check").expectExit(2)
        try shop.migrate("undo").expectSuccess("before migration 2", "kept 1 commit")
        try shop.migrate("up").expectSuccess()
        #expect(
            try shop.value(
                "#store:objects('Item'):where \"price == '200'\", store:object('Item', 9).price")
                == "5\t2")
        try Tool.run(["check", shop.store]).expectSuccess()
    }
}
