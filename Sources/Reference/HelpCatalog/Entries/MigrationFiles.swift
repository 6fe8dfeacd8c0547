extension HelpCatalog {
    /// The functions of `moonpool.migrate`, for numbered migration scripts.
    static let migrationFiles: [HelpEntry] = [
        .function(
            "plan", of: migrate, ["(store: string, schema: table<string, table>): string"],
            "Returns a migration script from the schema of a store to another schema, ready to edit.",
            errors: [.invalidArgument, .invalidSchema, .fileCorrupt],
            example: """
                store:backup("zoo.moonpool")
                local script = moonpool.migrate.plan("zoo.moonpool", { Toy = { name = "string" } })
                print(script:match("up = function") ~= nil)  --> true
                """),
        .function(
            "lint", of: migrate, ["(store: string, schema: table<string, table>): table[]"],
            "Reports what a schema change would lose or break, checked against the data.",
            errors: [.invalidArgument, .invalidSchema, .fileCorrupt],
            example: """
                store:backup("zoo.moonpool")
                local findings = moonpool.migrate.lint("zoo.moonpool", { Toy = { name = "string" } })
                print(#findings > 0)  --> true
                """),
        ran(
            "up",
            "(store: string, options: {dir: string, to: integer?, dry_run: boolean?, sample: integer?, backup: boolean?, keep: integer?, lock_timeout: number?, continue: boolean?}): table",
            "Runs the pending migrations, each in one transaction. A dry run works on a copy.",
            example: """
                moonpool.migrate.up("farm.moonpool", { dir = "." })
                local farm <close> = moonpool.open "farm.moonpool"
                print(farm:schema("Cow").name)  --> string
                """),
        ran(
            "down",
            "(store: string, options: {dir: string, to: integer?, backup: boolean?, lock_timeout: number?}): table",
            "Reverts the last migration with its down function.",
            example: """
                moonpool.migrate.up("farm.moonpool", { dir = "." })
                moonpool.migrate.down("farm.moonpool", { dir = "." })
                print(moonpool.migrate.check("farm.moonpool", { dir = "." }))  --> 1
                """),
        ran(
            "undo",
            "(store: string, options: {dir: string, discard_later_writes: boolean?}): table",
            "Restores the last backup and applies the writes since the migration to it.",
            example: """
                moonpool.migrate.up("farm.moonpool", { dir = ".", backup = false })
                print((pcall(moonpool.migrate.undo, "other.moonpool", { dir = "." })))  --> false
                """),
        ran(
            "baseline", "(store: string, options: {dir: string, to: integer?}): table",
            "Records migrations as applied without running them, for a store that already has their schema.",
            example: """
                moonpool.open({ path = "farm.moonpool", schema = { Cow = { name = "string" } }, schema_version = 1 }):close()
                moonpool.migrate.baseline("farm.moonpool", { dir = "." })
                print(moonpool.migrate.check("farm.moonpool", { dir = "." }))  --> 0
                """),
        ran(
            "status", "(store: string, options: {dir: string}): table",
            "Returns the applied and the pending migrations.",
            example: """
                moonpool.migrate.up("farm.moonpool", { dir = "." })
                print(type(moonpool.migrate.status("farm.moonpool", { dir = "." })))  --> table
                """),
        ran(
            "check", "(store: string, options: {dir: string}): integer",
            "Returns 0 if the store is up to date, 1 if migrations are pending, 2 if schema or scripts have drifted.",
            example: """
                moonpool.migrate.up("farm.moonpool", { dir = "." })
                print(moonpool.migrate.check("farm.moonpool", { dir = "." }))  --> 0
                """),
        ran(
            "repair", "(store: string, options: {dir: string, dry_run: boolean?}): table",
            "Corrects differences between the record of a store and the files of the folder, without removing values.",
            example: """
                moonpool.migrate.up("farm.moonpool", { dir = "." })
                print(#moonpool.migrate.repair("farm.moonpool", { dir = "." }).steps)  --> 0
                """),
        ran(
            "test", "(dir: string): table",
            "Runs the migration tests of a folder.",
            example: """
                print(type(moonpool.migrate.test(".")))  --> table
                """),
    ]

    /// Returns an entry for a function that takes a folder of migrations, which the example creates.
    private static func ran(
        _ name: String, _ signature: String, _ summary: String, example: String
    ) -> HelpEntry {
        .function(
            name, of: migrate, [signature], summary,
            errors: [.invalidArgument, .invalidSchema, .migrationNeeded, .fileCorrupt],
            example: """
                os.remove "farm.moonpool"
                local file <close> = assert(io.open("0001_cows.lua", "w"))
                file:write 'return { schema = { Cow = { name = "string" } }, down = function(m) m:delete_class "Cow" end }'
                file:close()

                """ + example)
    }
}
