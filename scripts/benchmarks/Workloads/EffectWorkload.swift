import EventLoops
import ScriptHost
import StoreBindings
import Synchronization

/// W18: an effect that reads the count and a sum of half of all objects, from a commit to the end of its rerun.
///
/// Each commit changes one of these objects. The row is the median of the commits.
enum EffectWorkload {
    private static let row = Row(
        title: "W18 effect over count and sum of half of the objects", unit: .microseconds,
        lua: .atMost(60))

    private static let code = """
        local path, count, clock = ...
        local store = moonpool.open {
          path = path, durability = "memory",
          schema = { Dog = { id = "int primary", age = "int", chosen = "bool" } },
        }
        for from = 1, count, 100000 do
          store:write(function()
            for id = from, math.min(count, from + 99999) do
              store:create("Dog", { id = id, age = id % 100, chosen = id % 2 == 0 })
            end
          end)
        end
        local chosen = store:objects "Dog":where "chosen == true"
        local number, sum, committed, took
        local effect = moonpool.effect(function()
          number, sum = chosen:count(), chosen:sum "age"
          if committed then
            took = clock() - committed
            committed = nil
          end
        end)
        local times = {}
        for round = 1, 500 do
          local id = 2 * (round * 37 % (count // 2)) + 2
          store:write(function() store:object("Dog", id).age = 1000 + round end)
          committed = clock()
          moonpool.wait_until(function() return not committed end)
          times[round] = took
        end
        effect:dispose()
        table.sort(times)
        return times[#times // 2] / 1e9, number, sum
        """

    static func run(_ bench: Bench) throws {
        let contestants = bench.contestants.filter { $0.name == Report.lua }
        guard bench.options.includes(row), let contestant = contestants.first else { return }
        try bench.repeatEach(row, among: contestants) { _ in
            let folder = bench.folder(contestant, "effect")
            try Files.makeEmpty(folder)
            let (seconds, answer) = try measure("\(folder)/store", bench.options.size)
            return (row.unit.value(seconds), answer)
        }
    }

    private static func measure(_ path: String, _ count: Int) throws -> (Double, [Double]) {
        let outcome = Mutex<(values: [Double], failure: String?)>(([], nil))
        let script = try Script(ScriptConfiguration(name: "effect")) { context in
            let clock = ContinuousClock()
            let begin = clock.now
            let nanoseconds = context.state.makeFunction("clock") { call in
                let (seconds, attoseconds) = (clock.now - begin).components
                return call.answer(.integer(seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
            }
            do {
                let values = try context.state.run(
                    code, name: "=effect",
                    arguments: [.text(path), .integer(Int64(count)), .function(nanoseconds)])
                outcome.withLock { $0.values = values.map { $0.number ?? 0 } }
            } catch {
                outcome.withLock { $0.failure = "\(error)" }
            }
            return 0
        }
        _ = script.wait()
        let (values, failure) = outcome.withLock { $0 }
        guard failure == nil, let seconds = values.first else {
            throw BenchmarkError(failure ?? "the effect was not measured")
        }
        return (seconds, Array(values.dropFirst()))
    }
}
