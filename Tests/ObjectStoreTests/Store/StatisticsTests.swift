import ObjectStore
import Testing

/// Statistics of a store.
@Suite struct StatisticsTests {
    static let classes = [
        ClassSchema(
            "Dog",
            "id: int primary, name: string indexed fulltext, marks: int[], notes: string{}, "
                + "owner: Person", indexes: [CompositeIndex(["owner", "id"])]),
        ClassSchema("Person", "dogs: backlinks Dog.owner"),
        ClassSchema("Empty", "n: int"),
    ]

    func fill(_ store: Store, _ count: Int64) throws {
        try store.write {
            let person = try store.create("Person")
            for id in 0..<count {
                let values: ValueMap = [
                    "id": .int(id), "name": .string("dog number \(id % 7)"),
                    "marks": .list([.int(id), .int(2)]), "notes": .dictionary(["a": .string("b")]),
                    "owner": .object(person.reference),
                ]
                try store.create("Dog", .dictionary(values))
            }
        }
    }

    @Test
    func `statistics contain counts of objects, and the bytes of values, collections and indexes`()
        throws
    {
        let store = try Store.temporary(Self.classes)
        try fill(store, 2_000)
        let statistics = try store.statistics()
        #expect(statistics.version == store.version)
        #expect(statistics.objects == 2_001)
        #expect(statistics.classes.map(\.name) == ["Dog", "Empty", "Person"])
        let dog = statistics.classes[0]
        #expect(dog.objects == 2_000)
        let usage = Dictionary(uniqueKeysWithValues: dog.properties.map { ($0.name, $0.usage) })
        #expect(usage["id"]!.values > 0 && usage["id"]!.index > 0)
        #expect(usage["name"]!.index > 0 && usage["name"]!.fullText > 0)
        #expect(usage["marks"]!.elements >= 2_000)
        #expect(usage["notes"]!.elements >= 4_000)
        #expect(usage["owner"]!.index > 0)
        #expect(dog.indexes.map(\.properties) == [["owner", "id"]])
        #expect(dog.indexes[0].bytes > 0)
        let parts = usage.values.reduce(0) { $0 + $1.total } + dog.indexes[0].bytes
        #expect(dog.bytes >= parts + dog.waitingBytes)
        #expect(dog.indexBytes < dog.bytes)
        #expect(statistics.classes[1].objects == 0)
        #expect(statistics.classes[1].properties[0].usage.total == 0)
        #expect(statistics.usedBytes <= statistics.fileBytes)
        #expect(statistics.usedBytes >= dog.bytes)
        #expect(statistics.historyVersions?.upperBound == store.version)
        #expect(statistics.historyBytes > 0)
        #expect(statistics.pins.isEmpty)
    }

    @Test func `a long value counts once, and the newest rows count as inline tail`() throws {
        let store = try Store.temporary([ClassSchema("Note", "text: string")])
        try store.write {
            _ = try store.create(
                "Note", .dictionary(["text": .string(String(repeating: "x", count: 5_000))]))
        }
        let note = try store.statistics().classes[0]
        #expect(note.objects == 1)
        #expect(note.bytes >= 5_000)
        try store.write { _ = try store.create("Note", .dictionary(["text": .string("short")])) }
        #expect(try store.statistics().classes[0].objects == 2)
    }

    @Test func `inside a write the numbers are those of the version before`() throws {
        let store = try Store.temporary(Self.classes)
        try fill(store, 10)
        let frozen = try store.frozenView()
        try store.beginWrite()
        try store.create("Dog", .dictionary(["id": .int(100), "name": .string("new")]))
        #expect(try store.statistics().classes[0].objects == 10)
        try store.commitWrite()
        #expect(try store.statistics().classes[0].objects == 11)
        #expect(try store.statistics().pins.contains { $0.kind == .frozen })
        withExtendedLifetime(frozen) {}
        store.close()
        _ = storeError(.closed) { _ = try store.statistics() }
    }
}
