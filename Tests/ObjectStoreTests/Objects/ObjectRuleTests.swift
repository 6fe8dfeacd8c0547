import ObjectStore
import Testing

/// Rules of objects and lists that other suites do not cover: nil and defaults, primary keys, replaced lists.
@Suite struct ObjectRuleTests {
    static let classes = [
        ClassSchema(
            "Dog",
            [
                Property("id", .int, isPrimary: true),
                Property("age", .int, isOptional: true, defaultValue: .int(7)),
                Property("name", .string, defaultValue: .string("Rex")),
                Property("marks", .int, collection: .list),
                Property("friends", .object, collection: .list, target: "Dog"),
                Property("best", .object, target: "Dog"),
            ])
    ]

    let store = try! Store.temporary(classes)

    func dog(_ id: Int64, _ more: ValueMap = [:], _ mode: UpdateMode = .error) throws
        -> LiveObject
    {
        try store.create("Dog", .dictionary(more.merging(["id": .int(id)]) { $1 }), mode: mode)
    }

    @Test func `an explicit nil overrides the default, and is an error for a required property`()
        throws
    {
        try store.write {
            let first = try dog(1)
            let second = try dog(2, ["age": .null])
            #expect(try first.value("age") == .int(7))
            #expect(try second.value("age") == .null)
            let error = storeError(.missingValue) { _ = try dog(3, ["name": .null]) }
            #expect(error?.message.contains("'name' of 'Dog'") == true)
            #expect(try store.objects("Dog").count() == 2)
        }
    }

    @Test func `a missing or nil list is an empty one`() throws {
        try store.write {
            let given: [(Int64, ValueMap)] = [(1, [:]), (2, ["marks": .null, "friends": .null])]
            for (id, values) in given {
                let made = try dog(id, values)
                #expect(try made.list("marks").count() == 0)
                #expect(try made.list("friends").count() == 0)
            }
            let rex = try dog(3, ["marks": .list([.int(1)])])
            _ = try dog(3, ["marks": .null], .all)
            #expect(try rex.list("marks").count() == 0)
        }
    }

    @Test(
        arguments: [
            PropertyType.bool, .float, .double, .date, .data,
        ])
    func `a primary key of another type is a schema error`(type: PropertyType) {
        let wrong = ClassSchema("Wrong", [Property("key", type, isPrimary: true)])
        let error = storeError(.invalidSchema) { _ = try Store.temporary([wrong]) }
        #expect(error?.message.contains("'Wrong.key' is a primary key of type") == true)
    }

    @Test(arguments: [PropertyType.int, .string, .uuid, .objectID], [false, true])
    func `int, string, uuid and object_id can be primary keys, also optional`(
        type: PropertyType, isOptional: Bool
    ) throws {
        let key = Property("key", type, isOptional: isOptional, isPrimary: true)
        let store = try Store.temporary([ClassSchema("Right", [key])])
        #expect(store.schema.find("Right")?.primaryKey?.type == type)
    }

    @Test func `an update replaces a list and does not merge it`() throws {
        try store.write {
            let rex = try dog(1, ["marks": .list([.int(1), .int(2), .int(3)])])
            for mode in [UpdateMode.all, .modified] {
                _ = try dog(1, ["marks": .list([.int(9)])], mode)
                #expect(try rex.list("marks").values() == [.int(9)])
                _ = try dog(1, ["marks": .list([.int(1), .int(2)])], mode)
                #expect(try rex.list("marks").values() == [.int(1), .int(2)])
            }
        }
    }

    @Test func `setting a property of all results affects the initial results`() throws {
        try store.write {
            for id in 1...4 { _ = try dog(Int64(id), ["age": .int(Int64(id % 2))]) }
            let even = try store.objects("Dog").filtered("age == 0")
            let classSchema = try even.classSchema()
            for key in try even.keys() {
                try store.update(even.source.object(classSchema, key), ["age": .int(42)])
            }
            #expect(try even.count() == 0)
            #expect(try store.objects("Dog").filtered("age == 42").count() == 2)
            let rex = try #require(try store.objects("Dog").first())
            _ = storeError(.unknownProperty) { try store.update(rex, ["agee": .int(1)]) }
            _ = storeError(.invalidArgument) { try store.update(rex, ["id": .int(1)]) }
        }
    }

    @Test func `a snapshot of results keeps deleted objects as invalid ones`() throws {
        try store.write {
            for id in 1...3 { _ = try dog(Int64(id)) }
            let all = try store.objects("Dog")
            let classSchema = try all.classSchema()
            let objects = try all.keys().map { all.source.object(classSchema, $0) }
            try store.delete(objects[1])
            #expect(objects.map(\.isValid) == [true, false, true])
            #expect(try all.count() == 2)
        }
    }

    @Test func `a class that is not in the schema is an error`() throws {
        try store.write {
            let error = storeError(.unknownClass) { try store.create("Dgo") }
            #expect(error?.message.contains("did you mean 'Dog'") == true)
        }
    }

    @Test func `a list assigned to itself keeps its contents`() throws {
        try store.write {
            let max = try dog(2)
            let rex = try dog(
                1,
                [
                    "marks": .list([.int(3), .int(1)]),
                    "friends": .list([.object(max.reference), .object(max.reference)]),
                ])
            for name in ["marks", "friends"] {
                let before = try rex.value(name)
                try rex.set(name, before)
                #expect(try rex.value(name) == before)
            }
            #expect(max.isValid)
        }
    }

    @Test func `removing from a list keeps the object, deleting a list deletes the objects`()
        throws
    {
        try store.write {
            let others = try (2...4).map { try dog(Int64($0)) }
            let rex = try dog(1, ["friends": .list(others.map { .object($0.reference) })])
            let list = try rex.list("friends")
            try list.remove(at: 0)
            #expect(others[0].isValid)
            let results = try Results(list)
            try store.delete(results.keys().array, of: results.classSchema())
            #expect(others.map(\.isValid) == [true, false, false])
            #expect(try list.count() == 0)
            #expect(rex.isValid)
        }
    }

    @Test func `a deleted object leaves every list and link that contains it`() throws {
        try store.write {
            let max = try dog(2)
            let link = Value.object(max.reference)
            let rex = try dog(1, ["friends": .list([link, link]), "best": link])
            let cleo = try dog(3, ["friends": .list([.object(rex.reference), link])])
            try store.delete(max)
            #expect(try rex.list("friends").count() == 0)
            #expect(try rex.value("best") == .null)
            #expect(try cleo.list("friends").values() == [.object(rex.reference)])
        }
    }

    @Test func `a list refuses nil and objects of another class`() throws {
        let cat = ClassSchema("Cat", [Property("id", .int)])
        try store.define([cat])
        try store.write {
            let rex = try dog(1)
            let tom = try store.create("Cat", .dictionary(["id": .int(1)]))
            let list = try rex.list("friends")
            _ = storeError(.typeMismatch) { try list.append([.object(tom.reference)]) }
            _ = storeError(.missingValue) { try list.append([.null]) }
            _ = storeError(.missingValue) { try rex.list("marks").append([.null]) }
            #expect(try list.count() == 0)
        }
        let rex = try #require(try store.object("Dog", primaryKey: .int(1)))
        _ = storeError(.notInWrite) { try rex.list("marks").append([.int(1)]) }
    }
}
