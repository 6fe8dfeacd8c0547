import Glibc
import Testing

/// `moonpool migrate up`, `status`, `check`, `down` and `undo`.
@Suite struct MigrateCommandTests {
    @Test func `check reports applied and pending migrations as JSON`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "2").expectSuccess()
        let json = try shop.migrate("check", "--json").expectExit(1)
        try MigrationShop.expectJSON(json, ["pending[1].name": "ages", "applied[2].number": "2"])
    }

    @Test func `an applied file can change in whitespace and long comments`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up").expectSuccess()
        let spaced = MigrationShop.second
            .replacing("-- Joins the names.", with: "--[[ Copyright ]] -- Joins\n\n")
            .replacing("    ", with: "\t")
        try shop.write(spaced, to: "0002_names.lua")
        try shop.migrate("check").expectSuccess()
        try shop.write(
            MigrationShop.second.replacing("\" \"", with: "\"  \""), to: "0002_names.lua")
        try shop.migrate("check").expectExit(2)
    }

    @Test func `check finds a store that is newer than the folder`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up").expectSuccess()
        unlink(shop.migrations + "/0003_ages.lua")
        try shop.migrate("check").expectExit(2, "the store is newer than the folder")
    }

    @Test func `undo needs a backup of the last migration`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "2", "--no-backup").expectSuccess()
        try shop.migrate("down", "--backup").expectSuccess()
        try shop.migrate("up", "--to", "2", "--no-backup").expectSuccess()
        try shop.migrate("undo").expectError("no backup was made")
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

    @Test func `a dry run reports every object that fails`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "2").expectSuccess()
        _ = try shop.value(
            "store:write(function() for _, id in ipairs { 2, 4 } do store:object('Person', id).age = 'old' end end)"
        )
        let dry = try shop.migrate("up", "--dry-run", "--json").expectExit(1)
        try MigrationShop.expectJSON(
            dry,
            [
                "applied[1].failed": "2",
                "applied[1].failures[2].object": "Person id = 4",
                "applied[1].failures[2].message": "migrations/0003_ages.lua:5: no age: old",
                "applied[1].classes[1].changed": "3",
            ])
    }
}
