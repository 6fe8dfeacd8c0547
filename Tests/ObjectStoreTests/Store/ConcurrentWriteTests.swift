import ObjectStore
import Synchronization
import TestThreads
import Testing

/// Stores of one file on several threads.
@Suite struct ConcurrentWriteTests {
    private static let classes = [ClassSchema("Entry", "id: int primary, writer: int")]

    private static func open(_ path: String) throws -> Store {
        try Store.file(path, classes)
    }

    private final class Counter: Sendable {
        let count = Atomic<Int>(0)
    }

    @Test func `only one writer runs at a time, and starts from the last commit`() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("a.moonpool")
        let writing = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    let own = try Self.open(path)
                    for _ in 0..<50 {
                        try own.write {
                            let before = writing.count.wrappingAdd(1, ordering: .relaxed)
                            #expect(before.oldValue == 0, "two writers at once")
                            let next = Int64(try own.objects("Entry").count())
                            try own.create("Entry", .list([.int(next), .int(Int64(writer))]))
                            writing.count.wrappingSubtract(1, ordering: .relaxed)
                        }
                    }
                    own.close()
                }
            }
            try await group.waitForAll()
        }
        let store = try Self.open(path)
        #expect(try store.objects("Entry").count() == 200)
        #expect(try store.objects("Entry").maximum("id") == .int(199))
    }

    @Test func `using a store on another thread is an error`() async throws {
        final class Box: @unchecked Sendable {
            // Unchecked because the test passes a store to the wrong thread.
            let store: Store
            let object: LiveObject
            init(_ store: Store) throws {
                self.store = store
                object = try store.write { try store.create("Entry", .list([.int(1), .int(1)])) }
            }
        }
        let box = try Box(Store.temporary(Self.classes))
        let errors: [StoreError.Code] = await withCheckedContinuation { continuation in
            RunningThread {
                var codes: [StoreError.Code] = []
                let uses: [() throws -> Void] = [
                    { _ = try box.store.refresh() }, { try box.store.beginWrite() },
                    { _ = try box.object.value("id") },
                    { _ = try box.store.objects("Entry").count() },
                    { _ = try box.store.object("Entry", primaryKey: .int(1)) },
                    { try box.store.define([]) }, { _ = try box.store.frozenView() },
                ]
                for use in uses {
                    do { try use() } catch let error as StoreError {
                        codes.append(error.code)
                    } catch {}
                }
                continuation.resume(returning: codes)
            }
        }
        #expect(errors == Array(repeating: .wrongThread, count: 7))
    }

    @Test func `a commit of another thread right after a silent write is reported`() throws {
        let folder = TemporaryFolder()
        let path = folder.file("a.moonpool")
        let store = try Self.open(path)
        let writes = 400
        var received = 0
        let token = try store.observe(
            Query(all: store.schema.require("Entry")).filtered(
                "writer == 1", [], schema: store.schema)
        ) { change in
            if case .update = change.kind { received += change.insertions.count }
        }
        try store.refresh()
        let writer = RunningThread {
            do {
                let other = try Self.open(path)
                for number in 0..<writes {
                    try other.write {
                        try other.create("Entry", .list([.int(Int64(number)), .int(1)]))
                    }
                }
                other.close()
            } catch { Issue.record(error) }
        }
        for number in writes..<2 * writes {
            try store.write(withoutNotifying: [token]) {
                try store.create("Entry", .list([.int(Int64(number)), .int(0)]))
            }
        }
        writer.wait()
        try store.refresh()
        #expect(received == writes)
        store.close()
    }

    @Test func `an empty commit is a version, and only notifies observers of the store`() throws {
        let pair = try StorePair(Self.classes)
        var calls = 0
        let token = try pair.store.observe { _, _ in calls += 1 }
        var updates = 0
        let rows = try pair.store.objects("Entry").observe { _ in updates += 1 }
        pair.settle()
        try pair.other.write {}
        pair.settle()
        #expect(calls == 1)
        #expect(updates == 1, "the initial call only")
        token.invalidate()
        rows.invalidate()
    }
}
