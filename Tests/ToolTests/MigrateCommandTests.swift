import Glibc
import Testing

/// `moonpool migrate up`, `status`, `check`, `down` and `undo`.
@Suite struct MigrateCommandTests {
    @Test func `up applies pending migrations in order and records them`() throws {
        let shop = try MigrationShop()
        let up = try shop.migrate("up").expectSuccess()
        #expect(up.error == "")
        #expect(
            up.lines.filter { $0.hasPrefix("000") }.map { $0.prefix(11) } == [
                "0001 people", "0002 names ", "0003 ages  ",
            ])
        #expect(
            up.lines.contains(
                "  Person: 0 objects before, 5 after; 5 created, 0 deleted, 0 changed"))
        #expect(try shop.value("store.schema_version") == "3")
        #expect(try shop.value("store:object('Person', 2).name") == "F2 L2")
        #expect(try shop.value("store:objects('Person'):sum 'age'") == "115")
        let again = try shop.migrate("up").expectSuccess()
        #expect(again.output == "no pending migrations\n")
    }

    @Test func `status lists applied and pending migrations, and check has exit codes`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "2").expectSuccess()
        let status = try shop.migrate("status").expectSuccess()
        #expect(status.lines.count == 4)
        #expect(status.lines[0].hasPrefix("0001 people  applied 20"))
        #expect(status.lines[2] == "0003 ages  pending")
        #expect(status.lines[3] == "1 pending, schema version 2")
        try shop.migrate("check").expectExit(1)
        let json = try shop.migrate("check", "--json").expectExit(1)
        #expect(try MigrationShop.json(json, "pending[1].name") == "ages")
        #expect(try MigrationShop.json(json, "applied[2].number") == "2")
        try shop.migrate("up").expectSuccess()
        let check = try shop.migrate("check").expectSuccess()
        #expect(check.output == "up to date, schema version 3\n")
    }

    @Test func `an applied file can change only in comments and whitespace`()
        throws
    {
        let shop = try MigrationShop()
        try shop.migrate("up").expectSuccess()
        let spaced = MigrationShop.second
            .replacing("-- Joins the names.", with: "--[[ Copyright ]] -- Joins\n\n")
            .replacing("    ", with: "\t")
        try shop.write(spaced, to: "0002_names.lua")
        try shop.migrate("check").expectSuccess()
        try shop.write(
            MigrationShop.second.replacing("\" \"", with: "\"  \""), to: "0002_names.lua")
        let check = try shop.migrate("check").expectExit(2)
        #expect(check.output.contains("'migrations/0002_names.lua' was edited"))
        try shop.migrate("up").expectError("was edited")
    }

    @Test func `check finds a schema that was changed outside of the migrations`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up").expectSuccess()
        _ = try shop.value("store:define { Extra = { x = 'int' } }")
        let check = try shop.migrate("check").expectExit(2)
        #expect(check.output.contains("class 'Extra' would be removed"))
    }

    @Test func `check finds a store that is newer than the folder`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up").expectSuccess()
        unlink(shop.migrations + "/0003_ages.lua")
        let check = try shop.migrate("check").expectExit(2)
        #expect(check.output.contains("the store is newer than the folder"))
    }

    @Test func `up backs up a store that would lose data, and undo restores the backup`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "1").expectSuccess()
        let up = try shop.migrate("up")
        #expect(up.lines.contains("  backup: \(shop.store).backup-1"))
        #expect(try shop.value("store.schema_version") == "3")
        let undo = try shop.migrate("undo").expectSuccess()
        #expect(undo.error == "")
        #expect(try shop.value("store.schema_version .. store:object('Person', 2).first") == "1F2")
        #expect(try shop.migrate("status").lines.last == "2 pending, schema version 1")
        // A copy has no lock file beside it, since no process uses it.
        #expect(
            TemporaryFolder.names(in: shop.folder.path) == [
                "migrations", "shop.moonpool", "shop.moonpool-lock", "shop.moonpool.backup-1",
                "shop.moonpool.undone-3",
            ])
        try shop.migrate("undo").expectError("no backup was made")
    }

    @Test func `undo restores the backup of down until another migration is applied`()
        throws
    {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "2", "--no-backup").expectSuccess()
        let down = try shop.migrate("down", "--backup")
        #expect(down.lines.contains { $0.hasSuffix("\(shop.store).backup-2") })
        #expect(try shop.value("store:object('Person', 2).first") == "F2")
        let undo = try shop.migrate("undo")
        #expect(
            undo.lines.first
                == "'\(shop.store)' has the state before the last migration was reverted, from "
                + "\(shop.store).backup-2")
        #expect(try shop.value("store:object('Person', 2).name") == "F2 L2")
        try shop.migrate("down", "--backup").expectSuccess()
        try shop.migrate("up", "--to", "2", "--no-backup").expectSuccess()
        #expect(try shop.migrate("undo").error.contains("no backup was made"))
    }

    @Test func `no backup is made without data loss or with --no-backup`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--no-backup").expectSuccess()
        try shop.write(
            "return { changes = { Person = { note = 'string? indexed' } } }", to: "0004_index.lua")
        try shop.migrate("up").expectSuccess()
        #expect(!TemporaryFolder.names(in: shop.folder.path).contains { $0.contains("backup") })
    }

    @Test func `down reverts the last migration`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "2").expectSuccess()
        let down = try shop.migrate("down", "--no-backup").expectSuccess()
        #expect(down.error == "")
        #expect(down.lines.first?.hasPrefix("0002 names  reverted in ") == true)
        #expect(try shop.value("store:object('Person', 3).last") == "L3")
        #expect(try shop.value("store.schema_version") == "1")
        #expect(try shop.migrate("status").lines.last == "2 pending, schema version 1")
        try shop.migrate("down").expectError("0001_people.lua' has no 'down' function")
    }

    @Test func `a failed down leaves no backup`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--no-backup").expectSuccess()
        try shop.write(
            "return { changes = { Person = { note = 'string?' } }, down = function() error 'no' end }",
            to: "0004_note.lua")
        try shop.migrate("up").expectSuccess()
        try shop.migrate("down", "--backup").expectError("no ('0004_note.lua'; it was rolled back)")
        #expect(!TemporaryFolder.names(in: shop.folder.path).contains { $0.contains("backup") })
    }

    @Test func `a dry run reports everything and does not change the store`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "1").expectSuccess()
        let dry = try shop.migrate("up", "--dry-run").expectSuccess()
        #expect(dry.error == "")
        #expect(dry.lines.contains("  'Person.name' would be added"))
        #expect(dry.lines.contains("  dropped: 5 values of Person.first"))
        #expect(dry.lines.contains("    id = 1: name = nil → \"F1 L1\""))
        #expect(dry.lines.contains("    id = 1: first = \"F1\" → nil"))
        // The values of 'age' are converted, so none of them is dropped.
        #expect(!dry.output.contains("values of Person.age"))
        #expect(dry.lines.last?.hasPrefix("dry run on a copy") == true)
        #expect(dry.lines.last?.hasSuffix("MiB of memory") == true)
        #expect(try shop.value("store.schema_version") == "1")
        #expect(
            TemporaryFolder.names(in: shop.folder.path) == [
                "migrations", "shop.moonpool", "shop.moonpool-lock",
            ])
    }

    @Test func `a dry run reports every object that fails`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "2").expectSuccess()
        _ = try shop.value(
            "store:write(function() for _, id in ipairs { 2, 4 } do store:object('Person', id).age = 'old' end end)"
        )
        let dry = try shop.migrate("up", "--dry-run", "--json").expectExit(1)
        #expect(try MigrationShop.json(dry, "applied[1].failed") == "2")
        #expect(try MigrationShop.json(dry, "applied[1].failures[2].object") == "Person id = 4")
        #expect(
            try MigrationShop.json(dry, "applied[1].failures[2].message")
                == "migrations/0003_ages.lua:5: no age: old")
        #expect(try MigrationShop.json(dry, "applied[1].classes[1].changed") == "3")
    }
}
