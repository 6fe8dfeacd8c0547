import Glibc
import Testing

/// Every command on files reports the error in one line, ends with an exit code, and leaves everything unchanged.
@Suite struct CommandFailureTests {
    let folder = try! TemporaryFolder()
    var store: String { folder.path + "/zoo.moonpool" }

    static let rows = "{\"id\":1,\"name\":\"Rex\"}\n{\"id\":2,\"name\":\"Max\"}\n"

    func makeStore() throws {
        let rows = try folder.write(Self.rows, to: "dogs.jsonl")
        try Tool.run(["import", store, rows, "--class", "Dog"]).expectSuccess()
    }

    func export() throws -> String {
        try Tool.run(["export", store, "-", "--format", "jsonl", "--class", "Dog"]).output
    }

    /// The commands, with `STORE`, `OUT` for the output file and `IN` for the input file.
    static let commands: [[String]] = [
        ["export", "STORE", "OUT.jsonl"], ["export", "STORE", "OUT.sqlite"],
        ["export", "STORE", "OUT.lua"], ["import", "STORE", "IN.jsonl", "--class", "Dog"],
        ["import", "STORE", "IN.jsonl", "--class", "Dog", "--dry-run"],
        ["backup", "STORE", "OUT.moonpool"], ["compact", "STORE"], ["check", "STORE"],
        ["schema", "STORE"], ["stats", "STORE"],
    ]

    /// The commands that only read or follow a store, with a script and a schema.
    static let readers: [[String]] = [
        ["watch", "STORE"], ["luals", "STORE"], ["lint", "script.lua", "--store", "STORE"],
        ["migrate", "plan", "STORE", "schema.lua"], ["migrate", "lint", "STORE", "schema.lua"],
    ]

    /// Writes the inputs of the commands, and returns the names of the files.
    func makeInputs() throws -> [String] {
        _ = try folder.write(Self.rows, to: "IN.jsonl")
        _ = try folder.write("print(1)\n", to: "script.lua")
        _ = try folder.write("return { Dog = { id = 'int primary' } }\n", to: "schema.lua")
        return TemporaryFolder.names(in: folder.path)
    }

    func run(_ words: [String], store: String? = nil) throws -> Tool.Outcome {
        let words = words.map { word -> String in
            if word == "STORE" { return store ?? self.store }
            return word.hasPrefix("OUT") || word.hasPrefix("IN") ? folder.path + "/" + word : word
        }
        return try Tool.run(words, in: folder.path)
    }

    func expectOneLine(_ outcome: Tool.Outcome, _ command: [String], _ parts: String...) {
        let shown = "\(command): \(outcome.exitCode) \(outcome.output)\(outcome.error)"
        let isReader = Self.readers.contains(command)
        #expect(outcome.exitCode == 1 || isReader && outcome.exitCode == 2, "\(shown)")
        #expect(outcome.error.hasPrefix("moonpool: "), "\(shown)")
        #expect(outcome.error.split(separator: "\n").count == 1, "\(shown)")
        for part in parts { #expect(outcome.error.contains(part), "\(shown)") }
    }

    @Test(arguments: [
        "schema STORE", "stats STORE", "check STORE", "migrate status STORE --dir DIR", "--help",
    ])
    func `output that cannot be written is an error`(command: String) throws {
        try makeStore()
        try #require(mkdir(folder.path + "/DIR", 0o755) == 0)
        _ = try folder.write("return { schema = {} }", to: "DIR/0001_none.lua")
        let words = "\(Tool.path) \(command) > /dev/full".replacing("STORE", with: "zoo.moonpool")
        let outcome = try Subprocess("/bin/sh", ["-c", words], in: folder.path).finish()
        expectOneLine(outcome, [command], "standard output", "No space left on device")
        let closed = words.replacing("> /dev/full", with: "| true")
        #expect(try Subprocess("/bin/sh", ["-c", closed], in: folder.path).finish().error == "")
    }

    // MARK: Missing files, and files of other kinds

    @Test(arguments: commands + readers)
    func `a missing store is reported, and not created`(command: [String]) throws {
        guard command[0] != "import" else { return }
        let before = try makeInputs()
        expectOneLine(try run(command), command, "zoo.moonpool")
        #expect(TemporaryFolder.names(in: folder.path) == before)
    }

    @Test(arguments: readers.prefix(3) + [["stats", "STORE"], ["schema", "STORE"]])
    func `an empty file is reported and unchanged`(command: [String]) throws {
        let empty = try folder.write("", to: "empty.moonpool")
        let before = try makeInputs()
        let outcome = try run(command, store: "empty.moonpool")
        expectOneLine(outcome, command, "'empty.moonpool' is empty")
        #expect(try contents(of: empty) == "")
        #expect(TemporaryFolder.names(in: folder.path) == before)
    }

    @Test func `check reports a file without data as empty`() throws {
        let empty = try folder.write("", to: "empty.moonpool")
        let outcome = try Tool.run(["check", "empty.moonpool"], in: folder.path)
        #expect(outcome.exitCode == 0 && outcome.output == "empty.moonpool is empty\n")
        #expect(try contents(of: empty) == "")
        #expect(TemporaryFolder.names(in: folder.path) == ["empty.moonpool"])
    }

    @Test(
        arguments: (commands + readers).map { ($0, "this is a letter\n") }
            + readers.map { ($0, "\0") })
    func `a file that is not a store is reported and unchanged`(
        command: [String], part: String
    ) throws {
        let text = String(repeating: part, count: 9000)
        let letter = try folder.write(text, to: "letter")
        let before = try makeInputs()
        expectOneLine(try run(command, store: letter), command, "letter")
        #expect(try contents(of: letter) == text)
        #expect(TemporaryFolder.names(in: folder.path) == before)
    }

    @Test(arguments: readers + commands.suffix(3))
    func `a folder is not a store`(command: [String]) throws {
        _ = try makeInputs()
        expectOneLine(try run(command, store: folder.path), command, folder.path)
    }

    @Test(arguments: commands + readers)
    func `a store of a newer format is unchanged`(command: [String]) throws {
        try makeStore()
        let before = try makeInputs()
        let file = open(store, O_WRONLY)
        // The version of the format after the magic number.
        #expect(pwrite(file, [9], 1, 20) == 1)
        close(file)
        expectOneLine(try run(command), command, "zoo.moonpool", "update to open it")
        #expect(TemporaryFolder.names(in: folder.path) == before)
    }

    @Test func `a truncated file is refused with its name`() throws {
        let filling = """
            local s = moonpool.open { path = arg[1], schema = { Dog = { name = "string" } } }
            s:write(function() for i = 1, 20000 do s:create("Dog", { name = "dog number " .. i }) end end)
            """
        try Tool.run(["-e", filling, "-", store]).expectSuccess()
        var status = stat()
        #expect(stat(store, &status) == 0 && truncate(store, status.st_size / 2) == 0)
        let opening =
            "local ok, err = pcall(moonpool.open, arg[1]) print(ok, err.code, err.message)"
        let outcome = try Tool.run(["-e", opening, "-", store])
        #expect(outcome.output.hasPrefix("false\tfile_corrupt\t"), "\(outcome)")
        #expect(outcome.output.contains("zoo.moonpool"), "\(outcome)")
    }

    @Test(arguments: [
        ("jsonl", "moonpool"), ("json", "moonpool"), ("csv", "a\"b\nx"), ("sqlite", "moonpool"),
        ("lua", "print 'x'"), ("jsonl", "{\"id\": 3, \"name\": \"ok\"}\n{\"id\": 4"),
        ("csv", "id,name\n3,ok\n4,\"x"), ("json", "[{\"id\": 3, \"name\": \"ok\"}, "),
        ("lua", "Dog {id = 3, name = 'ok'}\nDog {id = 4"),
    ])
    func `an invalid or truncated input changes nothing`(format: String, text: String) throws {
        try makeStore()
        let before = try export()
        let input = try folder.write(text, to: "input")
        let words = ["import", store, input, "--format", format]
        let outcome = try Tool.run(format == "sqlite" ? words : words + ["--class", "Dog"])
        expectOneLine(outcome, words)
        #expect(try export() == before)
        let new = folder.path + "/new.moonpool"
        let missing = try Tool.run(["import", new, folder.path + "/nothing.\(format)"])
        expectOneLine(missing, words, "nothing.\(format): No such file")
        #expect(access(new, F_OK) != 0)
    }

    @Test func `an export never overwrites its own store`() throws {
        try makeStore()
        let words = ["export", store, store, "--format", "jsonl"]
        expectOneLine(try Tool.run(words), words, "is the store itself")
        #expect(try export() == Self.rows)
    }

    @Test func `a database of a newer version of Moonpool is unchanged`() throws {
        try makeStore()
        let database = folder.path + "/zoo.sqlite"
        try Tool.run(["export", store, database]).expectSuccess()
        guard access("/usr/bin/sqlite3", X_OK) == 0 else { return }
        _ = try Subprocess(
            "/usr/bin/sqlite3",
            [database, "UPDATE moonpool SET value = '9' WHERE name = 'format'"]
        ).finish()
        let words = ["import", folder.path + "/new.moonpool", database]
        expectOneLine(try Tool.run(words), words, "newer version of Moonpool")
    }

    // MARK: Other processes

    @Test func `commands read while another process writes, and an import waits`() throws {
        try makeStore()
        let script = try folder.write(
            """
            local store = moonpool.open(arg[1])
            store:begin_write()
            store:create("Dog", { id = 9, name = "Cleo" })
            print "writing" io.flush()
            while not io.open(arg[2]) do end
            store:commit_write()
            """, to: "holder.lua")
        let holder = try Subprocess(
            Tool.path, [script, store, folder.path + "/stop"], until: "writing")
        for words in Self.commands where !["import", "compact"].contains(words[0]) {
            let outcome = try run(words)
            #expect(outcome.exitCode == 0, "\(words): \(outcome.error)")
        }
        let compact = try run(["compact", "STORE"])
        expectOneLine(compact, ["compact"], "is open in process")
        #expect(try export() == Self.rows)
        let more = try folder.write("{\"id\":3,\"name\":\"Bo\"}\n", to: "more.jsonl")
        let waiting = try Subprocess(Tool.path, ["import", store, more, "--class", "Dog"])
        _ = try folder.write("", to: "stop")
        try holder.finish().expectSuccess()
        try waiting.finish().expectSuccess()
        #expect(try export().split(separator: "\n").count == 4)
    }

    // MARK: Without permission

    /// Runs the tool as a user without permission to write here.
    func runUnprivileged(_ words: [String]) throws -> Tool.Outcome {
        let tool = try #require(FileCommandTests.unprivileged)
        return try Subprocess(tool[0], Array(tool[1...]) + words).finish()
    }

    @Test(
        .enabled(
            if: FileCommandTests.unprivileged != nil,
            "needs setpriv and a build folder that all users may read"))
    func `a file without permission is reported`() throws {
        try makeStore()
        let secret = try folder.write(Self.rows, to: "secret.jsonl")
        chmod(secret, 0)
        chmod(store, 0o444)
        chmod(store + "-lock", 0o444)
        chmod(folder.path, 0o555)
        defer { chmod(folder.path, 0o700) }
        for name in ["out.jsonl", "out.sqlite", "out.lua"] {
            let words = ["export", store, "\(folder.path)/\(name)"]
            expectOneLine(try runUnprivileged(words), words, name, "Permission denied")
        }
        let backup = ["backup", store, folder.path + "/copy"]
        expectOneLine(try runUnprivileged(backup), backup, "permission")
        let compact = ["compact", store]
        expectOneLine(try runUnprivileged(compact), compact, "permission")
        if geteuid() == 0 {
            let read = ["import", store, secret, "--class", "Dog"]
            expectOneLine(try runUnprivileged(read), read, "secret.jsonl: Permission denied")
        }
        let write = ["import", store, folder.path + "/dogs.jsonl", "--class", "Dog"]
        expectOneLine(try runUnprivileged(write), write, "permission")
        try runUnprivileged(["check", store]).expectSuccess()
        #expect(try export() == Self.rows)
    }
}
