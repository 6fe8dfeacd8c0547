import ObjectStore
import Testing

@Suite struct CollectionSchemaTests {
    private func store(_ properties: [Property]) throws -> Store {
        try Store.temporary([
            ClassSchema("Owner", properties), ClassSchema("Dog", [Property("id", .int)]),
        ])
    }

    private func parse(_ text: String) throws -> Property {
        try PropertySyntax.parse(name: "p", in: "Owner", text)
    }

    @Test(arguments: [
        "int<>", "string?<>", "Dog<>", "double{}", "date?{}", "Dog{}", "uuid<>", "object_id{}",
        "data{}", "bool?<>", "float{}",
    ])
    func `sets and maps are written as they are read`(text: String) throws {
        let property = try parse(text)
        #expect(PropertySyntax.text(of: property) == text)
        #expect(property.isSet != property.isMap)
        #expect(!property.isSingle)
        #expect(!property.isList)
        _ = try store([property])
    }

    @Test func `links in maps are always optional, those in sets never`() throws {
        #expect(try parse("Dog{}").isOptional)
        #expect(try parse("Dog?{}").typeName == "Dog{}")
        #expect(try !parse("Dog<>").isOptional)
        let error = storeError(.invalidSchema) { _ = try store([parse("Dog?<>")]) }
        #expect(error?.message.contains("cannot hold nil links; write Dog<>") == true)
    }

    @Test func `a set cannot contain embedded objects`() throws {
        let address = ClassSchema("Address", [Property("city", .string)], isEmbedded: true)
        let error = storeError(.invalidSchema) {
            _ = try Store.temporary([
                ClassSchema(
                    "Owner", [Property("p", .object, collection: .set, target: "Address")]),
                address,
            ])
        }
        #expect(error?.message.contains("write Address[] or Address{}") == true)
    }

    @Test(arguments: [
        ("int<> primary", "is a primary key of type int<>"), ("int{} indexed", "cannot be indexed"),
        ("Cat<>", "class 'Cat', which is not declared"), ("Dgo{}", "did you mean 'Dog'"),
    ])
    func `invalid set and map declarations are refused`(text: String, part: String) throws {
        let error = storeError(.invalidSchema) { _ = try store([parse(text)]) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test func `a backlinks property can follow sets and maps of links to its class`()
        throws
    {
        let origin = Property.Origin(className: "Owner", property: "p")
        let backlinks = ClassSchema(
            "Dog", [Property("id", .int), Property("b", .backlinks, origin: origin)])
        for type in ["Dog<>", "Dog{}"] {
            _ = try Store.temporary([ClassSchema("Owner", [parse(type)]), backlinks])
        }
        let error = storeError(.invalidSchema) {
            _ = try Store.temporary([ClassSchema("Owner", [parse("int<>")]), backlinks])
        }
        #expect(error?.message.contains("which is int<>; it must link to Dog") == true)
    }

    @Test func `defaults of collections are the same after the file is reopened`() throws {
        let folder = TemporaryFolder()
        let classes = [
            ClassSchema(
                "Owner",
                [
                    Property(
                        "m", .int, isOptional: true, collection: .map,
                        defaultValue: .dictionary(["a": .int(1), "b": .null])),
                    Property("e", .int, collection: .map, defaultValue: .dictionary([:])),
                    Property(
                        "s", .string, collection: .set,
                        defaultValue: .list([.string("y"), .string("x")])),
                ])
        ]
        func open(_ classes: [ClassSchema]?) throws -> Store {
            try Store(
                StoreConfiguration(.file(folder.file("a.moonpool")), schema: classes),
                scheduler: ManualScheduler())
        }
        var store = try open(classes)
        let version = store.version
        store.close()
        store = try open(classes)
        #expect(store.version == version)
        store.close()
        store = try open(nil)
        let owner = try store.write { try store.create("Owner") }
        #expect(try owner.value("m") == .dictionary(["a": .int(1), "b": .null]))
        #expect(try owner.value("s") == .list([.string("x"), .string("y")]))
    }

    @Test func `changing the kind of a collection requires a new schema version`()
        throws
    {
        let folder = TemporaryFolder()
        func open(_ type: String, version: UInt64 = 0) throws -> Store {
            let classes = [ClassSchema("Owner", [try parse(type)])]
            var configuration = StoreConfiguration(
                .file(folder.file("a.moonpool")), schema: classes, schemaVersion: version)
            configuration.drops = ["Owner.p"]
            return try Store(configuration, scheduler: ManualScheduler())
        }
        var store = try open("int[]")
        try store.write { try store.create("Owner", .list([.list([.int(2), .int(2)])])) }
        store.close()
        let error = storeError(.migrationNeeded) { _ = try open("int<>") }
        #expect(error?.message.contains("would change from int[] to int<>") == true)
        store = try open("int<>", version: 1)
        let owner = try #require(try store.objects("Owner").first())
        #expect(try owner.set("p").count() == 0)
        try store.write { try owner.set("p").insert(.int(4)) }
        store.close()
        _ = storeError(.migrationNeeded) { _ = try open("int{}", version: 1) }
        store = try open("int{}", version: 2)
        let again = try #require(try store.objects("Owner").first())
        #expect(try again.map("p").count() == 0)
        try store.write { try again.map("p").set(.int(1), forKey: "a") }
        #expect(try again.map("p").keys() == ["a"])
    }
}
