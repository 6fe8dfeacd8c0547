import Glibc
import Testing

/// Two branches, one production file and one program: every value survives until a file declares its loss.
@Suite struct MigrationScenarioTests {
    /// A production store with one person, after migration 1 and the changes of a scenario.
    private struct Scene {
        let shop: MigrationShop

        static let start = #"return { schema = { P = { id = "int primary", name = "string" } } }"#
        static let phone = """
            return {
              schema = { P = { id = "int primary", name = "string", phone = "string?" } },
              down = function(m) end,
            }
            """
        static let mail = """
            return {
              schema = { P = { id = "int primary", name = "string", mail = "string?" } },
              up = function(m) m:each("P", function(old, new) new.mail = old.name .. "@example.com" end) end,
            }
            """

        init() throws {
            shop = try MigrationShop([])
            try shop.write(Self.start, to: "0001_start.lua")
            try up()
            try program("s:create('P', { id = 1, name = 'Ann' })")
        }

        /// Runs a command that must succeed.
        func run(_ command: String, _ options: String...) throws {
            let outcome = try Tool.run(
                ["migrate", command, shop.store, "--dir", "migrations"] + options,
                in: shop.folder.path)
            #expect(outcome.exitCode == 0, "\(command): \(outcome.error)\(outcome.output)")
        }

        func up() throws { try run("up") }

        /// Runs a command that must fail with a message.
        func refuse(_ command: String, _ message: String, _ options: String...) throws {
            let outcome = try Tool.run(
                ["migrate", command, shop.store, "--dir", "migrations"] + options,
                in: shop.folder.path)
            #expect(outcome.exitCode == 1, "\(command): \(outcome.output)")
            #expect(outcome.error.contains(message), "\(outcome.error)")
        }

        func merge(_ file: String) throws {
            let outcome = try Tool.run(
                ["migrate", "merge", file, "--dir", "migrations"], in: shop.folder.path)
            #expect(outcome.exitCode == 0, "\(outcome.error)")
        }

        /// Runs a program that writes.
        func program(_ code: String) throws {
            _ = try shop.value("(function() local s = store s:write(function() \(code) end) end)()")
        }

        /// Returns the outcome of a program that opens the store with a schema and a version.
        func open(_ properties: String, version: Int, _ then: String = "") throws -> Tool.Outcome {
            try Tool.run([
                "-e",
                "local s = moonpool.open { path = arg[1], schema_version = \(version), "
                    + "schema = { P = { id = 'int primary', \(properties) } } } \(then)",
                "-", shop.store,
            ])
        }

        /// The value of a property of the person.
        func value(_ property: String) throws -> String {
            try shop.value("store:object('P', 1).\(property)")
        }

        func expectUpToDate() throws {
            let check = try shop.migrate("check")
            #expect(check.exitCode == 0, "\(check.output)\(check.error)")
            #expect(try value("name") == "Ann")
        }
    }

    @Test func `1: a program with the next schema opens the store before up`() throws {
        let scene = try Scene()
        try scene.shop.write(Scene.phone, to: "0002_phone.lua")
        let early = try scene.open("name = 'string', phone = 'string?'", version: 2)
        #expect(early.error.contains("moonpool migrate up"), "\(early.error)")
        let lossy = try scene.open("phone = 'string?'", version: 2)
        #expect(lossy.error.contains("moonpool migrate up"), "\(lossy.error)")
        try scene.up()
        let now = try scene.open(
            "name = 'string', phone = 'string?'", version: 2, "print(s:object('P', 1).name)")
        #expect(now.output == "Ann\n", "\(now.error)")
        try scene.expectUpToDate()
    }

    @Test func `2: a program with the previous schema opens the store after up`() throws {
        let scene = try Scene()
        try scene.shop.write(Scene.phone, to: "0002_phone.lua")
        try scene.up()
        try scene.program("s:object('P', 1).phone = '+49 30'")
        let late = try scene.open("name = 'string'", version: 1)
        #expect(late.exitCode != 0)
        #expect(try scene.value("phone") == "+49 30")
        try scene.expectUpToDate()
    }

    @Test func `3: both branches add a migration with the same number`() throws {
        let scene = try Scene()
        try scene.shop.write(Scene.phone, to: "0002_phone.lua")
        try scene.up()
        try scene.program("s:object('P', 1).phone = '+49 30'")
        try scene.shop.write(Scene.mail, to: "0002_mail.lua")
        try scene.refuse("up", "have the same number")
        try scene.merge("0002_mail.lua")
        try scene.up()
        #expect(try scene.value("phone") == "+49 30")
        #expect(try scene.value("mail") == "Ann@example.com")
        try scene.expectUpToDate()
    }

    @Test func `4: production has applied the renumbered branch`() throws {
        let scene = try Scene()
        try scene.shop.write(Scene.mail, to: "0002_mail.lua")
        try scene.up()
        try scene.program("s:object('P', 1).mail = 'changed'")
        try scene.shop.write(Scene.phone, to: "0002_phone.lua")
        try scene.merge("0002_mail.lua")
        try scene.up()
        #expect(try scene.value("mail") == "changed")
        #expect(try scene.value("phone") == "nil")
        try scene.expectUpToDate()
    }

    @Test func `5: a branch renumbers its file manually and adopts the other's property`() throws {
        let scene = try Scene()
        let mine =
            #"return { schema = { P = { id = "int primary", name = "string", phone = "string?" } } }"#
        try scene.shop.write(mine, to: "0002_mine.lua")
        try scene.up()
        try scene.program("s:object('P', 1).phone = '+49 30'")
        unlink(scene.shop.migrations + "/0002_mine.lua")
        let theirs =
            #"return { schema = { P = { id = "int primary", name = "string", mail = "string?" } } }"#
        try scene.shop.write(theirs, to: "0002_theirs.lua")
        try scene.shop.write(
            mine.replacing("phone =", with: "mail = \"string?\", phone ="), to: "0003_mine.lua")
        let status = try scene.shop.migrate("status")
        #expect(
            status.output.contains("is now '0003_mine.lua'; up records the new name"),
            "\(status.output)")
        try scene.refuse("down", "is pending and comes before '0003_mine.lua'")
        try scene.up()
        #expect(try scene.value("phone") == "+49 30")
        #expect(try scene.value("mail") == "nil")
        try scene.expectUpToDate()
    }

    @Test func `6: the schema of the later branch lacks the other's property`() throws {
        let scene = try Scene()
        try scene.shop.write(Scene.phone, to: "0002_phone.lua")
        try scene.up()
        try scene.program("s:object('P', 1).phone = '+49 30'")
        try scene.shop.write(Scene.mail, to: "0003_mail.lua")
        try scene.refuse("up", "'P.phone' would be removed, and 1 object has a value for it")
        #expect(try scene.shop.migrate("check").exitCode == 2)
        #expect(try scene.value("phone") == "+49 30")
        try scene.shop.write(
            Scene.mail.replacing(", mail =", with: ", phone = \"string?\", mail ="),
            to: "0003_mail.lua")
        try scene.up()
        #expect(try scene.value("phone") == "+49 30")
        try scene.expectUpToDate()
    }

    @Test func `7: both branches add the same property with different types`() throws {
        let scene = try Scene()
        try scene.shop.write(Scene.phone, to: "0002_phone.lua")
        try scene.up()
        try scene.program("s:object('P', 1).phone = '+49 30'")
        try scene.shop.write(
            Scene.phone.replacing("phone = \"string?\"", with: "phone = \"int?\""),
            to: "0002_number.lua")
        let merge = try Tool.run(
            ["migrate", "merge", "0002_number.lua", "--dir", "migrations"],
            in: scene.shop.folder.path)
        #expect(merge.exitCode == 1)
        #expect(merge.error.contains("different types"), "\(merge.error)")
        unlink(scene.shop.migrations + "/0002_number.lua")
        #expect(try scene.value("phone") == "+49 30")
        try scene.expectUpToDate()
    }

    @Test func `8: a program changes the schema of production`() throws {
        let scene = try Scene()
        _ = try scene.shop.value(
            "store:define { P = { id = 'int primary', name = 'string', note = 'string?' } }")
        try scene.program("s:object('P', 1).note = 'by hand'")
        try scene.refuse("up", "changed outside of the migrations")
        try scene.run("repair", "--yes")
        #expect(try scene.value("note") == "by hand")
        try scene.expectUpToDate()
    }

    @Test func `9: a program has migrated a store without a record`() throws {
        let scene = try Scene()
        let store = scene.shop.folder.path + "/old.moonpool"
        let made = try Tool.run([
            "-e",
            "local s = moonpool.open { path = arg[1], schema_version = 2, schema = { P = { id = 'int primary', "
                + "name = 'string', phone = 'string?' } } } "
                + "s:write(function() s:create('P', { id = 1, name = 'Ann', phone = '+49 30' }) end)",
            "-", store,
        ])
        #expect(made.exitCode == 0, "\(made.error)")
        try scene.shop.write(Scene.phone, to: "0002_phone.lua")
        for (command, code) in [("up", Int32(1)), ("baseline", 0), ("up", 0), ("check", 0)] {
            let outcome = try Tool.run(
                ["migrate", command, store, "--dir", "migrations"], in: scene.shop.folder.path)
            #expect(outcome.exitCode == code, "\(command): \(outcome.error)\(outcome.output)")
        }
        let phone = try Tool.run(
            ["-e", "print(moonpool.open(arg[1]):object('P', 1).phone)", "-", store])
        #expect(phone.output == "+49 30\n")
    }

    @Test func `10: an applied migration is withdrawn`() throws {
        let scene = try Scene()
        try scene.shop.write(Scene.phone, to: "0002_phone.lua")
        try scene.up()
        try scene.program("s:object('P', 1).phone = '+49 30'")
        unlink(scene.shop.migrations + "/0002_phone.lua")
        try scene.refuse("up", "was applied, but is not in")
        try scene.run("repair", "--yes")
        #expect(try scene.value("phone") == "+49 30")
        try scene.expectUpToDate()
    }

    @Test func `11: an applied migration is edited`() throws {
        let scene = try Scene()
        try scene.shop.write(Scene.phone, to: "0002_phone.lua")
        try scene.up()
        try scene.program("s:object('P', 1).phone = '+49 30'")
        try scene.shop.write(
            Scene.phone.replacing("(m) end", with: "(m) print(m) end"),
            to: "0002_phone.lua")
        try scene.refuse("up", "was edited")
        try scene.run("repair", "--yes")
        #expect(try scene.value("phone") == "+49 30")
        try scene.expectUpToDate()
    }

    @Test func `12: a program writes after up, and the migration is undone`() throws {
        let scene = try Scene()
        try scene.shop.write(
            "return { changes = {}, drops = { 'P.name' }, up = function(m) end }",
            to: "0002_forget.lua")
        try scene.up()
        try scene.program("s:create('P', { id = 2 }) ")
        let undo = try scene.shop.migrate("undo")
        #expect(undo.exitCode == 0, "\(undo.error)")
        #expect(
            undo.lines.contains("kept 1 commit made since: 1 object created, 0 changed, 0 deleted"),
            "\(undo.output)")
        #expect(
            undo.lines.contains(
                "  without a value: P.name in 1 object created after the migration"),
            "\(undo.output)")
        #expect(try scene.value("name") == "Ann")
        #expect(try scene.shop.value("store:object('P', 2).name == ''") == "true")
        #expect(try scene.shop.migrate("check").exitCode == 1)
    }
}
