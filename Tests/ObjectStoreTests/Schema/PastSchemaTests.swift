import Testing

@testable import ObjectStore

/// The schemas of earlier versions, from which replication finds what a schema change has added.
@Suite struct PastSchemaTests {
    private static func dog(_ properties: Int) -> ClassSchema {
        ClassSchema(
            "Dog",
            [Property("id", .int, isPrimary: true)]
                + (0..<properties).map { Property("p\($0)", .int, isOptional: true) })
    }

    private let folder = TemporaryFolder()

    private func open(_ classes: [ClassSchema]?) throws -> Store {
        try Store(
            StoreConfiguration(.file(folder.file("zoo.moonpool")), schema: classes),
            scheduler: ManualScheduler())
    }

    private func commit(_ id: Int, _ store: Store) throws {
        try store.write { try store.create("Dog", .dictionary(["id": .int(Int64(id))])) }
    }

    @Test func `the schema of each version is known, back to the sixty-fourth change`() throws {
        var expected: [(version: UInt64, count: Int)] = []
        var store = try open([Self.dog(0)])
        for round in 1...80 {
            try commit(2 * round, store)
            expected.append((store.version, round - 1))
            try store.define([Self.dog(round)])
            expected.append((store.version, round))
            if round % 20 == 0 {
                store.close()
                store = try open(nil)
            }
        }
        defer { store.close() }
        for (version, count) in expected {
            let found = try store.schema(of: version)?.find("Dog")?.properties.count
            #expect(found == nil || found == count + 1)
        }
        #expect(try expected.filter { try store.schema(of: $0.version) != nil }.count == 2 * 64 + 1)
    }

    @Test func `a change that is rolled back leaves nothing`() throws {
        let store = try open([Self.dog(1)])
        defer { store.close() }
        let before = store.version
        try commit(1, store)
        #expect(throws: StoreError.self) {
            try store.redefine([Self.dog(2)]) { _ in throw StoreError(.invalidArgument, "stop") }
        }
        try commit(2, store)
        #expect(try store.schema(of: before)?.find("Dog")?.properties.count == 2)
        #expect(try store.schema(of: store.version)?.find("Dog")?.properties.count == 2)
    }

    @Test func `a change by an earlier build makes earlier schemas unknown`() throws {
        let store = try open([Self.dog(1)])
        let before = store.version
        try store.define([Self.dog(2)])
        #expect(try store.schema(of: before) != nil)
        // An earlier build writes the catalog only.
        let catalog = SchemaCatalog.encode(Schema.empty)
        try store.write {
            try store.writer(changing: "the schema").session.setMetadata(
                SchemaCatalog.name, catalog)
        }
        store.close()
        let other = try open(nil)
        defer { other.close() }
        #expect(try other.schema(of: before) == nil)
    }
}
