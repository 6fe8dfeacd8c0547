import Glibc
import Testing

/// What a migration does counts, not how its file is written.
@Suite struct MigrateEffectTests {
    private static let start = """
        return {
          schema = { Dog = { id = "int primary", name = "string", tags = "string[]", toy = "string?" } },
          up = function(m)
            for i = 1, 3 do m:create("Dog", { id = i, name = "d" .. i, tags = { "a" }, toy = "ball" }) end
          end,
        }
        """

    private func shop(_ second: String) throws -> MigrationShop {
        let shop = try MigrationShop([Self.start, second])
        let first = try shop.migrate("up", "--to", "1").expectSuccess()
        #expect(!first.output.contains("backup"))
        return shop
    }

    @Test(arguments: [
        "changes = {}, up = function(m) m.each(m, 'Dog', function(o, n) n.name = 'x' end) end",
        "changes = {}, up = function(m) local e = 'each' m[e](m, 'Dog', function(o, n) n.name = 'x' end) end",
        "changes = {}, up = function(m) for d in m:objects 'Dog':each() do d.name = 'x' end end",
        "changes = {}, up = function(m) m.new:object('Dog', 1).name = 'x' end",
        "changes = {}, up = function(m) m.new:object('Dog', 1).tags:append 'b' end",
        "changes = {}, up = function(m) m.new:delete(m.new:object('Dog', 1)) end",
        "changes = {}, up = function(m) m:create('Dog', { id = 9, name = 'n' }) m.new:object('Dog', 2).toy = nil end",
        "changes = {}, drops = { 'Dog.toy' }",
        "changes = {}, drops = { 'Dog' }, up = function(m) end",
        "changes = { Dog = { id = 'string primary' } }",
    ])
    func `a migration that overwrites or removes values makes a backup, which undo restores`(
        keys: String
    ) throws {
        let shop = try shop("return { \(keys) }")
        try shop.migrate("up").expectSuccess("backup: \(shop.store).backup-1")
        try shop.migrate("undo").expectSuccess()
        #expect(
            try shop.value(
                "#store:objects 'Dog':where \"name beginswith 'd' and toy == 'ball' and tags.@count == 1\""
            )
                == "3")
    }

    @Test(arguments: [
        "changes = { Dog = { age = 'int' } }, up = function(m) m:each('Dog', function(o, n) n.age = o.id end) end",
        "changes = { Cat = { id = 'int primary' } }, up = function(m) m:create('Cat', { id = 1 }) end",
        "changes = { Dog = { label = 'string' } }, drops = { 'Dog.name' }, "
            + "up = function(m) m['rename_property'](m, 'Dog', 'name', 'label') end",
        "changes = {}, up = function(m) m:create('Dog', { id = 9, name = 'd9' }) m:each('Dog', function() end) end",
        "changes = { Dog = { name = 'string indexed' } }",
        "changes = { Dog = { id = 'int', name = 'string primary' } }",
    ])
    func `a migration that only adds and renames makes no backup`(keys: String) throws {
        let shop = try shop("return { \(keys) }")
        let up = try shop.migrate("up").expectSuccess()
        #expect(!up.output.contains("backup"), "\(up.output)")
        #expect(!TemporaryFolder.names(in: shop.folder.path).contains { $0.contains("backup") })
    }

    @Test func `properties and texts with the names of keys have no meaning`() throws {
        let keys = [
            "schema", "changes", "drops", "down_drops", "up", "down", "parent", "merged_from",
            "squashes", "adopts",
        ]
        let properties = keys.map { "\($0) = 'string?'" }.joined(separator: ", ")
        let shop = try shop(
            """
            local text = "squashes = 'abc', merged_from = { 'x' }"
            return { schema = { Dog = { id = 'int primary', name = "string", tags = "string[]", toy = "string?" },
              Audit = { id = 'int primary', \(properties) } } }
            """)
        try shop.write("return { changes = { Cat = { id = 'int primary' } } }", to: "0002_cats.lua")
        try shop.migrateFolder("merge", "0002_names.lua").expectSuccess()
        try shop.migrate("up").expectSuccess()
        #expect(
            try shop.value("store:schema('Audit').squashes, store:schema('Cat').id")
                == "string?\tint primary")
        try shop.migrate("check").expectSuccess()
    }

    @Test func `a loaded file of the folder belongs to the migration however it is loaded`() throws
    {
        let folder = try TemporaryFolder()
        mkdir(folder.path + "/m", 0o755)
        let loads = [
            "require 'm.NAME'", "require 'NAME'", "dofile 'm/NAME.lua'",
            "dofile './m/../m/NAME.lua'",
            "dofile 'NAME.lua'", "dofile(folder .. '/m/NAME.lua')", "loadfile 'm/NAME.lua'()",
            "(function() package.path = folder .. '/m/?.lua' return require 'NAME' end)()",
        ]
        func helper(_ index: Int, _ suffix: String) throws {
            try folder.write("return { suffix = '\(suffix)' }", to: "m/helper\(index).lua")
        }
        for (index, load) in loads.enumerated() {
            let migration = """
                local folder = "\(folder.path)"
                local helper = \(load.replacing("NAME", with: "helper\(index)"))
                return { changes = { P\(index) = { id = "int primary" } } }
                """
            try folder.write(migration, to: "m/000\(index + 1)_a\(index).lua")
            try helper(index, "!")
        }
        func run(_ command: String) throws -> Tool.Outcome {
            try Tool.run(["migrate", command, "s.moonpool", "--dir", "m"], in: folder.path)
        }
        try run("up").expectSuccess()
        try run("check").expectSuccess()
        for index in loads.indices { try helper(index, "?") }
        let check = try run("check").expectExit(2)
        for (index, load) in loads.enumerated() {
            let problem =
                "'helper\(index).lua', which '000\(index + 1)_a\(index).lua' loads, was edited"
            #expect(check.output.contains(problem), "\(load): \(check.output)")
        }
    }

    @Test func `standard output contains only the report, whatever scripts write`() throws {
        let noise =
            "print 'a' io.write 'b' io.stdout:write 'c' os.execute 'echo d' io.stderr:write 'e'"
        let shop = try shop(
            "\(noise) return { changes = {}, up = function(m) \(noise) end, down = function(m) \(noise) end }"
        )
        let schema = try shop.folder.write(
            "\(noise) return { P = { id = 'int primary' } }", to: "s.lua")
        let commands = [
            ["status", shop.store, "--dir", "migrations"],
            ["check", shop.store, "--dir", "migrations"],
            ["up", shop.store, "--dir", "migrations"], ["down", shop.store, "--dir", "migrations"],
            ["test", "migrations"], ["plan", shop.store, schema], ["lint", shop.store, schema],
        ]
        for command in commands {
            let outcome = try Tool.run(["migrate"] + command + ["--json"], in: shop.folder.path)
            #expect(
                outcome.output.split(separator: "\n").count == 1, "\(command): \(outcome.output)")
            #expect(outcome.output.hasPrefix("{"), "\(command): \(outcome.output)")
            for text in ["a\n", "b", "c", "d\n", "e"] {
                #expect(outcome.error.contains(text), "\(command): \(outcome.error)")
            }
        }
    }

    @Test func `os.exit in any script is an error`() throws {
        let shop = try shop("return { changes = {}, up = function(m) os.exit(0) end }")
        let schema = try shop.folder.write("os.exit(0) return {}", to: "s.lua")
        let commands = [
            ["up", shop.store, "--dir", "migrations"], ["test", "migrations"],
            ["plan", shop.store, schema],
            ["lint", shop.store, schema], ["plan", "--dir", "migrations", schema],
        ]
        for command in commands {
            let outcome = try Tool.run(["migrate"] + command, in: shop.folder.path)
            #expect(outcome.exitCode != 0, "\(command)")
            #expect(
                (outcome.output + outcome.error).contains("os.exit ends the process"), "\(command)")
        }
    }

    @Test func `slow objects show progress without a terminal`() throws {
        let shop = try shop(
            """
            return { changes = {}, up = function(m)
              m:each("Dog", function(old, new) local t = os.clock() while os.clock() - t < 1.5 do end end)
            end }
            """)
        let up = try shop.migrate("up").expectSuccess()
        #expect(up.error.contains("migrated, "), "\(up.error)")
    }

    @Test func `a test without a function has failed`() throws {
        let tests = [
            "return {}", "return { { after = function() end }, {} }",
            "return { { after = function() end }, { name = 'second' } }",
        ]
        let shop = try MigrationShop([Self.start] + tests.map { _ in "return { changes = {} }" })
        for (index, test) in tests.enumerated() {
            try shop.write(test, to: MigrationShop.names[index + 1].replacing(".", with: "_test."))
        }
        let outcome = try shop.test().expectExit(1)
        #expect(outcome.output.ranges(of: "does not test anything").count == 3, "\(outcome.output)")
    }

    @Test(arguments: [
        ("int", "o.v % 1000000"), ("int", "math.abs(o.v)"), ("string", "o.v:match '^%s*(.-)%s*$'"),
        ("string", "o.v:lower()"), ("string", "o.v:sub(1, 100)"),
        ("date", "moonpool.date(math.max(o.v.seconds, 0))"),
    ])
    func `a down that changes large, negative, long or early values fails its test`(
        type: String, conversion: String
    ) throws {
        let shop = try MigrationShop([
            "return { schema = { P = { id = 'int primary', v = '\(type)' } } }",
            """
            return { changes = {}, up = function(m) end,
              down = function(m) m:each("P", function(o, n) n.v = \(conversion) end) end }
            """,
        ])
        try shop.test().expectExit(1, "after up and down, 'P.v' of P")
    }
}
