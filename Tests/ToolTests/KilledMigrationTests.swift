import Testing

/// A migration in which a process of an earlier build was killed; InterruptedFileWorkTests kills those of this one.
@Suite struct KilledMigrationTests {
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
