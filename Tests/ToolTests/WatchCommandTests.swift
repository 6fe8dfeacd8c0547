import Glibc
import Testing

/// `moonpool watch`, as a user runs it.
@Suite struct WatchCommandTests {
    private let folder = try! TemporaryFolder()

    private static let open = """
        local store = moonpool.open {
          path = arg[1], durability = "memory",
          schema = { Dog = { id = "int primary", name = "string", age = "int?" } },
        }

        """

    private func makeStore(_ folder: TemporaryFolder) throws -> String {
        let store = folder.path + "/zoo.moonpool"
        _ = try change(folder, store, "")
        return store
    }

    private func change(_ folder: TemporaryFolder, _ store: String, _ code: String) throws {
        let script = try folder.write(Self.open + code, to: "change.lua")
        try Tool.run([script, store]).expectSuccess()
    }

    private static let changes = """
        store:write(function() store:create("Dog", { id = 1, name = "Rex", age = 3 }) end)
        store:write(function() store:object("Dog", 1).age = 4 end)
        store:write(function() store:delete(store:object("Dog", 1)) end)
        """

    @Test(arguments: [SIGINT, SIGTERM])
    func `changes of other processes are printed as text until a signal`(signal: Int32) throws {
        let store = try makeStore(folder)
        let watch = try Subprocess(Tool.path, ["watch", store], until: "at version")
        // The writes run one after the other; otherwise they may be reported together.
        for (code, sign) in zip(Self.changes.split(separator: "\n"), ["+", "~", "-"]) {
            try change(folder, store, String(code))
            try watch.wait { watch.output.contains("  \(sign) Dog 1") }
        }
        watch.send(signal)
        let outcome = try watch.finish()
        #expect(outcome.exitCode == 0 && outcome.error == "")
        let shown = outcome.lines.filter { $0.hasPrefix("  ") }
        #expect(
            shown == [
                "  + Dog 1 {\"id\":1,\"age\":3,\"name\":\"Rex\"}", "  ~ Dog 1 age 3 → 4",
                "  - Dog 1 {\"id\":1,\"age\":4,\"name\":\"Rex\"}",
            ])
        #expect(outcome.lines[1].hasPrefix("version "))
    }

    @Test func `with a query, only its objects are printed`() throws {
        let store = try makeStore(folder)
        let watch = try Subprocess(
            Tool.path, ["watch", store, "Dog where age > 3", "--json"], until: "$changes")
        for code in Self.changes.split(separator: "\n") {
            try change(folder, store, String(code))
        }
        try watch.wait { watch.output.contains("deleted") }
        watch.send(SIGINT)
        let outcome = try watch.finish()
        #expect(outcome.exitCode == 0 && outcome.error == "")
        #expect(outcome.output.contains("\"change\":\"inserted\",\"class\":\"Dog\",\"key\":1"))
        #expect(!outcome.output.contains("\"age\":3,"))
    }

    @Test func `the JSON Lines of watch can be replayed`() throws {
        let store = try makeStore(folder)
        let watch = try Subprocess(Tool.path, ["watch", "--json", store], until: "$changes")
        try change(folder, store, Self.changes)
        try change(
            folder, store,
            "store:write(function() store:create(\"Dog\", { id = 2, name = \"Max\" }) end)")
        try watch.wait { watch.output.contains("Max") && watch.output.hasSuffix("}\n") }
        watch.send(SIGTERM)
        let outcome = try watch.finish()
        let recorded = try folder.write(outcome.output, to: "changes.jsonl")
        try Tool.lua(
            """
            local store = moonpool.open { in_memory = "copy" }
            moonpool.replay("\(recorded)", store)
            print(#store:objects "Dog", store:object("Dog", 2).name)
            """
        ).expectOutput("1\tMax\n")
    }

    @Test func `a stream that begins with a snapshot is replayed into an empty store`() throws {
        let store = try makeStore(folder)
        try change(
            folder, store,
            "store:write(function() store:create(\"Dog\", { id = 1, name = \"Rex\", age = 3 }) end)"
        )
        let watch = try Subprocess(
            Tool.path, ["watch", "--json", "--snapshot", "--no-old-values", store])
        try watch.wait { watch.output.contains("\"change\":\"commit\"") }
        try change(folder, store, "store:write(function() store:object(\"Dog\", 1).age = 4 end)")
        try watch.wait { watch.output.contains("modified") && watch.output.hasSuffix("}\n") }
        watch.send(SIGTERM)
        let outcome = try watch.finish()
        #expect(outcome.lines.first?.contains("\"snapshot\":true") == true)
        #expect(!outcome.output.contains("\"old\""))
        let recorded = try folder.write(outcome.output, to: "changes.jsonl")
        try Tool.lua(
            """
            local store = moonpool.open { in_memory = "copy" }
            print(moonpool.replay("\(recorded)", store))
            print(store:object("Dog", 1).name, store:object("Dog", 1).age)
            """
        ).expectOutput("2\t2\nRex\t4\n")
    }

    @Test func `options of watch that require JSON Lines report an error`() throws {
        let store = try makeStore(folder)
        try Tool.run(["watch", store, "--snapshot"]).expectError("add --json")
        try Tool.run(["watch", store, "Dog", "--json", "--snapshot"]).expectError("omit the query")
    }

    @Test func `watch ends when its output is closed`() throws {
        let store = try makeStore(folder)
        let shell = try Subprocess(
            "/bin/sh", ["-c", "\"$0\" watch \"$1\" | head -n 1; echo ended", Tool.path, store])
        let outcome = try shell.finish()
        #expect(outcome.lines.count == 2 && outcome.lines.last == "ended")
        #expect(outcome.error == "" && outcome.exitCode == 0)
    }

    @Test func `an invalid query of watch is an error with exit code 1`() throws {
        let store = try makeStore(folder)
        try Tool.run(["watch", store, "Dgo"]).expectError("Dog")
        try Tool.run(["watch", store, "Dog where ago > 3"]).expectError("age")
        try Tool.run(["watch"]).expectError("watch", code: 64)
        #expect(try Tool.run(["watch", "--help"]).output.contains("Dog where age > 3"))
    }
}
