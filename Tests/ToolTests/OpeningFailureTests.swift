import Testing

/// Data files and scripts on the command line that cannot be opened.
@Suite struct OpeningFailureTests {
    private let folder = try! TemporaryFolder()

    @Test func `A file name that begins with a digit gives a valid class name`() throws {
        _ = try folder.write("id,name\n1,Ann\n2,Ben\n", to: "2024.csv")
        let outcome = try Tool.run(
            ["2024.csv"], input: "print(store:objects('Data2024')[1].name)\n", in: folder.path)
        #expect(outcome.lines.last == "Ann", "\(outcome.output)\(outcome.error)")
    }

    @Test func `A missing script after a store is an error`() throws {
        try Tool.run(["zoo.moonpool", "nowhere.lua"], in: folder.path).expectError("nowhere.lua")
    }

    @Test func `A malformed data file is refused with its error`() throws {
        _ = try folder.write("[{\"id\":1},", to: "a.json")
        let outcome = try Tool.run(["a.json"], input: "print(1)", in: folder.path)
        #expect(outcome.exitCode == 1 && outcome.error.contains("a.json") && outcome.output == "")
    }

    @Test func `A file with the name of a similar command runs as a script`() throws {
        try Tool.run(["nothing-like-it"], in: folder.path).expectError("nothing-like-it")
        _ = try folder.write("print 'mine'", to: "stat")
        #expect(try Tool.run(["stat"], in: folder.path).output == "mine\n")
    }
}
