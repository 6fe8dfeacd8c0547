import DataFormats
import ObjectStore
import TestServers
import Testing
import Transfer

@Suite(.enabled(if: PostgresServer.isInstalled, PostgresServer.missing))
struct PostgresImportTests {
    private func types(_ report: ImportReport, _ name: String) -> [String: String] {
        var types: [String: String] = [:]
        for property in report.newSchema.first(where: { $0.name == name })?.properties ?? [] {
            types[property.name] = PropertySyntax.text(of: property)
        }
        return types
    }

    private func read(
        _ database: PostgresWorld, into world: TransferWorld,
        _ change: (inout ImportOptions) -> Void = { _ in }
    ) throws -> ImportReport {
        var options = ImportOptions()
        change(&options)
        return try Importer(into: world.store, options).read(database.address, as: .postgres)
    }

    @Test func `unique constraints are named in the report`() throws {
        let database = try PostgresWorld(
            """
            CREATE TABLE t(id int PRIMARY KEY, a int UNIQUE, b int, "C d" text, UNIQUE (b, "C d"));
            CREATE UNIQUE INDEX ON t (lower("C d"));
            """)
        let report = try read(database, into: try TransferWorld())
        #expect(
            report.notes == [
                "UNIQUE (a) of 't' is not enforced", "UNIQUE (b, C d) of 't' is not enforced",
                "UNIQUE (an expression) of 't' is not enforced",
            ])
    }

    @Test func `numbers in JSON keep their values, or are errors`() throws {
        let database = try PostgresWorld(
            """
            CREATE TABLE t(id int PRIMARY KEY, v jsonb);
            INSERT INTO t VALUES (1, '1.50'), (2, '9007199254740993'), (3, '12345678901234567890'),
            (4, '0.1234567890123456789012345'), (5, '1e2'), (6, '-0.0'), (7, '{"a": [1.10]}')
            """)
        let world = try TransferWorld()
        _ = try read(database, into: world)
        #expect(
            try world.values("T", "v") == [
                .double(1.5), .int(9_007_199_254_740_993),
                .decimal(DecimalValue("12345678901234567890")!),
                .decimal(DecimalValue("0.1234567890123456789012345")!), .int(100), .double(0),
                .dictionary(["a": .list([.double(1.1)])]),
            ])
        try database.server.run(
            "INSERT INTO t VALUES (8, '123456789012345678901234567890123456789012345')")
        #expect(
            message { _ = try read(database, into: try TransferWorld()) }.contains(
                "no numeric type can represent 1234567890123456"))
    }

    @Test func `columns of every kind become properties`() throws {
        let database = try PostgresWorld(
            """
            CREATE TYPE mood AS ENUM ('calm', 'wild');
            CREATE DOMAIN percent AS smallint CHECK (VALUE BETWEEN 0 AND 100);
            CREATE TABLE samples (
              id uuid PRIMARY KEY, flag boolean, small smallint NOT NULL, share percent, f real, d double precision,
              amount numeric(12, 2), name varchar(20) NOT NULL, code char(4), mood mood, data bytea, born date,
              seen timestamptz, local timestamp, doc jsonb, tags text[], moods mood[], days date[], amounts numeric[],
              length interval, address inet, twice integer GENERATED ALWAYS AS (small * 2) STORED);
            CREATE INDEX ON samples (born);
            INSERT INTO samples (id, flag, small, share, f, d, amount, name, code, mood, data, born, seen, local, doc,
              tags, moods, days, amounts, length, address) VALUES
              ('00000000-0000-0000-0000-000000000001', true, 7, 50, 0.1, 1e300, 12.50, 'Rex', 'ab', 'wild', '\\x0001ff',
              '2026-02-28', '2026-01-01 12:00:00.5+02', '2026-01-01 12:00:00', '{"a": [1, 2.5, null]}',
              '{a,NULL,"b,c"}', '{calm}', '{2000-01-01}', '{1.5,NULL}', '1 day 2 hours', '127.0.0.1'),
              ('00000000-0000-0000-0000-000000000002', NULL, 0, NULL, NULL, NULL, NULL, '', NULL, NULL, NULL, NULL,
              NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
            """)
        let world = try TransferWorld()
        let report = try read(database, into: world)
        #expect(report.created == 2)
        #expect(
            types(report, "Samples") == [
                "id": "uuid primary", "flag": "bool?", "small": "int", "share": "int?",
                "f": "float?",
                "d": "double?", "amount": "decimal?", "name": "string", "code": "string?",
                "mood": "string?",
                "data": "data?", "born": "date? indexed", "seen": "date?", "local": "date?",
                "doc": "mixed",
                "tags": "string?[]", "moods": "string?[]", "days": "date?[]",
                "amounts": "decimal?[]",
                "length": "string?", "address": "string?", "twice": "int?",
            ])
        #expect(report.notes.contains("'samples.length' is of type interval, which became text"))
        #expect(report.notes.contains("1 NULL in 'samples.tags' became an empty list"))
        let first = try #require(
            try world.store.object("Samples", primaryKey: .uuid(UUIDValue(high: 0, low: 1))))
        #expect(try first.value("f") == .float(0.1))
        #expect(try first.value("amount") == .decimal(DecimalValue("12.5")!))
        #expect(try first.value("data") == .data([0, 1, 255]))
        #expect(try first.value("born") == .date(Timestamp("2026-02-28T00:00:00Z")!))
        #expect(try first.value("seen") == .date(Timestamp("2026-01-01T10:00:00.5Z")!))
        #expect(try first.value("local") == .date(Timestamp("2026-01-01T12:00:00Z")!))
        #expect(try first.value("length") == .string("P1DT2H"))
        #expect(try first.value("twice") == .int(14))
    }

    @Test func `foreign keys become links, also to later rows`() throws {
        let database = try PostgresWorld(
            """
            CREATE TABLE people (id bigint PRIMARY KEY, boss_id bigint REFERENCES people);
            CREATE TABLE dogs (name text PRIMARY KEY, owner_id bigint REFERENCES people, friend text);
            ALTER TABLE dogs ADD FOREIGN KEY (friend) REFERENCES dogs;
            INSERT INTO people VALUES (1, NULL); UPDATE people SET boss_id = 1;
            INSERT INTO people VALUES (2, 1);
            INSERT INTO dogs VALUES ('Rex', 2, NULL); UPDATE dogs SET friend = 'Rex';
            """)
        let world = try TransferWorld()
        let report = try read(database, into: world)
        #expect(
            types(report, "Dogs") == [
                "name": "string primary", "owner": "People", "friend": "Dogs",
            ])
        #expect(
            try world.store.objects("Dogs").filtered("owner.boss.id == 1 and friend.name == 'Rex'")
                .count() == 1)
    }

    @Test func `composite keys become a text key that links use`() throws {
        let database = try PostgresWorld(
            """
            CREATE TABLE orders (shop text, number integer, total numeric, PRIMARY KEY (shop, number));
            CREATE TABLE items (id integer PRIMARY KEY, number integer, shop text,
              CONSTRAINT items_order_fkey FOREIGN KEY (number, shop) REFERENCES orders (number, shop));
            CREATE TABLE days (day date PRIMARY KEY, note text);
            CREATE TABLE visits (id integer PRIMARY KEY, day date REFERENCES days);
            INSERT INTO orders VALUES ('a:b', 1, 10), ('a', 2, 20); INSERT INTO items VALUES (1, 2, 'a'), (2, 1, 'a:b');
            INSERT INTO days VALUES ('2026-01-01', 'x'); INSERT INTO visits VALUES (1, '2026-01-01');
            """)
        let world = try TransferWorld()
        let report = try read(database, into: world)
        #expect(types(report, "Orders")["key"] == "string primary")
        #expect(types(report, "Items")["order"] == "Orders")
        #expect(try world.values("Orders", "key") == [.string("a\\:b:1"), .string("a:2")])
        #expect(
            try world.store.objects("Items").filtered("order.total == 20 and id == 1").count() == 1)
        #expect(try world.store.objects("Visits").filtered("day.note == 'x'").count() == 1)

        let other = try TransferWorld()
        let chosen = try read(database, into: other) {
            $0.postgres.keys = ["orders": "number"]
            $0.tables = ["orders"]
        }
        #expect(
            types(chosen, "Orders") == [
                "shop": "string", "number": "int primary", "total": "decimal?",
            ])
        #expect(
            message {
                _ = try read(database, into: other) { $0.postgres.keys = ["orders": "nmber"] }
            }
            .contains("did you mean 'number'?"))
    }

    @Test func `values that a store cannot contain are errors for each row`() throws {
        let database = try PostgresWorld(
            """
            CREATE TABLE a (id integer PRIMARY KEY, value numeric);
            INSERT INTO a VALUES (1, 1), (2, 1.2345678901234567890123456789012345678);
            CREATE TABLE b (id integer PRIMARY KEY, at timestamptz); INSERT INTO b VALUES (1, 'infinity');
            CREATE TABLE c (id integer PRIMARY KEY, grid integer[]); INSERT INTO c VALUES (1, '{{1,2},{3,4}}');
            """)
        func attempt(_ table: String, rounding: Bool = false) -> String {
            message {
                let world = try TransferWorld()
                _ = try read(database, into: world) {
                    $0.tables = [table]
                    $0.isRounding = rounding
                }
            }
        }
        #expect(attempt("a").hasPrefix("a, row 2: 'A.value' expects decimal?, got"))
        #expect(attempt("a", rounding: true) == "nothing was wrong")
        #expect(attempt("b").hasPrefix("b, row 1: column 'at' holds infinity"))
        #expect(
            attempt("c").hasPrefix("c, row 1: column 'grid' holds an array of several dimensions"))
        #expect(attempt("d").contains("there is no table 'd'"))

        let world = try TransferWorld()
        let report = try read(database, into: world) {
            $0.tables = ["a"]
            $0.rejects = world.path("bad.jsonl")
        }
        #expect(report.created == 1 && report.rejected == 1)
        #expect(
            try world.text(of: "bad.jsonl")
                == "{\"$class\":\"A\",\"id\":2,\"value\":\"1.2345678901234567890123456789012345678\"}\n"
        )
    }

    @Test func `Dates beyond the range of a store reject their rows`() throws {
        let database = try PostgresWorld(
            """
            CREATE TABLE a (id integer PRIMARY KEY, day date, days date[], at timestamp);
            INSERT INTO a VALUES (1, '1969-12-31', '{2020-02-29, NULL}', '0001-01-01 BC'),
            (2, '5874897-12-31', NULL, NULL), (3, '-infinity', NULL, NULL), (4, NULL, '{5874897-01-01}', NULL),
            (5, NULL, NULL, 'infinity'), (6, '294246-01-01', NULL, NULL), (7, '4713-11-24 BC', NULL, NULL);
            """)
        let world = try TransferWorld()
        let report = try read(database, into: world) { $0.rejects = world.path("bad.jsonl") }
        #expect(report.created == 3 && report.rejected == 4)
        let days = ["1969-12-31T00:00:00Z", "294246-01-01T00:00:00Z", "-4712-11-24T00:00:00Z"]
        #expect(try world.values("A", "day") == days.map { try .date(#require(Timestamp($0))) })
        #expect(
            try world.values("A", "days").first
                == .list([.date(#require(Timestamp("2020-02-29T00:00:00Z"))), .null]))
    }

    @Test func `rows update objects of an existing class, converted to its types`() throws {
        let database = try PostgresWorld(
            """
            CREATE TABLE "Dog" (id integer PRIMARY KEY, born text, score integer, tags jsonb);
            INSERT INTO "Dog" VALUES (1, '2026-01-01T00:00:00Z', 5, '["a"]'), (2, NULL, 6, NULL);
            """)
        let world = try TransferWorld(
            ["Dog": ["id": "int primary", "born": "date?", "score": "double", "tags": "string[]"]])
        try world.store.write {
            try world.store.create("Dog", .dictionary(["id": .int(1), "score": .double(0)]))
        }
        #expect(message { _ = try read(database, into: world) }.contains("already"))
        let report = try read(database, into: world) { $0.isUpsert = true }
        #expect(report.created == 1 && report.updated == 1)
        #expect(try world.values("Dog", "score") == [.double(5), .double(6)])
        #expect(try world.values("Dog", "tags") == [.list([.string("a")]), .list([])])
    }

    @Test func `views, partitions and unusual names are imported`() throws {
        let database = try PostgresWorld(
            """
            CREATE TABLE "we""ird Table" ("the id" integer PRIMARY KEY, "sélect" text);
            INSERT INTO "we""ird Table" VALUES (1, 'x');
            CREATE VIEW short AS SELECT "the id" AS id FROM "we""ird Table";
            CREATE TABLE logs (at integer, PRIMARY KEY (at)) PARTITION BY RANGE (at);
            CREATE TABLE logs_1 PARTITION OF logs FOR VALUES FROM (0) TO (10);
            CREATE TABLE logs_2 PARTITION OF logs FOR VALUES FROM (10) TO (20);
            INSERT INTO logs VALUES (1), (11);
            """)
        let world = try TransferWorld()
        let report = try read(database, into: world)
        #expect(report.newClasses.sorted() == ["Logs", "WeIrdTable"])
        #expect(try world.store.objects("Logs").count() == 2)
        #expect(try world.values("WeIrdTable", "sélect") == [.string("x")])
        #expect(report.notes.contains("the view 'short' is omitted; --table imports it"))
        let other = try TransferWorld()
        #expect(try read(database, into: other) { $0.tables = ["short"] }.created == 1)
    }

    @Test func `tables that were changed after an export are imported with their new form`() throws
    {
        let world = try TransferWorld(["Dog": ["id": "int primary", "name": "string"]])
        try world.store.write {
            try world.store.create("Dog", .dictionary(["id": .int(1), "name": .string("Rex")]))
        }
        let database = try PostgresWorld()
        _ = try Exporter(.store(world.store), as: .postgres).write(to: database.address)
        try database.server.run("ALTER TABLE \"Dog\" DROP COLUMN name, ADD COLUMN age integer")
        let other = try TransferWorld()
        let report = try read(database, into: other)
        #expect(types(report, "Dog") == ["id": "int primary", "age": "int?"])
        #expect(
            report.notes.contains {
                $0.hasPrefix("the tables were changed after they were exported")
            })
    }

    @Test func `collections of links are imported into renamed classes and properties`() throws {
        let world = try TransferWorld(["Dog": ["id": "int primary", "friends": "Dog[]"]])
        try world.store.write {
            let rex = try world.store.create("Dog", .dictionary(["id": .int(1)]))
            try world.store.create(
                "Dog", .dictionary(["id": .int(2), "friends": .list([.object(rex.reference)])]))
        }
        let database = try PostgresWorld()
        _ = try Exporter(.store(world.store), as: .postgres).write(to: database.address)

        let other = try TransferWorld(["Hound": ["id": "int primary", "pals": "Hound[]"]])
        func pals() throws -> [Value?] {
            _ = try read(database, into: other) {
                $0.classNames = ["Dog": "Hound"]
                $0.names = ["Dog.friends": "pals"]
                $0.isUpsert = true
            }
            let hound = try #require(try other.store.object("Hound", primaryKey: .int(2)))
            return try hound.list("pals").values().map { value in
                guard case .object(let reference) = value else { return nil }
                return try other.store.object(reference)?.value("id")
            }
        }
        #expect(try pals() == [.int(1)])
        #expect(try pals() == [.int(1)])
        try database.server.run("DELETE FROM \"Dog_friends\"")
        #expect(try pals() == [])
    }

    @Test func `a server that cannot be reached is an error without the password`() throws {
        let world = try TransferWorld()
        let reason = message {
            _ = try Importer(into: world.store).read(
                "postgres://user:geheim@127.0.0.1:1/none", as: .postgres)
        }
        #expect(reason.hasPrefix("cannot connect to PostgreSQL"))
        #expect(!reason.contains("geheim"))
        #expect(
            PostgresAddress.display("postgres://user:geheim@host:5432/zoo")
                == "postgres://user@host:5432/zoo")
    }
}
