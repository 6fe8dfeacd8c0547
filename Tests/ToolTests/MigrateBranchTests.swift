import Glibc
import Testing

/// Two branches, one production file, and the possible solutions.
@Suite struct MigrateBranchTests {
    private static let start = """
        return { schema = { P = { id = "int primary" } } }
        """
    private static let phone = """
        return { schema = { P = { id = "int primary", phone = "string?" } } }
        """
    private static let mail = """
        return {
          schema = { P = { id = "int primary", mail = "string?" } },
          up = function(m) m:each("P", function(old, new) new.mail = "p" .. old.id .. "@example.com" end) end,
        }
        """

    /// A production store that has applied one branch's `0002`, with an object in it.
    private func deployed(_ second: String, as name: String) throws -> MigrationShop {
        let shop = try MigrationShop([Self.start])
        try rename("0001_people.lua", "0001_start.lua", shop)
        try shop.write(second, to: name)
        try shop.migrate("up").expectSuccess()
        _ = try shop.value(
            "store:write(function() local p = store:create('P', { id = 1 }) "
                + "if store:schema('P').phone then p.phone = '+49 30' end end)")
        return shop
    }

    private func rename(_ old: String, _ new: String, _ shop: MigrationShop) throws {
        #expect(Glibc.rename(shop.migrations + "/" + old, shop.migrations + "/" + new) == 0)
    }

    private func names(_ shop: MigrationShop) -> [String] {
        TemporaryFolder.names(in: shop.migrations).sorted()
    }

    @Test func `merge moves a file after the others, and no value is lost`() throws {
        let shop = try deployed(Self.phone, as: "0002_phone.lua")
        try shop.write(Self.mail, to: "0002_mail.lua")
        #expect(try shop.migrate("status").error.contains("have the same number"))
        let merge = try shop.migrateFolder("merge", "--store", shop.store)
        #expect(merge.error == "")
        #expect(merge.lines.first == "'0002_mail.lua' becomes '0003_mail.lua'")
        #expect(names(shop) == ["0001_start.lua", "0002_phone.lua", "0003_mail.lua"])
        try shop.migrate("up").expectSuccess()
        try shop.expectValues([
            "store:object('P', 1).phone": "+49 30",
            "store:object('P', 1).mail": "p1@example.com",
        ])
        try shop.migrate("check").expectSuccess()
    }

    @Test func `a store that has applied the moved file recognizes it`() throws {
        let shop = try deployed(Self.mail, as: "0002_mail.lua")
        _ = try shop.value("store:write(function() store:object('P', 1).mail = 'changed' end)")
        try shop.write(Self.phone, to: "0002_phone.lua")
        try shop.migrateFolder("merge", "0002_mail.lua").expectSuccess()
        let status = try shop.migrate("status")
        #expect(status.output.contains("0002 phone  pending"), "\(status.output)")
        #expect(
            status.output.contains("is now '0003_mail.lua'; up records the new name"),
            "\(status.output)")
        try shop.migrate("check").expectExit(1)
        // The new number would make the pending file one that was skipped.
        #expect(try shop.migrate("repair").lines == ["nothing to do"])
        try shop.write(
            Self.start.replacing("} } }", with: "} }, up = function(m) end }"), to: "0001_start.lua"
        )
        #expect(
            try shop.migrate("repair", "--yes").lines == ["accept the current '0001_start.lua'"])
        try shop.migrate("check").expectExit(1)
        try shop.migrate("up").expectSuccess()
        #expect(try shop.value("store.schema_version") == "3")
        #expect(try shop.migrate("check").output.hasPrefix("up to date"))
        #expect(try shop.value("store:object('P', 1).mail") == "changed")
    }

    @Test func `a file and its merged copy never run both`() throws {
        let shop = try deployed(Self.phone, as: "0002_phone.lua")
        try shop.write(Self.mail, to: "0002_mail.lua")
        let merge = ["migrate", "merge", "0002_mail.lua", "--dir", "migrations"]
        try Tool.run(merge, in: shop.folder.path).expectSuccess()
        for name in ["0002_mail.lua", "0004_mail.lua"] {
            try shop.write(Self.mail, to: name)
            for command in ["up", "status", "check"] {
                let outcome = try shop.migrate(command)
                #expect(outcome.exitCode != 0)
                #expect(
                    outcome.error.contains("'0003_mail.lua' is '\(name)' after a merge"),
                    "\(outcome.error)")
            }
            unlink(shop.migrations + "/" + name)
        }
        try shop.migrate("up").expectSuccess()
    }

    @Test func `a file and its copy with another number never run both`() throws {
        let shop = try deployed(Self.mail, as: "0002_mail.lua")
        try shop.write("-- A copy.\n" + Self.mail, to: "0003_mail.lua")
        try shop.migrate("up").expectError(
            "'0003_mail.lua' is a copy of '0002_mail.lua'; delete one of them")
    }

    @Test func `branches that changed the same property differently do not merge`() throws {
        let shop = try deployed(Self.phone, as: "0002_phone.lua")
        try shop.write(
            #"return { schema = { P = { id = "int primary", phone = "int?" } } }"#,
            to: "0002_number.lua")
        let merge = try shop.migrateFolder("merge", "0002_number.lua").expectExit(1)
        let expected =
            "'migrations/0002_number.lua' cannot be merged with '0002_phone.lua': 'P.phone' was added with different "
            + "types; edit one of the two"
        #expect(merge.error.contains(expected), "\(merge.error)")
        // The same, if the files were renumbered by hand.
        try rename("0002_phone.lua", "0003_phone.lua", shop)
        for command in ["status", "check", "up"] {
            let outcome = try shop.migrate(command)
            #expect(
                outcome.error.contains(
                    expected.replacing("0002_phone", with: "0003_phone")), "\(outcome.error)")
        }
    }

    @Test func `the later branch's schema without the other's property is refused`() throws {
        let shop = try deployed(Self.phone, as: "0002_phone.lua")
        try shop.write(Self.mail, to: "0003_mail.lua")
        try shop.migrate("up").expectError(
            "'P.phone' would be removed, and 1 object has a value for it")
        try shop.migrate("check").expectExit(2)
        try shop.test().expectExit(1)
        #expect(try shop.value("store:object('P', 1).phone") == "+49 30")
        try shop.write(
            Self.mail.replacing(", mail =", with: ", phone = \"string?\", mail ="),
            to: "0003_mail.lua")
        try shop.migrate("up").expectSuccess()
        #expect(
            try shop.value("store:object('P', 1).phone .. store:object('P', 1).mail")
                == "+49 30p1@example.com")
    }

    @Test func `programs with the next or the previous schema are refused`() throws {
        let shop = try deployed(Self.phone, as: "0002_phone.lua")
        for (version, more, refusal) in [
            (1, "", "version"), (3, "mail = 'string?'", "moonpool migrate up"),
            (3, "phone = 'string?', mail = 'string?'", "moonpool migrate up"),
            (2, "phone = 'string?'", nil),
        ] as [(Int, String, String?)] {
            let outcome = try Tool.lua(
                "local s = moonpool.open { path = arg[1], schema_version = \(version), "
                    + "schema = { P = { id = 'int primary', \(more) } } } print(s:object('P', 1).id)",
                shop.store)
            #expect(outcome.exitCode == (refusal == nil ? 0 : 1), "\(outcome)")
            if let refusal { #expect(outcome.error.contains(refusal), "\(outcome)") }
        }
        #expect(try shop.value("store:object('P', 1).phone") == "+49 30")
        try shop.migrate("check").expectSuccess()
    }

    @Test func `a file that was renumbered and changed by hand is recognized`() throws {
        let shop = try deployed(Self.phone, as: "0002_mine.lua")
        unlink(shop.migrations + "/0002_mine.lua")
        try shop.write(
            #"return { schema = { P = { id = "int primary", mail = "string?" } } }"#,
            to: "0002_theirs.lua")
        try shop.write(
            Self.phone.replacing("phone =", with: "mail = \"string?\", phone ="),
            to: "0003_mine.lua")
        let status = try shop.migrate("status")
        #expect(
            status.output.contains("is now '0003_mine.lua'; up records the new name"),
            "\(status.output)")
        let down = try shop.migrate("down")
        #expect(down.error.contains("is pending and comes before '0003_mine.lua'"), "\(down.error)")
        try shop.migrate("up").expectSuccess()
        #expect(
            try shop.value("store:object('P', 1).phone, store:object('P', 1).mail") == "+49 30\tnil"
        )
        try shop.migrate("check").expectSuccess()
    }

    @Test func `repair shows its plan and changes nothing until it is confirmed`() throws {
        let shop = try deployed(Self.phone, as: "0002_phone.lua")
        try shop.write(
            Self.phone.replacing("}\n", with: "}\n").replacing(
                "} } }", with: "} }, up = function(m) end }"), to: "0002_phone.lua")
        try shop.migrate("check").expectExit(2)
        let plan = try shop.migrate("repair").expectExit(1)
        #expect(
            plan.lines == [
                "accept the current '0002_phone.lua'", "nothing was changed; confirm with --yes",
            ])
        try shop.migrate("check").expectExit(2)
        try shop.migrate("repair", "--yes").expectSuccess()
        try shop.migrate("check").expectSuccess()
        #expect(try shop.value("store:object('P', 1).phone") == "+49 30")
    }

    @Test func `start names the applied migration that a pending one precedes`() throws {
        let shop = try MigrationShop([
            "return { schema = { Dog = { id = 'int primary' } } }",
            "return { changes = { Dog = { age = 'int' } } }",
        ])
        try shop.migrate("up").expectSuccess()
        try rename("0002_names.lua", "0003_names.lua", shop)
        try shop.write("return { changes = { Dog = { tail = 'string' } } }", to: "0002_tail.lua")
        let start = try shop.migrate("start").expectExit(1)
        #expect(
            start.error
                == "moonpool: '0002_tail.lua' precedes '0003_names.lua', which was applied; "
                + "apply it with moonpool migrate up\n")
        try shop.migrate("up").expectSuccess()
    }

    @Test func `a store that has the later branch gets changes of collections`() throws {
        let shop = try MigrationShop([
            """
            return { schema = { Dog = {
              id = "int primary", tags = "string[]", marks = "int<>", notes = "string{}",
            } } }
            """, "return { changes = { Dog = { age = 'int' } } }",
        ])
        try shop.migrate("up").expectSuccess()
        try rename("0002_names.lua", "0003_names.lua", shop)
        try shop.write(
            "return { changes = { Dog = { tags = 'string?[]' } }, drops = { 'Dog.marks', 'Dog.notes' } }",
            to: "0002_marks.lua")
        try shop.migrate("up").expectSuccess()
        try shop.migrate("check").expectSuccess()
        #expect(
            try shop.value("store:schema().Dog.tags, store:schema().Dog.marks") == "string?[]\tnil")
    }

    /// A shop with 12 migrations, each of which moves the values of 50 dogs to another property.
    private func steps() throws -> MigrationShop {
        let shop = try MigrationShop([])
        try shop.write(
            """
            return { schema = { Dog = { id = "int primary", p1 = "int" } }, up = function(m)
              for id = 1, 50 do m:create("Dog", { id = id, p1 = id }) end
            end }
            """, to: "0001_step.lua")
        for number in 2...12 {
            let (up, down) = (
                "function(old, new) new.p\(number) = old.p\(number - 1) end",
                "function(old, new) new.p\(number - 1) = old.p\(number) end"
            )
            let functions =
                number % 3 == 0
                ? """
                up = function(m) m:each("Dog", \(up)) end, down = function(m) m:each("Dog", \(down)) end
                """ : "each = { Dog = { up = \(up), down = \(down) } }"
            try shop.write(
                """
                return { changes = { Dog = { p\(number) = "int" } }, drops = { "Dog.p\(number - 1)" }, \(functions) }
                """, to: (number < 10 ? "000" : "00") + "\(number)_step.lua")
        }
        return shop
    }

    private func atOnce(_ shop: MigrationShop, _ commands: [[String]]) throws -> [Tool.Outcome] {
        try commands.map { command in
            try Subprocess(
                Tool.path,
                ["migrate", command[0], shop.store, "--dir", "migrations"] + command.dropFirst(),
                in: shop.folder.path)
        }.map { try $0.finish(within: 120) }
    }

    private func sum(_ shop: MigrationShop) throws -> String {
        try shop.value("store:objects('Dog'):sum('p' .. store.schema_version)")
    }

    @Test func `processes that migrate a store at once leave each migration to one of them`() throws
    {
        let shop = try steps()
        for outcome in try atOnce(shop, [["up"], ["up"], ["up"]]) { outcome.expectSuccess() }
        try shop.migrate("check").expectSuccess()
        #expect(try sum(shop) == "1275")
    }

    @Test func `up and down at once skip no migration`() throws {
        let shop = try steps()
        try shop.migrate("up", "--to", "6").expectSuccess()
        for round in 0..<6 {
            let down = ["down", "--to", "\(1 + round % 3)", "--no-backup"]
            let outcomes = try atOnce(shop, [["up", "--no-backup"], down, ["up", "--no-backup"]])
            for outcome in outcomes where outcome.exitCode != 0 {
                #expect(
                    ["another process has migrated", "revert it to a lower", "is started"]
                        .contains { outcome.error.contains($0) }, "\(outcome.error)")
            }
            #expect(try sum(shop) == "1275")
        }
        try shop.migrate("up").expectSuccess()
        try shop.migrate("check").expectSuccess()
    }

    @Test func `repair adopts the changes of a withdrawn migration`() throws {
        let shop = try deployed(Self.phone, as: "0002_phone.lua")
        unlink(shop.migrations + "/0002_phone.lua")
        try shop.migrate("check").expectExit(2)
        #expect(try shop.migrate("up").error.contains("was applied, but is not in"))
        try shop.migrate("repair", "--yes").expectSuccess()
        #expect(names(shop) == ["0001_start.lua", "0002_adopted.lua"])
        #expect(try shop.migrate("check").output.hasPrefix("up to date"))
        #expect(try shop.value("store:object('P', 1).phone") == "+49 30")
        try shop.test().expectSuccess()
    }

    @Test func `repair adopts a manual change while migrations are pending`() throws {
        let shop = try deployed(Self.phone, as: "0002_phone.lua")
        _ = try shop.value(
            "store:define { P = { id = 'int primary', phone = 'string?', note = 'string?' } }")
        _ = try shop.value("store:write(function() store:object('P', 1).note = 'by hand' end)")
        try shop.write("return { changes = { P = { mail = 'string?' } } }", to: "0003_mail.lua")
        #expect(
            try shop.migrate("up").error.contains("adopt the change with moonpool migrate repair"))
        try shop.migrate("repair", "--yes").expectSuccess()
        #expect(
            names(shop)
                == ["0001_start.lua", "0002_phone.lua", "0003_mail.lua", "0004_adopted.lua"])
        #expect(try shop.migrate("check").lines.last == "1 pending, schema version 4")
        try shop.migrate("up").expectSuccess()
        #expect(try shop.migrate("check").output.hasPrefix("up to date"))
        #expect(
            try shop.value("store:object('P', 1).note .. store:object('P', 1).phone")
                == "by hand+49 30")
        try shop.migrateFolder("up", "fresh.moonpool").expectSuccess()
    }

    @Test func `repair adopts a renamed property as a rename`() throws {
        let shop = try deployed(Self.phone, as: "0002_phone.lua")
        let other = shop.folder.path + "/other.moonpool"
        try Tool.run(["backup", shop.store, other]).expectSuccess()
        try shop.write(
            "return { changes = { P = { mobile = 'string?' } }, drops = { 'P.phone' }, "
                + "up = function(m) m:rename_property('P', 'phone', 'mobile') end }",
            to: "0003_mobile.lua")
        try shop.migrate("up").expectSuccess()
        unlink(shop.migrations + "/0003_mobile.lua")
        try shop.migrate("repair", "--yes").expectSuccess()
        try shop.migrateFolder("up", other).expectSuccess()
        try Tool.lua("print(moonpool.open(arg[1]):object('P', 1).mobile)", other).expectOutput(
            "+49 30\n")
    }

    @Test func `a new file with the number of an applied one withdraws the latter`() throws {
        let shop = try deployed(Self.phone, as: "0002_phone.lua")
        unlink(shop.migrations + "/0002_phone.lua")
        try shop.write(Self.mail, to: "0002_mail.lua")
        let check = try shop.migrate("check").expectExit(
            2, "problem: migration 2 (phone) was applied, but is not in", "0002 mail  pending")
        #expect(!check.output.contains("was edited"))
        #expect(check.lines.last == "the store and the folder do not match, schema version 2")
    }

    @Test func `branches of several migrations merge as a whole`() throws {
        let shop = try deployed(Self.phone, as: "0002_phone.lua")
        func add(_ property: String) -> String {
            "return { changes = { P = { \(property) = 'string?' } }, "
                + "up = function(m) m:each('P', function(o, n) n.\(property) = '\(property)' end) end }"
        }
        try shop.write(add("street"), to: "0003_street.lua")
        try shop.migrate("up").expectSuccess()
        try shop.write(add("mail"), to: "0002_mail.lua")
        try shop.write(add("web"), to: "0003_web.lua")
        try shop.migrateFolder("merge", "0002_mail.lua").expectError("name all files of one branch")
        try shop.migrateFolder("merge", "--store", shop.store).expectSuccess()
        #expect(
            names(shop) == [
                "0001_start.lua", "0002_phone.lua", "0003_street.lua", "0004_mail.lua",
                "0005_web.lua",
            ])
        try shop.migrate("up").expectSuccess()
        #expect(
            try shop.value(
                "(function(p) return p.phone .. p.street .. p.mail .. p.web end)(store:object('P', 1))"
            )
                == "+49 30streetmailweb")
        try shop.migrate("check").expectSuccess()
    }

    @Test func `files that record their parents move with the named file`() throws {
        let shop = try deployed(Self.phone, as: "0002_phone.lua")
        let branch = try TemporaryFolder()
        _ = try branch.write(Self.start, to: "0001_start.lua")
        for (schema, name) in [
            ("return { P = { id = 'int primary', mail = 'string?' } }", "mail"),
            ("return { P = { id = 'int primary', mail = 'string?', web = 'string?' } }", "web"),
        ] {
            let file = try branch.write(schema, to: "\(name)-schema.lua")
            try Tool.run(
                ["migrate", "plan", "--dir", branch.path, file, "--name", name], in: branch.path
            ).expectSuccess()
        }
        for name in ["0002_mail.lua", "0003_web.lua"] {
            #expect(Glibc.rename(branch.path + "/" + name, shop.migrations + "/" + name) == 0)
        }
        try shop.migrateFolder("merge", "0002_mail.lua").expectSuccess()
        #expect(
            names(shop) == [
                "0001_start.lua", "0002_phone.lua", "0003_mail.lua", "0004_web.lua",
            ])
        try shop.migrate("up").expectSuccess()
        #expect(try shop.value("store:object('P', 1).phone") == "+49 30")
    }

    @Test func `squash keeps the schema and the data that migrations create`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up").expectSuccess()
        try shop.migrateFolder("squash", "--to", "2").expectSuccess()
        #expect(names(shop) == ["0002_squashed.lua", "0003_ages.lua", "squashed"])
        #expect(try shop.migrate("check").output.hasPrefix("up to date"))
        let fresh = shop.folder.path + "/fresh.moonpool"
        try shop.migrateFolder("up", fresh).expectSuccess()
        let people =
            "for p in moonpool.open(arg[1]):objects('Person'):each() do print(p.id, p.name, p.age) end"
        let old = try Tool.run(["-e", people, "-", shop.store])
        let new = try Tool.run(["-e", people, "-", fresh])
        #expect(old.output == new.output && old.lines.count == 5)
    }

    @Test func `migrations with the code of a squashed one keep their places`() throws {
        let mark = """
            return {
              changes = { Person = {} },
              up = function(m) m:each("Person", function(old, new) new.age = old.age .. "!" end) end,
            }
            """
        let note = "return { changes = { Person = { note = 'string?' } } }"
        for (end, ages, applied) in [("2", "21!!", "4"), ("4", "21!", "2")] {
            let shop = try MigrationShop([MigrationShop.first, mark, note])
            try shop.write(mark, to: "0004_again.lua")
            try shop.migrate("up", "--to", applied).expectSuccess()
            _ = try shop.migrateFolder("squash", "--to", end)
            let up = try shop.migrate("up")
            let isWhole = applied == "4"
            #expect(up.exitCode == (isWhole ? 0 : 1), "\(up.output)")
            #expect(isWhole || up.error.contains("apply the files in 'migrations/squashed' first"))
            #expect(try shop.migrate("check").exitCode == (isWhole ? 0 : 2))
            #expect(try shop.value("store:object('Person', 1).age") == ages)
        }
    }

    @Test func `down reverts to a number, or refuses before it starts`() throws {
        let shop = try MigrationShop([
            MigrationShop.first, MigrationShop.second,
            MigrationShop.third.replacing(
                "  up = function(m)",
                with:
                    "  down = function(m) m:each('Person', function(o, n) n.age = tostring(o.age) end) end,\n  up = function(m)"
            ),
        ])
        try shop.migrate("up").expectSuccess()
        try shop.migrate("down", "--to", "0").expectError("0001_people.lua' has no 'down' function")
        #expect(try shop.value("store.schema_version") == "3")
        try shop.migrate("down", "--to", "1").expectSuccess()
        try shop.expectValues([
            "store:object('Person', 2).first": "F2",
            "store.schema_version": "1",
        ])
    }
}
