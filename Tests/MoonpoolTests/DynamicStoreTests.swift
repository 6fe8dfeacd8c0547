import Moonpool
import TestThreads
import Testing

/// A program that uses the store by the product `Moonpool` alone: one import, with `MemberImportVisibility`.
@Suite struct DynamicStoreTests {
    private static let classes = [
        ClassSchema(
            "Dog",
            [
                Property("id", .int, isPrimary: true),
                Property("name", .string),
                Property("age", .int, isOptional: true),
                Property("tags", .string, collection: .list),
                Property("price", .decimal, isOptional: true),
            ])
    ]

    private func open(_ folder: TemporaryFolder) throws -> Store {
        try Store(StoreConfiguration(.file(folder.file("zoo.moonpool")), schema: Self.classes))
    }

    @discardableResult
    private func add(_ id: Int64, _ name: String, age: Int64, to store: Store) throws -> LiveObject
    {
        try store.create(
            "Dog", .dictionary(["id": .int(id), "name": .string(name), "age": .int(age)]))
    }

    @Test func `objects are created, changed, queried and deleted`() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        defer { store.close() }
        let rex = try store.write {
            try add(2, "Max", age: 7, to: store)
            return try add(1, "Rex", age: 3, to: store)
        }
        try store.write {
            try rex.set("age", .int(4))
            try rex.list("tags").append([.string("good"), .string("small")])
        }
        #expect(try rex.value("age") == .int(4))
        #expect(try rex.list("tags").elementCount == 2)
        let old = try store.objects("Dog").filtered("age > $1", [.int(3)])
            .sorted([(path: "name", ascending: true)])
        #expect(try old.count() == 2)
        #expect(try old.first()?.value("name") == .string("Max"))
        #expect(try store.object("Dog", primaryKey: .int(1)) == rex)
        try store.write { try store.delete(rex) }
        #expect(!rex.isValid)
        #expect(try old.count() == 1)
    }

    @Test func `an observer receives the changes of all stores of the file in a refresh`() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        let other = try open(folder)
        defer {
            store.close()
            other.close()
        }
        final class Calls { var insertions: [[Int]] = [] }
        let calls = Calls()
        let token = try store.objects("Dog").observe { change in
            calls.insertions.append(change.insertions)
        }
        try store.refresh()
        #expect(calls.insertions == [[]])
        try store.write { _ = try add(1, "Rex", age: 3, to: store) }
        try store.refresh()
        #expect(calls.insertions == [[], [0]])
        try other.write { _ = try add(2, "Max", age: 7, to: other) }
        try store.refresh()
        #expect(calls.insertions == [[], [0], [1]])
        token.invalidate()
        #expect(!token.isValid)
    }

    @Test func `errors have codes that programs compare`() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        try store.write { _ = try add(1, "Rex", age: 3, to: store) }
        let error = #expect(throws: StoreError.self) {
            try store.write { _ = try add(1, "Max", age: 7, to: store) }
        }
        #expect(error?.code == .duplicateKey)
        store.close()
        #expect(throws: StoreError.self) { try store.objects("Dog") }
    }

    @Test func `a store belongs to the thread that opened it`() throws {
        let scheduler = CallingThread()
        let isForeign = Flag()
        RunningThread { if !scheduler.isOnThread { isForeign.set() } }.wait()
        #expect(scheduler.isOnThread)
        #expect(isForeign.isSet)
    }
}
