import ObjectStore
import Testing

/// Reads outside of reactions, whose changes a host receives.
@Suite struct ReadSubscriptionTests {
    /// Counts the changes of the reads of one scope.
    private final class Reads {
        var isTracking = false
        /// Whether the host still waits for the reads.
        var isWaiting = true
        var reads = 0
        var changes = 0

        final class Read: ReadSubscriber {
            let reads: Reads
            init(_ reads: Reads) { self.reads = reads }
            func didRead() { reads.reads += 1 }
            func didChange() { reads.changes += 1 }
            var isWaiting: Bool { reads.isWaiting }
        }

        /// The number of changes since the last call.
        func news() -> Int {
            defer { changes = 0 }
            return changes
        }
    }

    private let store: Store
    private let scheduler = ManualScheduler()
    private let reads = Reads()
    private let subscriptions: ReadSubscriptions

    init() throws {
        store = try Store.temporary(
            [
                ClassSchema("Dog", "name: string primary, age: int, tags: string[]")
            ], scheduler: scheduler)
        let reads = reads
        subscriptions = ReadSubscriptions(isWanted: { reads.isTracking }) { Reads.Read(reads) }
        let scope = ReadScope()
        scope.subscriptions = subscriptions
        store.readScope = scope
    }

    private func add(_ name: String, _ age: Int64 = 1) throws -> LiveObject {
        try store.create("Dog", .dictionary(["name": .string(name), "age": .int(age)]))
    }

    private func track(_ body: () throws -> Void) rethrows {
        reads.isTracking = true
        defer { reads.isTracking = false }
        try body()
    }

    private func write(_ body: () throws -> Void) throws -> Int {
        try store.write(body)
        scheduler.settle()
        return reads.news()
    }

    @Test func `a read reports its next change once`() throws {
        let rex = try store.write { try add("Rex") }
        try track { _ = try rex.value("age") }
        #expect(try write { _ = try add("Max") } == 0)
        #expect(try write { try rex.set("age", .int(2)) } == 1)
        #expect(try write { try rex.set("age", .int(3)) } == 0)
        #expect(subscriptions.count == 0)
    }

    @Test func `a read outside of the host's scopes is not tracked`() throws {
        let rex = try store.write { try add("Rex") }
        _ = try rex.value("age")
        #expect(subscriptions.count == 0 && reads.reads == 0)
    }

    @Test func `the same read has one subscriber`() throws {
        let rex = try store.write { try add("Rex") }
        try track { for _ in 0..<10 { _ = try rex.value("age") } }
        #expect(subscriptions.count == 1 && reads.reads == 10)
    }

    @Test func `lists, counts, lookups and the existence of objects are tracked`() throws {
        let rex = try store.write { try add("Rex") }
        try track { _ = try rex.list("tags").count() }
        #expect(try write { try rex.list("tags").append([.string("good")]) } == 1)
        let old = try store.objects("Dog").filtered("age > 5", [])
        try track { _ = try old.count() }
        #expect(try write { _ = try add("Max") } == 0)
        #expect(try write { _ = try add("Old", 9) } == 1)
        try track { _ = try store.object("Dog", primaryKey: .string("Tom")) }
        #expect(try write { _ = try add("Tim") } == 0)
        #expect(try write { _ = try add("Tom") } == 1)
        track { _ = rex.isValid }
        #expect(try write { try rex.set("age", .int(3)) } == 0)
        #expect(try write { try store.delete(rex) } == 1)
    }

    @Test func `many objects of a property are tracked as a whole`() throws {
        let dogs = try store.write { try (0..<1_500).map { try add("Dog \($0)") } }
        try track { for dog in dogs { _ = try dog.value("age") } }
        #expect(subscriptions.count == 1_001)
        #expect(try write { try dogs[7].set("age", .int(5)) } == 2)
        #expect(try write { try dogs[1_400].set("age", .int(5)) } == 0)
    }

    @Test func `unused subscriptions are removed`() throws {
        let dogs = try store.write { try (0..<600).map { try add("Dog \($0)") } }
        reads.isWaiting = false
        try track { for dog in dogs { _ = try dog.value("age") } }
        #expect(subscriptions.count <= 256)
    }

    @Test func `closing the store ends the subscriptions without a change`() throws {
        let rex = try store.write { try add("Rex") }
        try track { _ = try rex.value("age") }
        store.close()
        #expect(reads.changes == 0 && subscriptions.count == 0)
    }
}
