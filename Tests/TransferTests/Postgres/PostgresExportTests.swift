import DataFormats
import ObjectStore
import PostgresConnections
import TestServers
import TestThreads
import Testing
import Transfer

@Suite(.enabled(if: PostgresServer.isInstalled, PostgresServer.missing))
struct PostgresExportTests {
    private let database: PostgresWorld

    init() throws { database = try PostgresWorld() }

    static let schema: [String: [String: String]] = [
        "Thing": [
            "id": "int primary", "flag": "bool", "whole": "int?", "single": "float",
            "number": "double?",
            "text": "string indexed", "bytes": "data?", "moment": "date?", "identifier": "uuid?",
            "object": "object_id?", "amount": "decimal?", "any": "mixed", "part": "Part",
            "owner": "Owner",
            "parts": "Part[]", "owners": "Owner<>", "by_name": "Part{}", "tags": "string?[]",
            "numbers": "double[]", "moments": "date<>", "amounts": "decimal[]", "blobs": "data[]",
            "anything": "mixed[]", "weights": "double{}", "flags": "bool[]", "ids": "uuid[]",
        ],
        "Part": ["label": "string"],
        "Owner": ["name": "string primary", "boss": "Owner"],
    ]

    private static func bytes(_ store: Store) throws -> String {
        let world = try TransferWorld()
        _ = try Exporter(.store(store), as: .jsonLines).write(to: world.path("all.jsonl"))
        return try world.text(of: "all.jsonl")
    }

    private static func special(_ index: Int) -> Double {
        let numbers = [
            0, -0.0, 1.5, -1e300, .leastNonzeroMagnitude, .infinity, -.infinity, .nan, 1e20, 0.1,
        ]
        return numbers[index % numbers.count]
    }

    private static func any(_ index: Int) -> Value {
        let values: [Value] = [
            .null, .int(.max), .double(1e20), .double(-0.0), .double(2), .bool(true),
            .string("true"),
            .string("{\"a\":1}"), .date(Timestamp(microseconds: 1)), .data([0, 255]),
            .decimal(DecimalValue("1.25")!), .list([.int(1), .double(1), .null]),
            .dictionary(["$date": .string("x"), "b": .list([])]), .float(1.5),
        ]
        return values[index % values.count]
    }

    private func fill(_ store: Store) throws {
        try store.write {
            let boss = try store.create(
                "Owner", .dictionary(["name": .string("Ann \"x\" \\ \t\n,")]))
            let worker = try store.create(
                "Owner", .dictionary(["name": .string(""), "boss": .object(boss.reference)]))
            let parts = try (0..<3).map {
                try store.create("Part", .dictionary(["label": .string("part \($0)")]))
            }
            let links = parts.map { Value.object($0.reference) }
            for index in 0..<60 {
                let number = Self.special(index)
                var values: ValueMap = [
                    "id": .int(index == 0 ? .min : Int64(index)), "flag": .bool(index % 2 == 0),
                    "single": .float(index == 7 ? .nan : Float(index) / 3),
                    "number": .double(number),
                    "text": .string("text \(index) ü 😀 \u{1}"), "any": Self.any(index),
                    "numbers": .list([.double(number), .double(Double(index))]),
                    "weights": .dictionary(["a": .double(number), ":": .double(1e-7)]),
                    "tags": .list([.string("NULL"), .null, .string("{a,\"b\"}")]),
                    "anything": .list([Self.any(index + 1), Self.any(index + 2)]),
                    "moments": .list([.date(Timestamp(microseconds: Int64(index) * 1_000_003))]),
                    "amounts": .list([
                        .decimal(DecimalValue("-12345.678")!), .decimal(DecimalValue("NaN")!),
                    ]),
                    "blobs": .list([.data([]), .data([1, 0, 2])]),
                    "flags": .list([.bool(true), .bool(false)]),
                    "ids": .list([.uuid(UUIDValue(high: UInt64(index), low: .max))]),
                ]
                if index % 3 != 0 {
                    values["whole"] = .int(Int64(index) - 30)
                    values["bytes"] = .data([UInt8](repeating: UInt8(index), count: index))
                    values["moment"] = .date(
                        Timestamp(microseconds: Int64(index - 30) * 1_000_000_000_000_001))
                    values["identifier"] = .uuid(UUIDValue(high: .max, low: UInt64(index)))
                    values["object"] = .objectID(ObjectIDValue(high: UInt64(index), low: 7))
                    values["amount"] = .decimal(
                        DecimalValue("1234567890123456789012345678901.\(index + 100)")!)
                    values["part"] = links[index % 3]
                    values["owner"] = .object(worker.reference)
                    values["parts"] = .list([links[0], links[2], links[0]])
                    values["owners"] = .list([.object(boss.reference), .object(worker.reference)])
                    values["by_name"] = .dictionary(["": links[1], "x": links[2]])
                }
                try store.create("Thing", .dictionary(values))
            }
        }
    }

    private func export(_ store: Store, _ existing: PostgresOptions.ExistingTables = .refuse)
        throws -> Int
    {
        var options = ExportOptions()
        options.postgres.existingTables = existing
        return try Exporter(.store(store), as: .postgres, options).write(to: database.address)
    }

    @Test func `every type of value returns from a database unchanged`() throws {
        let world = try TransferWorld(Self.schema)
        try fill(world.store)
        #expect(try export(world.store) == 65)
        let copy = try TransferWorld()
        let report = try Importer(into: copy.store).read(database.address, as: .postgres)
        #expect(report.created == 65)
        #expect(try Self.bytes(copy.store) == Self.bytes(world.store))
    }

    @Test func `properties become columns of the nearest types, and links foreign keys`() throws {
        let world = try TransferWorld(Self.schema)
        _ = try export(world.store)
        let columns = try database.query(
            """
            SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute \
            WHERE attrelid = '"Thing"'::regclass AND attnum > 0 ORDER BY attname COLLATE "C"
            """)
        #expect(columns.contains("id|bigint|t"))
        #expect(columns.contains("moment|timestamp with time zone|f"))
        #expect(columns.contains("amounts|numeric[]|t"))
        #expect(columns.contains("any|jsonb|f"))
        #expect(columns.contains("owner|text|f"))
        #expect(columns.contains("part|bigint|f"))
        let keys = try database.query(
            "SELECT conname FROM pg_constraint WHERE contype = 'f' ORDER BY conname COLLATE \"C\"")
        #expect(
            keys == [
                "Owner_boss_fkey", "Thing_by_name_owner_fkey", "Thing_by_name_target_fkey",
                "Thing_owner_fkey", "Thing_owners_owner_fkey", "Thing_owners_target_fkey",
                "Thing_part_fkey", "Thing_parts_owner_fkey", "Thing_parts_target_fkey",
            ])
    }

    @Test func `rules become constraints that accept every stored value`() throws {
        let world = try TransferWorld(nil)
        var properties = [
            Property("id", .int, isPrimary: true), Property("age", .int, isOptional: true),
            Property("single", .float, isOptional: true),
            Property("kind", .string, isOptional: true),
            Property("price", .decimal, isOptional: true),
            Property("born", .date, isOptional: true),
            Property("marks", .int, isOptional: true, collection: .list),
            Property("tags", .string, isOptional: true, collection: .set),
            Property("chip", .decimal, isOptional: true), Property("best", .object, target: "Dog"),
        ]
        properties[1].rules.minimum = .int(.min)
        properties[1].rules.maximum = .int(40)
        properties[2].rules.allowed = [.float(0.1), .float(2)]
        properties[3].rules.allowed = [.string("it's \\"), .string("é")]
        properties[4].rules.minimum = .decimal(DecimalValue("0.10")!)
        properties[5].rules.maximum = .date(Timestamp(microseconds: 1))
        properties[6].rules.minimum = .int(1)
        properties[7].rules.allowed = [.string("a"), .string("b")]
        for index in [8, 9] { properties[index].rules.isUnique = true }
        try world.store.define([ClassSchema("Dog", properties)])
        try world.store.write {
            let first = try world.store.create(
                "Dog",
                .dictionary([
                    "id": .int(1), "age": .int(.min), "single": .float(0.1),
                    "kind": .string("it's \\"), "price": .decimal(DecimalValue("0.1")!),
                    "born": .date(Timestamp(microseconds: 1)), "marks": .list([.null, .int(1)]),
                    "tags": .list([.null, .string("a")]), "chip": .decimal(DecimalValue("1.0")!),
                ]))
            try world.store.create(
                "Dog", .dictionary(["id": .int(2), "best": .object(first.reference)]))
        }
        _ = try export(world.store)
        for change in [
            "age = 41", "single = 0.2", "kind = 'e'", "price = 0.09", "born = now()",
            "marks = '{1,NULL,0}'", "tags = '{c}'", "chip = 1.00", "best = NULL", "kind = NULL",
        ] {
            let isAllowed = change.contains(" NULL")
            let refusal = message {
                _ = try database.query("UPDATE \"Dog\" SET \(change) WHERE id = 2")
            }
            #expect(refusal.contains("violates") != isAllowed, "\(change): \(refusal)")
        }
        let copy = try TransferWorld(nil)
        #expect(try Importer(into: copy.store).read(database.address, as: .postgres).created == 2)
    }

    @Test func `an existing table is refused, updated or replaced`() throws {
        let world = try TransferWorld([
            "Dog": ["id": "int primary", "name": "string", "friends": "Dog[]"]
        ])
        let store = world.store
        try store.write {
            let rex = try store.create("Dog", .dictionary(["id": .int(1), "name": .string("Rex")]))
            try store.create(
                "Dog",
                .dictionary([
                    "id": .int(2), "name": .string("Bo"),
                    "friends": .list([.object(rex.reference)]),
                ]))
        }
        _ = try export(store)
        #expect(
            message { _ = try export(store) }
                .contains("already has a table 'public.Dog'; add --upsert"))
        try store.write {
            guard let rex = try store.object("Dog", primaryKey: .int(1)),
                let bo = try store.object("Dog", primaryKey: .int(2))
            else { return }
            try rex.set("name", .string("Rexy"))
            try rex.set("friends", .list([.object(bo.reference), .object(rex.reference)]))
            try bo.set("friends", .list([]))
            try store.create("Dog", .dictionary(["id": .int(3), "name": .string("Cy")]))
        }
        try database.server.run("INSERT INTO \"Dog\" VALUES (9, 'other')")
        _ = try export(store, .upsert)
        #expect(
            try database.query("SELECT id, name FROM \"Dog\" ORDER BY id")
                == ["1|Rexy", "2|Bo", "3|Cy", "9|other"])
        #expect(
            try database.query("SELECT owner, position, target FROM \"Dog_friends\" ORDER BY 1, 2")
                == ["1|1|2", "1|2|1"])
        _ = try export(store, .replace)
        #expect(try database.query("SELECT id FROM \"Dog\" ORDER BY id") == ["1", "2", "3"])
    }

    @Test func `a failed export does not change the database`() throws {
        let world = try TransferWorld([
            "Dog": ["id": "int primary", "name": "string", "any": "mixed"]
        ])
        let store = world.store
        try store.write {
            try store.create("Dog", .dictionary(["id": .int(1), "name": .string("Rex")]))
            try store.create("Dog", .dictionary(["id": .int(7), "name": .string("a\0b")]))
        }
        let reason = message { _ = try export(store) }
        #expect(reason.hasPrefix("Dog, row 2 (id = 7): 'name' contains a zero byte"))
        #expect(try database.query("SELECT count(*) FROM pg_class WHERE relname = 'Dog'") == ["0"])
        try store.write {
            guard let dog = try store.object("Dog", primaryKey: .int(7)) else { return }
            try dog.set("name", .string("b"))
            try dog.set("any", .dictionary(["\\u0000": .string("\\"), "x": .string("\u{0}")]))
        }
        #expect(message { _ = try export(store) }.contains("'any' contains a zero byte"))
        try store.write {
            try store.object("Dog", primaryKey: .int(7))?.set(
                "any", .dictionary(["\\u0000": .string("\\")]))
        }
        #expect(try export(store) == 2)
    }

    @Test func `rows are merged into tables that others created`() throws {
        try database.server.run(
            """
            CREATE TYPE mood AS ENUM ('calm', 'wild');
            CREATE TABLE "Dog" (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name varchar(20) NOT NULL, \
            mood mood, twice bigint GENERATED ALWAYS AS (id * 2) STORED, note text DEFAULT 'kept');
            INSERT INTO "Dog" (name, mood) VALUES ('Rex', 'calm');
            """)
        let world = try TransferWorld(
            ["Dog": ["id": "int primary", "name": "string", "mood": "string?", "twice": "int"]])
        try world.store.write {
            for id in 1...2 {
                try world.store.create(
                    "Dog",
                    .dictionary([
                        "id": .int(Int64(id)), "name": .string("n\(id)"), "mood": .string("wild"),
                        "twice": .int(0),
                    ]))
            }
        }
        _ = try export(world.store, .upsert)
        #expect(
            try database.query("SELECT id, name, mood, twice, note FROM \"Dog\" ORDER BY id")
                == ["1|n1|wild|2|kept", "2|n2|wild|4|kept"])
        let other = try TransferWorld(["Dog": ["id": "int primary", "nmae": "string"]])
        #expect(
            message { _ = try export(other.store, .upsert) }
                .contains("has no column 'nmae'; did you mean 'name'?"))
    }

    @Test(arguments: [
        ("string", "varchar(3)", "abcd", "abc"), ("string", "char(3)", "abcd", "abc"),
        ("string", "bit(3)", "10101", "101"), ("string", "numeric(5,2)", "1.239", "1.23"),
        ("string", "date", "2026-01-01 10:00", "2026-01-01"),
        ("string", "timestamp(0)", "2026-01-01 10:00:00.5", "2026-01-01 10:00:01"),
        ("string", "short", "abcd", "abc"), ("double", "integer", "1.7", "2"),
        ("double", "numeric(5,1)", "1.25", "1.5"), ("double", "real", "0.123456789", "0.1"),
        ("decimal", "integer", "1.5", "2"), ("int", "double precision", "9007199254740993", "7"),
        ("int", "varchar(2)", "123", "12"), ("decimal", "numeric(4,1)", "1.25", "1.20"),
        ("date", "date", "2026-01-01T10:00:00Z", "2026-01-01T00:00:00Z"),
        ("date", "timestamp(3)", "2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:00.001Z"),
        ("string[]", "varchar(3)[]", "abcd", "abc"), ("double[]", "integer[]", "1.5", "1"),
        ("bool", "varchar(4)", "false", "true"), ("uuid", "varchar(8)", "", ""),
    ])
    func `an upsert never cuts or rounds a value`(
        type: String, column: String, wrong: String, right: String
    ) throws {
        try database.server.run(
            "CREATE DOMAIN short AS varchar(3); CREATE TABLE \"V\"(id int PRIMARY KEY, v \(column))"
        )
        let world = try TransferWorld(["V": ["id": "int primary", "v": type]])
        func set(_ text: String) throws {
            let name = type.replacing("[]", with: "")
            let kind = try #require(PropertyType(rawValue: name))
            let single =
                try kind == .uuid
                ? Value.uuid(UUIDValue(high: 1, low: 2)) : #require(ValueText.value(text, as: kind))
            try world.store.write {
                try world.store.deleteAll()
                for id in 1...2 {
                    try world.store.create(
                        "V",
                        .dictionary([
                            "id": .int(Int64(id)), "v": type == name ? single : .list([single]),
                        ]))
                }
            }
        }
        try set(wrong)
        let said = message { _ = try export(world.store, .upsert) }
        #expect(said.contains("V, row with id = 1: the column 'v' of type "), "\(said)")
        #expect(try database.query("SELECT count(*) FROM \"V\"") == ["0"])
        guard !right.isEmpty else { return }
        try set(right)
        #expect(try export(world.store, .upsert) == 2)
        #expect(try database.query("SELECT count(v) FROM \"V\"") == ["2"])
    }

    @Test func `text in the form of another type is inserted`() throws {
        try database.server.run(
            """
            CREATE TYPE mood AS ENUM ('wild'); CREATE TABLE "V"(id int PRIMARY KEY, a mood, b jsonb, c uuid, d json, \
            e inet, f numeric, g timestamp, h text[], i xml)
            """)
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
        let texts = [
            "wild", "{\"a\":  1}", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "[1]", "10.0.0.1/32",
            "+1.50",
            "2026-01-01", "{a,b}", "<a/>",
        ]
        let types = Dictionary(uniqueKeysWithValues: names.map { ($0, "string") })
        let world = try TransferWorld(["V": types.merging(["id": "int primary"]) { $1 }])
        try world.store.write {
            let values = ValueMap(
                uniqueKeysWithValues: zip(names, texts.map(Value.string)).map { ($0, $1) })
            try world.store.create("V", .dictionary(values.merging(["id": .int(1)]) { $1 }))
        }
        _ = try export(world.store, .upsert)
        #expect(try database.query("SELECT a, f, h FROM \"V\"") == ["wild|1.50|{a,b}"])
    }

    @Test func `columns and a table return rows to where they came from`() throws {
        try database.server.run(
            """
            CREATE TABLE order_items(id int PRIMARY KEY, "unit price" numeric(5,2), note varchar(5)); \
            INSERT INTO order_items VALUES (1, 1.50, 'a'), (2, 2.50, 'b')
            """)
        let world = try TransferWorld()
        _ = try Importer(into: world.store).read(database.address, as: .postgres)
        let items = try world.store.objects("OrderItems")
        try world.store.write {
            try items.object(at: 1).set("unit_price", .decimal(DecimalValue("7.25")!))
        }
        var options = ExportOptions()
        options.table = "order_items"
        options.setColumns(["id", "unit_price=unit price"])
        options.postgres.existingTables = .upsert
        _ = try Exporter(.results(items.filtered("id == 2")), as: .postgres, options).write(
            to: database.address)
        #expect(
            try database.query("SELECT * FROM order_items ORDER BY id") == ["1|1.50|a", "2|7.25|b"])
    }

    @Test func `results of a query become one table`() throws {
        let world = try TransferWorld(["Dog": ["id": "int primary", "friends": "Dog[]"]])
        try world.store.write {
            for id in 1...5 { try world.store.create("Dog", .dictionary(["id": .int(Int64(id))])) }
        }
        var options = ExportOptions()
        options.postgres.schema = "an other"
        let results = try world.store.objects("Dog").filtered("id > 3")
        #expect(
            try Exporter(.results(results), as: .postgres, options).write(
                to: database.address) == 2)
        #expect(
            try database.query("SELECT id, friends FROM \"an other\".\"Dog\" ORDER BY id") == [
                "4|[]", "5|[]",
            ])
    }

    @Test func `names longer than PostgreSQL's limit are refused`() throws {
        let name = String(repeating: "a", count: 64)
        let world = try TransferWorld(["Dog": [name: "int"]])
        #expect(
            message { _ = try export(world.store) }
                .contains(
                    "PostgreSQL names have at most 63 bytes; the property name '\(name)' has 64"))
    }

    @Test func `binary numbers equal their text`() throws {
        try database.server.run("CREATE TABLE n (id bigint, value numeric)")
        var texts = [
            "0", "-0", "1", "10000", "9999", "0.0001", "0.00001", "NaN", "Infinity", "-Infinity",
            "1E+20", "1.5E-7", "-1.25E+3",
        ]
        var random = SeededGenerator(seed: 1)
        for _ in 0..<300 {
            let digits = (0..<Int.random(in: 1...34, using: &random)).map { _ in
                String(Int.random(in: 0...9, using: &random))
            }
            var text = digits.joined()
            if Bool.random(using: &random) {
                let point = text.index(
                    text.startIndex, offsetBy: Int.random(in: 0...text.count, using: &random))
                text = text[..<point] + "." + text[point...]
                if text.hasPrefix(".") { text = "0" + text }
            }
            if Bool.random(using: &random) {
                text += "E\(Int.random(in: -60...60, using: &random))"
            }
            texts.append((Bool.random(using: &random) ? "-" : "") + text)
        }
        let copy = try database.server.copyIn("COPY n FROM STDIN (FORMAT binary)")
        for (index, text) in texts.enumerated() {
            copy.beginRow(columns: 2)
            copy.int(Int64(index))
            copy.numeric(try #require(PostgresNumeric(text)))
            try copy.endRow()
        }
        try copy.finish()
        for (index, text) in texts.enumerated() {
            #expect(
                try database.query("SELECT value = '\(text)'::numeric FROM n WHERE id = \(index)")
                    == ["t"],
                "\(text)")
        }
    }
}
