import Testing

/// `migrate baseline` adopts a store that is older than its migrations, or that a program has migrated, without running
/// the migrations.
@Suite struct MigrateBaselineTests {
    /// A shop whose store a program has migrated to the schema of the second migration.
    private func makeShop(version: Int) throws -> MigrationShop {
        let shop = try MigrationShop()
        try Tool.lua(
            """
            local store <close> = moonpool.open { path = arg[1], schema_version = \(version), schema = {
              Person = { id = "int primary", name = "string", age = "string" } } }
            store:write(function() store:create("Person", { id = 9, name = "Zoe Lee", age = "7" }) end)
            """, shop.store
        ).expectSuccess()
        return shop
    }

    @Test(arguments: [
        "{ id = 'int primary', name = 'string', age = 'int?' }",
        "{ { 'age', 'int?' }, { 'name', 'string' }, { 'id', 'int primary' } }",
    ])
    func `a program with another order of properties does not block migrations`(
        declaration: String
    ) throws {
        let shop = try MigrationShop([
            "return { schema = { P = { { 'name', 'string' }, { 'id', 'int primary' } } } }",
            "return { changes = { P = { age = 'int?' } } }",
        ])
        try shop.migrate("up").expectSuccess()
        let isOrdered = declaration.contains("{ {")
        try Tool.lua(
            """
            local options = { path = arg[1], schema = { P = \(declaration) }, schema_version = 2 }
            local store <close> = moonpool.open(options)
            store:define(options.schema)
            local names = {}
            store:write(function() for name in pairs(store:create("P", { id = 1, name = "x" })) do names[#names + 1] = name end end)
            print(table.concat(names, " "))
            """, shop.store
        ).expectOutput(isOrdered ? "age name id\n" : "name id age\n", error: "")
        #expect(try shop.migrate("check").output == "up to date, schema version 2\n")
        try shop.write("return { changes = { P = { w = 'int?' } } }", to: "0003_w.lua")
        try shop.migrate("up").expectSuccess()
        try shop.migrate("check").expectSuccess()
        #expect(try shop.migrate("repair").lines == ["nothing to do"])
    }

    @Test func `the schema version determines the applied migrations; the next run`() throws {
        let shop = try makeShop(version: 2)
        try shop.migrate("up").expectExit(1)
        let baseline = try shop.migrate("baseline").expectSuccess()
        #expect(
            baseline.lines == [
                "0001 people  recorded as applied, not run",
                "0002 names  recorded as applied, not run",
            ])
        try shop.migrate("check").expectExit(1)
        #expect(try shop.migrate("status").lines.last == "1 pending, schema version 2")
        try shop.migrate("up").expectSuccess()
        try shop.migrate("check").expectSuccess()
        try shop.expectValues([
            "store:object('Person', 9).age": "7",
            "#store:objects 'Person'": "1",
        ])
        try shop.migrate("baseline").expectError("is already at migration 3")
    }

    @Test func `baseline sets the migration of a store without a version`() throws {
        let shop = try makeShop(version: 0)
        try shop.migrate("baseline").expectError(
            "has schema version 0", "name the one that the store is at with --to")
        try shop.migrate("baseline", "--to", "1").expectError(
            "does not have the schema of '0001_people.lua'")
        let absent = try shop.migrate("baseline", "--to", "12")
        #expect(absent.error.contains("there is no migration 12"), "\(absent.error)")
        #expect(try shop.value("store.schema_version") == "0")
        try shop.migrate("baseline", "--to", "2").expectSuccess()
        #expect(try shop.value("store.schema_version") == "2")
        try shop.migrate("up").expectSuccess()
        #expect(try shop.value("store:object('Person', 9).age") == "7")
    }

    @Test func `undo passes over a baseline`() throws {
        let shop = try makeShop(version: 0)
        try shop.migrate("baseline", "--to", "2").expectSuccess()
        try Tool.lua(
            """
            local store <close> = moonpool.open(arg[1])
            local version = store.version
            local past = store:at(version - 2)
            print(store.schema_version, #store:objects "Person", #past:objects "Person")
            store:undo()
            print(store.schema_version, #store:objects "Person")
            store:redo()
            print(#store:objects "Person", store:versions()[#store:versions() - 2].changes_schema)
            """, shop.store
        ).expectOutput("2\t1\t0\n2\t0\n1\tfalse\n", error: "")
    }

    @Test func `--json reports applied migrations and errors`() throws {
        let shop = try makeShop(version: 2)
        let wrong = try shop.migrate("baseline", "--to", "1", "--json").expectExit(1)
        #expect(try MigrationShop.json(wrong, "error.code") == "version_too_low")
        let baseline = try shop.migrate("baseline", "--json")
        #expect(try MigrationShop.json(baseline, "recorded[2].name") == "names")
        try Tool.run(["migrate", "baseline", "/no-such-store", "--dir", shop.migrations])
            .expectExit(1)
    }
}
