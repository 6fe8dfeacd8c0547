import DataFormats
import Glibc
import ObjectStore
import Testing
import Transfer

/// Options of imports and exports: what they act on, encodings, separators, names and compression.
@Suite struct OptionTests {
    private static let rows: [TransferFormat: String] = [
        .jsonLines: #"{"a":1}"#, .json: #"[{"a":1}]"#, .csv: "a\n1\n", .tsv: "a\n1\n",
        .lua: "return {{a = 1}}",
        .geoJSON:
            #"{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"a":1}}]}"#,
    ]

    private func options(_ change: (inout ImportOptions) -> Void) -> ImportOptions {
        var options = ImportOptions(class: "T")
        change(&options)
        return options
    }

    @Test func `an import option without an effect is an error that names its formats`() throws {
        let csv: Set<TransferFormat> = [.csv, .tsv]
        let texts = Set(Self.rows.keys)
        let cases: [(String, Set<TransferFormat>, (inout ImportOptions) -> Void)] = [
            ("separator", csv, { $0.csv.separator = "|" }), ("quote", csv, { $0.csv.quote = "'" }),
            ("no-header", csv, { $0.csv.hasHeader = false }),
            ("skip-lines", csv, { $0.csv.skippedLines = 1 }),
            ("null", csv, { $0.csv.nulls = ["NA"] }), ("all-text", csv, { $0.isAllText = true }),
            ("keep-empty", csv, { $0.keepsEmpty = true }),
            ("records", [.json], { $0.records = ["a"] }), ("dates", [], { $0.dates = .seconds }),
            ("key", [], { $0.realm = RealmOptions(key: "x") }),
            ("key", [], { $0.postgres.keys = ["": "a"] }),
            ("rescue", [], { $0.realm = RealmOptions(isRescue: true) }),
            ("dotnet-guids", [], { $0.realm = RealmOptions(hasDotNetGUIDs: true) }),
            ("table", [], { $0.tables = ["T"] }), ("schema", [], { $0.postgres.schema = "s" }),
            ("types", texts, { $0.types = ["a": "int"] }), ("sample", texts, { $0.sample = 1 }),
            ("round", texts, { $0.isRounding = true }),
            ("encoding", texts, { $0.encoding = "utf-8" }),
        ]
        for (name, formats, change) in cases {
            for (format, text) in Self.rows {
                let world = try TransferWorld([:])
                let path = try world.write(text, to: "a")
                let said = message {
                    _ = try Importer(into: world.store, options(change)).read(path, as: format)
                }
                let isRefused = said.contains("the option '\(name)' has no effect on the import of")
                #expect(isRefused != formats.contains(format), "\(name), \(format): \(said)")
            }
        }
        let world = try TransferWorld([:])
        let path = try world.database("CREATE TABLE T(a)")
        for change in [{ $0.sample = 1 }, { $0.types = ["a": "int"] }, { $0.links = ["a": "T"] }]
            as [(inout ImportOptions) -> Void]
        {
            #expect(
                message {
                    var given = ImportOptions()
                    change(&given)
                    _ = try Importer(into: world.store, given).read(path, as: .sqlite)
                }.contains("has no effect on the import of sqlite"))
        }
    }

    @Test func `an option that needs another one is an error without it`() throws {
        let world = try TransferWorld(["T": ["id": "int primary", "a": "int?"]])
        let text = "id,a\n1,\n"
        #expect(
            message { try world.take(text, as: "a.csv", options { $0.keepsEmpty = true }) }
                == "the option 'keep-empty' has no effect without 'upsert'")
        let report = try world.take(
            text, as: "a.csv",
            options {
                $0.keepsEmpty = true
                $0.isUpsert = true
            })
        #expect(report.created == 1)
    }

    @Test func `options that infer types have no effect on existing classes`() throws {
        for change in [{ $0.sample = 1 }, { $0.isAllText = true }]
            as [(inout ImportOptions) -> Void]
        {
            let world = try TransferWorld([:])
            try world.take("a\n1\n", as: "a.csv", options(change))
            #expect(
                message { try world.take("a\n1\n", as: "a.csv", options(change)) }.contains(
                    "has no effect on existing classes"))
        }
    }

    @Test(arguments: [
        ("a.jsonl", #"{"$class":"A","a":1}"#), ("a.json", #"{"A":[{"a":1}]}"#),
        ("a.lua", "A {a = 1}"),
    ])
    func `a class for rows that name their classes is an error`(file: String, text: String) throws {
        let world = try TransferWorld(["A": ["a": "int"]])
        #expect(
            message { try world.take(text, as: file, options { _ in }) }
                == "the option 'class' has no effect, because the rows of the file name classes such as 'A'"
        )
        #expect(try world.store.objects("A").count() == 0)
        #expect(try world.take(text, as: file).created == 1)
    }

    @Test(arguments: ["a.sqlite", "a.realm"])
    func `a database in a pipe or a compressed file is an error`(name: String) throws {
        let world = try TransferWorld([:])
        func said(_ path: String) -> String {
            message {
                _ = try Importer(into: world.store).read(path, as: TransferFormat(path: name))
            }
        }
        let pipe = world.path(name)
        #expect(mkfifo(pipe, 0o600) == 0)
        for path in ["-", pipe] { #expect(said(path).contains("cannot be read from a pipe")) }
        let compressed = try world.write("x", to: name + ".gz")
        #expect(said(compressed).contains("cannot be read compressed; decompress"))
    }

    @Test(arguments: ["a.csv", "a.jsonl", "a.json", "a.lua", "a.geojson", "a.sqlite"])
    func `a mapped field that the file does not have is an error`(file: String) throws {
        let world = try TransferWorld([:])
        let format = try TransferFormat(path: file)
        let path =
            try Self.rows[format].map { try world.write($0, to: file) }
            ?? world.database("CREATE TABLE T(a); INSERT INTO T VALUES (1)", file)
        for isNew in [true, false] {
            var given = ImportOptions()
            if format != .sqlite { given.className = "T" }
            given.names = isNew ? ["aa": ""] : ["aa": "", "a": "b"]
            #expect(
                message { _ = try Importer(into: world.store, given).read(path, as: format) }
                    .contains("the option 'map' names 'aa', which is not in the file"))
            given.names = ["a": "b"]
            #expect(try Importer(into: world.store, given).read(path, as: format).created == 1)
        }
        #expect(try world.values("T", "b") == [.int(1), .int(1)])
    }

    @Test func `a type or a link that contradicts the file's schema or the store is an error`()
        throws
    {
        let text = #"{"$schema":{"T":{"a":"int"}}}"# + "\n" + #"{"$class":"T","a":1}"#
        let world = try TransferWorld([:])
        var given = ImportOptions()
        given.types = ["a": "double"]
        #expect(
            message { try world.take(text, as: "a.jsonl", given) }.contains(
                "'a' has the type double in the options, but int in the file's schema"))
        try world.take(text, as: "a.jsonl")
        #expect(
            message { try world.take("a\n1\n", as: "a.csv", options { $0.links = ["a": "T"] }) }
                .contains("'a' has the type T in the options, but int in the store"))
        #expect(
            message { try world.take("a\n1\n", as: "a.csv", options { $0.links = ["b": "T"] }) }
                .contains("a link is specified for 'b', which is not in the file"))
    }

    @Test func `a type of a column that the file does not have is an error for an existing class`()
        throws
    {
        let world = try TransferWorld(["T": ["a": "int?", "b": "int?"]])
        for (type, name) in [("int", "b"), ("int", "c")] {
            #expect(
                message {
                    try world.take("a\n1\n", as: "a.csv", options { $0.types = [name: type] })
                }.contains("'\(name)', which is not in the file"))
        }
        let given = options { $0.types = ["a": "int", "b c": "int"] }
        let other = try TransferWorld(["T": ["a": "int?", "b_c": "int?"]])
        #expect(try other.take("a,b c\n1,2\n", as: "a.csv", given).created == 1)
        #expect(
            try other.take("a,b c\n1,2\n", as: "a.csv", options { $0.types = ["b_c": "int"] })
                .created == 1)
    }

    @Test(arguments: ["a.sqlite", "a.jsonl"])
    func `an upsert into a class without a key is an error`(file: String) throws {
        let world = try TransferWorld(["T": ["a": "int"]])
        let path =
            file == "a.sqlite"
            ? try world.database("CREATE TABLE T(a INT); INSERT INTO T VALUES (1)", file)
            : try world.write("{\"$class\":\"T\",\"a\":1}\n", to: file)
        var given = ImportOptions()
        given.isUpsert = true
        #expect(
            message {
                _ = try Importer(into: world.store, given).read(
                    path, as: TransferFormat(path: file))
            }.contains("'T' has no primary key, so an upsert cannot find the objects to update"))
        #expect(try world.store.objects("T").count() == 0)
    }

    @Test func `an export option without an effect is an error`() throws {
        let world = try TransferWorld(["T": ["a": "int"]])
        let cases: [(String, Set<TransferFormat>, (inout ExportOptions) -> Void)] = [
            ("dates", [.sqlite], { $0.dates = .seconds }),
            ("separator", [.csv, .tsv], { $0.separator = ";" }),
            ("table", [.sqlite], { $0.table = "t" }), ("schema", [], { $0.postgres.schema = "s" }),
            ("upsert", [], { $0.postgres.existingTables = .upsert }),
            ("replace", [], { $0.postgres.existingTables = .replace }),
        ]
        for (name, formats, change) in cases {
            for format in [.jsonLines, .json, .csv, .tsv, .lua, .sqlite] as [TransferFormat] {
                var given = ExportOptions()
                change(&given)
                let said = message {
                    _ = try Exporter(.results(try world.store.objects("T")), as: format, given)
                        .write(to: world.path("out"))
                }
                #expect(
                    said.contains("'\(name)' has no effect on the export of")
                        != formats.contains(format), "\(name), \(format): \(said)")
            }
        }
        var given = ExportOptions()
        given.setColumns(["a"])
        #expect(
            message { _ = try Exporter(.store(world.store), as: .jsonLines, given).write(to: "-") }
                .contains("no effect on the export of a store"))
    }

    // MARK: Names of columns

    @Test(arguments: [true, false])
    func `a second import of the same columns uses the same properties`(isDatabase: Bool) throws {
        let world = try TransferWorld([:])
        var given = options { $0.types = ["id": "int primary"] }
        var path = try world.write("id,a b,a.b,a_b\n1,2,3,4\n", to: "a.csv")
        if isDatabase {
            given = ImportOptions()
            path = try world.database(
                """
                CREATE TABLE T(id INTEGER PRIMARY KEY, "a b" INT, "a.b" INT, a_b INT);
                INSERT INTO T VALUES (1, 2, 3, 4)
                """)
        }
        let format: TransferFormat = isDatabase ? .sqlite : .csv
        for _ in 1...2 {
            _ = try Importer(into: world.store, given).read(path, as: format)
            #expect(try world.values("T", "a_b") == [.int(4)])
            #expect(try world.values("T", "a_b_2") == [.int(2)])
            #expect(try world.values("T", "a_b_3") == [.int(3)])
            given.isUpsert = true
        }
        // A class without these properties receives none of the values.
        let other = try TransferWorld(["T": ["id": "int primary", "a_b": "int?"]])
        given.isUpsert = false
        #expect(
            message { _ = try Importer(into: other.store, given).read(path, as: format) }.contains(
                "'T' has no property 'a_b_2'"))
    }

    @Test func `a field of JSON that could be several properties is an error`() throws {
        let world = try TransferWorld([:])
        try world.take(#"{"a b":1,"a_b":2}"#, as: "a.jsonl", options { _ in })
        #expect(try world.values("T", "a_b_2") == [.int(1)])
        #expect(
            message { try world.take(#"{"a b":1}"#, as: "a.jsonl", options { _ in }) }.contains(
                "the field 'a b' could be 'a_b' or 'a_b_2'"))
        let other = try TransferWorld(["T": ["a_b": "int?"]])
        let text = #"{"a b":1}"# + "\n" + #"{"a.b":2}"#
        #expect(
            message { try other.take(text, as: "a.jsonl", options { _ in }) }.contains(
                "two fields map to 'a_b': 'a b' and 'a.b'"))
    }

    @Test func `columns with one name get numbers, with a note`() throws {
        let world = try TransferWorld([:])
        let report = try world.take("a,b,a,a_2,a\n1,2,3,4,5\n", as: "a.csv", options { _ in })
        #expect(
            try world.types("T").map { $0.prefix { $0 != " " } } == ["a", "b", "a_3", "a_2", "a_4"])
        #expect(report.notes.count == 2)
        #expect(report.notes[0].hasPrefix("a column called 'a' is 'a_3'"))
    }

    @Test func `a feature's second id is another property, with a note`() throws {
        let world = try TransferWorld([:])
        let text = """
            {"type":"FeatureCollection","features":[{"type":"Feature","id":"a","geometry":null,
            "properties":{"id":5,"geometry":"g","type":"x"}}]}
            """
        let report = try world.take(text, as: "a.geojson", options { _ in })
        #expect(try world.values("T", "id") == [.string("a")])
        #expect(try world.values("T", "properties_id") == [.int(5)])
        #expect(try world.values("T", "properties_geometry") == [.string("g")])
        #expect(try world.values("T", "type") == [.string("x")])
        #expect(report.notes.contains { $0.contains("'properties.id' is 'T.properties_id'") })
        let other = try TransferWorld([:])
        try other.take(text, as: "a.geojson", options { $0.names = ["properties.id": "number"] })
        #expect(try other.values("T", "number") == [.int(5)])
    }

    // MARK: Separators and encodings

    @Test(arguments: [
        ("a;b\n1,5;2\n", ";"), ("a\tb\n1\t2\n", "\t"), ("a|b;c|d\n1|2|3\n", "|"),
        ("sep=;\na,x;b\n1;2\n", ";"), ("sep=|\r\na|b\r\n1|2\r\n", "|"),
        ("\u{FEFF}a;b\n1;2\n", ";"), ("\"a,x\";b\n1;2\n", ";"),
    ])
    func `the separator of a CSV file is detected, with a note`(
        text: String, separator: Character
    ) throws {
        let world = try TransferWorld([:])
        let report = try world.take(text, as: "a.csv", options { _ in })
        #expect(try world.store.view.schema.require("T").properties.count >= 2)
        let name = separator == "\t" ? "a tab" : "'\(separator)'"
        #expect(report.notes.first?.hasPrefix("the separator of fields is \(name)") == true)
        // An option determines it, and a class without notes is the same.
        let other = try TransferWorld([:])
        let given = options { $0.csv.separator = separator }
        #expect(try other.take(text, as: "a.csv", given).created == 1)
        #expect(try other.types("T") == world.types("T"))
    }

    @Test(arguments: ["a,b;c\n1,2\n", "a,b\n1;,2\n", "sep=,\na,b\n1,2\n"])
    func `a comma in the header is the separator`(text: String) throws {
        let world = try TransferWorld([:])
        #expect(try world.take(text, as: "a.csv", options { _ in }).notes == [])
        #expect(try world.store.view.schema.require("T").properties.count == 2)
    }

    @Test func `rejected records of a file with sep= can be imported`() throws {
        let world = try TransferWorld(["T": ["a": "int", "b": "int"]])
        let given = options { $0.rejects = world.path("bad.csv") }
        try world.take("sep=;\na;b\nx;2\n1;2\n", as: "a.csv", given)
        #expect(try world.text(of: "bad.csv") == "sep=;\na;b\nx;2\n")
    }

    @Test(arguments: [
        ("windows-1252", [0xDF, 0x80, 0x93]), ("latin1", [0xDF]), ("utf-16le", [0xDF, 0x00]),
    ])
    func `text in another encoding is decoded`(encoding: String, bytes: [UInt8]) throws {
        let isWide = encoding == "utf-16le"
        func wide(_ text: String) -> [UInt8] {
            isWide ? text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] } : Array(text.utf8)
        }
        for name in ["a.csv", "a.csv.gz", "a.jsonl"] {
            let world = try TransferWorld([:])
            let file = try FileWriter(world.path(name))
            let isCSV = name.hasPrefix("a.csv")
            // Longer than one piece of the input.
            let (count, length) = (4000, 20)
            if isCSV { try file.write(wide("v\n")) }
            for _ in 0..<count {
                let (head, tail) = isCSV ? ("", "\n") : ("{\"v\":\"", "\"}\n")
                try file.write(
                    wide(head) + repeatElement(bytes, count: length).joined() + wide(tail))
            }
            try file.finish()
            let report = try Importer(
                into: world.store, options { $0.encoding = encoding }
            ).read(world.path(name), as: isCSV ? .csv : .jsonLines)
            #expect(report.created == count)
            let text = bytes.count == 3 ? "ß€“" : "ß"
            #expect(
                Set(try world.values("T", "v")) == [.string(String(repeating: text, count: length))]
            )
        }
    }

    @Test func `an unknown encoding and bytes that are not valid in it are errors`() throws {
        let world = try TransferWorld([:])
        #expect(
            message { try world.take("a\n1\n", as: "a.csv", options { $0.encoding = "utf-99" }) }
                .contains("unknown encoding 'utf-99'; use windows-1252"))
        #expect(
            message { try world.take("a\né\n", as: "a.csv", options { $0.encoding = "ascii" }) }
                .contains("bytes that are not valid in the encoding ascii"))
    }

    // MARK: Compression, columns and tables

    @Test(arguments: ["a.csv", "a.jsonl", "a.json", "a.tsv", "a.lua"], [".gz", ".zst"])
    func `an export to a compressed name is compressed and can be imported`(
        name: String, ending: String
    ) throws {
        let world = try TransferWorld(["T": ["a": "int", "b": "string"]])
        try world.store.write {
            for number in 1...3000 {
                try world.store.create(
                    "T", .dictionary(["a": .int(Int64(number)), "b": .string("x\(number % 7)")]))
            }
        }
        let path = world.path(name + ending)
        let format = try TransferFormat(path: path)
        _ = try Exporter(.results(world.store.objects("T")), as: format).write(to: path)
        let bytes = try #require(try? world.bytes(of: name + ending))
        #expect(bytes.starts(with: ending == ".gz" ? [0x1F, 0x8B] : [0x28, 0xB5, 0x2F, 0xFD]))
        let other = try TransferWorld(["T": ["a": "int", "b": "string"]])
        let report = try Importer(into: other.store, options { _ in }).read(path, as: format)
        #expect(report.created == 3000)
        #expect(try other.values("T", "b") == world.values("T", "b"))
    }

    @Test func `a compressed name of a database is an error`() throws {
        let world = try TransferWorld(["T": ["a": "int"]])
        #expect(
            message {
                _ = try Exporter(.store(world.store), as: .sqlite).write(
                    to: world.path("a.sqlite.gz"))
            }.contains("name a file without .gz or .zst"))
    }

    @Test func `an export can name columns and a table`() throws {
        let world = try TransferWorld(["T": ["id": "int primary", "price": "double", "x": "mixed"]])
        try world.store.write {
            for id in 1...3 {
                try world.store.create(
                    "T",
                    .dictionary([
                        "id": .int(Int64(id)), "price": .double(Double(id) / 2), "x": .list([]),
                    ]))
            }
        }
        var given = ExportOptions()
        given.setColumns(["price=unit price", "id"])
        func export(_ name: String) throws -> String {
            _ = try Exporter(
                .results(try world.store.objects("T").sorted([("id", false)]).limited(to: 2)),
                as: TransferFormat(path: name), given
            ).write(to: world.path(name))
            return world.path(name)
        }
        _ = try export("a.csv")
        #expect(try world.text(of: "a.csv") == "unit price,id\r\n1.5,3\r\n1.0,2\r\n")
        _ = try export("a.jsonl")
        #expect(
            try world.text(of: "a.jsonl")
                == "{\"unit price\":1.5,\"id\":3}\n{\"unit price\":1.0,\"id\":2}\n")
        given.table = "products"
        _ = try export("a.sqlite")
        #expect(
            try world.query("SELECT \"unit price\", id FROM products", "a.sqlite") == [
                "1.0|2", "1.5|3",
            ])
        given.setColumns(["prise"])
        #expect(message { _ = try export("b.sqlite") }.contains("did you mean 'price'?"))
        given.setColumns(["maker.name"])
        #expect(message { _ = try export("b.sqlite") }.contains("results:project { name = "))
        given.setColumns(["id", "price=id"])
        #expect(message { _ = try export("b.sqlite") } == "two columns are called 'id'")
    }

    @Test func `rows of a class without a key have no number if columns are named`() throws {
        let world = try TransferWorld(["T": ["a": "int"]])
        try world.store.write { try world.store.create("T", .dictionary(["a": .int(1)])) }
        var given = ExportOptions()
        given.setColumns(["a=b"])
        _ = try Exporter(.results(world.store.objects("T")), as: .json, given).write(
            to: world.path("a.json"))
        #expect(try world.text(of: "a.json").contains("$key") == false)
    }
}
