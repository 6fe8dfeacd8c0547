import ColumnStorage
import ObjectStore
import Testing

@Suite struct DeletionTests {
    private static let classes = [
        ClassSchema(
            "Dog",
            "id: int primary, friend: Dog, names: string[], nick: string indexed, note: mixed"),
        ClassSchema("Cat", "enemy: Dog"),
        ClassSchema("Club", "members: Dog[]"),
    ]

    private let store: Store

    init() throws { store = try Store.temporary(Self.classes) }

    private func makeDogs() throws -> [LiveObject] {
        try (Int64(0)..<40).map { id in
            try store.create(
                "Dog",
                .dictionary([
                    "id": .int(id), "nick": .string("nick \(id % 4)"),
                    "names": .list([.string("a"), .string("b")]),
                ]))
        }
    }

    @Test func `many objects are deleted with the links to them, and deleted ones are skipped`()
        throws
    {
        let dogs = try store.write { try makeDogs() }
        let gone = Array(dogs[0..<30])
        try store.write {
            for (dog, next) in zip(dogs, dogs.dropFirst()) {
                try dog.set("friend", .object(next.reference))
            }
            let club = try store.create("Club")
            try club.set("members", .list(dogs.map { .object($0.reference) }))
            try dogs[39].set("note", .object(dogs[1].reference))
            try store.delete(dogs[5])
            let keys = gone.map(\.key) + [dogs[7].key, ObjectKey(1_000_000)]
            try store.delete(keys, of: dogs[0].classSchema)
        }
        #expect(gone.allSatisfy { !$0.isValid })
        #expect(try store.objects("Dog").count() == 10)
        #expect(try store.objects("Dog").filtered("nick == 'nick 1'").count() == 2)
        #expect(try store.object("Dog", primaryKey: .int(3)) == nil)
        #expect(try dogs[38].value("friend") == .object(dogs[39].reference))
        #expect(try dogs[39].value("note") == .null)
        let club = try #require(try store.objects("Club").first())
        #expect(try club.list("members").count() == 10)
    }

    @Test func `objects of the same write can be deleted, and their keys reused`() throws {
        try store.write {
            let dogs = try makeDogs()
            let cat = try store.create("Cat", .dictionary(["enemy": .object(dogs[20].reference)]))
            try store.delete(dogs.map(\.key), of: dogs[0].classSchema)
            #expect(try cat.value("enemy") == .null)
            #expect(try makeDogs().count == 40)
        }
        #expect(try store.objects("Dog").count() == 40)
        #expect(try store.object("Dog", primaryKey: .int(20)) != nil)
    }
}
