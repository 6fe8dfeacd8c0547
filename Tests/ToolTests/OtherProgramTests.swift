import Glibc
import ObjectStore
import Testing

/// The scheduler of a thread without turns.
struct StillScheduler: Scheduler {
    struct NoWakeup: Wakeup {
        func wake() {}
        func cancel() {}
    }
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { NoWakeup() }
    var isOnThread: Bool { true }
    var canDeliver: Bool { true }
}

/// The programs that have a file open, as another program sees them.
@Suite struct OtherProgramTests {
    /// Opens the store, perhaps for reading only, and waits.
    private static let resident = """
        local store = moonpool.open { path = arg[1], read_only = arg[2] == "read" }
        token = store:observe(function(kind) if kind == "schema" then print "changed" io.flush() end end)
        print "ready" io.flush()
        moonpool.after(3600, print)
        """

    private func resident(_ shop: MigrationShop, _ mode: String = "") throws -> Subprocess {
        let script = try shop.folder.write(Self.resident, to: "resident.lua")
        return try Subprocess(Tool.path, [script, shop.store, mode], until: "ready")
    }

    @Test func `a program sees which others have a file open, and their version`() throws {
        let shop = try MigrationShop()
        try shop.migrate("up", "--to", "1").expectSuccess()
        let store = try Store(StoreConfiguration(.file(shop.store)), scheduler: StillScheduler())
        defer { store.close() }
        #expect(try store.otherPrograms() == [])

        let writing = try resident(shop)
        let reading = try resident(shop, "read")
        var programs = try store.otherPrograms()
        #expect(programs.map(\.command) == ["moonpool", "moonpool"])
        #expect(programs.map(\.schemaVersions) == [[1], [1]])

        let up = try shop.migrate("up", "--to", "2").expectSuccess()
        #expect(
            up.error.contains(
                "3 processes have the file open; their writes wait until the migration ends\n"),
            "\(up.error)")
        for process in [writing, reading] {
            try process.wait(within: 20) { process.output.contains("changed") }
        }
        programs = try store.otherPrograms()
        #expect(programs.map(\.schemaVersions) == [[2], [2]])

        for process in [writing, reading] { process.send(SIGKILL) }
        for process in [writing, reading] { #expect(try process.finish().exitCode == 137) }
        #expect(try store.otherPrograms() == [])
    }

    @Test func `a migration says nothing when no other process has the file open`() throws {
        let shop = try MigrationShop()
        #expect(try shop.migrate("up", "--to", "2").error == "")
        let waiting = try resident(shop)
        let up = try shop.migrate("up", "--json")
        #expect(up.error.contains("1 process has the file open; its writes wait"), "\(up.error)")
        #expect(try MigrationShop.json(up, "applied[1].number") == "3")
        withExtendedLifetime(waiting) {}
    }
}
