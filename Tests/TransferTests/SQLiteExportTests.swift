import DataFormats
import Glibc
import ObjectStore
import Testing
import Transfer

/// Classes become tables that SQL can query.
@Suite struct SQLiteExportTests {
    private func zoo() throws -> TransferWorld {
        let world = try TransferWorld()
        try world.store.define([
            try Self.schema(
                "Dog",
                [
                    "id": "int primary", "name": "string indexed", "born": "date?",
                    "owner": "Person",
                    "toys": "Toy[]", "marks": "int[]", "home": "Address", "friends": "Dog{}",
                    "any": "mixed",
                ]),
            try Self.schema("Person", ["name": "string primary", "dogs": "backlinks Dog.owner"]),
            try Self.schema("Toy", ["label": "string"]),
            ClassSchema("Address", [Property("city", .string)], isEmbedded: true),
        ])
        try world.store.write {
            let ann = try world.store.create("Person", .dictionary(["name": .string("Ann")]))
            let ball = try world.store.create("Toy", .dictionary(["label": .string("ball")]))
            let rex = try world.store.create(
                "Dog",
                .dictionary([
                    "id": .int(1), "name": .string("Rex"), "owner": .object(ann.reference),
                    "born": .date(Timestamp("2020-01-02T03:04:05.5Z")!),
                    "toys": .list([.object(ball.reference), .object(ball.reference)]),
                    "marks": .list([.int(3), .int(1)]),
                    "home": .dictionary(["city": .string("Bern")]),
                    "any": .string("[text]"),
                ]))
            try world.store.create(
                "Dog",
                .dictionary([
                    "id": .int(2), "name": .string("Max"),
                    "friends": .dictionary(["best": .object(rex.reference), "none": .null]),
                    "any": .double(.nan),
                ]))
        }
        return world
    }

    private static func schema(_ name: String, _ types: [String: String]) throws -> ClassSchema {
        ClassSchema(
            name,
            try types.sorted { $0.key < $1.key }.map {
                try PropertySyntax.parse(name: $0.key, in: name, $0.value)
            })
    }

    @Test
    func `links become foreign keys, collections of links tables, and other collections JSON`()
        throws
    {
        let world = try zoo()
        let path = world.path("a.sqlite")
        #expect(try Exporter(.store(world.store), as: .sqlite).write(to: path) == 4)
        #expect(
            try world.query(
                "SELECT d.name, p.name, d.born FROM Dog d JOIN Person p ON d.owner = p.name",
                "a.sqlite")
                == ["Rex|Ann|2020-01-02T03:04:05.5Z"])
        #expect(
            try world.query(
                "SELECT position, t.label FROM Dog_toys j JOIN Toy t ON t._key = j.target",
                "a.sqlite")
                == ["1|ball", "2|ball"])
        #expect(
            try world.query(
                "SELECT value FROM Dog, json_each(marks) WHERE Dog.id = 1", "a.sqlite") == [
                    "3", "1",
                ])
        #expect(
            try world.query("SELECT json_extract(home, '$.city') FROM Dog ORDER BY id", "a.sqlite")
                == ["Bern", "NULL"])
        #expect(
            try world.query("SELECT owner, key, target FROM Dog_friends", "a.sqlite")
                == ["2|best|1", "2|none|NULL"])
        #expect(try world.query("PRAGMA foreign_key_check", "a.sqlite") == [])
        #expect(try world.query("PRAGMA integrity_check", "a.sqlite") == ["ok"])
        #expect(
            try world.query(
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql <> ''", "a.sqlite")
                == ["Dog_name_index"])
        #expect(
            try world.query("SELECT count(*) FROM Dog WHERE typeof(id) <> 'integer'", "a.sqlite")
                == ["0"])
    }

    @Test func `a whole store is restored completely`() throws {
        let world = try zoo()
        let path = world.path("a.sqlite")
        _ = try Exporter(.store(world.store), as: .sqlite).write(to: path)
        let other = try TransferWorld(nil)
        let report = try Importer(into: other.store).read(path, as: .sqlite)
        #expect(report.created == 4 && report.notes == [])
        for name in ["a.jsonl", "b.jsonl"] {
            let store = name == "a.jsonl" ? world.store : other.store
            _ = try Exporter(.store(store), as: .jsonLines).write(to: world.path(name))
        }
        #expect(try world.text(of: "a.jsonl") == world.text(of: "b.jsonl"))
    }

    @Test func `rules become constraints that accept every stored value`() throws {
        let world = try TransferWorld(nil)
        var properties = [
            Property("id", .int, isPrimary: true), Property("age", .int, isOptional: true),
            Property("weight", .double, isOptional: true),
            Property("kind", .string, isOptional: true),
            Property("price", .decimal, isOptional: true),
            Property("chip", .string, isOptional: true),
            Property("code", .decimal, isOptional: true),
            Property("best", .object, target: "Dog"), Property("row", .int),
            Property("place", .int),
        ]
        properties[1].rules.minimum = .int(0)
        properties[1].rules.maximum = .int(40)
        properties[2].rules.minimum = .double(0.1)
        properties[2].rules.maximum = .double(0.1 + 0.2)
        properties[3].rules.allowed = [.string("it's"), .string("é")]
        properties[4].rules.minimum = .int(1)
        for index in [5, 6, 7] { properties[index].rules.isUnique = true }
        try world.store.define([
            ClassSchema(
                "Dog", properties,
                indexes: [CompositeIndex(["row", "place"], isUnique: true)])
        ])
        try world.store.write {
            let first = try world.store.create(
                "Dog",
                .dictionary([
                    "id": .int(1), "age": .int(40), "weight": .double(0.1), "kind": .string("it's"),
                    "price": .decimal(DecimalValue("1.0")!), "chip": .string("x"), "row": .int(1),
                    "place": .int(1),
                ]))
            try world.store.create(
                "Dog",
                .dictionary([
                    "id": .int(2), "weight": .double(0.1 + 0.2), "best": .object(first.reference),
                    "row": .int(1), "place": .int(2),
                ]))
        }
        let path = world.path("a.sqlite")
        #expect(try Exporter(.store(world.store), as: .sqlite).write(to: path) == 2)
        let creation = try world.query("SELECT sql FROM sqlite_schema WHERE sql <> ''", "a.sqlite")
            .joined(separator: ";\n")
        for (index, (change, constraint)) in [
            ("age = -1", "CHECK"), ("age = 41", "CHECK"), ("weight = 0.09", "CHECK"),
            ("kind = 'e'", "CHECK"), ("chip = 'x'", "UNIQUE"), ("best = 1", nil),
            ("place = 1", "UNIQUE"), ("kind = NULL, chip = NULL, age = 40, code = '1'", nil),
        ].enumerated() {
            let refusal = message {
                _ = try world.database(
                    """
                    \(creation);
                    INSERT INTO Dog (id, chip, "row", place) VALUES (1, 'x', 1, 1), (2, 'y', 1, 2);
                    UPDATE Dog SET \(change) WHERE id = 2
                    """, "\(index).sqlite")
            }
            #expect(refusal.contains(constraint ?? "nothing was wrong"), "\(change): \(refusal)")
        }
        let copy = try TransferWorld(nil)
        #expect(try Importer(into: copy.store).read(path, as: .sqlite).notes == [])
    }

    @Test func `a query exports only its objects`() throws {
        let world = try zoo()
        let path = world.path("a.sqlite")
        let dogs = try world.store.objects("Dog").filtered("id == 1")
        #expect(try Exporter(.results(dogs), as: .sqlite, .dates(.seconds)).write(to: path) == 1)
        #expect(
            try world.query("SELECT id, owner, born, toys FROM Dog", "a.sqlite")
                == ["1|Ann|1577934245.5|[{\"$key\":0},{\"$key\":0}]"])
        #expect(
            try world.query("SELECT name FROM sqlite_schema WHERE type = 'table'", "a.sqlite")
                == ["Dog"])
        #expect(try world.query("PRAGMA foreign_key_check", "a.sqlite") == [])
    }

    @Test func `the export of a class keeps the types of mixed values`() throws {
        let types = ["T": ["id": "int primary", "x": "mixed", "x_type": "string?", "y": "mixed"]]
        let values: [Value] = [
            .list([.int(1), .null]), .dictionary(["k": .date(Timestamp(microseconds: 1))]), .null,
            .date(Timestamp(microseconds: 0)), .string("{}"), .int(1), .double(.nan), .bool(true),
            .decimal(try #require(DecimalValue("1.50"))), .data([1, 2]), .float(1.5),
        ]
        let world = try TransferWorld(types)
        try world.store.write {
            for (id, value) in values.enumerated() {
                try world.store.create(
                    "T",
                    .dictionary([
                        "id": .int(Int64(id)), "x": value, "x_type": .string("t"),
                        "y": values[values.count - 1 - id],
                    ]))
            }
        }
        _ = try Exporter(.results(world.store.objects("T")), as: .sqlite).write(
            to: world.path("a.sqlite"))
        // Into the same class, and into a new one.
        for classes in [types, [:]] {
            let copy = try TransferWorld(classes)
            _ = try Importer(into: copy.store).read(world.path("a.sqlite"), as: .sqlite)
            for name in ["x", "y", "x_type"] {
                #expect(
                    try copy.values("T", name).map(\.summary)
                        == world.values("T", name).map(\.summary))
            }
            if classes.isEmpty { #expect(try copy.types("T") == world.types("T")) }
        }
    }

    @Test func `a class with more columns than a table can have is an error`() throws {
        let properties = (1...2001).map { ("p\($0)", "int?") }
        let world = try TransferWorld(["Wide": Dictionary(uniqueKeysWithValues: properties)])
        let said = message {
            _ = try Exporter(.store(world.store), as: .sqlite).write(to: world.path("a.sqlite"))
        }
        #expect(said.contains("'Wide' needs 2002 columns, but a table of SQLite has at most 2000"))
        #expect(access(world.path("a.sqlite"), F_OK) != 0)
    }

    @Test(arguments: SQLiteDates.allCases)
    func `dates are restored from each encoding`(way: SQLiteDates) throws {
        let world = try TransferWorld(["T": ["id": "int primary", "d": "date"]])
        let moments = [0, 1_000_000, -1_500_000, 1_600_000_000_123_000].map(
            Timestamp.init(microseconds:))
        try world.store.write {
            for (id, moment) in moments.enumerated() {
                try world.store.create(
                    "T", .dictionary(["id": .int(Int64(id)), "d": .date(moment)]))
            }
        }
        let path = world.path("a.sqlite")
        _ = try Exporter(.store(world.store), as: .sqlite, .dates(way)).write(to: path)
        let other = try TransferWorld(nil)
        _ = try Importer(into: other.store).read(path, as: .sqlite)
        let back = try other.values("T", "d").compactMap { value -> Int64? in
            if case .date(let moment) = value { moment.microseconds } else { nil }
        }
        for (moment, found) in zip(moments, back) {
            #expect(abs(moment.microseconds - found) <= (way == .julian ? 100 : 0))
        }
        #expect(back.count == moments.count)
    }

    @Test func `names that differ only in case are distinguished`() throws {
        let world = try TransferWorld()
        try world.store.define([
            ClassSchema(
                "Dog",
                [Property("Name", .string), Property("name", .string), Property("_key", .int)]),
            ClassSchema("DOG", [Property("select", .int)]),
            ClassSchema("Moonpool", [Property("a\u{e9}", .int)]),
        ])
        try world.store.write {
            try world.store.create(
                "Dog", .dictionary(["Name": .string("A"), "name": .string("b"), "_key": .int(9)]))
            try world.store.create("DOG", .dictionary(["select": .int(1)]))
        }
        let path = world.path("a.sqlite")
        _ = try Exporter(.store(world.store), as: .sqlite).write(to: path)
        let other = try TransferWorld(nil)
        _ = try Importer(into: other.store).read(path, as: .sqlite)
        #expect(try other.values("Dog", "Name") == [.string("A")])
        #expect(try other.values("Dog", "name") == [.string("b")])
        #expect(try other.values("DOG", "select") == [.int(1)])
    }

    @Test func `a locked or read-only database is unchanged`() throws {
        let world = try zoo()
        let path = try world.write("before", to: "a.sqlite")
        let log = try world.write("", to: "a.sqlite-wal")
        let export = Exporter(.store(world.store), as: .sqlite)
        #expect(
            message { _ = try export.write(to: path) }.contains("\(log) shows that it is in use"))
        #expect(try world.text(of: "a.sqlite") == "before")
        #expect(message { _ = try export.write(to: "-") }.contains("name a file"))
        #expect(
            message { _ = try export.write(to: "/no-such-folder/x.sqlite") }
                .contains("cannot write /no-such-folder/x.sqlite: No such file"))
        let stopped = Exporter(.store(world.store), as: .sqlite) { _, _ in
            throw StoreError(.interrupted, "stopped")
        }
        #expect(message { _ = try stopped.write(to: world.path("b.sqlite")) } == "stopped")
    }

    @Test func `Collections of links are imported into renamed classes and properties`() throws {
        let world = try TransferWorld([
            "Box": ["id": "int primary", "parts": "Part[]"], "Part": ["id": "int primary"],
        ])
        let path = world.path("a.sqlite")
        try world.store.write {
            let parts = try (1...3).map {
                try world.store.create("Part", .dictionary(["id": .int($0)])).reference
            }
            let links = [2, 0, 0, 1].map { Value.object(parts[$0]) }
            try world.store.create("Box", .dictionary(["id": .int(1), "parts": .list(links)]))
        }
        _ = try Exporter(.store(world.store), as: .sqlite).write(to: path)

        let other = try TransferWorld([
            "Crate": ["id": "int primary", "items": "Part[]"], "Part": ["id": "int primary"],
        ])
        var options = ImportOptions()
        options.classNames = ["Box": "Crate"]
        options.names = ["Box.parts": "items"]
        _ = try Importer(into: other.store, options).read(path, as: .sqlite)
        let list = try #require(try other.store.object("Crate", primaryKey: .int(1))).list("items")
        let keys = try list.values().map { value -> Value? in
            guard case .object(let reference) = value else { return nil }
            return try other.store.object(reference)?.value("id")
        }
        #expect(keys == [.int(3), .int(1), .int(1), .int(2)])

        let plain = try TransferWorld(["Box": ["id": "int primary"], "Part": ["id": "int primary"]])
        let missing = message { _ = try Importer(into: plain.store).read(path, as: .sqlite) }
        #expect(missing.contains("'Box' has no property 'parts'"), "\(missing)")
        #expect(missing.contains("--map parts="), "\(missing)")
        options.classNames = [:]
        options.names = ["parts": ""]
        #expect(try Importer(into: plain.store, options).read(path, as: .sqlite).created == 4)
        let single = try TransferWorld([
            "Box": ["id": "int primary", "parts": "Part"], "Part": ["id": "int primary"],
        ])
        let error = message { _ = try Importer(into: single.store).read(path, as: .sqlite) }
        #expect(error.contains("'Box.parts' expects Part, but the table 'Box_parts'"), "\(error)")
    }

    @Test func `The elements of collections report progress and can be interrupted`() throws {
        let world = try TransferWorld(["Dog": ["toys": "Toy[]"], "Toy": ["id": "int primary"]])
        try world.store.write {
            let toy = try world.store.create("Toy", .dictionary(["id": .int(1)]))
            let toys = Value.list(Array(repeating: .object(toy.reference), count: 10_000))
            try world.store.create("Dog", .dictionary(["toys": toys]))
        }
        struct Stopped: Error {}
        var reports: [Int] = []
        let path = world.path("a.sqlite")
        #expect(throws: Stopped.self) {
            try Exporter(.store(world.store), as: .sqlite) { count, _ in
                reports.append(count)
                if reports.count == 3 { throw Stopped() }
            }.write(to: path)
        }
        #expect(reports == [0, 1, 1] || reports == [0, 2, 2])
        #expect(message { _ = try FileReader(path) }.contains("No such file"))
    }

    @Test func `A class in a table with another name keeps its rows`() throws {
        let world = try zoo()
        var options = ExportOptions()
        options.table = "hounds"
        options.setColumns(["id", "name=called", "owner"])
        let path = world.path("a.sqlite")
        let dogs = try world.store.objects("Dog")
        #expect(try Exporter(.results(dogs), as: .sqlite, options).write(to: path) == 2)
        #expect(
            try world.query("SELECT * FROM hounds ORDER BY id", "a.sqlite") == [
                "1|Rex|Ann", "2|Max|NULL",
            ])
    }

    @Test func `Chains of targets can have any length`() {
        let order = (0..<300_000).targetsFirst { $0 < 299_999 ? [$0 + 1, 0] : [] }
        #expect(order.elementsEqual((0..<300_000).reversed()))
    }
}
