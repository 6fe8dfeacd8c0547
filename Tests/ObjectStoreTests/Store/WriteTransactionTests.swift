import ObjectStore
import Testing

/// Writes and refreshes of several stores; `Tests/Specifications/stores.lua` specifies the rest.
@Suite struct WriteTransactionTests {
    static let classes = [ClassSchema("Dog", "id: int primary")]

    private func store() throws -> Store { try Store.temporary(Self.classes) }

    private func count(_ store: Store) throws -> Int {
        try store.view.table(store.schema.require("Dog")).count
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

    @Test func `an iteration keeps its initial elements across a refresh`() throws {
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
}
