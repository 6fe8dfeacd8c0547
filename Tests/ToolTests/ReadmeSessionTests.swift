import Testing

/// The recorded sessions in the documentation match what the program shows.
@Suite struct ReadmeSessionTests {
    private let folder = try! TemporaryFolder()

    @Test func `README's first session matches the prompt`() throws {
        let sessions = try ReadmeTests.blocks("text", in: "README.md").filter {
            $0.hasPrefix("Moonpool ")
        }
        #expect(sessions.count == 1)
        for session in sessions {
            let path = try folder.write(session, to: "session.txt")
            try Tool.run(["transcript", path]).expectSuccess()
        }
    }

    @Test func `the picture of a session matches the prompt`() throws {
        let catalog = try #require(ReadmeTests.catalogs.first { $0.hasSuffix("/Moonpool.docc") })
        let resources = "\(Tool.root)/\(catalog)/Resources"
        try Tool.run(["transcript", resources + "/session.txt"]).expectSuccess()
        let picture = try Tool.run([Tool.root + "/scripts/picture.lua", resources + "/session.txt"])
        #expect(picture.error == "")
        #expect(
            try picture.output == contents(of: resources + "/session.svg"),
            "the picture is out of date: run scripts/picture")
    }

    @Test func `a missing or empty transcript is an error`() throws {
        try Tool.run(["transcript"]).expectExit(64)
        let missing = try Tool.run(["transcript", "/nowhere"]).expectExit(1)
        #expect(missing.error == "moonpool: cannot read /nowhere: No such file or directory\n")
        let empty = try folder.write("nothing\n", to: "empty.txt")
        let outcome = try Tool.run(["transcript", empty]).expectExit(1)
        #expect(outcome.output == "\(empty): no entries found\n")
        try Tool.run(["transcript", "--patience", "-1", empty]).expectExit(64)
    }

    @Test func `a session recorded from its middle keeps the numbers of its entries`() throws {
        let path = try folder.write(
            """
            -- A session of moonpool in 80 columns from entry 3; `moonpool transcript FILE` runs it again.
            moonpool> error 'x'
            entry 3:1: x
            """, to: "session.txt")
        try Tool.run(["transcript", "--patience", "0", path]).expectSuccess()
    }

    @Test func `a difference is shown with the expected output`() throws {
        let path = try folder.write(
            """
            moonpool> 6 * 7
            42
            moonpool> print('a\\nb\\nc') 'x'
            a
            ...
            moonpool> 'number ' .. 5
            "number 6"
            moonpool> tostring({})
            "table: …"
            moonpool> function f()
                   >> return 3
                   >> end
            moonpool> f()
            3
            """, to: "session.txt")
        let outcome = try Tool.run(["transcript", "--patience", "0", path]).expectExit(1)
        #expect(
            outcome.output == """
                \(path):6:
                moonpool> 'number ' .. 5
                expected:
                    "number 6"
                shown:
                    "number 5"
                \(path): 6 entries, 1 different

                """)
    }
}
