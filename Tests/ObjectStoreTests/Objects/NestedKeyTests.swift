import ObjectStore
import TestThreads
import Testing

/// Nested values with the key of the created object or of each other.
@Suite struct NestedKeyTests {
    static let classes = [
        ClassSchema(
            "A",
            "id: int primary, name: string?, link: A, list: A[], map: A{}, set: A<>, part: E, "
                + "parts: E[], named: E{}"),
        ClassSchema("E", "name: string?, a: A, inner: E", isEmbedded: true),
    ]

    let store: Store

    init() throws { store = try Store.temporary(Self.classes) }

    private func object(_ id: Int64, _ values: ValueMap = [:]) -> Value {
        .dictionary(values.merging(["id": .int(id)]) { $1 })
    }

    @Test(arguments: ["link", "list", "map", "set", "part", "parts", "named"])
    func `A nested value with the key of the object being created refers to that object`(
        property: String
    ) throws {
        func nested(_ value: Value) -> Value {
            let part = Value.dictionary(["a": value])
            return switch property {
            case "link": value
            case "list", "set": .list([value])
            case "map": .dictionary(["k": value])
            case "part": part
            case "parts": .list([part])
            default: .dictionary(["k": part])
            }
        }
        let values = object(
            1, ["name": .string("outer"), property: nested(object(1, ["name": .string("inner")]))])
        for mode in [UpdateMode.all, .modified] {
            try store.write {
                let new = try store.create("A", values, mode: mode)
                // The values that an embedded object has for its owner are applied after the owner's own values.
                let isEmbedded = ["part", "parts", "named"].contains(property)
                let name = try new.value("name")
                #expect(name == .string(isEmbedded ? "inner" : "outer"))
            }
            #expect(try store.objects("A").count() == 1)
            #expect(try store.verify().isEmpty)
            try store.write { try store.deleteAll() }
        }
        try store.write {
            _ = storeError(.duplicateKey) { try store.create("A", values) }
            let count = try store.objects("A").count()
            #expect(count == 0)
        }
        #expect(try store.verify().isEmpty)
    }

    @Test func `A nested value sets missing values of the outer object`() throws {
        try store.write {
            let values = object(
                1, ["link": object(1, ["name": .string("inner"), "list": .list([object(2)])])])
            let new = try store.create("A", values, mode: .modified)
            #expect(try new.value("name") == .string("inner"))
            #expect(try new.list("list").count() == 1)
        }
    }

    /// The number of embedded objects that are reachable from their owners.
    private func reachable() throws -> Int {
        func count(_ value: Value) throws -> Int {
            switch value {
            case .object(let reference):
                guard let object = store.object(reference), object.classSchema.name == "E" else {
                    return 0
                }
                return try 1 + count(object.value("inner"))
            case .list(let values): return try values.reduce(0) { try $0 + count($1) }
            case .dictionary(let values): return try values.values.reduce(0) { try $0 + count($1) }
            default: return 0
            }
        }
        var total = 0
        let objects = try store.objects("A")
        for object in try (0..<objects.count()).map(objects.object) {
            for property in ["part", "parts", "named"] {
                total += try count(object.value(property))
            }
        }
        return total
    }

    @Test(arguments: 0..<40)
    func `Random nested values create one object per key and no unowned embedded object`(
        seed: UInt64
    ) throws {
        var random = SplitMix(seed: seed)
        func embedded(_ depth: Int) -> Value {
            var values: ValueMap = ["name": .string("e")]
            if depth > 0, Bool.random(using: &random) { values["a"] = node(depth - 1) }
            if depth > 0, Bool.random(using: &random) { values["inner"] = embedded(depth - 1) }
            return .dictionary(values)
        }
        func some(_ make: () -> Value) -> [Value] {
            (0..<Int.random(in: 0...2, using: &random)).map { _ in make() }
        }
        func node(_ depth: Int) -> Value {
            var values: ValueMap = ["id": .int(.random(in: 1...3, using: &random))]
            if Bool.random(using: &random) { values["name"] = .string("n\(depth)") }
            guard depth > 0 else { return .dictionary(values) }
            let properties = ["link", "list", "map", "set", "part", "parts", "named"]
            for property in properties.shuffled(using: &random).prefix(2) {
                values[property] =
                    switch property {
                    case "link": node(depth - 1)
                    case "part": embedded(depth - 1)
                    case "list", "set": .list(some { node(depth - 1) })
                    case "parts": .list(some { embedded(depth - 1) })
                    case "map":
                        .dictionary(
                            ValueMap(some { node(depth - 1) }.map { (key: "k", value: $0) }))
                    default:
                        .dictionary(
                            ValueMap(some { embedded(depth - 1) }.map { (key: "k", value: $0) }))
                    }
            }
            return .dictionary(values)
        }
        for _ in 0..<15 {
            let mode = UpdateMode.allCases.randomElement(using: &random) ?? .error
            let value = node(3)
            try store.write {
                let before = try store.objects("A").count()
                do {
                    try store.create("A", value, mode: mode)
                } catch let error as StoreError {
                    #expect(
                        [.duplicateKey, .invalidObject, .invalidArgument].contains(error.code),
                        "\(error)")
                    let after = try store.objects("A").count()
                    #expect(mode != .error || after == before)
                }
                if Int.random(in: 0..<4, using: &random) == 0, before > 0 {
                    let owner = try #require(try store.objects("A").first())
                    // Values with existing keys are rejected, which must not change anything.
                    try? owner.list("parts").append([embedded(2)])
                    try? owner.set("part", embedded(2))
                }
            }
            for id in 1...3 {
                #expect(try store.objects("A").filtered("id == $1", [.int(Int64(id))]).count() <= 1)
            }
            #expect(try store.verify().isEmpty)
            let owned = try reachable()
            #expect(try store.objects("E").count() == owned, "seed \(seed): \(value)")
        }
    }
}

/// Default functions that change or close stores.
@Suite struct DefaultFunctionTests {
    private let store: Store
    private let other: Store

    init() throws {
        let classes = [
            ClassSchema("A", "id: int primary, x: int, es: E[]"),
            ClassSchema("E", "x: int", isEmbedded: true),
        ]
        store = try Store.temporary(classes)
        other = try Store.temporary(classes)
    }

    @Test func `A default function cannot change or close any store`() throws {
        let (store, other) = (store, other)
        try store.write { try store.create("A", .list([.int(1), .int(1)])) }
        let first = try #require(try store.object("A", primaryKey: .int(1)))
        let acts: [() throws -> Void] = [
            { try store.create("A", .list([.int(9), .int(1)])) }, { try store.delete(first) },
            { try store.deleteAll() }, { try first.set("x", .int(2)) },
            { try first.list("es").removeAll() }, { try store.commitWrite() },
            { try store.cancelWrite() }, { try store.define([ClassSchema("Z", [])]) },
            { try store.beginWrite() }, { try other.beginWrite() },
            { try other.write { try other.deleteAll() } }, { try other.define([]) },
            { try store.inserter(of: first.classSchema).insert() },
        ]
        for className in ["A", "E"] {
            for (index, act) in acts.enumerated() {
                try store.setDefault(of: "x", in: className) {
                    try act()
                    return .int(1)
                }
                try store.write {
                    _ = storeError(.alreadyInWrite) {
                        if className == "A" {
                            try store.create("A", .dictionary(["id": .int(2)]))
                        } else {
                            try first.list("es").append([.dictionary([:])])
                        }
                    }
                    let count = try store.objects("A").count()
                    #expect(count == 1, "\(className) \(index)")
                }
                #expect(try store.verify().isEmpty)
            }
        }
    }

    @Test func `Closing a store in its default function has no effect`() throws {
        let (store, other) = (store, other)
        try store.setDefault(of: "x", in: "A") {
            store.close()
            other.close()
            return .int(7)
        }
        try store.write { try store.create("A", .dictionary(["id": .int(1)])) }
        #expect(try store.object("A", primaryKey: .int(1))?.value("x") == .int(7))
        #expect(!other.isClosed)
        store.close()
        #expect(store.isClosed)
    }

    @Test func `A default function can read, and another thread can write in the meantime`() throws
    {
        let folder = TemporaryFolder()
        let path = folder.file("other.moonpool")
        let classes = [ClassSchema("A", "id: int primary")]
        try store.setDefault(of: "x", in: "A") { [store] in
            let thread = RunningThread {
                #expect(throws: Never.self) {
                    let elsewhere = try Store.file(path, classes)
                    try elsewhere.write { try elsewhere.create("A", .list([.int(1)]), mode: .all) }
                    elsewhere.close()
                }
            }
            thread.wait()
            return .int(Int64(try store.objects("A").count()))
        }
        try store.write {
            for id in 0..<3 { try store.create("A", .dictionary(["id": .int(Int64(id))])) }
        }
        for id in 0..<3 {
            let object = try store.object("A", primaryKey: .int(Int64(id)))
            #expect(try object?.value("x") == .int(Int64(id)))
        }
    }
}
