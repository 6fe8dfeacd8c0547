extension Catalogue {
    /// `moonpool.migrate`: files that are migrated by numbered scripts.
    static let migrationFiles: [CatalogueEntry] = [
        .function(
            "plan", of: migrate, ["(store: string, schema: table<string, table>): string"],
            "Writes the difference between a store and a schema as a migration script, ready to edit.",
            errors: [.invalidArgument, .invalidSchema, .fileCorrupt],
            example: """
                store:backup("zoo.moonpool")
                local script = moonpool.migrate.plan("zoo.moonpool", { Toy = { name = "string" } })
                print(script:match("up = function") ~= nil)  --> true
                """),
        .function(
            "lint", of: migrate, ["(store: string, schema: table<string, table>): table[]"],
            "Tells what a change to a schema would lose or break, checked on the data itself.",
            errors: [.invalidArgument, .invalidSchema, .fileCorrupt],
            example: """
                store:backup("zoo.moonpool")
                local findings = moonpool.migrate.lint("zoo.moonpool", { Toy = { name = "string" } })
                print(#findings > 0)  --> true
                """),
        ran(
            "up",
            "(store: string, options: {dir: string, to: integer?, dry_run: boolean?, sample: integer?, backup: boolean?, keep: integer?, lock_timeout: number?}): table",
            "Runs the migrations that a store lacks, each in one transaction; a dry run works on a copy.",
            """
            moonpool.migrate.up("farm.moonpool", { dir = "." })
            local farm <close> = moonpool.open "farm.moonpool"
            print(farm:schema("Cow").name)  --> string
            """),
        ran(
            "down",
            "(store: string, options: {dir: string, to: integer?, backup: boolean?, lock_timeout: number?}): table",
            "Runs the down function of the last migration.",
            """
            moonpool.migrate.up("farm.moonpool", { dir = "." })
            moonpool.migrate.down("farm.moonpool", { dir = "." })
            print(moonpool.migrate.check("farm.moonpool", { dir = "." }))  --> 1
            """),
        ran(
            "undo", "(store: string, options: {dir: string}): table",
            "Puts the last backup in the store's place.",
            """
            moonpool.migrate.up("farm.moonpool", { dir = ".", backup = false })
            print((pcall(moonpool.migrate.undo, "other.moonpool", { dir = "." })))  --> false
            """),
        ran(
            "baseline", "(store: string, options: {dir: string, to: integer?}): table",
            "Records migrations as applied without running them, for a store that has their schema already.",
            """
            moonpool.open({ path = "farm.moonpool", schema = { Cow = { name = "string" } }, schema_version = 1 }):close()
            moonpool.migrate.baseline("farm.moonpool", { dir = "." })
            print(moonpool.migrate.check("farm.moonpool", { dir = "." }))  --> 0
            """),
        ran(
            "status", "(store: string, options: {dir: string}): table",
            "Tells which migrations were applied and which are pending.",
            """
            moonpool.migrate.up("farm.moonpool", { dir = "." })
            print(type(moonpool.migrate.status("farm.moonpool", { dir = "." })))  --> table
            """),
        ran(
            "check", "(store: string, options: {dir: string}): integer",
            "Gives 0 where a store is up to date, 1 where migrations are pending, 2 after a drift.",
            """
            moonpool.migrate.up("farm.moonpool", { dir = "." })
            print(moonpool.migrate.check("farm.moonpool", { dir = "." }))  --> 0
            """),
        ran(
            "repair", "(store: string, options: {dir: string, dry_run: boolean?}): table",
            "Brings the record of a store and the files of the folder together again, without removing values.",
            """
            moonpool.migrate.up("farm.moonpool", { dir = "." })
            print(#moonpool.migrate.repair("farm.moonpool", { dir = "." }).steps)  --> 0
            """),
        ran(
            "test", "(dir: string): table",
            "Runs the migrations of a folder with the fixtures beside them.",
            """
            print(type(moonpool.migrate.test(".")))  --> table
            """),
    ]

    /// A function that works on a folder of migrations: its example makes one.
    private static func ran(
        _ name: String, _ signature: String, _ summary: String, _ example: String
    ) -> CatalogueEntry {
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
