import Glibc
import Testing

/// Killing a process that creates a store leaves one that can be opened.
///
/// `MOONPOOL_KILLS=1000` kills 1000 processes; InterruptedFileWorkTests ends the other work on files at each call.
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

    @Test func `a store whose creation is killed is missing, empty or complete`() throws {
        let folder = try TemporaryFolder()
        let script = try folder.write(Self.use, to: "use.lua")
        var random = SystemRandomNumberGenerator()
        for round in 1...Self.rounds {
            let store = folder.path + "/created.moonpool"
            for suffix in ["", "-lock", "-log"] { unlink(store + suffix) }
            let process = try Subprocess(Tool.path, [script, store])
            usleep(UInt32.random(in: 0...120_000, using: &random))
            try process.kill()
            if access(store, F_OK) == 0 {
                let checked = try Tool.run(["check", store])
                #expect(checked.exitCode == 0, "round \(round): \(checked.output)\(checked.error)")
            }
            let used = try Tool.run([script, store])
            #expect(["1\n", "2\n"].contains(used.output), "round \(round): \(used.error)")
            let left = TemporaryFolder.names(in: folder.path).filter { $0.contains(".copy-") }
            #expect(left == [], "round \(round)")
        }
    }
}
