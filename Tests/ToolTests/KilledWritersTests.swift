import Glibc
import Testing

/// Two processes write one file alternately.
///
/// Confirmed commits survive the kill of both processes, and durable commits also survive a machine failure.
@Suite struct KilledWritersTests {
    /// Increments its own number and the common number, and prints its own number after each commit.
    private static let writer = """
        local store = moonpool.open {
          path = arg[1], durability = arg[3],
          schema = {
            Count = { name = "string primary", value = "int" },
            Step = { id = "string primary", by = "Count", text = "string fulltext", parts = "Part[]" },
            Part = { number = "int", text = "string indexed", indexes = { { "number", "text" } } },
          },
        }
        local function count(name)
          return store:object("Count", name) or store:create("Count", { name = name, value = 0 })
        end
        while true do
          local own
          store:write(function()
            own = count(arg[2])
            own.value = own.value + 1
            local all = count "all"
            all.value = all.value + 1
            local parts = {}
            for number = 1, 3 do
              parts[number] = store:create("Part", { number = number, text = ("x"):rep(own.value * 31 % 900) })
            end
            store:create("Step", { id = arg[2] .. own.value, by = own, text = "step " .. own.value, parts = parts })
          end)
          io.write(own.value, "\\n")
          io.flush()
        end
        """

    /// Prints both numbers of a consistent store.
    private static let checker = """
        local store = moonpool.open(arg[1])
        local function value(name) local c = store:object("Count", name) return c and c.value or 0 end
        local a, b = value "a", value "b"
        assert(value "all" == a + b, "the common number")
        assert(#store:objects "Step" == a + b and #store:objects "Part" == 3 * (a + b), "steps and parts")
        for name, last in pairs { a = a, b = b } do
          for number = 1, last do
            local step = assert(store:object("Step", name .. number), "a missing step")
            assert(step.by.name == name and step.text == "step " .. number and #step.parts == 3, "a wrong step")
            for n, part in ipairs(step.parts) do
              assert(part.number == n and #part.text == number * 31 % 900, "a wrong part")
            end
          end
        end
        print(a, b)
        """

    private static let rounds =
        (getenv("MOONPOOL_KILLS").flatMap { Int(String(cString: $0)) } ?? 6) / 3

    private func numbers(_ output: String) -> [Int] {
        output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    }

    @Test(arguments: [
        ("full", "full"), ("full", "async"), ("full", "memory"), ("memory", "memory"),
    ])
    func `acknowledged commits of two writers survive a kill of both`(
        first: String, second: String
    ) throws {
        let folder = try TemporaryFolder()
        let store = folder.path + "/killed.moonpool"
        let copy = folder.path + "/copy.moonpool"
        let writer = try folder.write(Self.writer, to: "writer.lua")
        let checker = try folder.write(Self.checker, to: "checker.lua")
        var random = SystemRandomNumberGenerator()
        var promised = [0, 0]
        for round in 1...Self.rounds {
            let writers = try [
                Subprocess(Tool.path, [writer, store, "a", first]),
                Subprocess(Tool.path, [writer, store, "b", second]),
            ]
            // One process may be killed long before the other.
            for process in writers.shuffled(using: &random) {
                let enough = Int.random(in: 1...80, using: &random)
                try process.wait { process.output.utf8.count { $0 == 10 } >= enough }
                process.send(SIGKILL)
            }
            for (index, process) in writers.enumerated() {
                let killed = try process.finish()
                #expect(killed.exitCode == 128 + SIGKILL, "\(killed.error)")
                let lines = killed.output.split(separator: "\n", omittingEmptySubsequences: false)
                promised[index] = lines.dropLast().last.flatMap { Int($0) } ?? promised[index]
            }
            try StoreFiles.copy(store, to: copy)
            let recovered = try Tool.run([checker, copy])
            #expect(recovered.exitCode == 0, "round \(round): \(recovered.error)")
            let kept = numbers(recovered.output)
            let checked = try Tool.run([checker, store])
            #expect(checked.exitCode == 0, "round \(round): \(checked.error)")
            let found = numbers(checked.output)
            try #require(kept.count == 2 && found.count == 2)
            for index in 0..<2 {
                #expect(found[index] >= promised[index], "round \(round)")
                #expect(found[index] <= promised[index] + 1, "round \(round)")
                // Writers do not wait for the commits of others, which a machine failure can lose.
                if [first, second][index] == "full" {
                    #expect(
                        kept[index] >= promised[index],
                        "round \(round), after the machine has stopped")
                }
            }
            for path in [store, copy] {
                let sound = try Tool.run(["check", path])
                #expect(sound.exitCode == 0, "round \(round): \(sound.output)\(sound.error)")
            }
        }
    }
}
