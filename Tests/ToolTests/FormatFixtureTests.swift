import Testing

/// Files that a build of each format has written can be opened, checked, read, written, copied and compacted.
///
/// A fixture is a store with a class Person, and the export of its current content. It is never written again: a new format
/// gets a new fixture.
@Suite struct FormatFixtureTests {
    private static let folder = Tool.root + "/Tests/ObjectStoreTests/Fixtures/"
    private static let names = TemporaryFolder.names(in: folder).filter {
        $0.hasSuffix(".moonpool")
    }.map { String($0.dropLast(".moonpool".count)) }.sorted()

    @Test func `the formats with a fixture`() {
        #expect(Self.names == ["format2", "format3", "format4", "format5"])
    }

    private static let use = """
        local store = moonpool.open(arg[1])
        store:define { Probe = { id = "int primary", text = "string indexed" } }
        store:write(function()
          store:create("Probe", { id = 1, text = "new" })
          for person in store:objects "Person":each() do
            person.age = (person.age or 0) + 1
            person.tags:append "later"
          end
        end)
        assert(#store:objects "Probe":where "text = 'new'" == 1)
        for person in store:objects "Person":each() do assert(person.tags:last() == "later") end
        assert(store:undo())
        assert(#store:objects "Probe" == 0)
        store:close()
        """

    @Test(arguments: names)
    func `a file of an earlier build is complete, and can be written`(name: String) throws {
        let folder = try TemporaryFolder()
        let store = folder.path + "/" + name + ".moonpool"
        func run(_ words: [String]) throws -> String {
            let outcome = try Tool.run(words)
            try #require(outcome.exitCode == 0, "\(words): \(outcome.output)\(outcome.error)")
            return outcome.output
        }
        let copying = try Subprocess("/bin/cp", [Self.folder + name + ".moonpool", store]).finish()
        try #require(copying.exitCode == 0)
        _ = try run(["check", store])
        let expected = try Subprocess("/bin/cat", [Self.folder + name + ".jsonl"]).finish().output
        let exporting = ["export", store, "-", "--format", "jsonl"]
        #expect(try run(exporting) == expected)
        let people = try run(exporting + ["--class", "Person"])
        _ = try run([folder.write(Self.use, to: "use.lua"), store])
        _ = try run(["check", store])
        #expect(try run(exporting + ["--class", "Person"]) == people)
        _ = try run(["backup", store, folder.path + "/copy.moonpool"])
        _ = try run(["compact", store])
        for path in [store, folder.path + "/copy.moonpool"] {
            _ = try run(["check", path])
            #expect(
                try run(["export", path, "-", "--format", "jsonl", "--class", "Person"]) == people)
        }
    }
}
