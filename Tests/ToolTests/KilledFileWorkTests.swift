import Glibc
import Testing

/// Killing a process that creates, compacts or copies a store loses no store, and each store can be opened.
///
/// `MOONPOOL_KILLS=1000` kills 1000 processes in each test.
@Suite struct KilledFileWorkTests {
    private static let rounds =
        getenv("MOONPOOL_KILLS").flatMap { Int(String(cString: $0)) } ?? 10

    /// Opens a store, with a schema if it is new, writes one object, and prints the number of objects.
    private static let use = """
        local store = moonpool.open { path = arg[1], schema = { Entry = { id = "int primary", text = "string" } } }
        store:write(function() store:create("Entry", { id = #store:objects "Entry" + 1, text = "more" }) end)
        print(#store:objects "Entry")
        store:close()
        """

    /// A number of microseconds in which the tool does part of its work.
    private func pause(_ random: inout SystemRandomNumberGenerator) -> UInt32 {
        UInt32.random(in: 0...120_000, using: &random)
    }

    private func leftovers(_ folder: TemporaryFolder) -> [String] {
        TemporaryFolder.names(in: folder.path).filter { $0.contains(".copy-") }
    }

    @Test func `a store whose creation is killed is missing, empty or complete`() throws {
        let folder = try TemporaryFolder()
        let script = try folder.write(Self.use, to: "use.lua")
        var random = SystemRandomNumberGenerator()
        for round in 1...Self.rounds {
            let store = folder.path + "/created.moonpool"
            for suffix in ["", "-lock", "-log"] { unlink(store + suffix) }
            let process = try Subprocess(Tool.path, [script, store])
            usleep(pause(&random))
            try process.kill()
            if access(store, F_OK) == 0 {
                let checked = try Tool.run(["check", store])
                #expect(checked.exitCode == 0, "round \(round): \(checked.output)\(checked.error)")
            }
            let used = try Tool.run([script, store])
            #expect(["1\n", "2\n"].contains(used.output), "round \(round): \(used.error)")
            #expect(leftovers(folder) == [], "round \(round)")
        }
    }

    @Test(arguments: ["compact", "backup"])
    func `a store is complete after its compaction or copying is killed`(command: String) throws {
        let folder = try TemporaryFolder()
        let store = folder.path + "/kept.moonpool"
        let copy = folder.path + "/copy.moonpool"
        let fill = try folder.write(
            """
            local store = moonpool.open { path = arg[1], schema = { Entry = { id = "int primary", text = "string" } } }
            for round = 1, 5 do
              store:write(function()
                store:delete_all "Entry"
                for id = 1, 3000 do store:create("Entry", { id = id, text = ("x"):rep(id % 300) }) end
              end)
            end
            store:close()
            """, to: "fill.lua")
        try Tool.run([fill, store]).expectSuccess()
        let use = try folder.write(Self.use, to: "use.lua")
        var random = SystemRandomNumberGenerator()
        for round in 1...Self.rounds {
            for suffix in ["", "-lock", "-log"] { unlink(copy + suffix) }
            let words = command == "backup" ? [command, store, copy] : [command, store]
            let process = try Subprocess(Tool.path, words)
            usleep(pause(&random))
            try process.kill()
            for path in [store, copy] where access(path, F_OK) == 0 {
                let checked = try Tool.run(["check", path])
                #expect(checked.exitCode == 0, "round \(round): \(checked.output)\(checked.error)")
            }
            let used = try Tool.run([use, store])
            #expect(used.output == "\(3000 + round)\n", "round \(round): \(used.error)")
        }
        // The next process with the same work removes the files that killed processes have left.
        try Tool.run(["compact", store]).expectSuccess()
        try Tool.run(["backup", store, copy, "--force"]).expectSuccess()
        #expect(leftovers(folder) == [])
    }
}
