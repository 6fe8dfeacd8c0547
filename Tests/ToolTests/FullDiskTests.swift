import Glibc
import Testing

/// On a full disk, a schema change is rolled back, and the script continues.
@Suite struct FullDiskTests {
    private static let people = """
        return {
          schema = { Person = { id = "int primary", name = "string", text = "string" } },
          up = function(m)
            for id = 1, 5000 do
              m:create("Person", { id = id, name = "P" .. id, text = ("text"):rep(10) .. id })
            end
          end,
        }
        """

    private static let wider = """
        return {
          schema = { Person = { id = "int primary", name = "string indexed", text = "string", long = "string" } },
          up = function(m)
            m:each("Person", function(old, new) new.long = old.text:rep(10) .. old.id end)
          end,
        }
        """

    /// A limit in blocks, a few pages above the size of a file.
    private func little(more path: String) throws -> Int {
        var status = stat()
        guard stat(path, &status) == 0 else { throw SystemFailure("stat") }
        return Int(status.st_size) / 512 + 256
    }

    private func temporaries(in shop: MigrationShop) -> [String] {
        TemporaryFolder.names(in: shop.folder.path).filter {
            $0.contains(".work-") || $0.contains(".copy-")
        }
    }

    private func isWhole(_ store: String) throws {
        try Tool.run(["check", store]).expectSuccess()
    }

    @Test(arguments: [[], ["--backup"], ["--json"]])
    func `a migration that runs out of space leaves the store unchanged`(options: [String]) throws {
        let shop = try MigrationShop([Self.people, Self.wider])
        try shop.migrate("up", "--to", "1").expectSuccess()
        let content = """
            store.schema_version .. " " .. #store:objects("Person"):where "text endswith '5'"
              .. " " .. store:objects("Person"):sum "id" .. " " .. tostring(store:schema().Person.long)
            """
        let before = try shop.value(content)

        let up = try Tool.run(
            ["migrate", "up", shop.store, "--dir", "migrations"] + options,
            withFilesUpTo: little(more: shop.store), in: shop.folder.path
        ).expectExit(1)
        if options == ["--json"] {
            #expect(up.error == "")
            #expect(try MigrationShop.json(up, "error.code") == "disk_full")
        } else {
            #expect(up.error.hasPrefix("moonpool: "))
            #expect(up.error.contains(shop.store), "\(up.error)")
            #expect(up.error.contains("file size limit"), "\(up.error)")
            #expect(up.error.contains("0002_names.lua"), "\(up.error)")
            #expect(up.error.split(separator: "\n").count == 1, "\(up.error)")
        }
        #expect(try shop.value(content) == before)
        try Tool.run(
            ["migrate", "up", shop.store, "--dir", "migrations", "--dry-run"],
            withFilesUpTo: little(more: shop.store), in: shop.folder.path
        ).expectExit(1)
        #expect(temporaries(in: shop) == [])
        #expect(try shop.migrate("check").exitCode == 1, "one is pending")
        try isWhole(shop.store)

        try shop.migrate("up").expectSuccess()
        #expect(try shop.value("#store:objects('Person'):where \"long endswith '5'\"") == "500")
        try isWhole(shop.store)
    }

    @Test func `a failed define keeps the script's schema, objects and observers`() throws {
        let shop = try MigrationShop([Self.people])
        try shop.migrate("up").expectSuccess()
        let script = try shop.folder.write(
            """
            local store = moonpool.open(arg[1])
            local people = store:objects "Person"
            local first, seen = people[1], {}
            local token = people:observe(function(change)
              seen[#seen + 1] = change.type .. " " .. #change.insertions .. " " .. #change.modifications
            end)
            store:refresh()
            local ok, err = pcall(store.define, store, {
              Person = { id = "int primary", name = "string indexed", text = "string fulltext", age = "int?" },
              Page = { text = "string" },
            })
            print(ok, err.code, err.message:find("file size limit", 1, true) ~= nil, store.is_in_write)
            print(store:schema().Page, store:schema("Person").age, pcall(function() return first.age end))
            store:refresh()
            print(table.concat(seen, ", "))
            store:write(function()
              first.name = "changed"
              store:create("Person", { id = 5001, name = "new", text = "t" })
            end)
            store:refresh()
            print(table.concat(seen, ", "), #people, first.name)
            token:invalidate()
            """, to: "define.lua")
        let outcome = try Tool.run(
            [script, shop.store], withFilesUpTo: little(more: shop.store), in: shop.folder.path
        ).expectSuccess()
        #expect(outcome.error == "")
        try #require(outcome.lines.count == 4)
        #expect(outcome.lines[0] == "false\tdisk_full\ttrue\tfalse")
        #expect(outcome.lines[1].hasPrefix("nil\tnil\tfalse\t"), "\(outcome.lines[1])")
        #expect(outcome.lines[1].contains("'age'"), "\(outcome.lines[1])")
        #expect(outcome.lines[2] == "initial 0 0")
        #expect(outcome.lines[3] == "initial 0 0, update 1 1\t5001\tchanged")
        try isWhole(shop.store)
        try shop.expectValues(["#store:objects 'Person'": "5001", "store:schema().Page": "nil"])
    }

    @Test(arguments: ["backup", "compact"])
    func `a command without space names the file and claims nothing about a write`(
        command: String
    ) throws {
        let shop = try MigrationShop([Self.people])
        try shop.migrate("up").expectSuccess()
        let arguments = [command, shop.store] + (command == "backup" ? ["copy.moonpool"] : [])
        let outcome = try Tool.run(arguments, withFilesUpTo: 600, in: shop.folder.path)
            .expectExit(1)
        #expect(
            outcome.error.hasSuffix(
                "has reached the file size limit of the system; raise the limit with ulimit -f and retry\n"
            ),
            "\(outcome.error)")
        #expect(access(shop.folder.path + "/copy.moonpool", F_OK) != 0)
        #expect(temporaries(in: shop) == [])
        try isWhole(shop.store)
    }
}
