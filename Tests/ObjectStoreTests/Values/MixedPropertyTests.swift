import ObjectStore
import Testing

@Suite struct MixedPropertyTests {
    static let classes = [
        ClassSchema("Dog", "id: int primary"),
        ClassSchema("Box", "id: int primary, any: mixed, many: mixed[]"),
    ]
    let store: Store

    init() throws { store = try Store.temporary(Self.classes) }

    @Test
    func `every type is stored in values and lists, and read after reopening the file`() throws {
        let folder = TemporaryFolder()
        let configuration = StoreConfiguration(
            .file(folder.file("mixed.moonpool")), schema: Self.classes)
        var maker = MixedMaker(seed: 11)
        var expected: [(Value, [Value])] = []
        var store = try Store(configuration, scheduler: ManualScheduler())
        for round in 0..<6 {
            try store.write {
                if round == 0 {
                    for id in 0..<5 { try store.create("Dog", .list([.int(Int64(id))])) }
                }
                maker.references = try store.objects("Dog").keys().map {
                    ObjectReference(table: store.schema.find("Dog")!.table, key: $0)
                }
                for _ in 0..<100 {
                    let value = maker.value()
                    let many = (0..<3).map { _ in maker.value(depth: 2) }
                    let key = Int64(expected.count)
                    try store.create("Box", .list([.int(key), value, .list(many)]))
                    expected.append((value, many))
                }
                // Changes some new and some old objects.
                for _ in 0..<40 {
                    let index = Int.random(in: expected.indices, using: &maker.random)
                    let object = try #require(
                        try store.object("Box", primaryKey: .int(Int64(index))))
                    expected[index] = (maker.value(), [maker.value(depth: 1)])
                    try object.set("any", expected[index].0)
                    try object.set("many", .list(expected[index].1))
                }
            }
            store.close()
            store = try Store(configuration, scheduler: ManualScheduler())
            for (index, values) in expected.enumerated() {
                let object = try #require(try store.object("Box", primaryKey: .int(Int64(index))))
                #expect(try object.value("any") == values.0)
                #expect(try object.value("many") == .list(values.1))
            }
        }
        store.close()
    }

    @Test func `random links, changes and deletions leave no link to a deleted object`() throws {
        var maker = MixedMaker(seed: 5)
        for _ in 0..<30 {
            try store.write {
                for _ in 0..<4 {
                    try store.create(
                        "Dog", .list([.int(.random(in: 0 ... .max, using: &maker.random))]))
                }
                maker.references = try store.objects("Dog").keys().map {
                    ObjectReference(table: store.schema.find("Dog")!.table, key: $0)
                }
                for _ in 0..<5 {
                    let id = Int.random(in: 0..<20, using: &maker.random)
                    try store.create(
                        "Box", .list([.int(Int64(id)), maker.value(), .list([maker.value()])]),
                        mode: .all)
                }
                for reference in maker.references
                where Int.random(in: 0..<3, using: &maker.random) == 0 {
                    try store.delete(try #require(store.object(reference)))
                }
                if let first = try store.objects("Box").first(), Bool.random(using: &maker.random) {
                    try store.delete(first)
                }
            }
            func check(_ value: Value) {
                switch value {
                case .object(let reference): #expect(store.object(reference)?.isValid == true)
                case .list(let elements): elements.forEach(check)
                case .dictionary(let entries): entries.values.forEach(check)
                default: break
                }
            }
            for key in try store.objects("Box").keys() {
                let object = ObjectSource.store(store).object(store.schema.find("Box")!, key)
                check(try object.value("any"))
                check(try object.value("many"))
            }
        }
    }
}
