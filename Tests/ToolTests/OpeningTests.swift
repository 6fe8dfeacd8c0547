import EventLoops
import SystemCalls
import Testing

@Suite struct OpeningTests {
    private let folder = try! TemporaryFolder()

    @Test func `A CSV file opens as a store in memory`() throws {
        _ = try folder.write("name,age\nRex,3\nFido,5\n", to: "my-dogs.csv")
        try Tool.run(
            ["my-dogs.csv"], input: "print(store:objects('MyDogs'):sum('age'))\n", in: folder.path
        ).expectOutput("imported my-dogs.csv: 2 MyDogs\n8\n", error: "")
    }

    @Test(arguments: ["dogs.json", "dogs.jsonl"])
    func `A JSON file opens as a store in memory`(name: String) throws {
        let rows = [#"{"name": "Rex"}"#, #"{"name": "Fido"}"#]
        _ = try folder.write(
            name.hasSuffix("l")
                ? rows.joined(separator: "\n") : "[" + rows.joined(separator: ",") + "]", to: name)
        _ = try folder.write("print(#store:objects 'Dogs', ...)", to: "count.lua")
        try Tool.run([name, "count.lua", "x"], in: folder.path).expectOutput(
            "imported \(name): 2 Dogs\n2\tx\n", error: "")
    }

    @Test func `An export opens with its classes`() throws {
        try Tool.run(
            ["zoo.moonpool"],
            input: """
                store:define { Cat = { name = "string" }, Dog = { name = "string" } }
                store:write(function() store:create("Dog", { name = "Rex" }) end)
                """, in: folder.path
        ).expectSuccess()
        try Tool.run(["export", "zoo.moonpool", "zoo.json"], in: folder.path).expectSuccess()
        let outcome = try Tool.run(
            ["zoo.json"], input: "print(store:objects('Dog')[1].name)\n", in: folder.path)
        #expect(outcome.lines.last == "Rex", "\(outcome.output)\(outcome.error)")
    }

    @Test(arguments: [
        "zoo.moonpool", "ZOO.MOONPOOL", "zoo.enc", "zoo.realm", "zoo.sqlite", "zoo.csv",
    ])
    func `A file with the name of data is never run as a script`(name: String) throws {
        let script = "print('RA' .. 'N')"
        _ = try folder.write(script, to: name)
        for words in [
            [name], ["--read-only", name], [name, "-e", "print(1)"], ["run", name],
            ["other.moonpool", name],
        ] {
            let outcome = try Tool.run(words, in: folder.path)
            #expect(!outcome.output.contains("RAN"), "\(words): \(outcome.output)")
            let isImported = name == "zoo.csv" && (words[0] == name || words[0] == "--read-only")
            if !isImported { #expect(outcome.exitCode != 0 && outcome.error != "", "\(words)") }
        }
        #expect(ProcessServices.read(folder.path + "/" + name, limit: 100) == Array(script.utf8))
    }

    @Test func `A script after a store runs with the store open`() throws {
        _ = try folder.write(
            "store:define { Dog = { name = 'string' } } print(#store:objects 'Dog', arg[0], arg[1], ...)",
            to: "script.lua")
        try Tool.run(["zoo.moonpool", "script.lua", "a"], in: folder.path).expectOutput(
            "0\tscript.lua\ta\ta\n", error: "")
    }

    @Test func `Options before and after a store are accepted`() throws {
        _ = try folder.write("id,name\n1,Rex\n2,Ada\n", to: "dogs.csv")
        _ = try folder.write("print(n, arg[0], arg[-4], ...)", to: "script.lua")
        let define = "store:define { Dog = { name = 'string' } }"
        #expect(try Tool.run(["zoo.moonpool", "-e", define], in: folder.path).output == "")
        for words in [
            ["-e", "print(#store:objects 'Dog')", "zoo.moonpool"],
            ["zoo.moonpool", "-e", "print(#store:objects 'Dog')"],
            ["-e", "n = #store:objects 'Dog'", "zoo.moonpool", "-e", "print(n)"],
        ] {
            try Tool.run(words, in: folder.path).expectOutput("0\n")
        }
        let script = try Tool.run(
            ["dogs.csv", "--read-only", "-e", "n = #store:objects 'Dogs'", "script.lua", "-e"],
            in: folder.path)
        #expect(script.output.hasSuffix("\n2\tscript.lua\tdogs.csv\t-e\n"), "\(script.output)")
        try Tool.run(["zoo.moonpool", "--nonsense"], in: folder.path).expectError(
            "unrecognized option '--nonsense'")
    }

    @Test func `A misspelled command gets a suggestion`() throws {
        let outcome = try Tool.run(["exprot", "zoo.moonpool"]).expectExit(64)
        #expect(
            outcome.error
                == "moonpool: there is no file or command 'exprot'; did you mean 'moonpool export'?\n"
        )
    }

    @Test func `A short option prints the help`() throws {
        let short = try Tool.run(["-h"]).expectSuccess()
        #expect(short.output == (try Tool.run(["--help"]).output))
        #expect(short.output.contains("USAGE: moonpool"))
    }

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
