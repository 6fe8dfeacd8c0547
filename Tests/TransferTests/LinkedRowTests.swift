import DataFormats
import ObjectStore
import Testing
import Transfer

/// Nested objects of rows become objects of other classes.
@Suite struct LinkedRowTests {
    private func options(_ links: [String: String] = ["owner": "Person"]) -> ImportOptions {
        var options = ImportOptions(class: "Dog")
        options.links = links
        return options
    }

    private static let rows = """
        {"id":1,"owner":{"id":7,"name":"Ann","home":{"city":"Bern"}}}
        {"id":2,"owner":{"id":7,"name":"Ann","home":{"city":"Bern"}}}
        {"id":3,"owner":null}
        {"id":4,"owner":{"id":8,"name":"Bob","home":null}}
        """

    @Test func `rows that name their class can link to the class in the options`() throws {
        let world = try TransferWorld([
            "Dog": ["id": "int primary", "owner": "Person"], "Person": ["id": "int primary"],
        ])
        var options = ImportOptions()
        options.links = ["owner": "Person"]
        let row = "{\"$class\":\"Dog\",\"id\":1,\"owner\":{\"id\":7}}"
        #expect(try world.take(row, as: "a.jsonl", options).created == 2)
    }

    @Test(arguments: ["a.jsonl", "a.json"])
    func `the same description is the same object`(name: String) throws {
        let world = try TransferWorld([:])
        let text = name == "a.json" ? "[\(Self.rows.replacing("\n", with: ","))]" : Self.rows
        let report = try world.take(text, as: name, options())
        #expect(report.rows == 4 && report.created == 6)
        #expect(try world.types("Dog") == ["id int primary", "owner Person"])
        #expect(try world.types("Person") == ["id int primary", "name string", "home mixed"])
        #expect(try world.store.objects("Dog").filtered("owner.name == 'Ann'").count() == 2)
    }

    @Test func `classes at several depths and lists of objects are linked`() throws {
        let world = try TransferWorld([:])
        try world.take(
            #"{"id":1,"owner":{"id":7,"home":{"city":"Bern"}},"toys":[{"n":"ball"},{"n":"rope"}]}"#,
            as: "a.jsonl", options(["owner": "Person", "home": "Home", "toys": "Toy"]))
        #expect(try world.types("Dog") == ["id int primary", "owner Person", "toys Toy[]"])
        #expect(try world.store.objects("Dog").filtered("owner.home.city == 'Bern'").count() == 1)
        #expect(try world.values("Toy", "n") == [.string("ball"), .string("rope")])
    }

    @Test(arguments: [
        (#"{"id":7,"name":"Anna"}"#, "'name' is \"Ann\" and \"Anna\""),
        (#"{"id":7,"name":null}"#, "'name' is \"Ann\" and nil"),
        (#"{"id":7,"tags":[1]}"#, "'tags' is"), (#"{"id":7,"tags":[1,2]}"#, ""), (#"{"id":7}"#, ""),
        (#"{"id":7,"boss":{"id":9}}"#, ""), (#"{"id":7,"boss":{"id":8}}"#, "'boss' is"),
        (#"{"id":7,"boss":{"id":9,"name":"Zoe"}}"#, "'name' is nil and \"Zoe\""), ("7", ""),
        (#"{"id":7,"extra":{"a":1}}"#, ""), (#"{"id":7,"extra":{"a":1.5}}"#, "'extra' is"),
    ])
    func `a different description is an error, or an update on upsert`(
        second: String, expected: String
    ) throws {
        let schema = [
            "Dog": ["id": "int primary", "owner": "Person"],
            "Person": [
                "id": "int primary", "name": "string?", "tags": "int[]", "boss": "Person",
                "extra": "mixed",
            ],
        ]
        let text = """
            {"id":1,"owner":{"id":7,"name":"Ann","tags":[1,2],"boss":{"id":9},"extra":{"a":1}}}
            {"id":2,"owner":\(second)}
            """
        let world = try TransferWorld(schema)
        let said = message { try world.take(text, as: "a.jsonl", options()) }
        #expect(expected.isEmpty ? said == "nothing was wrong" : said.contains(expected), "\(said)")
        #expect(try world.store.objects("Dog").count() == (expected.isEmpty ? 2 : 0))
        let other = try TransferWorld(schema)
        var upsert = options()
        upsert.isUpsert = true
        #expect(try other.take(text, as: "a.jsonl", upsert).rows == 2)
        #expect(try other.store.verify() == [])
    }

    @Test func `a rejected row creates no objects`() throws {
        let world = try TransferWorld([
            "Dog": ["id": "int primary", "owner": "Person", "age": "int"],
            "Person": ["id": "int primary"],
        ])
        var options = options()
        options.rejects = world.path("bad.jsonl")
        let report = try world.take(
            """
            {"id":1,"owner":{"id":7}}
            {"id":2,"owner":{"id":8},"age":"x"}
            {"id":3,"owner":{"id":9},"age":3}
            """, as: "a.jsonl", options)
        #expect(report.rejected == 2 && report.created == 2)
        #expect(try world.values("Person", "id") == [.int(9)])
    }

    @Test func `CSV fields hold primary keys of the linked class`() throws {
        let world = try TransferWorld(["Person": ["id": "int primary", "name": "string"]])
        try world.store.write {
            try world.store.create("Person", .dictionary(["id": .int(7), "name": .string("Ann")]))
        }
        try world.take("id,owner\n1,7\n2,\n", as: "a.csv", options())
        #expect(try world.types("Dog") == ["id int primary", "owner Person"])
        #expect(try world.store.objects("Dog").filtered("owner.name == 'Ann'").count() == 1)
        #expect(
            message { try world.take("id,owner\n3,8\n", as: "b.csv", options()) }.contains(
                "links to Person 8"))
    }

    @Test func `a linked object must have its required values`() throws {
        let schema = [
            "Dog": ["id": "int primary", "owner": "Person"],
            "Person": ["id": "int primary", "name": "string"],
        ]
        for second in [
            #"{"$class":"Person","id":7}"#, #"{"$class":"Dog","id":2,"owner":{"id":7}}"#,
        ] {
            let world = try TransferWorld(schema)
            let said = message {
                try world.take(
                    "{\"$class\":\"Dog\",\"id\":1,\"owner\":7}\n\(second)", as: "a.jsonl",
                    options())
            }
            #expect(said.contains("line 2: 'Person.name' is required"), "\(said)")
        }
    }

    // MARK: Lists of rows as text

    @Test(arguments: [
        (#"{"a":{"b":[{"id":1},{"id":2}]}}"#, "a.b", 2),
        (#"{"x":[9],"a":[{"id":1}],"y":{"a":[{}]}}"#, "a", 1),
        (#"{"a":{"c":[{}],"b":{"id":1}}}"#, "a.b", 1), (#"{"a.b":[{"id":1}]}"#, "a.b", -1),
        (#"{"a":[]}"#, "a.b", -1), (#"{"a":{}}"#, "a.b", -1), (#"{"a":{"b":7}}"#, "a.b", -1),
        (#"[{"id":1}]"#, "a", -1),
    ])
    func `an option names the path to the rows of a JSON text`(
        text: String, path: String, count: Int
    ) throws {
        let world = try TransferWorld(["Dog": ["id": "int"]])
        var options = options([:])
        options.records = path.split(separator: ".").map(String.init)
        let said = message {
            let report = try world.take(text, as: "a.json", options)
            #expect(report.created == count)
        }
        #expect((said == "nothing was wrong") == (count >= 0), "\(said)")
    }

    @Test func `features of GeoJSON become objects with their properties`() throws {
        let text = """
            {"type":"FeatureCollection","crs":{"x":[1]},"features":[
             {"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[7.44,46.95]},"properties":{"name":"Bern","type":"city"}},
             {"type":"Feature","id":8,"geometry":null,"properties":null}]}
            """
        for (name, className) in [("a.geojson", nil), ("a.geojson", "City"), ("a.json", "City")] {
            let world = try TransferWorld([:])
            let report = try world.take(text, as: name, ImportOptions(class: className))
            #expect(report.created == 2)
            #expect(
                try world.types(className ?? "Feature") == [
                    "id int primary", "geometry mixed", "name string?", "type string?",
                ])
        }
    }

    // MARK: Names that begin with a dollar

    @Test(arguments: [
        #"{"$schema":"http://x","a":1}"#, #"{"$schema":{"Dog":{"id":"int"}},"a":1}"#,
        #"{"$class":"Dog","a":1}"#,
        #"{"a":1,"$key":7}"#, #"{"":0,"a":1}"#, #"{"$id":"x","$ref":"y","a":1}"#,
    ])
    func `members with reserved or empty names are data, on any line`(row: String) throws {
        let other = #"{"a":0}"#
        for rows in [[row], [other, row], [row, other]] {
            let world = try TransferWorld([:])
            let options = ImportOptions(class: "T")
            let report = try world.take(rows.joined(separator: "\n"), as: "a.jsonl", options)
            #expect(report.created == rows.count)
            #expect(try world.store.objects("T").filtered("a == 1").count() == 1)
            #expect(try world.types("T").count > 1)
            let known = try TransferWorld(["T": ["a": "int"]])
            // A class without such properties reports an error that names them.
            let said = message {
                try known.take(rows.joined(separator: "\n"), as: "a.jsonl", options)
            }
            #expect(said.contains("has no property") || row.contains("$key"), "\(said)")
        }
    }

    @Test(arguments: [
        ##"{"$ref":"#/x"}"##, #"{"$gt":5}"#, #"{"$timestamp":{"t":1}}"#, #"{"$map":1}"#,
        #"{"$link":5}"#,
        #"{"$date":1,"x":2}"#, #"{"":{"":[]}}"#,
    ])
    func `objects in mixed values keep members that begin with a dollar`(text: String) throws {
        let world = try TransferWorld(["T": ["v": "mixed"]])
        try world.take("{\"v\":\(text)}", as: "a.jsonl", ImportOptions(class: "T"))
        guard case .dictionary(let members) = try world.values("T", "v")[0] else {
            Issue.record("not a map")
            return
        }
        #expect(members.count == (text.contains("x\":2") ? 2 : 1))
        for ending in ["jsonl", "json", "lua", "sqlite"] {
            let path = world.path("b." + ending)
            _ = try Exporter(.store(world.store), as: TransferFormat(path: path)).write(to: path)
            let copy = try TransferWorld()
            _ = try Importer(into: copy.store).read(path, as: TransferFormat(path: path))
            #expect(try copy.values("T", "v") == [.dictionary(members)], "\(ending)")
        }
    }
}
