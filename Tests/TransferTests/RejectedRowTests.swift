import DataFormats
import ObjectStore
import Testing
import Transfer

/// Skipped rows are written unchanged to a file that can be corrected and imported.
@Suite struct RejectedRowTests {
    private static let schema = [
        "T": ["id": "int primary", "v": "int?", "other": "Other"], "Other": ["id": "int primary"],
    ]

    private func options(_ world: TransferWorld, _ name: String) -> ImportOptions {
        var options = ImportOptions(class: "T")
        options.rejects = world.path(name)
        return options
    }

    @Test(arguments: [
        (
            "id,v\r\n1,1\r\n2,\"x, \"\"y\"\"\nz\"\r\n3,3\r\n4\r\n", ",",
            "id,v\n2,\"x, \"\"y\"\"\nz\"\n4\n"
        ),
        ("id;v\n1;1\n2;x\n", ";", "id;v\n2;x\n"), ("id,v\n1,1\n", ",", ""),
        ("id,v\n\"1\"x,2\n2,2\n", ",", "id,v\n\"1\"x,2\n"),
    ])
    func `CSV records keep their quotes, and the header occurs once`(
        text: String, separator: String, expected: String
    ) throws {
        let world = try TransferWorld(Self.schema)
        var options = options(world, "bad.csv")
        options.csv.separator = Character(separator)
        try world.take(text, as: "a.csv", options)
        #expect(try world.text(of: "bad.csv") == expected)
    }

    @Test(arguments: [
        (
            "a.jsonl", "{\"id\":1}\n {\"id\":2,\"v\":\"x\"}\n{\"id\":3\n", "bad.jsonl",
            " {\"id\":2,\"v\":\"x\"}\n{\"id\":3\n"
        ),
        (
            "a.json", "[{\"id\":1},\n {\"id\":2,\n  \"v\":\"x\"}]", "bad.jsonl",
            "{\"id\":2,   \"v\":\"x\"}\n"
        ),
        (
            "a.json", "[{\"id\":1},\n {\"id\":2,\n  \"v\":\"x\"}, {\"id\":3,\"v\":[]}]", "bad.json",
            "[\n{\"id\":2,\n  \"v\":\"x\"},\n{\"id\":3,\"v\":[]}\n]\n"
        ),
        (
            "a.json", "{\"Other\":[{\"id\":1},{\"id\":\"x\"}],\"T\":[{ }]}", "bad.jsonl",
            "{\"$class\":\"Other\",\"id\":\"x\"}\n{\"$class\":\"T\" }\n"
        ),
        (
            "a.lua", "T {id = 1} T {id = 2,\n v = \"x\"}", "bad.jsonl",
            "{\"$class\":\"T\",\"id\":2,\"v\":\"x\"}\n"
        ),
        (
            "a.geojson",
            "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"id\":1,\"properties\":{\"v\":\"x\"}}]}",
            "bad.geojson",
            "{\"type\":\"FeatureCollection\",\"features\":[\n{\"type\":\"Feature\",\"id\":1,\"properties\":{\"v\":\"x\"}}\n]}\n"
        ),
    ])
    func `JSON rows have the form of their file`(
        name: String, text: String, file: String, expected: String
    ) throws {
        let world = try TransferWorld(Self.schema)
        var options = options(world, file)
        if name == "a.json", text.hasPrefix("{") || name == "a.lua" { options.className = nil }
        try world.take(text, as: name, options)
        #expect(try world.text(of: file) == expected)
    }

    // Objects 2 and 3 were created for links before their own rows are rejected.
    @Test(arguments: ["\"n\":\"x\",", "", "\"n\":-1,", "\"n\":5,"])
    func `A rejected row leaves no object that was created for links to it`(value: String) throws {
        let world = try TransferWorld([:])
        var options = options(world, "bad.jsonl")
        options.className = "A"
        let classes =
            #"{"A":{"id":"int primary","next":"A","all":"A[]","n":{"type":"int","min":0,"unique":true}}}"#
        let report = try world.take(
            """
            {"$schema":\(classes)}
            {"id":1,"n":5,"next":2,"all":[1,2,3]}
            {"id":2,\(value)"next":2}
            {"id":3,\(value)"next":1,"all":[4]}
            """, as: "a.jsonl", options)
        #expect(report.created == 1 && report.rejected == 2)
        #expect(try world.values("A", "id") == [.int(1)])
        #expect(try world.values("A", "next") == [.null])
        #expect(report.reasons.count == 4)
        // A later row can still be the object.
        let other = try TransferWorld(["A": ["id": "int primary", "next": "A", "n": "int"]])
        options.rejects = other.path("bad.jsonl")
        let second = try other.take(
            """
            {"id":1,"n":1,"next":2}
            {"id":2}
            {"id":2,"n":2}
            """, as: "a.jsonl", options)
        #expect(second.created == 2 && second.rejected == 1)
        #expect(try Set(other.values("A", "n")) == [.int(1), .int(2)])
    }

    @Test(arguments: ["csv", "jsonl", "json", "sqlite"])
    func `rejected rows can be corrected and imported`(ending: String) throws {
        let source = try TransferWorld([
            "T": ["id": "int primary", "v": "string?"], "Other": ["id": "int primary"],
        ])
        try source.store.write {
            for id in 0..<20 {
                try source.store.create(
                    "T",
                    .dictionary([
                        "id": .int(Int64(id)), "v": .string(id % 3 == 0 ? "bad" : "\(id)"),
                    ]))
            }
        }
        let file = source.path("a." + ending)
        _ = try Exporter(.results(try source.store.objects("T")), as: TransferFormat(path: file))
            .write(to: file)
        let world = try TransferWorld(Self.schema)
        let bad = ending == "sqlite" ? "bad.jsonl" : "bad." + ending
        var options = options(world, bad)
        if ending == "sqlite" { options.className = nil }
        let report = try Importer(into: world.store, options).read(
            file, as: TransferFormat(path: file))
        #expect(report.rejected == 7 && report.created == 13 && report.rows == 20)
        #expect(report.reasons.count == 7)
        let corrected = try world.text(of: bad).replacing("\"bad\"", with: "99").replacing(
            ",bad", with: ",99")
        options.rejects = nil
        options.className = "T"
        #expect(try world.take(corrected, as: bad, options).created == 7)
        #expect(try world.store.objects("T").filtered("v == 99").count() == 7)
        let reasons = try world.text(of: bad + ".reasons.jsonl").split(separator: "\n")
        #expect(reasons.count == 7)
    }

    @Test func `a failed import leaves no file of rejected rows`() throws {
        let world = try TransferWorld(Self.schema)
        let options = options(world, "bad.jsonl")
        // The text ends inside a row, so nothing after it can be read.
        #expect(
            message { try world.take("[{\"id\":\"x\"},{\"id\":", as: "a.json", options) }.contains(
                "ends too early"))
        #expect(throws: FormatError.self) { try world.text(of: "bad.jsonl") }
        #expect(throws: FormatError.self) { try world.text(of: "bad.jsonl.reasons.jsonl") }
    }

    @Test func `mixed values of a database keep their form`() throws {
        let classes = ["Part": ["id": "int primary", "any": "mixed", "list": "mixed"]]
        let source = try TransferWorld(classes)
        let values: ValueMap = [
            "id": .int(1), "any": .date(Timestamp(microseconds: 1_500_000)),
            "list": .list([.int(1), .string("two\n"), .dictionary(["a": .null])]),
        ]
        try source.store.write { try source.store.create("Part", .dictionary(values)) }
        let file = source.path("a.sqlite")
        _ = try Exporter(.store(source.store), as: .sqlite).write(to: file)
        let world = try TransferWorld(classes)
        try world.store.write { try world.store.create("Part", .dictionary(["id": .int(1)])) }
        var options = ImportOptions()
        options.rejects = world.path("bad.jsonl")
        #expect(try Importer(into: world.store, options).read(file, as: .sqlite).rejected == 1)
        let corrected = try world.text(of: "bad.jsonl")
        try world.store.write { try world.store.deleteAll("Part") }
        #expect(try world.take(corrected, as: "again.jsonl").created == 1)
        let part = try #require(try world.store.object("Part", primaryKey: .int(1)))
        for (name, value) in values { #expect(try part.value(name) == value, "\(corrected)") }
    }

    @Test func `Text of a database that is not UTF-8 keeps its bytes`() throws {
        let world = try TransferWorld()
        let path = try world.database(
            "CREATE TABLE dogs (id INTEGER PRIMARY KEY, name TEXT);"
                + "INSERT INTO dogs VALUES (1, CAST(x'41ff42' AS TEXT)), (2, 'Rex')")
        var options = ImportOptions()
        options.rejects = world.path("bad.jsonl")
        let report = try Importer(into: world.store, options).read(path, as: .sqlite)
        #expect((report.created, report.rejected) == (1, 1))
        let rejected = try world.text(of: "bad.jsonl")
        #expect(rejected == "{\"$class\":\"Dogs\",\"id\":1,\"name\":{\"$binary\":\"Qf9C\"}}\n")
        // The row does not become an object without a name.
        let fault = message { try world.take(rejected, as: "again.jsonl") }
        #expect(fault.contains("'Dogs.name' expects string"), "\(fault)")
    }
}
