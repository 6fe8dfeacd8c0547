import ObjectStore
import Testing

@Suite struct WriteTransactionTests {
    static let classes = [
        ClassSchema(
            "Dog",
            [
                Property("id", .int, isPrimary: true),
                Property("name", .string, defaultValue: .string("")),
                Property("friend", .object, target: "Dog"),
            ])
    ]

    private func store() throws -> Store { try Store.temporary(Self.classes) }

    private func count(_ store: Store) throws -> Int {
        try store.view.table(store.schema.require("Dog")).count
    }

    @Test func `nested begin is an error and the outer write continues`() throws {
        let store = try store()
        try store.beginWrite()
        try store.create("Dog", .dictionary(["id": .int(1)]))
        let error = storeError(.alreadyInWrite) { try store.beginWrite() }
        #expect(error?.message(for: .script).contains("commit or cancel it first") == true)
        try store.commitWrite()
        #expect(try count(store) == 1)
    }

    @Test func `a nested write block throws before it runs`() throws {
        let store = try store()
        try store.write {
            try store.create("Dog", .dictionary(["id": .int(1)]))
            _ = storeError(.alreadyInWrite) { try store.write { _ = Issue.record("must not run") } }
        }
        #expect(try count(store) == 1)
    }

    @Test func `cancel and commit without begin are errors`() throws {
        let store = try store()
        _ = storeError(.notInWrite) { try store.cancelWrite() }
        _ = storeError(.notInWrite) { try store.commitWrite() }
    }

    @Test func `changes outside a write are errors and change nothing`() throws {
        let store = try store()
        let rex = try store.write { try store.create("Dog", .dictionary(["id": .int(1)])) }
        _ = storeError(.notInWrite) { try store.create("Dog", .dictionary(["id": .int(2)])) }
        let error = storeError(.notInWrite) { try rex.set("name", .string("x")) }
        #expect(error?.message.contains("store.write") == true)
        _ = storeError(.notInWrite) { try store.delete(rex) }
        #expect(try rex.value("name") == .string(""))
        #expect(rex.isValid)
        #expect(try count(store) == 1)
    }

    @Test func `a write returns what its body returns`() throws {
        let store = try store()
        let rex = try store.write {
            try store.create("Dog", .dictionary(["id": .int(1), "name": .string("Rex")]))
        }
        #expect(try rex.value("name") == .string("Rex"))
    }

    @Test func `an error in the body rolls back and is rethrown unchanged`() throws {
        struct Failure: Error, Equatable { let number: Int }
        let store = try store()
        #expect(throws: Failure(number: 7)) {
            try store.write {
                try store.create("Dog", .dictionary(["id": .int(1)]))
                throw Failure(number: 7)
            }
        }
        #expect(!store.isInWrite)
        #expect(try count(store) == 0)
        try store.write {}
    }

    @Test func `a body can cancel or commit`() throws {
        let store = try store()
        try store.write {
            try store.create("Dog", .dictionary(["id": .int(1)]))
            try store.cancelWrite()
        }
        #expect(try count(store) == 0)
        try store.write {
            try store.create("Dog", .dictionary(["id": .int(1)]))
            try store.commitWrite()
        }
        #expect(try count(store) == 1)
    }

    @Test func `rollback reverts inserts, deletes, values and links`() throws {
        let store = try store()
        let (rex, max) = try store.write {
            let rex = try store.create("Dog", .dictionary(["id": .int(1), "name": .string("Rex")]))
            let max = try store.create("Dog", .dictionary(["id": .int(2)]))
            try rex.set("friend", .object(max.reference))
            return (rex, max)
        }
        try store.beginWrite()
        let new = try store.create("Dog", .dictionary(["id": .int(3)]))
        try rex.set("name", .string("changed"))
        try store.delete(max)
        #expect(!max.isValid)
        #expect(try rex.value("friend") == .null)
        try store.cancelWrite()
        #expect(!new.isValid)
        #expect(max.isValid)
        #expect(try rex.value("name") == .string("Rex"))
        #expect(try rex.value("friend") == .object(max.reference))
        #expect(try count(store) == 2)
    }

    @Test func `is_in_write follows begin, commit and cancel`() throws {
        let store = try store()
        #expect(!store.isInWrite)
        try store.write {
            #expect(store.isInWrite)
            try store.cancelWrite()
            #expect(!store.isInWrite)
        }
        #expect(!store.isInWrite)
    }

    @Test func `closing or dropping a store with an open write rolls back`() throws {
        let folder = TemporaryFolder()
        let configuration = StoreConfiguration(
            .file(folder.file("a.moonpool")), schema: Self.classes)
        do {
            let store = try Store(configuration, scheduler: ManualScheduler())
            try store.beginWrite()
            try store.create("Dog", .dictionary(["id": .int(1)]))
        }
        let again = try Store(configuration, scheduler: ManualScheduler())
        #expect(try count(again) == 0)
        try again.beginWrite()
        try again.create("Dog", .dictionary(["id": .int(1)]))
        again.close()
        let third = try Store(configuration, scheduler: ManualScheduler())
        #expect(try count(third) == 0)
    }

    @Test func `refresh returns true exactly if the version changes`() throws {
        let pair = try StorePair(Self.classes)
        #expect(try !pair.store.refresh())
        try pair.other.write {}
        #expect(try pair.store.refresh())
        #expect(try !pair.store.refresh())
        #expect(pair.store.version == pair.other.version)
    }

    @Test func `refresh inside a write returns false and changes nothing`() throws {
        let store = try store()
        try store.beginWrite()
        #expect(try !store.refresh())
        try store.cancelWrite()
    }

    @Test func `only autorefresh advances the store in a turn`() throws {
        let pair = try StorePair(Self.classes)
        try pair.other.write { try pair.other.create("Dog", .dictionary(["id": .int(1)])) }
        #expect(try count(pair.store) == 0)
        pair.settle()
        #expect(try count(pair.store) == 1)
        pair.store.autorefresh = false
        try pair.other.write { try pair.other.create("Dog", .dictionary(["id": .int(2)])) }
        pair.settle()
        #expect(try count(pair.store) == 1)
        try pair.store.refresh()
        #expect(try count(pair.store) == 2)
    }

    @Test func `a write starts from the newest version`() throws {
        let pair = try StorePair(Self.classes)
        try pair.other.write { try pair.other.create("Dog", .dictionary(["id": .int(1)])) }
        try pair.store.beginWrite()
        #expect(try count(pair.store) == 1)
        _ = storeError(.duplicateKey) {
            try pair.store.create("Dog", .dictionary(["id": .int(1)]))
        }
        try pair.store.cancelWrite()
    }

    @Test func `every operation on a closed store throws 'closed'`() throws {
        let store = try store()
        let rex = try store.write { try store.create("Dog", .dictionary(["id": .int(1)])) }
        store.close()
        store.close()
        #expect(store.isClosed)
        #expect(!store.isInWrite)
        #expect(!rex.isValid)
        _ = storeError(.closed) { try store.beginWrite() }
        _ = storeError(.closed) { try store.refresh() }
        _ = storeError(.closed) { _ = try rex.value("name") }
        _ = storeError(.closed) { _ = try store.object("Dog", primaryKey: .int(1)) }
    }

    @Test func `delete all empties every class`() throws {
        let store = try store()
        try store.write {
            for number in 0..<1200 { try store.create("Dog", .list([.int(Int64(number))])) }
        }
        #expect(try count(store) == 1200)
        try store.write { try store.deleteAll() }
        #expect(try count(store) == 0)
        #expect(try store.object("Dog", primaryKey: .int(7)) == nil)
        try store.write { try store.create("Dog", .list([.int(7)])) }
        #expect(try store.object("Dog", primaryKey: .int(7)) != nil)
    }

    @Test func `an iteration keeps its initial elements across a refresh`()
        throws
    {
        let stores = try StorePair(Self.classes)
        try stores.store.write {
            for id in 0..<40 {
                try stores.store.create("Dog", .dictionary(["id": .int(Int64(id))]))
            }
        }
        stores.store.autorefresh = false
        try stores.other.refresh()
        try stores.other.write { try stores.other.deleteAll("Dog") }
        let dogs = Results(.store(stores.store), all: try stores.store.schema.require("Dog"))
        var validity: [Bool] = []
        for key in try dogs.keys().array {
            try stores.store.refresh()
            try validity.append(
                stores.store.view.table(stores.store.schema.require("Dog")).isPresent(key))
        }
        #expect(validity == Array(repeating: false, count: 40))
    }

    @Test func `deleting twice and deleting objects of another store are errors`() throws {
        let (store, other) = (try store(), try Store.temporary(Self.classes))
        let rex = try store.write { try store.create("Dog", .dictionary(["id": .int(1)])) }
        let stranger = try other.write { try other.create("Dog", .dictionary(["id": .int(1)])) }
        try store.write {
            _ = storeError(.invalidObject) { try store.delete(stranger) }
            try store.delete(rex)
            #expect(!rex.isValid)
            _ = storeError(.invalidObject) { try store.delete(rex) }
        }
        #expect(stranger.isValid)
    }

    @Test func `deleted objects disappear from results and lists immediately`() throws {
        let store = try store()
        try store.write {
            let rex = try store.create("Dog", .dictionary(["id": .int(1)]))
            let max = try store.create("Dog", .dictionary(["id": .int(2)]))
            try max.set("friend", .object(rex.reference))
            let dogs = Results(.store(store), all: try store.schema.require("Dog"))
            #expect(try dogs.count() == 2)
            try store.delete(rex)
            #expect(try dogs.count() == 1)
            #expect(try dogs.first() == max)
            #expect(try max.value("friend") == .null)
            _ = storeError(.invalidObject) { _ = try rex.value("name") }
        }
    }
}
