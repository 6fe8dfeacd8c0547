import Glibc
import Testing

/// Errors of migrations are reported in one sentence, and leave the store unchanged.
@Suite struct MigrateFailureTests {
    @Test(arguments: [["--to", "x"], ["--nonsense"], ["more"]])
    func `unknown words are errors, also as JSON`(words: [String]) throws {
        let shop = try MigrationShop()
        let outcome = try Tool.run(
            ["migrate", "up", shop.store, "--dir", "migrations", "--json"] + words,
            in: shop.folder.path
        ).expectExit(64)
        #expect(outcome.error == "")
        #expect(try MigrationShop.json(outcome, "error.code") == "invalid_argument")
        #expect(try MigrationShop.json(outcome, "error.message").contains(words[words.count - 1]))
    }

    @Test func `a missing folder and one without migrations are errors`() throws {
        let shop = try MigrationShop([])
        try shop.migrate("up").expectError("the folder 'migrations' has no migrations")
        rmdir(shop.migrations)
        let missing = try shop.migrate("up").expectExit(1)
        #expect(missing.error == "moonpool: the folder 'migrations' cannot be read\n")
    }

    @Test(arguments: [
        ("0004-dash.lua", "0004_dash.lua"), ("0004 some words.lua", "0004_some_words.lua"),
        ("0004.lua", "0004_what_it_does.lua"), ("0004_.lua", "0004_what_it_does.lua"),
        ("0004_X.LUA", "0004_x.lua"), ("0004_x.Lua", "0004_x.lua"), ("V4__x.lua", "0004_x.lua"),
        ("v4.1__x.lua", "0004_1_x.lua"), ("_0004_x.lua", "0004_x.lua"),
        ("migration_4.lua", "0004_what_it_does.lua"), ("4x.lua", "0004_x.lua"),
    ])
    func `a misnamed migration is an error of every command`(name: String, proposal: String) throws
    {
        let shop = try MigrationShop()
        try shop.write("return { changes = {} }", to: name)
        let other = [
            ["test", "migrations"], ["squash", "--to", "2", "--dir", "migrations"],
            ["merge", "--dir", "migrations"],
        ]
        let commands = ["up", "status", "check"].map { [$0, shop.store, "--dir", "migrations"] }
        for command in commands + other {
            let outcome = try Tool.run(["migrate"] + command, in: shop.folder.path)
            #expect(outcome.exitCode != 0, "\(command)")
            #expect(
                outcome.error.contains(
                    "'migrations/\(name)' is not named like a migration; rename it to \(proposal)"),
                "\(command): \(outcome.error)")
        }
        #expect(!TemporaryFolder.names(in: shop.folder.path).contains("shop.moonpool"))
    }

    @Test func `a migration without a number is an error, and does not run`() throws {
        for text in [
            "error 'run' return { changes = {} }",
            "local s = { P = { id = 'int primary' } } return { ['schema'] = s, up = function(m) end }",
        ] {
            let shop = try MigrationShop()
            try shop.write(text, to: "add_owners.lua")
            try shop.migrate("up").expectError(
                "'migrations/add_owners.lua' is not named like a migration; rename it to NNNN_add_owners.lua"
            )
        }
    }

    @Test func `modules and hidden files in the folder are no migrations`() throws {
        let shop = try MigrationShop()
        for name in ["names.lua", "utf8.lua", "sha256.lua", "._0004_x.lua", "README.md"] {
            try shop.write("return { schema = {}, version = 1 }", to: name)
        }
        try shop.write("error 'a module that is not loaded' return { up = print }", to: "other.lua")
        try shop.migrate("up").expectSuccess()
        try shop.migrate("check").expectSuccess()
    }

    @Test func `a test file without a migration fails in test and check`() throws {
        for name in ["people_test.lua", "0009_people_test.lua"] {
            let shop = try MigrationShop()
            try shop.write("return { after = function() end }", to: name)
            try shop.test().expectExit(1, "'\(name)' does not belong to a migration")
            try shop.migrate("up").expectSuccess()
            try shop.migrate("check").expectExit(2)
        }
    }

    @Test func `a migration or tests that are too long are refused, not run partially`() throws {
        let (shop, tested) = (try MigrationShop(), try MigrationShop())
        try #require(truncate(shop.migrations + "/0003_ages.lua", (16 << 20) + 1) == 0)
        let long = try shop.migrate("up").expectExit(1)
        #expect(
            long.error
                == "moonpool: 'migrations/0003_ages.lua' cannot be read: it is longer than 16 MiB\n"
        )
        try tested.write("", to: "0003_ages_test.lua")
        try #require(truncate(tested.migrations + "/0003_ages_test.lua", (16 << 20) + 1) == 0)
        #expect(
            try tested.test().expectExit(1).lines.suffix(3) == [
                "failed  0003 ages",
                "        'migrations/0003_ages_test.lua' cannot be read: it is longer than 16 MiB",
                "4 tests, 1 failed",
            ])
    }

    @Test func `duplicate and missing numbers are errors`() throws {
        let shop = try MigrationShop()
        try shop.write(MigrationShop.third, to: "3_other.lua")
        try shop.migrate("up").expectError("'0003_ages.lua' and '3_other.lua' have the same number")
        unlink(shop.migrations + "/3_other.lua")
        unlink(shop.migrations + "/0002_names.lua")
        try shop.migrate("check").expectError("migration 2 is missing", code: 2)
    }

    @Test func `a script that does not compile prevents all changes`() throws {
        let shop = try MigrationShop([
            MigrationShop.first, "return { schema = {}, up = function( end }",
        ])
        try shop.migrate("up").expectError("migrations/0002_names.lua:1:")
        #expect(try shop.value("store.schema_version") == "0")
    }

    @Test(arguments: [
        ("return 7", "to return { schema"),
        ("return { schema = {}, upp = 1 }", "unknown key 'upp'; did you mean 'up'?"),
        ("return { up = function() end }", "expected either 'schema', the whole schema"),
        ("return { schema = {}, up = 3 }", "expected 'up' to be a function, got a number"),
        ("return { schema = { Dog = { id = 'itn' } } }", "'itn' is not a type"),
        ("return { schema = { Dog = { owner = 'Missing' } } }", "Missing"),
    ])
    func `a file that is not a migration is an error`(source: String, complaint: String) throws {
        let shop = try MigrationShop([source])
        try shop.migrate("up").expectError(complaint, "0001_people.lua")
    }

    @Test func `a class missing in the schema is not lost`() throws {
        let shop = try MigrationShop([
            MigrationShop.first, "return { schema = { Other = { x = 'int' } } }",
        ])
        try shop.migrate("up").expectError("does not contain class 'Person', which has 5 objects")
        #expect(try shop.value("store.schema_version") == "1")
    }

    @Test func `a foreign file and a file of a newer format are reported`() throws {
        let shop = try MigrationShop()
        _ = try shop.folder.write("This is a letter, not a store.", to: "shop.moonpool")
        for command in ["up", "status"] {
            try shop.migrate(command).expectError("shop.moonpool")
        }
        #expect(try contents(of: shop.store) == "This is a letter, not a store.")
        unlink(shop.store)
        try shop.migrate("up", "--to", "1").expectSuccess()
        // The number of the format, in both headers of a file.
        let file = try #require(fopen(shop.store, "r+"))
        for page in [0, 4096] {
            fseek(file, page + 20, SEEK_SET)
            fputc(9, file)
        }
        fclose(file)
        for command in ["up", "status", "check", "undo"] {
            let outcome = try shop.migrate(command, "--json")
            #expect(outcome.exitCode == (command == "check" ? 2 : 1))
            #expect(try MigrationShop.json(outcome, "error.code") == "file_format_too_new")
        }
    }

    @Test func `unknown and already passed numbers are errors`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "9").expectError(
            "there is no migration 9 in 'migrations'; the last one is 3")
        try shop.migrate("up").expectSuccess()
        try shop.migrate("up", "--to", "1").expectError("is already at migration 3")
    }

    @Test func `a store with a higher schema version is an error`() throws {
        let shop = try MigrationShop()
        _ = try Tool.lua(
            "moonpool.open { path = arg[1], schema_version = 7, schema = { A = { x = 'int' } } }",
            shop.store)
        try shop.migrate("up").expectError("already has schema version 7", "from 8")
    }

    @Test(
        .enabled(
            if: FileCommandTests.unprivileged != nil,
            "needs setpriv and a build folder that all users may read"))
    func `a store without write permission is an error`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "1").expectSuccess()
        chmod(shop.store, 0o444)
        unlink(shop.store + "-lock")
        chmod(shop.folder.path, 0o555)
        defer { chmod(shop.folder.path, 0o700) }
        let words = try #require(FileCommandTests.unprivileged)
        func run(_ command: String) throws -> Tool.Outcome {
            try Subprocess(
                words[0],
                Array(words[1...]) + ["migrate", command, shop.store, "--dir", shop.migrations]
            ).finish()
        }
        #expect(try run("status").lines.last == "2 pending, schema version 1")
        try run("up").expectError("no permission to write '\(shop.store)'")
    }

    @Test func `undo refuses a store that another process has open`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--backup").expectSuccess()
        let other = try Subprocess(
            lua: "s = moonpool.open(arg[1]) print 'open' io.flush() moonpool.sleep(60)", shop.store,
            until: "open")
        try shop.migrate("undo").expectError("shop.moonpool")
        #expect(try shop.value("store.schema_version") == "3")
        #expect(!TemporaryFolder.names(in: shop.folder.path).contains { $0.contains("undone") })
        try other.kill()
    }

    @Test func `up waits for another writing process and reports the wait`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "1").expectSuccess()
        let writer = try Subprocess(
            lua:
                "s = moonpool.open(arg[1]) s:begin_write() print 'writing' io.flush() moonpool.sleep(600)",
            shop.store, until: "writing")
        let process = try shop.start("up", "--no-backup")
        try process.wait { process.error.contains("waiting for process") }
        writer.send(SIGKILL)
        let outcome = try process.finish().expectSuccess()
        #expect(
            outcome.error.hasPrefix("moonpool: hint: waiting for process ")
                && outcome.error.contains("), which is writing to '\(shop.store)'\n"),
            "\(outcome.error)")
        #expect(try shop.value("store.schema_version") == "3")
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal rolls back`(signal: Int32) throws {
        let shop = try MigrationShop([
            MigrationShop.first,
            """
            return {
              schema = { Person = { id = "int primary", first = "string", last = "string", age = "string" } },
              up = function(m)
                m:delete(m:objects("Person"))
                print "begun"
                while true do end
              end,
            }
            """,
        ])
        let isText = signal == SIGINT
        let process = try isText ? shop.start("up") : shop.start("up", "--json")
        try process.wait { process.error.contains("begun") }
        process.send(signal)
        let outcome = try process.finish().expectExit(128 + signal)
        if isText {
            #expect(
                outcome.error
                    == "begun\nmoonpool: '0002_names.lua' was interrupted; it was rolled back\n")
        } else {
            try MigrationShop.expectJSON(
                outcome,
                ["error.code": "interrupted", "error.file": "migrations/0002_names.lua"])
        }
        try shop.expectValues(["store.schema_version": "1", "#store:objects 'Person'": "5"])
    }
}
