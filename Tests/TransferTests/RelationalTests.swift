import ObjectStore
import TestServers
import Testing
import Transfer

/// What SQLite and PostgreSQL have in common.
@Suite(.enabled(if: PostgresServer.isInstalled, PostgresServer.missing))
struct RelationalTests {
    /// The values of columns of both databases: the types in SQLite and in PostgreSQL, and the literals.
    private static let columns: [(types: (String, String), literals: [(String, String)])] = [
        (
            ("INTEGER", "bigint"),
            ["0", "1", "2", "-7", "16777217", "9007199254740993", "4611686018427388000"].map {
                ($0, $0)
            }
        ),
        (
            ("REAL", "double precision"),
            [
                "1.5", "2.0", "0.1", "0.10000000149011612", "0.123456789012", "1e300", "-0.0",
                "4611686018427387904.0",
            ]
            .map { ($0, $0) }
        ),
        (
            ("TEXT", "text"),
            [
                "", "x", "1", "1.5", "true", "2026-01-01", "2026-01-01T00:00:00.1234567Z", "a",
                "123e4567-e89b-12d3-a456-426614174000", "0123456789abcdef01234567", "AQI=", "[1,2]",
                "{\"x\":1}", "{\"a\":\"b\"}", "12345678901234567890123456789012345678",
            ].map { ("'\($0)'", "'\($0)'") }
        ),
        (
            ("BLOB", "bytea"),
            ["", "0102", "00112233445566778899aabbccddeeff", "0123456789abcdef01234567"].map {
                ("x'\($0)'", "'\\x\($0)'")
            }
        ),
    ]

    private static let types = [
        "bool?", "int?", "float?", "double?", "string?", "date?", "data?", "uuid?", "object_id?",
        "decimal?", "mixed", "int[]", "string{}", "Part", "Owner", "Thing",
    ]

    /// Imports the tables into classes whose property `v` has a type; returns the values and the messages.
    private func results(of type: String, _ path: String, rounding: Bool) throws -> [String] {
        let world = try TransferWorld()
        let tables = Self.columns.indices.map { "t\($0)" }
        try world.store.define(
            try tables.map {
                let value = try PropertySyntax.parse(name: "v", in: $0, type)
                return ClassSchema($0, [Property("id", .int, isPrimary: true), value])
            } + [
                ClassSchema("Part", [Property("x", .int, isOptional: true)], isEmbedded: true),
                ClassSchema("Owner", [Property("name", .string, isPrimary: true)]),
                ClassSchema("Thing", [Property("x", .int, isOptional: true)]),
            ])
        var options = ImportOptions()
        options.isRounding = rounding
        options.rejects = world.path("bad.jsonl")
        _ = try Importer(into: world.store, options).read(path, as: try TransferFormat(path: path))
        let reasons = try world.text(of: "bad.jsonl.reasons.jsonl")
            .replacing("PostgreSQL columns", with: "SQLite columns").split(separator: "\n")
        return try tables.flatMap { table in
            try zip(world.values(table, "id"), world.values(table, "v")).map {
                "\(table) \($0.summary): \($1.summary)"
            }
        } + reasons.map(String.init)
    }

    @Test func `both databases convert and refuse the same values with the same messages`() throws {
        var statements = ("", "")
        for (index, (types, literals)) in Self.columns.enumerated() {
            statements.0 += "CREATE TABLE t\(index) (id INTEGER PRIMARY KEY, v \(types.0));"
            statements.1 += "CREATE TABLE t\(index) (id bigint PRIMARY KEY, v \(types.1));"
            for (id, literal) in literals.enumerated() {
                statements.0 += "INSERT INTO t\(index) VALUES (\(id + 1), \(literal.0));"
                statements.1 += "INSERT INTO t\(index) VALUES (\(id + 1), \(literal.1));"
            }
        }
        let folder = try TransferWorld()
        let sqlite = try folder.database(statements.0)
        let postgres = try PostgresWorld(statements.1)
        for type in Self.types {
            for rounding in [false, true] {
                let first = try results(of: type, sqlite, rounding: rounding)
                let second = try results(of: type, postgres.address, rounding: rounding)
                // Numbers in date properties are dates only in SQLite, which has no type for dates.
                let isCommon = { (line: String) in
                    type != "date?" || !line.contains("t0") && !line.contains("t1")
                }
                let difference = Set(first).symmetricDifference(second).filter(isCommon)
                #expect(difference.sorted() == [], "\(type)")
            }
        }
    }

    @Test func `collections of many links keep their order in both databases`() throws {
        let world = try TransferWorld(["Dog": ["id": "int primary", "friends": "Dog[]"]])
        try world.store.write {
            let dogs = try (0..<12).map {
                try world.store.create("Dog", .dictionary(["id": .int(Int64($0))]))
            }
            let links = dogs.reversed().map { Value.object($0.reference) }
            try dogs[0].set("friends", .list(links + links))
        }
        let postgres = try PostgresWorld()
        for path in [world.path("a.sqlite"), postgres.address] {
            let format = try TransferFormat(path: path)
            _ = try Exporter(.store(world.store), as: format).write(to: path)
            let copy = try TransferWorld()
            _ = try Importer(into: copy.store).read(path, as: format)
            let first = try #require(try copy.store.object("Dog", primaryKey: .int(0)))
            let numbers = try first.list("friends").values().map { value -> Value? in
                guard case .object(let reference) = value else { return nil }
                return try copy.store.object(reference)?.value("id")
            }
            #expect(numbers == (0..<24).map { .int(Int64(11 - $0 % 12)) })
        }
    }

    @Test func `names that equal up to the limit of a database are distinguished`() throws {
        let long = String(repeating: "x", count: 55)
        let world = try TransferWorld([
            long: [long + "aaaa": "Part[]", long + "bbbb": "Part[]"], "Part": ["x": "int?"],
        ])
        let postgres = try PostgresWorld()
        #expect(try Exporter(.store(world.store), as: .postgres).write(to: postgres.address) == 0)
        let copy = try TransferWorld()
        _ = try Importer(into: copy.store).read(postgres.address, as: .postgres)
        #expect(try copy.types(long) == world.types(long))
    }

    @Test
    func `a table of an export that is missing is left out, and a changed one is not an export`()
        throws
    {
        let world = try TransferWorld([
            "Dog": ["id": "int primary", "tags": "string[]"], "Person": ["name": "string primary"],
        ])
        let path = world.path("a.sqlite")
        let postgres = try PostgresWorld()
        _ = try Exporter(.store(world.store), as: .postgres).write(to: postgres.address)
        _ = try Exporter(.store(world.store), as: .sqlite).write(to: path)
        func types(_ change: String) throws -> [[String]] {
            let copy = try world.query("SELECT sql FROM sqlite_schema WHERE sql <> ''", "a.sqlite")
            let rows = try world.query(
                "SELECT value FROM moonpool WHERE name = 'schema'", "a.sqlite")
            let changed = try world.database(
                (copy + [
                    "INSERT INTO moonpool VALUES ('format', '2'), ('schema', '\(rows[0])')", change,
                ]).joined(separator: ";\n"), "b.sqlite")
            try postgres.server.run(change)
            return try [changed, postgres.address].map { path in
                let copy = try TransferWorld()
                _ = try Importer(into: copy.store).read(path, as: try TransferFormat(path: path))
                return try copy.types("Dog")
            }
        }
        #expect(try types("DROP TABLE \"Person\"").allSatisfy { $0.contains("tags string[]") })
        let changed = try types("ALTER TABLE \"Dog\" RENAME COLUMN tags TO labels")
        #expect(changed.allSatisfy { $0.contains { $0.hasPrefix("labels ") } })
    }
}
