import ScriptHost
import Testing

@Suite struct LuaCommandLineTests {
    func read(_ words: String...) throws -> LuaCommandLine {
        try LuaCommandLine(["moonpool"] + words)
    }

    @Test func `the parser uses the first word that is not an option as the script`() throws {
        let line = try read("-W", "a.lua", "-e", "x")
        #expect(line.source == .file("a.lua"))
        #expect(line.arguments == ["-e", "x"])
        #expect(line.steps == [.warnings])
        #expect(line.script == 2)
    }

    @Test func `the parser keeps the order of chunks and modules`() throws {
        let line = try read("-ex=1", "-l", "g=mod", "-e", "y=2", "-lutf8")
        #expect(
            line.steps == [
                .execute("x=1"), .require(module: "mod", global: "g"), .execute("y=2"),
                .require(module: "utf8", global: "utf8"),
            ])
        #expect(line.source == .none)
        #expect(line.hasChunks)
    }

    @Test func `the parser distinguishes standard input from a file called dash`() throws {
        #expect(try read("-", "a").source == .standardInput)
        #expect(try read("--", "-").source == .file("-"))
        #expect(try read("--").source == .none)
    }

    @Test func `the parser reads options and a script after a file of data`() throws {
        var line = try read("-W", "zoo.moonpool", "-e", "x", "a.lua", "-e")
        try line.readAfterSource()
        #expect(line.steps == [.warnings, .execute("x")])
        #expect(line.source == .file("a.lua"))
        #expect(line.arguments == ["-e"])
        #expect(line.script == 5)
        var alone = try read("zoo.moonpool")
        try alone.readAfterSource()
        #expect(alone.source == .none && alone.arguments.isEmpty && alone.script == 2)
    }

    @Test func `the parser shows the version with -v and -i`() throws {
        #expect(try read("-v").showsVersion)
        #expect(try read("-i").showsVersion)
        #expect(try read("-i").isInteractive)
        #expect(try read("-E").ignoresEnvironment)
        #expect(try read("--no-rc").skipsInitFile)
    }

    @Test(arguments: ["-x", "-vv", "-Ee", "--nonsense"])
    func `the parser refuses words that are not options`(word: String) {
        let error = #expect(throws: LuaCommandLine.UsageError.self) {
            try LuaCommandLine(["moonpool", word])
        }
        #expect(error?.option == word)
        #expect(error?.needsArgument == false)
    }

    @Test(arguments: [["-e"], ["-l"], ["-e", "-l"], ["-l", "-"]])
    func `the parser reports a missing argument of an option`(words: [String]) {
        let error = #expect(throws: LuaCommandLine.UsageError.self) {
            try LuaCommandLine(["moonpool"] + words)
        }
        #expect(error?.option == words[0])
        #expect(error?.needsArgument == true)
    }
}
