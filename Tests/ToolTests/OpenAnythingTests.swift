import Foundation
import Testing

/// Files of data in the place of a store, scripts behind a store, and misspelt commands.
@Suite struct OpenAnythingTests {
    private func run(
        _ words: [String], input: String = "", in folder: TemporaryFolder
    ) throws -> Tool.Outcome {
        try Tool.run(words, input: input, in: folder.path)
    }

    @Test(arguments: [
        ("people.csv", "id,name,age\n1,Ann,30\n2,Ben,\n", "People"),
        ("rows.jsonl", "{\"id\":1,\"name\":\"Ann\"}\n{\"id\":2,\"name\":\"Ben\"}\n", "Rows"),
        ("my-dump.json", "[{\"id\":1,\"name\":\"Ann\"},{\"id\":2,\"name\":\"Ben\"}]", "MyDump"),
        ("2024.csv", "id,name\n1,Ann\n2,Ben\n", "Rows2024"),
    ])
    func `A file of data is opened as a store in memory with a class of its name`(
        name: String, content: String, className: String
    ) throws {
        let folder = try TemporaryFolder()
        _ = try folder.write(content, to: name)
        let script = "print(#store:objects '\(className)', store:objects('\(className)')[1].name)\n"
        let piped = try run([name], input: script, in: folder)
        #expect(piped.output == "2\tAnn\n", "\(piped.error)")
        _ = try folder.write(script, to: "look.lua")
        let behind = try run([name, "look.lua"], in: folder)
        #expect(behind.output == "2\tAnn\n" && behind.exitCode == 0, "\(behind.error)")
    }

    @Test func `A script behind a store runs with the store open and its own arguments`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("print(store.path, arg[0], arg[1], ...)", to: "look.lua")
        let outcome = try run(["zoo.moonpool", "look.lua", "a b"], in: folder)
        #expect(outcome.output == "zoo.moonpool\tlook.lua\ta b\ta b\n", "\(outcome.error)")
        #expect(outcome.exitCode == 0)
        let missing = try run(["zoo.moonpool", "nowhere.lua"], in: folder)
        #expect(missing.exitCode == 1 && missing.error.contains("cannot open nowhere.lua"))
    }

    @Test func `A broken file of data is refused with its fault`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("[{\"id\":1},", to: "a.json")
        let outcome = try run(["a.json"], input: "print(1)", in: folder)
        #expect(outcome.exitCode == 1 && outcome.error.contains("a.json") && outcome.output == "")
    }

    @Test func `A misspelt command gets a suggestion, and -h shows the help`() throws {
        let folder = try TemporaryFolder()
        let outcome = try run(["stat", "zoo.moonpool"], in: folder)
        #expect(outcome.exitCode == 64 && outcome.error.contains("did you mean 'moonpool stats'?"))
        let other = try run(["nothing-like-it"], in: folder)
        #expect(other.exitCode == 1 && other.error.contains("cannot open nothing-like-it"))
        #expect(try run(["-h"], in: folder).output == run(["--help"], in: folder).output)
        _ = try folder.write("print 'mine'", to: "stat")
        #expect(try run(["stat"], in: folder).output == "mine\n")
    }
}
