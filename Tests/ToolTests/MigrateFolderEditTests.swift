import Glibc
import Testing

/// Edits of several files of a folder; MigrationEditTests interrupt them after each of their steps.
@Suite struct MigrateFolderEditTests {
    private static let person = "Person = { id = \"int primary\", name = \"string\" }"

    /// The texts of all files in a folder and its subfolder `squashed`, by name.
    private func content(_ shop: MigrationShop) throws -> [String: String] {
        var result: [String: String] = [:]
        for folder in ["", "squashed/"] {
            for name in TemporaryFolder.names(in: shop.migrations + "/" + folder)
            where name != "squashed" {
                result[folder + name] = try contents(of: shop.migrations + "/" + folder + name)
            }
        }
        return result
    }

    /// A folder with two branches, one of which has two files, one of them with tests.
    private func branches() throws -> MigrationShop {
        let shop = try MigrationShop(["return { schema = { \(Self.person) } }"])
        let files = [
            "0002_mail.lua": "return { changes = { Person = { mail = 'string?' } } }",
            "0002_phone.lua": "return { changes = { Person = { phone = 'string?' } } }",
            "0002_phone_test.lua": "return { after = function() end }",
            "0003_phone.lua": "return { changes = { Person = { fax = 'string?' } } }",
        ]
        for (name, text) in files { try shop.write(text, to: name) }
        return shop
    }

    private func run(_ shop: MigrationShop, _ arguments: [String]) throws -> Tool.Outcome {
        try Tool.run(["migrate"] + arguments + ["--dir", "migrations"], in: shop.folder.path)
    }

    @Test func `an interrupted merge is finished before any other command`() throws {
        let command = ["merge", "0002_phone.lua", "0003_phone.lua"]
        let (done, shop) = try (branches(), branches())
        let before = try content(done)
        try run(done, command).expectSuccess()
        let after = try content(done)
        let writes = after.keys.filter { before[$0] != after[$0] }.sorted()
        let removals = before.keys.filter { after[$0] == nil }.sorted()
        for name in writes { try shop.write(after[name] ?? "", to: name + ".new") }
        let journal = writes.map { "write \($0)" } + removals.map { "remove \($0)" }
        try shop.write(journal.joined(separator: "\n"), to: ".migrate-edit")
        for other in ["status", "up", "check"] {
            let refused = try shop.migrate(other)
            #expect(refused.exitCode != 0)
            #expect(refused.error.contains("was interrupted"), "\(refused.error)")
        }
        try run(shop, command).expectSuccess()
        #expect(try content(shop) == after)
        try shop.migrate("up").expectSuccess()
    }

    @Test func `a merge removes the file that an earlier one has copied`() throws {
        let shop = try branches()
        let old = try contents(of: shop.migrations + "/0003_phone.lua")
        let command = ["merge", "0002_phone.lua", "0003_phone.lua"]
        try run(shop, command).expectSuccess()
        let after = try content(shop)
        try shop.write(old, to: "0002_phone.lua")
        try run(shop, command).expectSuccess()
        #expect(try content(shop) == after)
    }

    @Test func `equal files without code can be merged together`() throws {
        let shop = try branches()
        for name in ["0002_phone.lua", "0003_phone.lua"] { unlink(shop.migrations + "/" + name) }
        unlink(shop.migrations + "/0002_phone_test.lua")
        let names = ["0002_one.lua", "0003_two.lua"]
        for name in names { try shop.write("return { changes = {} }", to: name) }
        try run(shop, ["merge"] + names).expectSuccess()
        try shop.migrate("up").expectSuccess()
        try shop.migrate("check").expectSuccess()
    }

    @Test func `a squash moves the files that an earlier one has left`() throws {
        for left in [["0001_people.lua"], ["0001_people.lua", "0003_phone.lua"]] {
            let shop = try branches()
            unlink(shop.migrations + "/0002_mail.lua")
            let before = try content(shop)
            try run(shop, ["squash", "--to", "3"]).expectSuccess()
            let after = try content(shop)
            for name in left { try shop.write(before[name] ?? "", to: name) }
            try shop.migrate("up").expectError(
                "finish the squash with moonpool migrate squash --to 3")
            try run(shop, ["merge", left[0]]).expectExit(1)
            try run(shop, ["squash", "--to", "3"]).expectSuccess()
            #expect(try content(shop) == after)
        }
    }

    @Test func `a whole schema that was renumbered behind another branch is refused`() throws {
        let shop = try MigrationShop(["return { schema = { P = { id = 'int primary' } } }"])
        let mine =
            "return { schema = { P = { id = 'int primary', phone = 'string?' } }, down = function(m) end }"
        try shop.write(mine, to: "0002_mine.lua")
        try shop.migrate("up").expectSuccess()
        #expect(rename(shop.migrations + "/0002_mine.lua", shop.migrations + "/0003_mine.lua") == 0)
        try shop.write(
            "return { schema = { P = { id = 'int primary', mail = 'string?' } } }",
            to: "0002_theirs.lua")
        for command in ["check", "up", "down"] {
            let outcome = try shop.migrate(command)
            #expect(outcome.exitCode != 0)
            #expect(
                (outcome.output + outcome.error).contains(
                    "its schema does not have the changes of '0002_theirs.lua'"),
                "\(outcome.output)\(outcome.error)")
        }
        #expect(try shop.value("store.schema_version, store:schema('P').mail") == "2\tnil")
        // The remedy of the message.
        #expect(rename(shop.migrations + "/0003_mine.lua", shop.migrations + "/0002_mine.lua") == 0)
        try run(shop, ["merge", "0002_mine.lua"]).expectSuccess()
        try shop.migrate("up").expectSuccess()
        #expect(
            try shop.value("store:schema('P').phone, store:schema('P').mail") == "string?\tstring?")
        try shop.migrate("check").expectSuccess()
    }

    @Test(arguments: [["--yes"], ["0003_phone.lua"]])
    func `a branch that was renumbered by hand is found by its parent`(arguments: [String]) throws {
        func schema(_ properties: String) -> String {
            "schema = { Person = { id = 'int primary', name = 'string'\(properties) } }"
        }
        let shop = try MigrationShop(["return { \(schema("")) }"])
        func move(_ name: String, _ newName: String) {
            #expect(rename("\(shop.migrations)/\(name)", "\(shop.migrations)/\(newName)") == 0)
        }
        func parent() throws -> String {
            let wanted = try shop.folder.write("return { A = { x = 'int' } }", to: "wanted.lua")
            let planned = shop.folder.path + "/planned.lua"
            try run(shop, ["plan", wanted, "--output", planned]).expectSuccess()
            defer { unlink(planned) }
            let text = try contents(of: planned)
            return String(try #require(text.firstMatch(of: /parent = "(.*?)"/)?.output.1))
        }
        try shop.write(
            "return { parent = '\(parent())', \(schema(", phone = 'string?'")) }",
            to: "0002_phone.lua")
        try shop.write(
            "return { parent = '\(parent())', \(schema(", phone = 'string?', fax = 'int?'")), up = function(m) end }",
            to: "0003_fax.lua")
        try shop.migrate("up").expectSuccess()
        move("0003_fax.lua", "0004_fax.lua")
        move("0002_phone.lua", "0003_phone.lua")
        try shop.write("return { \(schema(", mail = 'string?'")) }", to: "0002_mail.lua")
        try shop.migrate("check").expectExit(2, "; run moonpool migrate merge 0004_fax.lua")
        let merge = try run(shop, ["merge"] + arguments).expectSuccess()
        #expect(
            merge.lines.filter { $0.hasPrefix("'") } == [
                "'0003_phone.lua' is rebased on the migrations that precede it",
                "'0004_fax.lua' is rebased on the migrations that precede it",
            ], "\(merge.output)")
        #expect(try run(shop, ["merge"]).output == "nothing to merge\n")
        try shop.migrate("up").expectSuccess()
        try shop.migrate("check").expectSuccess()
        unlink(shop.store)
        try shop.migrate("up").expectSuccess()
        #expect(
            try shop.value(
                "store:schema('Person').phone, store:schema('Person').mail, store:schema('Person').fax"
            )
                == "string?\tstring?\tint?")
    }
}
