import DataFormats
import ObjectStore
import TestThreads
import Testing
import Transfer

@Suite struct ImportTests {
    private static let dogs = [
        "Dog": ["id": "int primary", "name": "string", "age": "int?", "owner": "Person"],
        "Person": ["name": "string primary"],
    ]

    @Test(arguments: [
        ("{\"id\": 1", "line 1, column 9: not JSON: the text ends too early"),
        (
            "{\"id\": 1, \"name\": \"Rex\"}\n{\"id\": 1, \"name\": \"Max\"}",
            "line 2: 'Dog' already has an object with the primary key 1; import with upsert"
        ),
        ("{\"id\": 1, \"name\": 5}", "line 1, column 19: 'Dog.name' expects string, got 5"),
        ("{\"id\": 1, \"nam\": \"Rex\"}", "did you mean 'name'?"),
        ("{\"id\": 1}", "line 1: 'Dog.name' is required"),
        ("{\"id\": 1.5, \"name\": \"x\"}", "expects int, got 1.5"),
        ("{\"id\": 99999999999999999999, \"name\": \"x\"}", "expects int"),
        ("[1, 2]", "line 1: expected an object as the row, got a list"),
        (
            "{\"id\": 1, \"name\": \"x\"} {\"id\": 2, \"name\": \"y\"}",
            "line 1, column 24: not JSON: expected the end of the text after the value"
        ),
        ("{\"id\": 1, \"name\": \"Rex\", \"owner\": \"Ann\"}", "line 1: links to Person \"Ann\""),
        ("{\"id\": 1, \"name\": \"\\ud800\u{FFFD}\"} x", "line 1, column 20: not JSON: an escape"),
    ])
    func `an invalid line is reported, and nothing is imported`(text: String, expected: String)
        throws
    {
        let world = try TransferWorld(Self.dogs)
        let said = message { try world.take(text, as: "a.jsonl", ImportOptions(class: "Dog")) }
        #expect(said.contains(expected), "\(said)")
        #expect(try world.store.objects("Dog").count() == 0)
        #expect(!world.store.isInWrite)
    }

    @Test func `invalid rows are skipped and written to a file`() throws {
        let world = try TransferWorld(Self.dogs)
        var options = ImportOptions(class: "Dog")
        options.rejects = world.path("rejects.jsonl")
        let report = try world.take(
            """
            {"id": 1, "name": "Rex"}

            {"id": 2, "name": 7}
            {"id": 3, "name":
            {"id": 4, "name": "Max"}
            """, as: "a.jsonl", options)
        #expect(report.created == 2)
        #expect(report.rejected == 2)
        #expect(
            try world.text(of: "rejects.jsonl") == """
                {"id": 2, "name": 7}
                {"id": 3, "name":

                """)
        #expect(
            try world.text(of: "rejects.jsonl.reasons.jsonl") == """
                {"line":3,"column":19,"reason":"'Dog.name' expects string, got 7"}
                {"line":4,"column":18,"reason":"not JSON: the text ends too early"}

                """)
    }

    @Test func `objects without a primary key are found by any numbers`() throws {
        let world = try TransferWorld(["Node": ["name": "string", "next": "Node"]])
        let numbers: [Int64] = [
            0, 1, 2, 7, 8, 5, 100, 99, 101, .min, .max, -1, 3, 102, 103, .max - 1, 104,
        ]
        // Each object links to an earlier one, except the first, which links to the last.
        var random = SeededGenerator(seed: 1)
        var expected: [Value] = []
        let lines = numbers.enumerated().map { index, number in
            let target = index == 0 ? numbers[16] : numbers[..<index].randomElement(using: &random)!
            expected.append(.string("n\(target)"))
            return "{\"$key\":\(number),\"name\":\"n\(number)\",\"next\":{\"$key\":\(target)}}"
        }
        let options = ImportOptions(class: "Node")
        let report = try world.take(lines.joined(separator: "\n"), as: "a.jsonl", options)
        #expect(report.created == numbers.count)
        var found: [Value: Value] = [:]
        let nodes = try world.store.objects("Node")
        for index in 0..<(try nodes.count()) {
            let node = try nodes.object(at: index)
            guard case .object(let next) = try node.value("next") else { continue }
            found[try node.value("name")] = try world.store.object(next)?.value("name")
        }
        for (number, name) in zip(numbers, expected) {
            #expect(found[.string("n\(number)")] == name, "\(lines)")
        }
    }

    @Test(arguments: [true, false])
    func `rows can link to rows anywhere in the file, with or without a primary key`(
        hasKey: Bool
    ) throws {
        let key = hasKey ? "string primary" : "string"
        let world = try TransferWorld(["Node": ["name": key, "next": "Node"]])
        var random = SeededGenerator(seed: hasKey ? 1 : 2)
        let numbers = Array(0..<1_000).shuffled(using: &random)
        // The targets of the last ten do not exist.
        let targets = numbers.indices.map { index in
            index < 990 ? numbers.randomElement(using: &random)! : 5_000 + index
        }
        let lines = zip(numbers, targets).map { number, target in
            hasKey
                ? "{\"name\":\"n\(number)\",\"next\":\"n\(target)\"}"
                : "{\"$key\":\(number),\"name\":\"n\(number)\",\"next\":{\"$key\":\(target)}}"
        }
        let text = lines.joined(separator: "\n")
        var options = ImportOptions(class: "Node")
        let name = hasKey ? "\"n5990\"" : "5990"
        let said = message { try world.take(text, as: "a.jsonl", options) }
        #expect(said.contains("line 991: links to Node \(name)"), "\(said)")
        #expect(said.contains("(and 9 more)"), "\(said)")
        #expect(try world.store.objects("Node").count() == 0)
        options.rejects = world.path("rejects.jsonl")
        let report = try world.take(text, as: "a.jsonl", options)
        #expect(report.created == 1_000 && report.reasons.count == 10)
        #expect(try world.store.objects("Node").count() == 1_000)
        let expected = zip(numbers, targets).map { number, target in
            (Value.string("n\(number)"), target < 5_000 ? Value.string("n\(target)") : .null)
        }
        let nodes = Dictionary(
            uniqueKeysWithValues: zip(
                try world.values("Node", "name"), try world.values("Node", "next")))
        for (name, target) in expected {
            let next: Value =
                if case .object(let object)? = nodes[name] {
                    try world.store.object(object)?.value("name") ?? .null
                } else {
                    .null
                }
            #expect(next == target, "\(name)")
        }
    }

    @Test func `batches create no objects that rows only link to`() throws {
        let world = try TransferWorld(Self.dogs)
        var options = ImportOptions(class: "Dog")
        options.batch = 1
        let said = message {
            try world.take(
                "{\"id\": 1, \"name\": \"Rex\", \"owner\": \"Ann\"}\n{\"id\": 2, \"name\": \"Max\"}",
                as: "a.jsonl", options)
        }
        #expect(said.contains("line 1: links to Person \"Ann\""))
        #expect(try world.store.objects("Dog").count() == 2)
        #expect(try world.store.objects("Person").count() == 0)
    }

    @Test func `objects are updated by primary key on request`() throws {
        let world = try TransferWorld(Self.dogs)
        var options = ImportOptions(class: "Dog")
        try world.take("{\"id\": 1, \"name\": \"Rex\", \"age\": 3}", as: "a.jsonl", options)
        options.isUpsert = true
        let report = try world.take(
            "{\"id\": 1, \"name\": \"Max\"}\n{\"id\": 2, \"name\": \"Cleo\"}", as: "a.jsonl",
            options)
        #expect(report.updated == 1 && report.created == 1)
        #expect(try world.values("Dog", "name") == [.string("Max"), .string("Cleo")])
        #expect(try world.values("Dog", "age") == [.int(3), .null])
    }

    @Test func `a dry run changes nothing and reports`() throws {
        let world = try TransferWorld(Self.dogs)
        var options = ImportOptions(class: "Dog")
        options.isDryRun = true
        let report = try world.take("{\"id\": 1, \"name\": \"Rex\"}", as: "a.jsonl", options)
        #expect(report.created == 1)
        #expect(try world.store.objects("Dog").count() == 0)
    }

    @Test func `CSV with renamed and omitted columns is imported`() throws {
        let world = try TransferWorld(Self.dogs)
        var options = ImportOptions(class: "Dog")
        options.names = ["No": "id", "Comment": ""]
        let report = try world.take(
            "\u{FEFF}No,name,age,Comment,owner\r\n1,\"Rex, \"\"the\"\" dog\",,x,\r\n2,\"\",4,\"two\nlines\",\r\n",
            as: "a.csv", options)
        #expect(report.created == 2)
        #expect(try world.values("Dog", "name") == [.string("Rex, \"the\" dog"), .string("")])
        #expect(try world.values("Dog", "age") == [.null, .int(4)])
    }

    @Test(arguments: [
        ("id,name\n1,Rex,3", "line 2: the record has 3 fields, the header names 2"),
        (
            "id,nmae\n1,Rex",
            "a.csv, line 1, column 2: 'Dog' has no property 'nmae'; did you mean 'name'?"
        ),
        ("id,name\n1,\"Rex", "line 2: a quoted field has no closing quote"),
        (
            "id,name\n1,\"Rex\"x",
            "line 2: expected the separator or the line's end after a closing quote"
        ),
        ("id,name\nx,Rex", "line 2, column 1: 'Dog.id' expects int, got \"x\""),
        ("id,name,id\n1,Rex,2", "column 3: 'Dog' has no property 'id_2'"),
    ])
    func `an error in a CSV file is reported`(text: String, expected: String) throws {
        let world = try TransferWorld(Self.dogs)
        let said = message { try world.take(text, as: "a.csv", ImportOptions(class: "Dog")) }
        #expect(said.contains(expected), "\(said)")
    }

    @Test(arguments: [
        ("id,name\n1,R\u{1}x", "line 2, column 2: 'name' holds bytes that are not UTF-8"),
        ("id,na\u{1}me\n1,Rex", "line 1: the header holds bytes that are not UTF-8"),
    ])
    func `CSV with invalid UTF-8 is refused, and no bytes are replaced`(
        text: String, expected: String
    ) throws {
        let world = try TransferWorld(Self.dogs)
        // The bytes of a file in Latin-1.
        let file = try FileWriter(world.path("a.csv"))
        try file.write(text.utf8.map { $0 == 1 ? 0xE9 : $0 })
        try file.finish()
        let said = message {
            _ = try Importer(into: world.store, ImportOptions(class: "Dog")).read(
                world.path("a.csv"), as: .csv)
        }
        #expect(said.contains(expected) && said.contains("--encoding windows-1252"), "\(said)")
        #expect(try world.values("Dog", "id").isEmpty)
    }

    @Test func `an error after committed batches says what is committed`() throws {
        for (name, text) in [
            ("a.csv", "id\n1\n2\n3\n4\nx\n"),
            ("a.jsonl", (1...4).map { "{\"id\":\($0)}\n" }.joined() + "{\"id\":\"x\"}\n"),
        ] {
            let world = try TransferWorld(["T": ["id": "int primary"]])
            var options = ImportOptions(class: "T")
            options.batch = 2
            let said = message { try world.take(text, as: name, options) }
            let line = name == "a.csv" ? 5 : 4
            #expect(
                said.hasSuffix(
                    "; 4 rows are committed, up to line \(line): import the rows after it"),
                "\(said)")
            #expect(try world.store.objects("T").count() == 4)
            // The first batch fails: nothing is committed.
            let other = try TransferWorld(["T": ["id": "int primary"]])
            options.batch = 5
            #expect(!message { try other.take(text, as: name, options) }.contains("committed"))
        }
    }

    @Test func `an object of lists, as Realm's tools export it, is imported`() throws {
        let world = try TransferWorld([:])
        let report = try world.take(
            """
            {"Person": [{"_id": {"$oid": "507f1f77bcf86cd799439011"}, "name": "Ann", "born": {"$date": 0}}],
             "Dog": [{"_id": 1, "tags": ["a", "b"], "weight": 3.5}, {"_id": 2, "tags": [], "weight": 4}]}
            """, as: "a.json")
        #expect(report.created == 3)
        #expect(try world.values("Dog", "weight") == [.double(3.5), .double(4)])
        #expect(
            try world.values("Dog", "tags") == [.list([.string("a"), .string("b")]), .list([])])
        #expect(try world.values("Person", "born") == [.date(Timestamp(microseconds: 0))])
    }

    @Test(arguments: [
        "[{\"id\": 1}, 2]", "[[1]]", "7", "{\"Dog\": {\"id\": 1}}", "[", "{\"Dog\": [{]}",
    ])
    func `JSON of another form is refused`(text: String) throws {
        let world = try TransferWorld(Self.dogs)
        #expect(
            message { try world.take(text, as: "a.json", ImportOptions(class: "Dog")) }
                != "nothing was wrong")
        #expect(try world.store.objects("Dog").count() == 0)
    }

    @Test func `an unreadable file is reported with its name`() throws {
        let world = try TransferWorld(Self.dogs)
        let importer = Importer(into: world.store, ImportOptions(class: "Dog"))
        #expect(
            message { _ = try importer.read("/no-such-folder/a.jsonl", as: .jsonLines) }
                .contains("/no-such-folder/a.jsonl: No such file"))
        #expect(message { _ = try importer.read(world.folder, as: .jsonLines) }.contains("folder"))
    }
}
