import DataFormats
import ObjectStore
import TestThreads
import Testing
import Transfer

/// The types of new classes: exporting a field gives an equal value.
@Suite struct InferenceTests {
    private static let hostile = [
        "00601", "+4930123456", "-007", "-0x1F", "0x1F", "12E4", "1e5", "1e-400", "1e400", "-0",
        "-0.0", "0",
        "-1", "7", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "18446744073709551615", "12345678901234567890123456789012345678",
        "1234567890123456789012345678901234567890", "82544000000000707.52", "0.1", "0.10", "1.",
        ".5", "1.0",
        "10.50", "1.1", "1.10", "5.0", "3.14159265358979", "0.30000000000000004",
        "0.1234567890123456789012",
        "1_000", "1,000", "١٢", "Infinity", "NaN", "nan", "inf", "true", "false", "TRUE", "yes",
        "no", "0.0000001",
        "123456789.123456789", "4.9e-324", "1.7976931348623157e+308", "2026-01-01",
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00.123456789Z",
        "2026-01-01T00:00:00+01:00", "2026-01-01 00:00:00", "20260101", "12:30", "24:00:00",
        "12345678-1234-1234-1234-12345678901a", "12345678-1234-1234-1234-12345678901A",
        "{12345678-1234-1234-1234-12345678901a}", "0123456789abcdef01234567", "null", "NULL", "",
        " ", " 1", "1 ",
        "\"", "a,b", "x\ny", "é", "1E+400", "1E3", "0E0", "00", "0.", "--1", "1e", "٣",
    ]

    /// Imports a column and exports it again; every field must equal the original in value, or in text for text.
    private func expectEqualValues(_ texts: [String?], _ world: TransferWorld) throws {
        var writer = CSVWriter()
        for text in ["id", "v"] { writer.field(text) }
        writer.endRecord()
        for (index, text) in texts.enumerated() {
            writer.field("\(index)")
            writer.field(text)
            writer.endRecord()
        }
        let text = String(decoding: writer.bytes, as: UTF8.self)
        let report = try world.take(text, as: "a.csv", ImportOptions(class: "T"))
        #expect(report.created == texts.count && report.changed == 0 && report.rejected == 0)
        _ = try Exporter(.results(try world.store.objects("T")), as: .csv).write(
            to: world.path("b.csv"))
        let types = try world.types("T")
        let table = try CSVReader(try FileReader(world.path("b.csv")))
        for expected in texts {
            #expect(try table.next())
            let found = try table.text(1)
            #expect(
                isEqual(expected, found, types[1]),
                "\(expected ?? "nil"), \(found ?? "nil"), \(types)")
        }
    }

    private func isEqual(_ expected: String?, _ found: String?, _ type: String) -> Bool {
        guard let expected, let found else { return expected == found }
        switch type.prefix(while: { $0 != "?" }).dropFirst(2) {
        case "int", "double":
            return NumberText.isSameNumber(expected, found) || Double(expected) == Double(found)
        case "date": return PreciseTimestamp(expected) == PreciseTimestamp(found)
        case "bool", "uuid": return expected.lowercased() == found
        default: return expected == found
        }
    }

    @Test(arguments: hostile)
    func `exporting a field gives an equal value`(text: String) throws {
        try expectEqualValues([text], TransferWorld([:]))
    }

    @Test func `exporting columns gives equal values`() throws {
        var random = SeededGenerator(seed: 1)
        for round in 0..<RandomSeeds.count(60, of: 300) {
            // A few kinds in each column, so that they often share a type.
            let kinds = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                Self.hostile.randomElement(using: &random)!
            }
            let texts: [String?] = (0..<Int.random(in: 1...8, using: &random)).map { _ in
                switch Int.random(in: 0..<8, using: &random) {
                case 0: nil
                case 1: "\(Int64.random(in: .min ... .max, using: &random))"
                case 2: "\(Double.random(in: -1e3...1e3, using: &random))"
                case 3 where round % 2 == 0:
                    "\(Int.random(in: -99...99, using: &random)).\(Int.random(in: 0...99, using: &random))"
                default: kinds.randomElement(using: &random)!
                }
            }
            try expectEqualValues(texts, TransferWorld([:]))
        }
    }

    @Test(arguments: [
        (["1", "2"], "int"), (["1", ""], "int?"), (["1.5", "2.5"], "double"),
        (["1.5", "2"], "double"), (["1.50", "2.25"], "double"), ([".5", "1."], "double"),
        (["0.5", "0.000000239125"], "double"), (["1e-7", "1.00E+05"], "double"),
        (["1", "+1.5"], "double"), (["+1", "-2"], "int"), (["9007199254740993", "7"], "int"),
        (["9007199254740993", "1.5"], "string"), (["18446744073709551615"], "string"),
        (["123456789012345678901234567890"], "string"),
        (["0.1234567890123456789012"], "string"), (["007", "8"], "string"),
        (["+49 30"], "string"), (["+4930123456"], "string"),
        (["1", "x"], "string"), (["true", "false"], "bool"), (["TRUE", "False"], "bool"),
        (["true", "1"], "string"), (["1", "0"], "int"), (["yes", "no"], "string"),
        (["2026-01-01T00:00:00Z"], "date"), (["2026-01-01T00:00:00Z", "2026-01-01"], "date"),
        (["2026-01-01"], "date"), (["2026-01-01 10:30", "2026-01-01T10:30:00.5+02:00"], "date"),
        (["2026-01-01T00:00:00.000Z"], "date"), (["2026-02-30"], "string"),
        (["2026-01-01T00:00:00.1234567Z"], "string"), (["20260101"], "int"),
        (["10:30"], "string"), (["00601", "10001"], "string"),
        (["12345678-1234-1234-1234-12345678901a"], "uuid"), (["", ""], "string?"),
    ])
    func `fields of a column determine its type`(fields: [String], type: String) throws {
        let world = try TransferWorld([:])
        let options = ImportOptions(class: "T")
        try world.take("v,w\n" + fields.map { "\($0),1\n" }.joined(), as: "a.csv", options)
        #expect(try world.types("T")[0] == "v \(type)")
    }

    @Test(arguments: [
        (#"{"v":1}"#, #"{"v":2.5}"#, "double"),
        (#"{"v":9007199254740993}"#, #"{"v":1.5}"#, "decimal"),
        (#"{"v":18446744073709551615}"#, #"{"v":1}"#, "decimal"),
        (#"{"v":1}"#, #"{"v":"1"}"#, "mixed"),
        (#"{"v":1}"#, #"{"v":null}"#, "int?"), (#"{"v":1}"#, #"{"w":1}"#, "int?"),
        (#"{"v":"00601"}"#, #"{"v":"1"}"#, "string"), (#"{"v":[1,2]}"#, #"{"v":[]}"#, "int[]"),
        (#"{"v":[1,null]}"#, #"{"v":[2.5]}"#, "double?[]"),
        (#"{"v":{"a":1}}"#, #"{"v":{}}"#, "mixed"),
        (#"{"v":"2026-01-01T00:00:00Z"}"#, #"{"v":"2026-01-01T00:00:00.1Z"}"#, "date"),
        (#"{"v":"2026-01-01T00:00:00.1234567Z"}"#, #"{"v":"2026-01-01T00:00:00Z"}"#, "string"),
        (#"{"v":0.1234567890123456789012}"#, #"{"v":1.5}"#, "decimal"),
    ])
    func `values of rows of JSON determine the type of a property`(
        first: String, second: String, type: String
    ) throws {
        // Also after a thousand other rows.
        for fill in [0, 1500] {
            let world = try TransferWorld([:])
            let options = ImportOptions(class: "T")
            let rows = [first] + Array(repeating: first, count: fill) + [second]
            let report = try world.take(rows.joined(separator: "\n"), as: "a.jsonl", options)
            #expect(report.created == rows.count)
            #expect(try world.types("T")[0] == "v \(type)")
        }
    }

    @Test func `options specify types, keep text, and limit the sample`() throws {
        var options = ImportOptions(class: "T")
        options.types = ["zip": "string", "price": "double", "born": "date?"]
        let text = "zip,price,born,n\n12345,1.50,2026-01-01,1\n23456,2,,2\n"
        var world = try TransferWorld([:])
        try world.take(text, as: "a.csv", options)
        #expect(try world.types("T") == ["zip string", "price double", "born date?", "n int"])
        #expect(try world.values("T", "price") == [.double(1.5), .double(2)])
        options.types = [:]
        options.isAllText = true
        world = try TransferWorld([:])
        try world.take(text, as: "a.csv", options)
        #expect(try world.types("T") == ["zip string", "price string", "born string?", "n string"])
        options.isAllText = false
        options.sample = 1
        world = try TransferWorld([:])
        #expect(
            message { try world.take("v\n1\nx\n", as: "a.csv", options) }.contains(
                "line 3, column 1: 'T.v' expects int, got \"x\""))
        options.types = ["nmae": "int"]
        #expect(
            message { try world.take("name\n1\n", as: "a.csv", options) }.contains(
                "did you mean 'name'?"))
        options.types = ["name": "itn"]
        #expect(
            message { try world.take("name\n1\n", as: "a.csv", options) }.contains(
                "did you mean 'int'?"))
    }

    @Test func `given types allow nil for a missing value, even in the last row`() throws {
        var options = ImportOptions(class: "T")
        options.types = ["id": "int", "name": "string", "age": "int"]
        let rows = (1...500).map { "\($0),n\($0),\($0)\n" }.joined()
        var world = try TransferWorld([:])
        var report = try world.take("id,name,age\n" + rows, as: "a.csv", options)
        #expect(try world.types("T") == ["id int", "name string", "age int"])
        #expect(report.created == 500)
        world = try TransferWorld([:])
        report = try world.take("id,name,age\n" + rows + "501,,7\n502,x,\n", as: "a.csv", options)
        #expect(try world.types("T") == ["id int", "name string?", "age int?"])
        #expect(report.created == 502 && report.rows == 502)
        #expect(try world.values("T", "age").suffix(2) == [.int(7), .null])
        // An explicit key cannot be nil.
        options.types["id"] = "int primary"
        world = try TransferWorld([:])
        #expect(
            message { try world.take("id,name,age\n" + rows + ",x,1\n", as: "a.csv", options) }
                .contains("line 502"))
        // A given type without a key is not a key.
        options.types["id"] = "int"
        world = try TransferWorld([:])
        try world.take("id,name,age\n" + rows + ",x,1\n", as: "a.csv", options)
        #expect(try world.types("T").first == "id int?")
    }

    @Test func `a guessed decimal is recorded, with the option for doubles`() throws {
        let world = try TransferWorld([:])
        let row = #"{"unit price":0.1234567890123456789012}"#
        let report = try world.take(row, as: "a.jsonl", ImportOptions(class: "T"))
        #expect(report.notes.count == 1)
        #expect(report.notes.first?.contains("--types 'unit price=double'") == true)
    }

    @Test(arguments: [
        (["1", "2", "007"], "\"007\" (line 4); --types v=int reads it as 7"),
        (
            ["n/a", "1.5", "2"],
            "\"n/a\" (line 2); --types v=double with --nulls 'n/a' reads it as nil"
        ),
        (["true", "false", "yes"], "\"yes\" (line 4); --types v=bool reads it as true"),
        (["1", "18446744073709551615"], "line 3); --types v=decimal keeps its digits"),
        (
            ["2026-01-01", "2026-01-01T00:00:00.1234567Z"],
            "line 3); --types v=date --round rounds it to 2026-01-01T00:00:00.123457Z"
        ),
    ])
    func `a note names the value because of which a column is text`(
        fields: [String], note: String
    ) throws {
        let world = try TransferWorld([:])
        let report = try world.take(
            "v\n" + fields.map { $0 + "\n" }.joined(), as: "a.csv", ImportOptions(class: "T"))
        #expect(try world.types("T") == ["v string"])
        #expect(report.notes.count == 1)
        #expect(
            report.notes.first?.hasPrefix("'T.v' is text because of ") == true
                && report.notes.first?.contains(note) == true, "\(report.notes)")
    }

    @Test(arguments: [["Ann", "Bob", "42"], ["", "x"], ["x", "y", "1.5", "z"]])
    func `a column that is mostly text has no note`(fields: [String]) throws {
        let world = try TransferWorld([:])
        let text = "v,w\n" + fields.map { "\($0),1\n" }.joined()
        #expect(try world.take(text, as: "a.csv", ImportOptions(class: "T")).notes == [])
    }

    // MARK: Keys

    @Test(arguments: [
        ("a.csv", "id,v\n1,a\n1,b\n2,c\n"), ("a.csv", "id,v\nx,a\ny,b\nx,c\n"),
        ("a.csv", "id,v\n5,a\n3,b\n4,c\n5,d\n"),
        ("a.jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":2}\n"),
        ("a.json", "[{\"_id\":\"a\"},{\"_id\":\"a\"}]"),
        ("a.lua", "return {{id = 1}, {id = 1}}"),
        (
            "a.jsonl",
            String(repeating: "{\"_id\":{\"$oid\":\"507f1f77bcf86cd799439011\"}}\n", count: 2)
        ),
    ])
    func `an id that repeats is an ordinary property`(file: String, text: String) throws {
        let world = try TransferWorld([:])
        var options = ImportOptions(class: "T")
        let report = try world.take(text, as: file, options)
        #expect(try world.store.view.schema.require("T").primaryKey == nil)
        #expect(report.created == report.rows && report.created >= 2)
        #expect(report.notes.count == 1)
        #expect(report.notes.first?.contains("is not the primary key, because \"") == true)
        // Such rows cannot be found for an update.
        options.isUpsert = true
        #expect(
            message { try world.take(text, as: file, options) }.contains(
                "'T' has no primary key, so an upsert cannot find the objects"))
        #expect(try world.store.objects("T").count() == report.created)
    }

    @Test func `an id with unique values in any order is the primary key`() throws {
        for ids in [["1", "2", "3"], ["3", "1", "2"], ["7", "6", "8", "9"], ["b", "a"]] {
            let world = try TransferWorld([:])
            let options = ImportOptions(class: "T")
            try world.take("id\n" + ids.joined(separator: "\n"), as: "a.csv", options)
            #expect(try world.store.view.schema.require("T").primaryKey?.name == "id")
        }
    }

    // MARK: Given types

    @Test(arguments: [
        ("int", "1.5"), ("int", "1e30"), ("int", "9223372036854775808"), ("int", "x"),
        ("int", "0x10"),
        ("int", "1 "), ("float", "1e39"), ("float", "0.123456789012"), ("double", "1e400"),
        ("double", "0x1F"),
        ("double", "0.12345678901234567890123"), ("double", "9007199254740993"), ("double", "1,5"),
        ("decimal", "12345678901234567890123456789012345678"), ("decimal", "1e7000"),
        ("decimal", "abc"),
        ("bool", "maybe"), ("bool", "2"), ("date", "soon"), ("date", "2026-02-30"),
        ("date", "2026-01-01T00:00:00.1234567Z"), ("uuid", "1234"), ("object_id", "xyz"),
        ("data", "a?"),
    ])
    func `a value that does not fit its type is an error with line, column and value`(
        type: String, text: String
    ) throws {
        let csv = try TransferWorld(["T": ["id": "int", "v": type + "?"]])
        let options = ImportOptions(class: "T")
        let shown = text.contains(",") ? "\"\(text)\"" : text
        let said = message { try csv.take("id,v\n1,\n2,\(shown)\n", as: "a.csv", options) }
        #expect(
            said.contains("line 3, column 2: 'T.v' expects \(type)?, got \"\(text)\""), "\(said)")
        #expect(try csv.store.objects("T").count() == 0)
        let json = try TransferWorld(["T": ["id": "int", "v": type + "?"]])
        let row = "{\"id\":1}\n{\"id\":2,\"v\":\"\(text)\"}"
        let other = message { try json.take(row, as: "a.jsonl", options) }
        #expect(other.contains("line 2, column 13: 'T.v' expects \(type)?, got"), "\(other)")
    }

    @Test(arguments: [
        ("float", "0.123456789012", "0.12345679"),
        ("double", "0.12345678901234567890123", "0.12345678901234568"),
        (
            "decimal", "1.2345678901234567890123456789012345678",
            "1.234567890123456789012345678901235"
        ),
        ("date", "2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00.123457Z"),
        ("date", "1969-12-31T23:59:59.9999999Z", "1970-01-01T00:00:00Z"),
    ])
    func `an option rounds values, and the report counts them`(
        type: String, text: String, expected: String
    ) throws {
        for (file, ending) in [("v\n\(text)\n", "csv"), ("{\"v\":\"\(text)\"}\n", "jsonl")] {
            let world = try TransferWorld(["T": ["v": type]])
            var options = ImportOptions(class: "T")
            #expect(
                message { try world.take(file, as: "a." + ending, options) }.contains(
                    "does not fit exactly"))
            options.isRounding = true
            let report = try world.take(file, as: "a." + ending, options)
            #expect(report.changed == 1 && report.created == 1)
            _ = try Exporter(.results(try world.store.objects("T")), as: .csv).write(
                to: world.path("b.csv"))
            #expect(try world.text(of: "b.csv") == "v\r\n\(expected)\r\n")
        }
    }
}
