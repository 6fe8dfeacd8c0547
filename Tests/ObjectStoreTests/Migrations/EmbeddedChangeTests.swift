import ObjectStore
import Testing

@Suite struct EmbeddedChangeTests {
    private let world = MigrationWorld()
    private let address = [Property("street", .string)]
    private let person = ClassSchema(
        "Person",
        [Property("name", .string), Property("home", .object, target: "Address")])
    private var linked: ClassSchema { ClassSchema("Address", address) }
    private var embedded: ClassSchema { ClassSchema("Address", address, isEmbedded: true) }

    private func fill(shared: Bool, lonely: Bool) throws {
        let store = try world.open([person, linked])
        try store.write {
            let first = try store.create("Address", .list([.string("a")]))
            let second = try store.create("Address", .list([.string("b")]))
            try store.create("Person", .list([.string("Ann"), .object(first.reference)]))
            try store.create(
                "Person",
                .list([.string("Bob"), .object((shared ? first : second).reference)]))
            if lonely { try store.create("Address", .list([.string("c")])) }
        }
        store.close()
    }

    @Test func `a class becomes embedded if each object has one parent`() throws {
        try fill(shared: false, lonely: false)
        _ = storeError(.migrationNeeded) { _ = try world.open([person, embedded]) }
        let store = try world.open([person, embedded], version: 1)
        #expect(try store.objects("Address").count() == 2)
        try store.write { try store.delete(try #require(try store.objects("Person").first())) }
        #expect(try store.objects("Address").count() == 1)
    }

    @Test func `zero or several parents are an error, unless the migration corrects this`() throws {
        try fill(shared: false, lonely: true)
        let none = storeError(.invalidObject) {
            _ = try world.open([person, embedded], version: 1)
        }
        #expect(none?.message.contains("object 2 has 0") == true)
        let store = try world.open([person, embedded], version: 1) { migration in
            let lonely = try #require(
                try migration.objects("Address").filtered("street == 'c'").first())
            try migration.delete(lonely)
        }
        #expect(try store.objects("Address").count() == 2)
        let other = EmbeddedChangeTests()
        try other.fill(shared: true, lonely: false)
        let several = storeError(.invalidObject) {
            _ = try other.world.open([person, embedded], version: 1)
        }
        #expect(several?.message.contains("has 2") == true)
    }

    @Test func `an embedded class becomes a regular class only with a new version`() throws {
        try fill(shared: false, lonely: false)
        try world.open([person, embedded], version: 1).close()
        let store = try world.open([person, linked], version: 2)
        try store.write { try store.delete(try #require(try store.objects("Person").first())) }
        #expect(try store.objects("Address").count() == 2)
    }

    @Test func `embedded objects are deleted with their property`() throws {
        try fill(shared: false, lonely: false)
        try world.open([person, embedded], version: 1).close()
        let homeless = ClassSchema("Person", [Property("name", .string)])
        let store = try world.open([homeless, embedded], version: 2)
        #expect(try store.objects("Address").count() == 0)
    }
}
