import Testing

/// The sessions that the pages show are what the program shows.
@Suite struct ReadmeSessionTests {
    @Test func `README's first session runs as it says`() throws {
        let sessions = try ReadmeTests.blocks("text", in: "README.md").filter {
            $0.hasPrefix("Moonpool ")
        }
        #expect(sessions.count == 1)
        let folder = try TemporaryFolder()
        for session in sessions {
            let path = try folder.write(session, to: "session.txt")
            let outcome = try Tool.run(["transcript", path])
            #expect(outcome.exitCode == 0, "\(outcome.output)\(outcome.error)")
        }
    }

    @Test func `transcripts that cannot be run are told of`() throws {
        let folder = try TemporaryFolder()
        #expect(try Tool.run(["transcript"]).exitCode == 64)
        let missing = try Tool.run(["transcript", "/nowhere"])
        #expect(missing.exitCode == 1)
        #expect(missing.error == "moonpool: cannot read /nowhere: No such file or directory\n")
        let empty = try folder.write("nothing\n", to: "empty.txt")
        let outcome = try Tool.run(["transcript", empty])
        #expect(outcome.exitCode == 1)
        #expect(outcome.output == "\(empty): no entries found\n")
        #expect(try Tool.run(["transcript", "--patience", "-1", empty]).exitCode == 64)
    }

    @Test func `entries of a session that was recorded from its middle on keep their numbers`()
        throws
    {
        let folder = try TemporaryFolder()
        let path = try folder.write(
            """
            -- A session of moonpool in 80 columns from entry 3; `moonpool transcript FILE` runs it again.
            moonpool> error 'x'
            entry 3:1: x
            """, to: "session.txt")
        #expect(try Tool.run(["transcript", "--patience", "0", path]).exitCode == 0)
    }

    @Test func `differences are shown with what was expected`() throws {
        let folder = try TemporaryFolder()
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
        let outcome = try Tool.run(["transcript", "--patience", "0", path])
        #expect(outcome.exitCode == 1)
        #expect(
            outcome.output == """
                \(path):6:
                moonpool> 'number ' .. 5
                expected:
                    "number 6"
                shown:
                    "number 5"
                \(path): 6 entries, 1 shown differently

                """)
    }
}
