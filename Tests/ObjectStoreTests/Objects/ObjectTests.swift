import ObjectStore
import Testing

@Suite struct ObjectTests {
    static let classes = [
        ClassSchema(
            "Person",
            [
                Property("id", .int, isPrimary: true), Property("name", .string),
                Property("age", .int, isOptional: true),
                Property("height", .double, defaultValue: .double(1.5)),
                Property("dogs", .object, collection: .list, target: "Dog"),
                Property("numbers", .int, isOptional: true, collection: .list),
            ]),
        ClassSchema(
            "Dog",
            [
                Property("name", .string), Property("owner", .object, target: "Person"),
                Property(
                    "owners", .backlinks,
                    origin: Property.Origin(className: "Person", property: "dogs")),
            ]),
        ClassSchema(
            "Everything",
            [
                Property("a", .bool), Property("b", .int), Property("c", .float),
                Property("d", .double), Property("e", .string), Property("f", .data),
                Property("g", .date), Property("h", .uuid), Property("i", .objectID),
            ]),
        ClassSchema(
            "Maybe",
            [
                Property("a", .bool, isOptional: true), Property("b", .int, isOptional: true),
                Property("c", .float, isOptional: true), Property("d", .double, isOptional: true),
                Property("e", .string, isOptional: true), Property("f", .data, isOptional: true),
                Property("g", .date, isOptional: true), Property("h", .uuid, isOptional: true),
                Property("i", .objectID, isOptional: true),
            ]),
    ]

    private func person(_ id: Int64, _ more: ValueMap = [:]) -> Value {
        let values: ValueMap = ["id": .int(id), "name": .string("P\(id)")]
        return .dictionary(values.merging(more) { $1 })
    }

    @Test func `nested values create the linked objects`() throws {
        let store = try Store.temporary(Self.classes)
        let owner = try store.write {
            try store.create(
                "Person",
                person(
                    1,
                    [
                        "dogs": .list([
                            .dictionary(["name": .string("Rex")]), .list([.string("Max")]),
                        ]), "numbers": .list([.int(1), .null, .int(3)]),
                    ]))
        }
        let dogs = try owner.list("dogs").values()
        #expect(dogs.count == 2)
        guard case .object(let rex) = dogs[0] else {
            Issue.record("no object")
            return
        }
        let live = try #require(store.object(rex))
        #expect(try live.value("name") == .string("Rex"))
        #expect(try live.value("owners") == .list([.object(owner.reference)]))
        #expect(try owner.list("numbers").values() == [.int(1), .null, .int(3)])
    }

    @Test func `defaults replace missing values, and a required property cannot be nil`() throws {
        let store = try Store.temporary(Self.classes)
        try store.beginWrite()
        let made = try store.create("Person", person(1))
        #expect(try made.value("height") == .double(1.5))
        #expect(try made.value("age") == .null)
        let missing = storeError(.missingValue) {
            try store.create("Person", .dictionary(["id": .int(2)]))
        }
        #expect(missing?.message.contains("'Person.name'") == true)
        _ = storeError(.missingValue) {
            try store.create("Person", person(3, ["name": .null]))
        }
        try store.commitWrite()
        #expect(try store.view.table(made.classSchema).count == 1)
    }

    @Test func `every type keeps its values`() throws {
        let store = try Store.temporary(Self.classes)
        let long = String(repeating: "long ", count: 2000)
        let values: [[Value]] = [
            [
                .bool(true), .int(.max), .float(1.5), .double(-0.25), .string("grün 🐕"),
                .data([0, 255, 1]), .date(Timestamp(microseconds: -5)), .uuid(.random()),
                .objectID(.generate(seconds: 9)),
            ],
            [
                .bool(false), .int(.min), .float(-.infinity), .double(.greatestFiniteMagnitude),
                .string(""), .data([]), .date(Timestamp(microseconds: .max)),
                .uuid(UUIDValue(high: 0, low: 0)), .objectID(ObjectIDValue(high: 0, low: 0)),
            ],
            [
                .bool(true), .int(0), .float(0), .double(0), .string(long),
                .data(Array(repeating: 7, count: 5000)), .date(Timestamp(microseconds: 0)),
                .uuid(.random()), .objectID(.generate(seconds: 1)),
            ],
        ]
        for name in ["Everything", "Maybe"] {
            let objects = try store.write {
                try values.map { try store.create(name, .list($0)) }
            }
            for (object, expected) in zip(objects, values) {
                for (property, value) in zip(object.classSchema.properties, expected) {
                    #expect(try object.value(property.name) == value, "\(name).\(property.name)")
                }
            }
        }
        let empty = try store.write { try store.create("Maybe") }
        for property in empty.classSchema.properties {
            #expect(try empty.value(property.name) == .null)
        }
    }

    @Test func `a wrong type names property, class and both types`() throws {
        let store = try Store.temporary(Self.classes)
        try store.beginWrite()
        let error = storeError(.typeMismatch) {
            try store.create("Person", person(1, ["age": .string("old")]))
        }
        #expect(error?.message == "property 'age' of 'Person' expects int?, got string")
        _ = storeError(.typeMismatch) {
            try store.create("Person", person(1, ["age": .double(1.5)]))
        }
        _ = storeError(.unknownProperty) {
            try store.create("Person", person(1, ["agee": .int(1)]))
        }
        _ = storeError(.unknownClass) { try store.create("Persn", person(1)) }
        let made = try store.create("Person", person(1, ["age": .double(3), "height": .int(2)]))
        #expect(try made.value("age") == .int(3))
        #expect(try made.value("height") == .double(2))
        try store.cancelWrite()
    }

    @Test func `the primary key cannot change`() throws {
        let store = try Store.temporary(Self.classes)
        try store.write {
            let made = try store.create("Person", person(1))
            _ = storeError(.invalidArgument) { try made.set("id", .int(2)) }
        }
    }

    @Test func `update all sets the given values, even equal ones, without defaults`()
        throws
    {
        let store = try Store.temporary(Self.classes)
        try store.write {
            let first = try store.create(
                "Person", person(1, ["height": .double(2), "age": .int(9)]))
            let second = try store.create(
                "Person", .dictionary(["id": .int(1), "age": .int(10)]), mode: .all)
            #expect(first == second)
            #expect(try first.value("height") == .double(2))
            #expect(try first.value("name") == .string("P1"))
            #expect(try first.value("age") == .int(10))
        }
    }

    @Test func `upsert without a primary key is an error`() throws {
        let store = try Store.temporary(Self.classes)
        try store.write {
            let error = storeError(.invalidArgument) {
                try store.create("Dog", .dictionary(["name": .string("Rex")]), mode: .all)
            }
            #expect(error?.message.contains("no primary key") == true)
        }
    }

    @Test func `the same new key twice in one list is one object with the last values`() throws {
        let classes = [
            ClassSchema("Toy", [Property("id", .int, isPrimary: true), Property("name", .string)]),
            ClassSchema(
                "Box",
                [
                    Property("id", .int, isPrimary: true),
                    Property("toys", .object, collection: .list, target: "Toy"),
                ]),
        ]
        let store = try Store.temporary(classes)
        try store.write {
            let box = try store.create(
                "Box",
                .list([
                    .int(1),
                    .list([.list([.int(5), .string("a")]), .list([.int(5), .string("b")])]),
                ]), mode: .all)
            let toys = try box.list("toys").values()
            #expect(toys.count == 2 && toys[0] == toys[1])
            let toy = try store.object("Toy", primaryKey: .int(5))
            #expect(try toy?.value("name") == .string("b"))
        }
    }

    @Test func `deleting a target clears links and lists, but not the reverse`() throws {
        let store = try Store.temporary(Self.classes)
        let (owner, rex) = try store.write {
            let owner = try store.create("Person", person(1))
            let rex = try store.create(
                "Dog", .dictionary(["name": .string("Rex"), "owner": .object(owner.reference)]))
            let max = try store.create("Dog", .dictionary(["name": .string("Max")]))
            try owner.list("dogs").append([
                .object(rex.reference), .object(max.reference), .object(rex.reference),
            ])
            return (owner, rex)
        }
        #expect(
            try rex.value("owners") == .list([.object(owner.reference), .object(owner.reference)]))
        try store.write { try store.delete(rex) }
        #expect(try owner.list("dogs").count() == 1)
        let list = try owner.list("dogs")
        try store.write { try store.delete(owner) }
        #expect(!list.isValid)
        _ = storeError(.invalidObject) { _ = try list.count() }
        #expect(try store.view.table(rex.classSchema).count == 1)
    }

    @Test func `reading and writing a deleted object are errors`() throws {
        let store = try Store.temporary(Self.classes)
        let rex = try store.write { try store.create("Dog", .dictionary(["name": .string("Rex")])) }
        try store.write { try store.delete(rex) }
        #expect(!rex.isValid)
        let error = storeError(.invalidObject) { _ = try rex.value("name") }
        #expect(error?.message.contains("was deleted") == true)
        try store.write {
            _ = storeError(.invalidObject) { try rex.set("name", .string("x")) }
            _ = storeError(.invalidObject) { try store.delete(rex) }
            _ = storeError(.invalidObject) {
                try store.create("Person", person(1, ["dogs": .list([.object(rex.reference)])]))
            }
        }
    }

    @Test func `list edits out of range are errors`() throws {
        let store = try Store.temporary(Self.classes)
        try store.write {
            let list = try store.create("Person", person(1)).list("numbers")
            try list.append([.int(1), .int(2)])
            let error = storeError(.outOfRange) { try list.insert(.int(9), at: 3) }
            #expect(error?.message.contains("index 3 is outside the list") == true)
            _ = storeError(.outOfRange) { try list.set(.int(9), at: 2) }
            _ = storeError(.outOfRange) { try list.remove(at: -1) }
            _ = storeError(.typeMismatch) { try list.append([.string("x")]) }
            try list.insert(.int(0), at: 0)
            try list.insert(.null, at: 3)
            try list.move(from: 0, to: 3)
            #expect(try list.values() == [.int(1), .int(2), .null, .int(0)])
            try list.swap(0, 3)
            #expect(try list.values() == [.int(0), .int(2), .null, .int(1)])
            try list.remove(at: 1)
            try list.set(.int(7), at: 1)
            #expect(try list.values() == [.int(0), .int(7), .int(1)])
            #expect(try list.firstIndex(of: .int(7)) == 1)
            try list.removeAll()
            #expect(try list.count() == 0)
        }
    }

    @Test func `infinite nesting is an error, not a crash`() throws {
        let classes = [ClassSchema("Node", [Property("next", .object, target: "Node")])]
        let store = try Store.temporary(classes)
        var values = Value.dictionary([:])
        for _ in 0..<500 { values = .dictionary(["next": values]) }
        try store.write {
            let error = storeError(.invalidArgument) { try store.create("Node", values) }
            #expect(error?.message.contains("nested") == true)
        }
    }
}
