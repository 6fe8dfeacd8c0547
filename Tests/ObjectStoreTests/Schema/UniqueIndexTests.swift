import ObjectStore
import Testing

/// Unique indexes over several properties.
@Suite struct UniqueIndexTests {
    private let folder = TemporaryFolder()

    private func seat(isUnique: Bool = true) -> ClassSchema {
        ClassSchema(
            "Seat",
            [
                Property("id", .int, isPrimary: true), Property("row", .int, isOptional: true),
                Property("place", .string),
            ], indexes: [CompositeIndex(["row", "place"], isUnique: isUnique)])
    }

    private func open(_ classes: [ClassSchema]?, version: UInt64 = 0) throws -> Store {
        try Store(
            StoreConfiguration(
                .file(folder.file("hall.moonpool")), schema: classes, schemaVersion: version),
            scheduler: ManualScheduler())
    }

    private func add(_ id: Int64, _ row: Value, _ place: String, _ store: Store) throws {
        try store.write { try store.create("Seat", .list([.int(id), row, .string(place)])) }
    }

    @Test func `duplicate values are an error at the end of the write`() throws {
        let store = try open([seat()])
        try add(1, .int(1), "a", store)
        try add(2, .int(1), "b", store)
        let error = storeError(.duplicateKey) { try add(3, .int(1), "a", store) }
        #expect(error?.message.contains("row = 1, place = \"a\" (id = 1 and id = 3)") == true)
        #expect(try store.objects("Seat").count() == 2)
        #expect(!store.isInWrite)
    }

    @Test func `an assignment is checked, and a swap within one write is allowed`() throws {
        let store = try open([seat()])
        try add(1, .int(1), "a", store)
        try add(2, .int(1), "b", store)
        let one = try #require(try store.object("Seat", primaryKey: .int(1)))
        let two = try #require(try store.object("Seat", primaryKey: .int(2)))
        _ = storeError(.duplicateKey) {
            try store.write { try one.set("place", .string("b")) }
        }
        try store.write {
            try one.set("place", .string("b"))
            try two.set("place", .string("a"))
        }
        #expect(try one.value("place") == .string("b"))
    }

    @Test func `objects without a value are exempt`() throws {
        let store = try open([seat()])
        try add(1, .null, "a", store)
        try add(2, .null, "a", store)
        #expect(try store.objects("Seat").count() == 2)
    }

    @Test func `a large write is checked too`() throws {
        let store = try open([seat()])
        try store.write {
            for id in 0..<3000 {
                try store.create(
                    "Seat", .list([.int(Int64(id)), .int(Int64(id / 10)), .string("\(id % 10)")]))
            }
        }
        _ = storeError(.duplicateKey) {
            try store.write {
                for id in 3000..<6000 {
                    try store.create(
                        "Seat",
                        .list([.int(Int64(id)), .int(Int64(id / 10 % 400)), .string("\(id % 10)")]))
                }
            }
        }
        #expect(try store.objects("Seat").count() == 3000)
    }

    @Test func `a unique index survives reopening, and is a difference of schemas`() throws {
        try add(1, .int(1), "a", open([seat()]))
        let store = try open(nil)
        #expect(store.schema.find("Seat")?.indexes.first?.isUnique == true)
        _ = storeError(.duplicateKey) { try add(2, .int(1), "a", store) }
        let differences = try SchemaDifference.between(
            store.schema, and: [seat(isUnique: false)])
        #expect(
            differences.map(\.description) == [
                "'Seat' would be indexed by (row, place)",
                "'Seat' would no longer be indexed by unique (row, place)",
            ])
    }

    @Test func `an index becomes unique only without duplicate values`() throws {
        do {
            let store = try open([seat(isUnique: false)])
            try add(1, .int(1), "a", store)
            try add(2, .int(1), "a", store)
            store.close()
        }
        _ = storeError(.duplicateKey) { _ = try open([seat()], version: 1) }
        let store = try open(nil)
        #expect(store.schema.find("Seat")?.indexes.first?.isUnique == false)
    }
}
