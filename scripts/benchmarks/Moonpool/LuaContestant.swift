/// Moonpool, used from a Lua script.
final class LuaContestant: Contestant {
    let name = Report.lua
    private var thread: LuaThread?
    private var folder = ""
    private var durability = Durability.full
    private var held: [Int64] = []

    func supports(_ durability: Durability) -> Bool { true }

    func open(folder: String, _ durability: Durability) throws {
        self.folder = folder
        self.durability = durability
        let thread = try LuaThread()
        self.thread = thread
        try Self.open(thread, folder, durability)
    }

    fileprivate static func open(
        _ thread: LuaThread, _ folder: String, _ durability: Durability
    ) throws {
        let word =
            switch durability {
            case .full: "full"
            case .soonAfter: "async"
            case .never: "memory"
            }
        _ = try thread.run("open", .text(SwiftContestant.path(folder)), .text(word))
    }

    func close() throws {
        _ = try thread?.run("close")
        thread?.end()
        thread = nil
    }

    private func opened() throws -> LuaThread {
        guard let thread else { throw BenchmarkError("Lua: not open") }
        return thread
    }

    /// Runs `step` on people that were generated earlier, in batches that fit in memory.
    private func insert(_ people: People, _ step: String) throws -> Double {
        let thread = try opened()
        var seconds = 0.0
        for from in stride(
            from: people.indices.lowerBound, to: people.indices.upperBound, by: 10_000)
        {
            let to = min(from + 10_000, people.indices.upperBound)
            let isRandom = people.keys == .random ? 1 : 0
            _ = try thread.run("prepare", .integer(from), .integer(to), .integer(isRandom))
            seconds += try thread.run(step).seconds
        }
        return seconds
    }

    func insert(_ people: People) throws -> Double {
        let thread = try opened()
        return try thread.run("begin_write").seconds + insert(people, "insert")
            + thread.run("commit_write").seconds
    }

    func insertEach(_ people: People) throws -> Double { try insert(people, "insert_each") }

    func updateScores(of keys: [Int64], from base: Int) throws -> Double {
        let thread = try opened()
        _ = try thread.run("hold", .keys(keys))
        return try thread.run("update_scores", .integer(base)).seconds
    }

    private func number(_ step: String, _ arguments: LuaThread.Argument...) throws -> Double {
        let thread = try opened()
        let numbers =
            switch arguments.count {
            case 0: try thread.run(step).numbers
            case 1: try thread.run(step, arguments[0]).numbers
            default: try thread.run(step, arguments[0], arguments[1]).numbers
            }
        guard let first = numbers.first else { throw BenchmarkError("Lua, \(step): no number") }
        return first
    }

    func sumOfAges() throws -> Int64 { Int64(try number("sum_of_ages")) }

    func hold(_ keys: [Int64]) throws { _ = try opened().run("hold", .keys(keys)) }

    func sumOfHeldAges() throws -> Int64 { Int64(try number("sum_of_held_ages")) }

    func sumOfAges(of keys: [Int64]) throws -> Int64 {
        Int64(try number("sum_of_ages_of", .keys(keys)))
    }

    func sumOfScores(of keys: [Int64]) throws -> Double {
        try number("sum_of_scores_of", .keys(keys))
    }

    func countOlder(than age: Int64) throws -> Int {
        Int(try number("count_older", .integer(Int(age))))
    }

    func countOlder(than age: Int64, namePrefix: String) throws -> Int {
        Int(try number("count_older_named", .integer(Int(age)), .text(namePrefix)))
    }

    func sumOfActiveScores() throws -> Double { try number("sum_of_active_scores") }

    func keysByScore() throws -> [Int64] {
        try opened().run("keys_by_score").numbers.map { Int64($0) }
    }

    func firstKeysByScore() throws -> [Int64] {
        try opened().run("first_keys_by_score").numbers.map { Int64($0) }
    }

    func deleteYounger(than age: Int64) throws -> Int {
        Int(try number("delete_younger", .integer(Int(age))))
    }
}

extension LuaContestant {
    func insertPets() throws { _ = try opened().run("insert_pets") }
    func insertClub() throws { _ = try opened().run("insert_club") }

    func observe(
        _ observed: Observed, isRemote: Bool, called: @escaping @Sendable (Int) -> Void
    ) throws -> (any Observation)? {
        let observer = try LuaThread(called: called)
        try Self.open(observer, folder, durability)
        let (step, age): (String, Int64) =
            switch observed {
            case .older(let age): ("observe_older", age)
            case .olderByScore(let age): ("observe_older_by_score", age)
            case .petsOfOlder(let age): ("observe_pets_of_older", age)
            case .club: ("observe_club", 0)
            }
        _ = try observer.run(step, .integer(Int(age)))
        // This script would receive the other process's commits as well, and take the observer's processor.
        if isRemote { _ = try opened().run("close") }
        return LuaObservation(observer)
    }

    func updateObserved(_ keys: [Int64], commits: Int) throws -> Double? {
        let thread = try opened()
        _ = try thread.run("observe_each", .keys(keys))
        let (seconds, numbers) = try thread.run("update_observed", .integer(commits))
        guard numbers == [Double(commits)] else {
            throw BenchmarkError("Lua: \(commits) commits, but \(numbers) calls")
        }
        _ = try thread.run("end_observers")
        return seconds
    }

    /// The script pauses itself, on the thread that commits.
    func rest() {}

    func setAge(_ age: Int64, of key: Int64) throws -> Beginning {
        try commit("set_age", .integer(Int(key)), .integer(Int(age)))
    }

    func setScore(_ score: Double, of key: Int64) throws -> Beginning {
        try commit("set_score", .integer(Int(key)), .integer(Int(score)))
    }

    func appendToClub(_ key: Int64) throws -> Beginning {
        try commit("append_to_club", .integer(Int(key)), .integer(0))
    }

    private func commit(
        _ step: String, _ key: LuaThread.Argument, _ value: LuaThread.Argument
    ) throws -> Beginning {
        let thread = try opened()
        let result = thread.start(step, [key, value])
        return {
            _ = try result()
            return thread.moments.began.load(ordering: .acquiring)
        }
    }
}

/// An observer in its own script.
private final class LuaObservation: Observation {
    private let thread: LuaThread
    init(_ thread: LuaThread) { self.thread = thread }

    func end() throws {
        _ = try thread.run("close")
        thread.end()
    }
}
