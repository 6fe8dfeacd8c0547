import ObjectStore
import Synchronization
import TestThreads
import Testing

/// Frozen versions on one thread.
@Suite struct FrozenTests {
    static let classes = [
        ClassSchema(
            "Dog",
            [
                Property("id", .int, isPrimary: true),
                Property("age", .int, defaultValue: .int(0)),
                Property("friends", .object, collection: .list, target: "Dog"),
                Property("marks", .int, collection: .list),
            ])
    ]

    let stores = try! StorePair(classes)
    var store: Store { stores.store }

    func dog(_ id: Int64, age: Int64 = 0) throws -> LiveObject {
        try store.write {
            try store.create("Dog", .dictionary(["id": .int(id), "age": .int(age)]))
        }
    }

    func setAge(_ dog: LiveObject, _ age: Int64) throws {
        try store.write { try dog.set("age", .int(age)) }
    }

    @Test func `a frozen object keeps its version`() throws {
        let rex = try dog(1, age: 1)
        let frozen = try store.freeze(rex)
        try setAge(rex, 2)
        try store.write { try store.delete(rex) }
        #expect(frozen.isValid)
        #expect(try frozen.value("age") == .int(1))
        #expect(frozen.source.view.isFrozen)
        _ = storeError(.frozen) { try frozen.set("age", .int(3)) }
        try store.write { _ = storeError(.frozen) { try store.delete(frozen) } }
        _ = storeError(.frozen) { _ = try frozen.observe { _ in } }
    }

    @Test func `a frozen object is its own frozen form, and those of one version are equal`()
        throws
    {
        let rex = try dog(1, age: 1)
        let frozen = try store.freeze(rex)
        #expect(try store.freeze(frozen) == frozen)
        #expect(try store.freeze(rex) == frozen)
        #expect(frozen != rex)
        _ = try dog(2)
        #expect(try store.freeze(rex) != frozen)
    }

    @Test func `a deleted object cannot be frozen`() throws {
        let rex = try dog(1)
        try store.write { try store.delete(rex) }
        _ = storeError(.invalidObject) { _ = try store.freeze(rex) }
        store.close()
        _ = storeError(.closed) { _ = try store.freeze(rex) }
        _ = storeError(.closed) { _ = try store.frozenView() }
    }

    @Test func `freezing on another thread is an error`() throws {
        let error = Mutex<StoreError.Code?>(nil)
        nonisolated(unsafe) let store = store
        RunningThread {
            do {
                _ = try store.frozenView()
            } catch let failure as StoreError {
                error.withLock { $0 = failure.code }
            } catch {}
        }.wait()
        #expect(error.withLock { $0 } == .wrongThread)
    }

    @Test func `freezing inside a write shows the version before it`() throws {
        let rex = try dog(1, age: 1)
        try store.beginWrite()
        try rex.set("age", .int(2))
        let max = try store.create("Dog", .dictionary(["id": .int(2)]))
        #expect(try store.freeze(rex).value("age") == .int(1))
        _ = storeError(.alreadyInWrite) { _ = try store.freeze(max) }
        #expect(try Results(.frozen(store.frozenView()), all: rex.classSchema).count() == 1)
        try store.commitWrite()
        #expect(try store.freeze(max).isValid)
        #expect(try store.freeze(rex).value("age") == .int(2))
    }

    @Test func `one version is frozen once; a closed one refuses to be read`() throws {
        let rex = try dog(1)
        let first = try store.frozenView()
        #expect(try store.frozenView() === first)
        try setAge(rex, 1)
        let second = try store.frozenView()
        #expect(second !== first)
        let frozen = try store.freeze(rex)
        second.close()
        second.close()
        #expect(!frozen.isValid)
        let error = storeError(.closed) { _ = try frozen.value("age") }
        #expect(error?.message.contains("frozen") == true)
        _ = storeError(.closed) {
            _ = try Results(frozen.source, all: frozen.classSchema).count()
        }
        #expect(try store.frozenView() !== second)
        #expect(try store.freeze(rex).value("age") == .int(1))
    }

    @Test func `thawing returns an object of the store's version`() throws {
        let rex = try dog(1, age: 1)
        let frozen = try store.freeze(rex)
        #expect(try store.thaw(rex) == rex)
        try setAge(rex, 2)
        #expect(try store.thaw(frozen) == rex)
        #expect(try store.thaw(frozen)?.value("age") == .int(2))
        // A remote deletion that this store has not seen.
        try stores.other.refresh()
        try stores.other.write { try stores.other.deleteAll("Dog") }
        #expect(try store.thaw(frozen)?.isValid == true)
        try store.refresh()
        #expect(try store.thaw(frozen) == nil)
    }

    @Test func `an object that is newer than the store thaws to nil`() throws {
        let rex = try dog(1)
        let frozen = try store.freeze(rex)
        #expect(try stores.other.thaw(frozen) == nil)
        try stores.other.refresh()
        #expect(try stores.other.thaw(frozen)?.value("id") == .int(1))
    }

    @Test func `frozen results can be refined and stay frozen`() throws {
        let rex = try dog(1, age: 5)
        _ = try dog(2, age: 3)
        let frozen = try store.objects("Dog").moved(to: .frozen(store.frozenView()))
        try store.write { try store.delete(rex) }
        _ = try dog(3, age: 9)
        let refined = try frozen.filtered("age > 2").sorted([("age", true)])
        #expect(refined.source.view.isFrozen)
        #expect(try refined.count() == 2)
        #expect(try refined.first()?.value("id") == .int(2))
        #expect(try frozen.sum("age") == .int(8))
    }

    @Test func `a frozen list outlives its owner`() throws {
        let rex = try dog(1)
        let list = try rex.list("marks")
        try store.write { try list.append([.int(1), .int(2)]) }
        let frozen = try store.freeze(rex).list("marks")
        try store.write { try store.delete(rex) }
        #expect(!list.isValid)
        #expect(frozen.isValid)
        #expect(try frozen.values() == [.int(1), .int(2)])
        _ = storeError(.frozen) { try frozen.append([.int(3)]) }
    }

    @Test func `frozen versions stay readable after many commits and after the store is closed`()
        throws
    {
        let rex = try dog(0)
        var frozen: [LiveObject] = []
        for age in 1...30 {
            try setAge(rex, Int64(age))
            frozen.append(try store.freeze(rex))
        }
        for id in 1...300 { _ = try dog(Int64(id)) }
        store.close()
        #expect(try frozen.map { try $0.value("age") } == (1...30).map { Value.int($0) })
    }
}
