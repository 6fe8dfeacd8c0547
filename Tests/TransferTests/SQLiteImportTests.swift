import DataFormats
import ObjectStore
import Testing
import Transfer

/// Tables of other programs become classes.
@Suite struct SQLiteImportTests {
    @discardableResult
    private func take(
        _ world: TransferWorld, _ statements: String,
        _ change: (inout ImportOptions) -> Void = { _ in }
    ) throws -> ImportReport {
        let path = try world.database(statements)
        var options = ImportOptions()
        change(&options)
        return try Importer(into: world.store, options).read(path, as: .sqlite)
    }

    @Test func `declared types and values together decide on the types of properties`() throws {
        let world = try TransferWorld([:])
        let report = try take(
            world,
            """
            CREATE TABLE order_items (
              id INTEGER PRIMARY KEY, title TEXT NOT NULL, note VARCHAR(20), price DECIMAL(10, 2),
              ratio DOUBLE, amount NUMERIC, paid BOOLEAN NOT NULL, made DATETIME, code UUID,
              picture BLOB, free, "unit price" REAL, twice INTEGER AS (id * 2) STORED);
            INSERT INTO order_items (id, title, price, ratio, amount, paid, made, code, picture, free)
            VALUES (1, 'a', '0.10', 1, 5, 1, '2026-11-21T10:00:00Z',
                    '123e4567-e89b-12d3-a456-426614174000', x'0102', 'x'),
                   (7, 'b', 2, 2.5, 6.5, 0, 86400, NULL, NULL, 3);
            """)
        #expect(report.created == 2)
        #expect(report.newClasses == ["OrderItems"])
        #expect(
            try world.types("OrderItems") == [
                "id int primary", "title string", "note string?", "price decimal?",
                "ratio double?", "amount double?", "paid bool", "made date?", "code uuid?",
                "picture data?", "free mixed", "unit_price double?", "twice int?",
            ])
        #expect(try world.values("OrderItems", "twice") == [.int(2), .int(14)])
        #expect(try world.values("OrderItems", "free") == [.string("x"), .int(3)])
        #expect(try world.values("OrderItems", "picture") == [.data([1, 2]), .null])
        #expect(
            try world.values("OrderItems", "made") == [
                .date(Timestamp("2026-11-21T10:00:00Z")!), .date(Timestamp("1970-01-02")!),
            ])
    }

    @Test func `values that do not fit the declared type change it`() throws {
        let world = try TransferWorld([:])
        try take(
            world,
            """
            CREATE TABLE odd (number INTEGER, flag BOOLEAN, day DATE, big NUMERIC, text TEXT, none INT);
            INSERT INTO odd VALUES ('three', 2, 'soon', 9007199254740993, x'00', NULL),
                                   (3, 1, 'later', 0.5, 'x', NULL);
            """)
        #expect(
            try world.types("Odd") == [
                "number mixed", "flag int?", "day string?", "big mixed", "text mixed", "none int?",
            ])
        #expect(try world.values("Odd", "big") == [.int(9_007_199_254_740_993), .double(0.5)])
    }

    @Test func `foreign keys become links, also to later rows, in cycles and to the same table`()
        throws
    {
        let world = try TransferWorld([:])
        try take(
            world,
            """
            CREATE TABLE dogs (id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES People(ID),
                               mother INTEGER REFERENCES dogs, ownerId TEXT);
            CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT UNIQUE,
                                 favorite INT REFERENCES dogs(id), friend TEXT REFERENCES people(name));
            INSERT INTO dogs VALUES (1, 7, 2, 'x'), (2, NULL, NULL, 'y');
            INSERT INTO people VALUES (7, 'Ann', 2, NULL), (8, 'Bob', NULL, 'Ann');
            """)
        #expect(
            try world.types("Dogs") == [
                "id int primary", "owner People", "mother Dogs", "ownerId string?",
            ])
        #expect(
            try world.types("People") == [
                "id int primary", "name string? indexed", "favorite Dogs", "friend string?",
            ])
        #expect(
            try world.store.objects("Dogs").filtered("owner.name == 'Ann' and mother.id == 2")
                .count() == 1)
        #expect(try world.store.objects("People").filtered("favorite.id == 2").count() == 1)
    }

    @Test func `keys of several columns become an index, and other keys are reported`() throws {
        let world = try TransferWorld([:])
        let report = try take(
            world,
            """
            CREATE TABLE lines (sheet INT, row INT, text TEXT, PRIMARY KEY (sheet, row)) WITHOUT ROWID;
            CREATE TABLE loose (name TEXT PRIMARY KEY);
            CREATE TABLE codes (code TEXT PRIMARY KEY) WITHOUT ROWID;
            CREATE VIEW all_lines AS SELECT * FROM lines;
            CREATE VIRTUAL TABLE words USING fts5(text);
            INSERT INTO lines VALUES (1, 1, 'a'), (1, 2, NULL);
            INSERT INTO loose VALUES (NULL), ('x');
            INSERT INTO codes VALUES ('x');
            """)
        #expect(try world.types("Lines") == ["sheet int", "row int", "text string?"])
        #expect(
            try world.store.view.schema.require("Lines").indexes.map(\.properties) == [
                ["sheet", "row"]
            ])
        #expect(try world.types("Loose") == ["name string?"])
        #expect(try world.types("Codes") == ["code string primary"])
        #expect(world.store.view.schema.find("AllLines") == nil)
        #expect(
            report.notes == [
                "the primary key of 'lines' over 2 columns became an index; uniqueness is not enforced",
                "the primary key 'name' of 'loose' became a regular property: its values are "
                    + "NULL or of types that no primary key has",
                "the view 'all_lines' is omitted", "the virtual table 'words' is omitted",
            ])
    }

    @Test func `tables can be selected and renamed, columns renamed and omitted`() throws {
        let world = try TransferWorld([:])
        let statements = """
            CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, secret TEXT);
            CREATE TABLE dogs (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE logs (line TEXT);
            INSERT INTO people VALUES (1, 'Ann', 'x');
            INSERT INTO dogs VALUES (1, 'Rex');
            """
        let report = try take(world, statements) {
            $0.classNames = ["people": "Person", "logs": ""]
            $0.names = ["people.name": "title", "secret": ""]
        }
        #expect(report.newClasses == ["Dogs", "Person"])
        #expect(try world.types("Person") == ["id int primary", "title string?"])
        let other = try TransferWorld([:])
        try take(other, statements) { $0.tables = ["dogs"] }
        #expect(other.store.view.schema.classes.map(\.name) == ["Dogs"])
        #expect(
            message { try take(other, statements) { $0.tables = ["dgos"] } }
                == "there is no table 'dgos'; did you mean 'dogs'?")
        #expect(
            message { try take(other, statements) { $0.classNames = ["cats": "Cat"] } }
                .hasPrefix("there is no table 'cats'"))
    }

    @Test func `rows are imported into an existing class, invalid ones reported by rowid`() throws {
        let world = try TransferWorld([
            "Dog": ["id": "int primary", "name": "string", "owner": "Person"],
            "Person": ["name": "string primary"],
        ])
        let statements = """
            CREATE TABLE dog (id INTEGER PRIMARY KEY, name TEXT, owner TEXT);
            INSERT INTO dog VALUES (1, 'Rex', NULL), (5, NULL, NULL), (9, 'Max', 'Ann');
            """
        #expect(message { try take(world, statements) }.hasPrefix("dog, row 5: "))
        #expect(try world.store.objects("Dog").count() == 0)
        let report = try take(world, statements) {
            $0.rejects = world.path("rejects.jsonl")
        }
        #expect(report.created == 2 && report.rejected == 1)
        #expect(report.reasons.last?.hasPrefix("dog, row 9: links to Person \"Ann\"") == true)
        #expect(try world.values("Dog", "owner") == [.null, .null])
        #expect(
            try world.text(of: "rejects.jsonl.reasons.jsonl").contains(
                "\"table\":\"dog\",\"row\":5"))
    }

    @Test func `rows update objects on request`() throws {
        let world = try TransferWorld([:])
        try take(
            world,
            "CREATE TABLE dog (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO dog VALUES (1, 'Rex');"
        )
        let changed =
            "CREATE TABLE dog (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO dog VALUES (1, 'Max'), (2, 'Cleo');"
        #expect(message { try take(world, changed) }.contains("import with upsert to update it"))
        let report = try take(world, changed) { $0.isUpsert = true }
        #expect(report.created == 1 && report.updated == 1)
        #expect(try world.values("Dog", "name") == [.string("Max"), .string("Cleo")])
    }

    @Test func `a dry run and a failed import leave no class`() throws {
        let world = try TransferWorld([:])
        let statements = """
            CREATE TABLE dog (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES person);
            CREATE TABLE person (id INTEGER PRIMARY KEY);
            INSERT INTO dog VALUES (1, 77);
            """
        #expect(message { try take(world, statements) }.contains("links to Person 77"))
        #expect(world.store.view.schema.classes.isEmpty)
        let report = try take(world, statements + "INSERT INTO person VALUES (77);") {
            $0.isDryRun = true
        }
        #expect(report.created == 2)
        #expect(world.store.view.schema.classes.isEmpty)
    }

    @Test func `a foreign key to a unique column links to an existing class`() throws {
        let world = try TransferWorld([
            "Owner": ["id": "int primary"], "Pet": ["id": "int primary", "owner": "Owner"],
        ])
        try take(
            world,
            """
            CREATE TABLE Owner (id INTEGER, UNIQUE (id)); INSERT INTO Owner VALUES (7);
            CREATE TABLE Pet (id INTEGER PRIMARY KEY, owner_id REFERENCES Owner (id));
            INSERT INTO Pet VALUES (1, 7);
            """)
        #expect(try world.values("Pet", "owner") != [.null])
        #expect(try world.values("Owner", "id") == [.int(7)])
    }

    @Test func `values with a column of their types are not stored as its text`() throws {
        let world = try TransferWorld(["T": ["id": "int primary", "m": "string?"]])
        let said = message {
            try take(
                world,
                """
                CREATE TABLE T (id INTEGER PRIMARY KEY, m, m_type MIXED_TYPE_TEXT);
                INSERT INTO T VALUES (1, 'true', 'json');
                """)
        }
        #expect(said != "")
        #expect(try world.values("T", "m") == [])
    }

    @Test func `a column of types without a column of values is imported`() throws {
        let world = try TransferWorld([:])
        try take(
            world,
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b MIXED_TYPE_TEXT);
            INSERT INTO t VALUES (1, 'x', 'y');
            """)
        #expect(try world.values("T", "b") == [.string("y")])
    }

    @Test(arguments: [
        ("seconds", "1.5", "1970-01-01T00:00:01.5Z"),
        ("milliseconds", "1500", "1970-01-01T00:00:01.5Z"),
        ("julian", "2440588.5", "1970-01-02T00:00:00Z"),
        ("text", "'1970-01-03'", "1970-01-03T00:00:00Z"),
    ])
    func `dates are imported with the requested encoding`(
        way: String, stored: String, expected: String
    ) throws {
        let world = try TransferWorld([:])
        try take(world, "CREATE TABLE t (d DATE); INSERT INTO t VALUES (\(stored));") {
            $0.dates = SQLiteDates(rawValue: way)
        }
        #expect(try world.values("T", "d") == [.date(try #require(Timestamp(expected)))])
    }

    @Test(arguments: [
        ("float", "0.123456789012", "expects float"), ("float", "1e39", "expects float"),
        ("float", "16777217", "expects float"), ("double", "9007199254740993", "expects double"),
        ("double", "4611686018427388000", "expects double"),
        ("int", "1.5", "expects int"), ("bool", "2", "expects bool"), ("int", "'x'", "expects int"),
        ("decimal", "'12345678901234567890123456789012345678'", "expects decimal"),
        ("date", "'2026-01-01T00:00:00.1234567Z'", "expects date"),
    ])
    func `a value that does not fit its property exactly is an error`(
        type: String, stored: String, expected: String
    ) throws {
        let world = try TransferWorld(["T": ["id": "int primary", "v": type + "?"]])
        let statements = """
            CREATE TABLE t (id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, NULL), (2, \(stored));
            """
        let said = message { try take(world, statements) }
        #expect(said.hasPrefix("t, row 2: 'T.v' \(expected)"), "\(said)")
    }

    @Test(arguments: [
        ("float", "0.1", Value.float(0.1)), ("float", "0.10000000149011612", .float(0.1)),
        ("double", "9007199254740992", .double(9_007_199_254_740_992)), ("int", "2.0", .int(2)),
        ("int", "4611686018427387904.0", .int(1 << 62)),
        ("double", "4611686018427387904", .double(0x1p62)),
    ])
    func `a value that fits exactly is imported`(type: String, stored: String, value: Value) throws
    {
        let world = try TransferWorld(["T": ["id": "int primary", "v": type]])
        try take(
            world,
            "CREATE TABLE t (id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, \(stored));")
        #expect(try world.values("T", "v") == [value])
    }

    @Test func `a date is rounded to microseconds only on request, and counted`() throws {
        let statements = "CREATE TABLE t (v DATETIME); INSERT INTO t VALUES (1700000000.1234567);"
        let world = try TransferWorld([:])
        #expect(
            message { try take(world, statements) { $0.dates = .seconds } }.contains("add --round"))
        let report = try take(world, statements) {
            $0.dates = .seconds
            $0.isRounding = true
        }
        #expect(report.changed == 1)
        #expect(
            try world.values("T", "v") == [.date(Timestamp(microseconds: 1_700_000_000_123_457))])
    }

    @Test func `a rounded date counts once, also if its row is read again`() throws {
        let world = try TransferWorld(["T": ["id": "int primary", "v": "date?", "n": "int?"]])
        let report = try take(
            world,
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, v, n);
            INSERT INTO t VALUES (1, 1700000000.1234567, '5'), (2, 1700000000.1234567, 6);
            """
        ) {
            $0.dates = .seconds
            $0.isRounding = true
        }
        #expect(report.changed == 2)
        #expect(try world.values("T", "n") == [.int(5), .int(6)])
    }

    @Test func `milliseconds in a date column are recognized and recorded`() throws {
        let world = try TransferWorld([:])
        let report = try take(
            world, "CREATE TABLE t (v DATETIME); INSERT INTO t VALUES (1700000000000), (0);")
        #expect(
            report.notes.contains { $0.contains("milliseconds") && $0.contains("--dates seconds") })
        #expect(
            try world.values("T", "v").first
                == .date(Timestamp(microseconds: 1_700_000_000_000_000)))
        // Mixed with seconds, they are an error that names both encodings.
        let other = try TransferWorld([:])
        let said = message {
            try take(
                other,
                "CREATE TABLE t (v DATETIME); INSERT INTO t VALUES (1700000000000), (1700000000);")
        }
        #expect(said.contains("--dates milliseconds"), "\(said)")
    }

    @Test func `invalid UTF-8 is an error with its column, and no row is imported`() throws {
        let world = try TransferWorld([:])
        let said = message {
            try take(
                world,
                "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT); INSERT INTO t VALUES (1, 'x', CAST(x'ff41' AS TEXT));"
            )
        }
        #expect(said == "t, row 1: column 'b' holds text that is not UTF-8")
        #expect(world.store.view.schema.classes.isEmpty)
    }

    @Test func `an interrupted write is an error with the journal and the solution`() throws {
        let world = try TransferWorld([:])
        let path = try world.database("CREATE TABLE t (id INTEGER PRIMARY KEY);")
        // A journal of a killed process; only a writer can roll it back.
        let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        let zeros = [UInt8](repeating: 0, count: 504)
        let journal = try FileWriter(path + "-journal")
        try journal.write(magic + [0, 0, 0, 1] + zeros)
        try journal.finish()
        let said = message { _ = try Importer(into: world.store).read(path, as: .sqlite) }
        if said != "nothing was wrong" {
            #expect(said.contains("-journal") && said.contains("open the database once"), "\(said)")
        }
    }

    @Test func `a file that is not a database, or is locked or damaged, is reported`() throws {
        let world = try TransferWorld([:])
        let importer = Importer(into: world.store)
        let text = try world.write(String(repeating: "no database ", count: 100), to: "in.txt")
        #expect(
            message { _ = try importer.read(text, as: .sqlite) }
                == "\(text) is not a SQLite database, or it is encrypted")
        #expect(
            message { _ = try importer.read("/no-such-folder/x.db", as: .sqlite) }
                .contains("cannot read /no-such-folder/x.db: No such file"))
        #expect(message { _ = try importer.read("-", as: .sqlite) }.contains("name a file"))
        #expect(message { try take(world, "CREATE VIEW v AS SELECT 1;") }.contains("no table"))
        #expect(!world.store.isInWrite)
    }

    @Test func `invalid class names are replaced by valid ones`() throws {
        let world = try TransferWorld([:])
        try take(
            world,
            """
            CREATE TABLE "1st table!" ("a b" INT, "a_b" INT, "2" TEXT, "" INT, "Größe" INT);
            CREATE TABLE "1ST-table" (x INT, "_rowid_" INT, rowid INT);
            CREATE TABLE "日本" (x INT);
            INSERT INTO "1st table!" VALUES (1, 2, 'c', 3, 4);
            INSERT INTO "1ST-table" VALUES (1, 2, 3);
            """)
        #expect(
            world.store.view.schema.classes.map(\.name) == [
                "Table1STTable", "Table1stTable", "Table日本",
            ])
        #expect(
            try world.types("Table1stTable").map { $0.split(separator: " ")[0] } == [
                "a_b_2", "a_b", "_2", "_", "Größe",
            ])
    }

    @Test func `unique constraints are named in the report`() throws {
        let world = try TransferWorld([:])
        let path = try world.database(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT UNIQUE, b INT, c INT, UNIQUE (b, c));
            CREATE UNIQUE INDEX i ON t(lower(a)); CREATE INDEX j ON t(c)
            """)
        let report = try Importer(into: world.store).read(path, as: .sqlite)
        #expect(
            Set(report.notes) == [
                "UNIQUE (a) of 't' is not enforced", "UNIQUE (b, c) of 't' is not enforced",
                "UNIQUE (an expression) of 't' is not enforced",
            ])
    }
}
