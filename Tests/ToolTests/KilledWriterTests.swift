import Glibc
import Testing

/// A commit that has returned survives later kills, and no commit is in the file partially.
@Suite struct KilledWriterTests {
    /// Each transaction adds an entry with three parts and increments the total.
    ///
    /// Prints a number only after its commit has returned.
    static let writer = """
        local store = moonpool.open {
          path = arg[1], durability = "full",
          schema = {
            Entry = { id = "int primary", text = "string fulltext", parts = "Part[]" },
            Part = { number = "int", text = "string indexed", indexes = { {"number", "text"} } },
            Total = { name = "string primary", count = "int" },
          },
        }
        local total = store:object("Total", "entries")
          or store:write(function() return store:create("Total", { name = "entries", count = 0 }) end)
        while true do
          local id = total.count + 1
          store:write(function()
            local parts = {}
            for number = 1, 3 do
              parts[number] = store:create("Part", { number = number, text = ("x"):rep(id * 37 % 2000) })
            end
            store:create("Entry", { id = id, text = "entry " .. id, parts = parts })
            total.count = id
          end)
          io.write(id, "\\n")
          io.flush()
        end
        """

    /// Prints the total of a consistent store, otherwise the inconsistency.
    static let checker = """
        local store = moonpool.open(arg[1])
        local total = store:object("Total", "entries")
        local count = total and total.count or 0
        assert(#store:objects "Entry" == count, "entries")
        assert(#store:objects "Part" == 3 * count, "parts")
        for id = 1, count do
          local entry = assert(store:object("Entry", id), "missing entry " .. id)
          assert(entry.text == "entry " .. id, "text")
          assert(#entry.parts == 3, "parts of " .. id)
          for number, part in ipairs(entry.parts) do
            assert(part.number == number and #part.text == id * 37 % 2000, "part of " .. id)
          end
        end
        print(count)
        """

    private static let rounds =
        getenv("MOONPOOL_KILLS").flatMap { Int(String(cString: $0)) } ?? 4

    @Test func `every acknowledged commit survives a kill of the writer`() throws {
        let folder = try TemporaryFolder()
        let store = folder.path + "/killed.moonpool"
        let writer = try folder.write(Self.writer, to: "writer.lua")
        let checker = try folder.write(Self.checker, to: "checker.lua")
        var acknowledged = 0
        var random = SystemRandomNumberGenerator()
        for round in 1...Self.rounds {
            let process = try Subprocess(Tool.path, [writer, store])
            // The kill follows a number of commits, so its time within the next commit is random.
            let enough = Int.random(in: 1...60, using: &random)
            try process.wait { process.output.utf8.count { $0 == 10 } >= enough }
            process.send(SIGKILL)
            let killed = try process.finish()
            #expect(killed.exitCode == 128 + SIGKILL, "\(killed.error)")
            // A line without a line break may be incomplete.
            let lines = killed.output.split(separator: "\n", omittingEmptySubsequences: false)
                .dropLast()
            acknowledged = lines.last.flatMap { Int($0) } ?? acknowledged
            // Opening a copy of the file applies its log, as after a power failure.
            let copy = folder.path + "/copy.moonpool"
            try StoreFiles.copy(store, to: copy)
            let recovered = try Tool.run([checker, copy])
            #expect(recovered.exitCode == 0, "round \(round): \(recovered.error)")
            #expect(
                Int(recovered.output.filter(\.isNumber)) ?? -1 >= acknowledged, "round \(round)")
            let sane = try Tool.run(["check", copy])
            #expect(sane.exitCode == 0, "round \(round): \(sane.output)\(sane.error)")
            let checked = try Tool.run([checker, store])
            #expect(checked.exitCode == 0, "round \(round): \(checked.error)")
            let found = try #require(Int(checked.output.filter(\.isNumber)))
            #expect(found >= acknowledged, "round \(round)")
            #expect(found <= acknowledged + 1, "round \(round)")
            let sound = try Tool.run(["check", store])
            #expect(sound.exitCode == 0, "round \(round): \(sound.output)\(sound.error)")
        }
    }
}
