import ObjectStore
import TestThreads
import Testing
import Transfer

/// Random commits that are recorded as a change stream, and replayed into an empty store.
@Suite struct ChangeStreamRoundTripTests {
    private func rows(_ store: Store, _ world: ReplicationWorld, _ name: String) throws
        -> [Substring]
    {
        try ReplicationWorld.export(store, "\(world.folder)/\(name).jsonl").split(separator: "\n")
    }

    private func options(_ seed: Int) -> ChangeRecording.Options {
        var options = ChangeRecording.Options()
        options.hasOldValues = seed % 2 == 0
        return options
    }

    @Test(arguments: RandomSeeds.sample(2, of: 0..<4), [false, true])
    func `a replay of all commits, or from a snapshot, creates a store with the same export`(
        seed: Int, hasSnapshot: Bool
    ) throws {
        let world = try ReplicationWorld()
        let source = try world.open(
            "source", ReplicationWorld.schema(RandomCommits.schema), scheduler: TestThread())
        var commits = RandomCommits(seed: UInt64(seed))
        for _ in 0..<(hasSnapshot ? 40 : 0) { try commits.commit(source) }
        let path = world.folder + "/changes.jsonl"
        var options = options(seed)
        options.beginsWithSnapshot = hasSnapshot
        let recording = try ChangeRecording(of: source, to: path, options: options)
        for round in 0..<(hasSnapshot ? 40 : 80) {
            try commits.commit(source)
            if round % 10 == 9 { _ = try source.undo() }
        }
        recording.stop()
        let copy = try world.open("copy")
        try ChangeReplay(into: copy).run(path)
        #expect(try rows(copy, world, "b") == rows(source, world, "a"))
        #expect(try copy.objects("Dog").count() > 10)
    }

    @Test func `links to objects of later lines do not change the order of the rows`() throws {
        let world = try ReplicationWorld()
        let path = world.folder + "/changes.jsonl"
        try ReplicationWorld.write(
            """
            {"$changes":1,"version":1,"schema":{"Dog":{"id":"int primary","friend":"Dog","pack":"Dog[]","any":"mixed"}}}
            {"change":"inserted","class":"Dog","key":1,"values":{"id":1,"friend":3,"pack":[2,1],"any":{"$link":["Dog",2]}}}
            {"change":"inserted","class":"Dog","key":2,"values":{"id":2,"friend":null,"pack":[],"any":null}}
            {"change":"inserted","class":"Dog","key":3,"values":{"id":3,"friend":1,"pack":[3],"any":[3]}}
            {"change":"commit","count":3}
            {"$changes":1,"version":2}
            {"change":"deleted","class":"Dog","key":2}
            {"change":"commit","count":1}
            {"change":"inserted","class":"Dog","key":4,"number":5,"values":{"id":4,"friend":null,"pack":[],"any":null}}
            {"change":"inserted","class":"Dog","key":2,"number":1,"values":{"id":2,"friend":4,"pack":[],"any":null}}
            {"change":"commit","count":2}

            """, to: path)
        let copy = try world.open("copy")
        try ChangeReplay(into: copy).run(path)
        #expect(
            try rows(copy, world, "b").dropFirst() == [
                #"{"$class":"Dog","id":1,"friend":3,"pack":[1],"any":null}"#,
                #"{"$class":"Dog","id":2,"friend":4,"pack":[],"any":null}"#,
                #"{"$class":"Dog","id":3,"friend":1,"pack":[3],"any":[3]}"#,
                #"{"$class":"Dog","id":4,"friend":null,"pack":[],"any":null}"#,
            ])
    }

    @Test func `objects without primary key keep their numbers, unless these are far apart`() throws
    {
        let world = try ReplicationWorld()
        let path = world.folder + "/changes.jsonl"
        func replay(_ numbers: [Int64]) throws -> [Int64] {
            var text = "{\"$changes\":1,\"version\":1,\"schema\":{\"Toy\":{\"name\":\"string\"}}}\n"
            for number in numbers {
                text +=
                    "{\"change\":\"inserted\",\"class\":\"Toy\",\"key\":{\"$key\":\(number)},\"values\":{\"name\":\"\(number)\"}}\n"
            }
            text += "{\"change\":\"commit\",\"count\":\(numbers.count)}\n"
            try ReplicationWorld.write(text, to: path)
            let copy = try world.open("copy\(numbers.count)")
            try ChangeReplay(into: copy).run(path)
            return try copy.objects("Toy").keys().map(\.rawValue)
        }
        #expect(try replay([3, 900, 5]) == [3, 5, 900])
        #expect(try replay([Int64.max, 0, -1, 1 << 40]).count == 4)
        // A file cannot make a store grow with large object numbers.
        let far = try replay((1...100).map { $0 * 1_000_000 })
        #expect(far.count == 100)
        #expect(try #require(far.max()) < 3_000_000)
    }
}

/// The thread of a test, on which observers can run; commits of the store notify them before they return.
private struct TestThread: Scheduler, @unchecked Sendable {
    // Unchecked because it has no state.
    private struct Never: Wakeup {
        func wake() {}
        func cancel() {}
    }

    var isOnThread: Bool { true }
    var canDeliver: Bool { true }
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { Never() }
}
