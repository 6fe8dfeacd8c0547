import Glibc

/// W2: many small transactions.
enum CommitWorkload {
    private static let durable = Row(
        title: "W2 one property per commit, durable", unit: .perSecond, swift: .ofSQLite(1),
        lua: .ofSQLite(0.9))
    private static let together = Row(
        title: "W2 one property per commit, durable, 8 threads", unit: .perSecond,
        swift: .ofSQLite(2))
    private static let writers = 8
    private static let soonAfter = Row(
        title: "W2 one property per commit, async", unit: .perSecond, swift: .atLeast(60_000),
        lua: .atLeast(50_000))
    private static let unflushed = Row(
        title: "W2 one property per commit, no flush", unit: .perSecond, swift: .atLeast(60_000),
        lua: .atLeast(50_000))
    private static let insertion = Row(
        title: "W2 one insert per commit, no flush", unit: .perSecond, swift: .atLeast(80_000),
        lua: .atLeast(60_000))

    static func run(_ bench: Bench) throws {
        let many = bench.options.isQuick ? 10_000 : 50_000
        let durableOnes = bench.options.isQuick ? 500 : 2000
        try onCopies(bench, durable) { try update(bench, $0, .full, commits: durableOnes) }
        try onCopies(bench, together) { try updateTogether(bench, $0, commits: durableOnes * 4) }
        try onCopies(bench, soonAfter) { try update(bench, $0, .soonAfter, commits: many) }
        try onCopies(bench, unflushed) { try update(bench, $0, .never, commits: many) }
        try onCopies(bench, insertion) { try insert(bench, $0, commits: many) }
    }

    /// Gives each contestant a copy of its file, so that rows do not affect each other.
    private static func onCopies(
        _ bench: Bench, _ row: Row, _ work: (Row) throws -> Void
    ) throws {
        guard bench.options.includes(row) else { return }
        for contestant in bench.contestants {
            try Files.copy(bench.mainFolder(contestant), to: bench.folder(contestant, "commits"))
        }
        defer {
            for contestant in bench.contestants {
                Files.remove(bench.folder(contestant, "commits"))
            }
        }
        try work(row)
    }

    private static func update(
        _ bench: Bench, _ row: Row, _ durability: Durability, commits: Int
    ) throws {
        let keys = bench.people.randomKeys(commits, seed: 2)
        // Different values each time: SQLite does not write a row that stays equal.
        var updated: [String: Int] = [:]
        let able = bench.contestants.filter { $0.supports(durability) }
        try bench.repeatEach(row, among: able) { contestant in
            try contestant.open(folder: bench.folder(contestant, "commits"), durability)
            let base = updated[contestant.name, default: 0]
            updated[contestant.name] = base + commits
            let seconds = try contestant.updateScores(of: keys, from: base)
            let sum = try contestant.sumOfScores(of: keys)
            try contestant.close()
            return (row.unit.value(seconds, count: commits), [sum - Double(base * commits)])
        }
    }

    /// The same updates by several threads, each of which opens the file itself.
    private static func updateTogether(_ bench: Bench, _ row: Row, commits: Int) throws {
        let keys = bench.people.randomKeys(commits, seed: 3)
        let share = commits / writers
        var updated: [String: Int] = [:]
        let able = bench.contestants.filter { [Report.swift, "SQLite"].contains($0.name) }
        try bench.repeatEach(row, among: able) { contestant in
            let (name, folder) = (contestant.name, bench.folder(contestant, "commits"))
            let base = updated[name, default: 0]
            updated[name] = base + commits
            let begin = nanoseconds()
            let threads = (0..<writers).map { number in
                Thread {
                    do {
                        let writer = makeContestants().first { $0.name == name }
                        try writer?.open(folder: folder, .full)
                        let own = Array(keys[number * share..<(number + 1) * share])
                        _ = try writer?.updateScores(of: own, from: base)
                        try writer?.close()
                    } catch {
                        printError("\(name): \(error)")
                        exit(1)
                    }
                }
            }
            for thread in threads { thread.join() }
            let seconds = Double(nanoseconds() - begin) / 1e9
            return (row.unit.value(seconds, count: share * writers), [])
        }
    }

    private static func insert(_ bench: Bench, _ row: Row, commits: Int) throws {
        var inserted: [String: Int] = [:]
        try bench.repeatEach(row) { contestant in
            let next = bench.options.size + inserted[contestant.name, default: 0]
            inserted[contestant.name, default: 0] += commits
            let people = People(indices: next..<next + commits)
            try contestant.open(folder: bench.folder(contestant, "commits"), .never)
            let seconds = try contestant.insertEach(people)
            let sum = try contestant.sumOfAges(of: people.indices.map(people.key))
            try contestant.close()
            let expected = people.indices.reduce(Int64(0)) { $0 + people.person($1).age }
            return (row.unit.value(seconds, count: commits), [Double(sum - expected)])
        }
    }
}
