import Glibc
import Testing

/// An interrupted migration never changes an object twice.
@Suite struct MigrateResumeTests {
    private static let doubling = """
        return {
          changes = {},
          up = function(m)
            m:each("Item", function(old, new)
              new.price = old.price * 2
              if old.id == 35 then error "stop" end
            end, { batch = 10, resumable = true })
          end,
        }
        """
    private static let corrected = doubling.replacing("error \"stop\"", with: "local _")

    /// A store whose second migration has stopped after 30 of 50 objects.
    private func interrupted(_ options: String...) throws -> MigrationShop {
        let shop = try MigrationShop([
            """
            return {
              schema = { Item = { id = "int primary", price = "int" } },
              up = function(m) for id = 1, 50 do m:create("Item", { id = id, price = 100 }) end end,
            }
            """, Self.doubling,
        ])
        #expect(try shop.migrate("up", "--to", "1").exitCode == 0)
        let up = try Tool.run(
            ["migrate", "up", shop.store, "--dir", "migrations"] + options, in: shop.folder.path)
        #expect(up.exitCode == 1)
        #expect(up.error.contains("the next run continues after its last batch"), "\(up.error)")
        return shop
    }

    private func prices(_ shop: MigrationShop) throws -> String {
        try shop.value(
            "#store:objects('Item'):where 'price == 100', #store:objects('Item'):where 'price == 200'"
        )
    }

    @Test func `an edited migration stops with the two ways to continue`() throws {
        let shop = try interrupted()
        try shop.write(Self.corrected, to: "0002_names.lua")
        for outcome in [try shop.migrate("up"), try shop.migrate("up", "--dry-run")] {
            #expect(outcome.exitCode == 1)
            #expect(
                outcome.error.contains("interrupted after 30 of 50 objects"), "\(outcome.error)")
            #expect(outcome.error.contains("up \(shop.store) --dir migrations --continue"))
            #expect(outcome.error.contains("the backup 'shop.moonpool.backup-1'"))
        }
        #expect(try shop.migrate("check").exitCode == 2)
        let repair = try shop.migrate("repair", "--yes")
        #expect(repair.exitCode == 1)
        #expect(try prices(shop) == "20\t30")
    }

    @Test func `an edited migration continues on request, and undo takes the first backup`() throws
    {
        let shop = try interrupted()
        try shop.write(Self.corrected, to: "0002_names.lua")
        let up = try shop.migrate("up", "--continue")
        #expect(up.exitCode == 0, "\(up.error)")
        #expect(up.output.contains("backup: \(shop.store).backup-1\n"), "\(up.output)")
        #expect(try prices(shop) == "0\t50")
        #expect(try shop.migrate("check").exitCode == 0)
        #expect(try shop.migrate("undo").exitCode == 0)
        #expect(try prices(shop) == "50\t0")
    }

    @Test func `undo returns to the backup before the first batch and keeps later writes`() throws {
        let shop = try interrupted()
        try shop.write(Self.corrected, to: "0002_names.lua")
        _ = try shop.value(
            "store:write(function() store:create('Item', { id = 99, price = 1 }) end)")
        let undo = try shop.migrate("undo")
        #expect(undo.exitCode == 0, "\(undo.error)")
        #expect(undo.lines.first?.contains("before migration 2") == true, "\(undo.output)")
        #expect(undo.output.contains("kept 1 commit"), "\(undo.output)")
        #expect(try prices(shop) == "50\t0")
        #expect(try shop.migrate("up").exitCode == 0)
        #expect(try prices(shop) == "0\t50")
        #expect(try shop.value("store:object('Item', 99).price") == "2")
    }

    @Test func `an interrupted migration without a backup is not undone to an older one`() throws {
        let shop = try interrupted("--no-backup")
        let undo = try shop.migrate("undo")
        #expect(undo.exitCode == 1)
        #expect(undo.error.contains("no backup was made before it"), "\(undo.error)")
        #expect(try prices(shop) == "20\t30")
    }

    @Test func `a file before the interrupted one, or its removal, does not restart it`() throws {
        let shop = try interrupted()
        #expect(
            rename(shop.migrations + "/0002_names.lua", shop.migrations + "/0003_names.lua") == 0)
        try shop.write("return { changes = { Item = { note = 'string?' } } }", to: "0002_note.lua")
        let other = try shop.migrate("up")
        #expect(other.exitCode == 1)
        #expect(
            other.error.contains("the next file of 'migrations' is another one"), "\(other.error)")
        unlink(shop.migrations + "/0003_names.lua")
        #expect(try shop.migrate("up").exitCode == 1)
        #expect(try prices(shop) == "20\t30")
    }

    @Test func `no program changes the schema of an interrupted migration`() throws {
        let shop = try interrupted()
        let outcome = try Tool.run([
            "-e", "moonpool.open(arg[1]):define { Extra = { x = 'int' } }", "-", shop.store,
        ])
        #expect(outcome.exitCode == 1)
        #expect(outcome.error.contains("interrupted after 30 of 50 objects"), "\(outcome.error)")
        #expect(try shop.migrate("status").output.contains("interrupted after 30 of 50 objects"))
    }
}
