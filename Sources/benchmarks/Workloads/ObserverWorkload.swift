import Glibc
import Synchronization

/// W8: from the start of a commit until the observer on another thread knows what changed.
///
/// The observer watches half of all objects; should cost the same whatever their number.
enum ObserverWorkload {
    static func run(_ bench: Bench) throws {
        for size in [10_000, 100_000, 1_000_000] where size <= bench.options.size {
            let row = Row(
                title: "W8 commit to callback, \(Report.number(Double(size))) objects",
                unit: .microseconds, swift: .atMost(80), lua: .atMost(120))
            let people = People(indices: 0..<size)
            // Comparing whole results takes a tenth of a second each at a million rows.
            let commits = size > 100_000 ? 40 : 200
            try bench.repeatEach(row, repetitions: min(3, bench.options.repetitions)) {
                contestant in
                let folder = bench.folder(contestant, "observe-\(size)")
                try Files.makeEmpty(folder)
                defer { Files.remove(folder) }
                try contestant.open(folder: folder, .never)
                _ = try contestant.insert(people)
                defer { try? contestant.close() }
                // Each key once, so that every change is one that the observer must see.
                var seen: Set<Int64> = []
                let keys = people.randomKeys(commits, seed: 8).filter { seen.insert($0).inserted }
                guard let median = try measure(contestant, people, keys) else { return nil }
                return (median * 1e6, [Double(commits)])
            }
        }
    }

    /// The median seconds of alternating changes: a person enters or leaves the result, then one inside it
    /// changes its score.
    private static func measure(
        _ contestant: any Contestant, _ people: People, _ keys: [Int64]
    ) throws -> Double? {
        let calls = Calls()
        let observation = try contestant.observeOlder(than: 50) { rows in calls.add(rows) }
        guard let observation else { return nil }
        var samples: [Double] = []
        for (number, key) in keys.enumerated() {
            let person = people.person(Int(key))
            usleep(1000)  // so that the observer's thread sleeps, as it would in a quiet program
            let before = calls.count.load(ordering: .acquiring)
            let start: UInt64
            if number % 2 == 0 {
                start = try contestant.setAge(person.age > 50 ? 10 : 90, of: key)
            } else if person.age > 50 {
                start = try contestant.setScore(Double(2000 + number), of: key)
            } else {
                continue
            }
            try calls.wait(for: before + 1)
            samples.append(Double(calls.moment.load(ordering: .acquiring) - start) / 1e9)
        }
        try observation.end()
        guard calls.rows.load(ordering: .acquiring) == samples.count else {
            throw BenchmarkError("\(contestant.name): the observer saw another number of changes")
        }
        return median(samples)
    }
}

/// What the observer's thread reports to the writer's.
private final class Calls: Sendable {
    let count = Atomic(0)
    let rows = Atomic(0)
    let moment = Atomic<UInt64>(0)

    func add(_ changedRows: Int) {
        moment.store(nanoseconds(), ordering: .releasing)
        rows.add(changedRows, ordering: .relaxed)
        count.add(1, ordering: .releasing)
    }

    func wait(for expected: Int) throws {
        let deadline = nanoseconds() + 10_000_000_000
        while count.load(ordering: .acquiring) < expected {
            guard nanoseconds() < deadline else {
                throw BenchmarkError("no callback in ten seconds")
            }
            usleep(20)
        }
    }
}
