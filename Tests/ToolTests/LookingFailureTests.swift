import Glibc
import Testing

/// The commands that only read or follow a store report an error in one line and create no files.
@Suite struct LookingFailureTests {
    private let folder = try! TemporaryFolder()

    private static let commands: [[String]] = [
        ["watch", "STORE"], ["luals", "STORE"], ["lint", "script.lua", "--store", "STORE"],
        ["migrate", "plan", "STORE", "schema.lua"], ["migrate", "lint", "STORE", "schema.lua"],
    ]

    private func expectFailure(_ command: [String], store: String, _ parts: String...) throws {
        _ = try folder.write("print(1)\n", to: "script.lua")
        _ = try folder.write("return { Dog = { id = 'int primary' } }\n", to: "schema.lua")
        let before = TemporaryFolder.names(in: folder.path)
        let outcome = try Tool.run(
            command.map { $0 == "STORE" ? store : $0 }, in: folder.path)
        let shown = "\(command): \(outcome.exitCode) \(outcome.output)\(outcome.error)"
        #expect(outcome.exitCode == 1 || outcome.exitCode == 2, "\(shown)")
        #expect(outcome.error.hasPrefix("moonpool: "), "\(shown)")
        #expect(outcome.error.split(separator: "\n").count == 1, "\(shown)")
        for part in parts { #expect(outcome.error.contains(part), "\(shown)") }
        #expect(TemporaryFolder.names(in: folder.path) == before, "\(shown)")
    }

    @Test(arguments: commands)
    func `a missing store is reported, and not created`(command: [String]) throws {
        try expectFailure(command, store: "zoo.moonpool", "zoo.moonpool")
    }

    @Test(
        arguments: commands.prefix(3) + [
            ["stats", "STORE"], ["schema", "STORE"],
        ])
    func `an empty file is reported and unchanged`(command: [String]) throws {
        let empty = try folder.write("", to: "empty.moonpool")
        try expectFailure(command, store: "empty.moonpool", "'empty.moonpool' is empty")
        #expect(try contents(of: empty) == "")
    }

    @Test func `check reports a file without data as empty`() throws {
        let empty = try folder.write("", to: "empty.moonpool")
        let outcome = try Tool.run(["check", "empty.moonpool"], in: folder.path)
        #expect(outcome.exitCode == 0 && outcome.output == "empty.moonpool is empty\n")
        #expect(try contents(of: empty) == "")
        #expect(TemporaryFolder.names(in: folder.path) == ["empty.moonpool"])
    }

    @Test(arguments: commands, ["this is a letter\n", "\0"])
    func `a file that is not a store is reported`(command: [String], part: String) throws {
        let text = String(repeating: part, count: 9000)
        let letter = try folder.write(text, to: "letter.moonpool")
        try expectFailure(command, store: "letter.moonpool", "letter.moonpool")
        #expect(try contents(of: letter) == text)
    }

    @Test(arguments: commands)
    func `a folder is not a store`(command: [String]) throws {
        try expectFailure(command, store: ".", "'.'")
    }

    @Test(arguments: commands)
    func `a store of a newer format is unchanged`(command: [String]) throws {
        let rows = try folder.write(CommandFailureTests.rows, to: "dogs.jsonl")
        let store = folder.path + "/zoo.moonpool"
        let made = try Tool.run(["import", store, rows, "--class", "Dog"])
        #expect(made.exitCode == 0, "\(made.error)")
        let file = open(store, O_WRONLY)
        // The version of the format after the magic number.
        #expect(pwrite(file, [9], 1, 20) == 1)
        close(file)
        try expectFailure(command, store: store, "zoo.moonpool", "update to open it")
    }
}
