import ObjectStore
import Testing

/// Copies of objects, between stores and within one store.
@Suite struct ObjectCopyTests {
    static let classes = [
        ClassSchema(
            "Person",
            [
                Property("name", .string, isPrimary: true),
                Property("age", .int, isOptional: true),
                Property("friend", .object, target: "Person"),
                Property("pets", .object, collection: .list, target: "Pet"),
                Property("home", .object, target: "Home"),
                Property("tags", .string, collection: .list),
            ]),
        ClassSchema(
            "Pet", [Property("kind", .string), Property("owner", .object, target: "Person")]),
        ClassSchema(
            "Home",
            [Property("street", .string), Property("landlord", .object, target: "Person")],
            isEmbedded: true),
    ]

    let source = try! Store.temporary(classes)
    let target = try! Store.temporary(classes)

    func person(_ name: String, _ more: ValueMap = [:]) throws -> LiveObject {
        try source.create(
            "Person", .dictionary(more.merging(["name": .string(name)]) { $1 }))
    }

    /// Ann and Bob are friends, Ann has a cat that links to her, and Bob is her landlord.
    func ann() throws -> LiveObject {
        try source.write {
            let ann = try person("Ann", ["age": .int(40), "tags": .list([.string("a")])])
            let bob = try person("Bob", ["friend": .object(ann.reference)])
            try ann.set("friend", .object(bob.reference))
            let pet: Value = .dictionary([
                "kind": .string("cat"), "owner": .object(ann.reference),
            ])
            try ann.set("pets", .list([pet]))
            try ann.set(
                "home",
                .dictionary(["street": .string("Main"), "landlord": .object(bob.reference)]))
            return ann
        }
    }

    func linked(_ object: LiveObject?, _ name: String) throws -> LiveObject? {
        guard let object, case .object(let reference) = try object.value(name) else { return nil }
        return object.source.object(reference)
    }

    @Test func `an object of another store is copied with all linked objects, including cycles`()
        throws
    {
        let ann = try ann()
        let copy = try target.write { try target.create("Person", copying: ann) }
        #expect(try copy.value("age") == .int(40))
        #expect(try copy.value("tags") == .list([.string("a")]))
        let bob = try linked(copy, "friend")
        #expect(try linked(bob, "friend") == copy)
        #expect(try target.objects("Person").count() == 2)
        #expect(try target.objects("Pet").count() == 1)
        #expect(try linked(target.objects("Pet").first(), "owner") == copy)
        #expect(try linked(linked(copy, "home"), "landlord") == bob)
        #expect(try target.objects("Home").count() == 1)
        #expect(try source.objects("Home").count() == 1)
    }

    @Test func `an existing key is an error, or updates the object`() throws {
        let ann = try ann()
        try target.write { try target.create("Person", copying: ann) }
        try source.write { try ann.set("age", .int(41)) }
        try target.write {
            _ = storeError(.duplicateKey) { try target.create("Person", copying: ann) }
        }
        for mode in [UpdateMode.modified, .all] {
            let copy = try target.write { try target.create("Person", copying: ann, mode: mode) }
            #expect(try copy.value("age") == .int(41))
            #expect(try target.objects("Person").count() == 2)
            #expect(try target.objects("Home").count() == 1)
        }
    }

    @Test func `an update with an object of the same store returns the object`() throws {
        let ann = try ann()
        try source.write {
            #expect(try source.create("Person", copying: ann, mode: .all) == ann)
            _ = storeError(.duplicateKey) { try source.create("Person", copying: ann) }
            guard let cat = try source.objects("Pet").first() else { return }
            let other = try source.create("Pet", copying: cat)
            #expect(other != cat)
            #expect(try linked(other, "owner") == ann)
            #expect(try source.objects("Person").count() == 2)
        }
    }

    @Test func `a frozen object restores a deleted object`() throws {
        let ann = try ann()
        let frozen = try source.freeze(ann)
        try source.write { try source.deleteAll() }
        let again = try source.write { try source.create("Person", copying: frozen) }
        #expect(try source.objects("Person").count() == 2)
        #expect(try linked(linked(again, "friend"), "friend") == again)
        #expect(try linked(again, "home")?.value("street") == .string("Main"))
    }

    @Test func `a deleted object cannot be copied`() throws {
        let ann = try ann()
        try source.write { try source.delete(ann) }
        try target.write {
            _ = storeError(.invalidObject) { try target.create("Person", copying: ann) }
        }
    }

    @Test func `an object of an undeclared class is an error`() throws {
        let ann = try ann()
        let small = try Store.temporary([
            ClassSchema(
                "Person",
                [
                    Property("name", .string, isPrimary: true),
                    Property("age", .int, isOptional: true),
                ])
        ])
        try small.write {
            let error = storeError(.unknownProperty) { try small.create("Person", copying: ann) }
            #expect(error?.message.contains("'Person'") == true)
        }
        _ = storeError(.notInWrite) { try target.create("Person", copying: ann) }
        _ = storeError(.unknownClass) {
            _ = try target.write { try target.create("Cat", copying: ann) }
        }
        try source.write {
            guard let home = try linked(ann, "home") else { return }
            try target.write {
                _ = storeError(.invalidArgument) { try target.create("Home", copying: home) }
            }
        }
    }

    @Test func `a chain of any length is copied`() throws {
        let first = try source.write {
            var last = try person("0")
            let first = last
            for number in 1...20_000 {
                let next = try person("\(number)")
                try last.set("friend", .object(next.reference))
                last = next
            }
            try last.set("friend", .object(first.reference))
            return first
        }
        try target.write { try target.create("Person", copying: first) }
        #expect(try target.objects("Person").count() == 20_001)
        #expect(try target.objects("Person").filtered("friend == nil").count() == 0)
    }
}
