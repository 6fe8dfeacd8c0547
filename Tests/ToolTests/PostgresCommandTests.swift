import TestServers
import Testing

/// `moonpool export` and `import` with a PostgreSQL database, and the same from Lua.
@Suite(.enabled(if: PostgresServer.isInstalled, PostgresServer.missing))
struct PostgresCommandTests {
    private let folder = try! TemporaryFolder()

    @Test func `a store is exported to a database and imported`() throws {
        let rows = try folder.write("id,name,age\n1,Rex,3\n2,Max,\n", to: "dogs.csv")
        let store = folder.path + "/zoo.moonpool"
        _ = try Tool.run(["import", store, rows, "--class", "Dog"])
        let database = try PostgresWorld()
        let first = try Tool.run(["export", store, database.address])
        #expect(first.output.hasPrefix("2 objects → postgres://postgres@"), "\(first.error)")
        try Tool.run(["export", store, database.address]).expectError("add --upsert")
        try Tool.run(["export", store, database.address, "--upsert"]).expectSuccess()
        try Tool.run(["export", store, database.address, "--replace"]).expectSuccess()
        let copy = folder.path + "/copy.moonpool"
        let taken = try Tool.run(["import", copy, database.address])
        #expect(taken.output == "new class Dog\n2 created, 0 updated\n", "\(taken.error)")
        let lines = try [store, copy].map { try Tool.run(["export", $0, "-"]).output }
        #expect(lines[0] == lines[1])
    }

    @Test func `schema, table and key select the imported tables`() throws {
        let database = try PostgresWorld(
            """
            CREATE SCHEMA shop; CREATE TABLE shop.lines (a integer, b integer, PRIMARY KEY (a, b)); \
            INSERT INTO shop.lines VALUES (1, 2); CREATE TABLE shop.other (id integer PRIMARY KEY)
            """)
        let store = folder.path + "/a.moonpool"
        let taken = try Tool.run([
            "import", store, database.address, "--schema", "shop", "--table", "lines", "--key",
            "lines=b",
        ])
        #expect(taken.output == "new class Lines\n1 created, 0 updated\n", "\(taken.error)")
        let wrong = try Tool.run(["import", store, database.address, "--schema", "shp"])
        #expect(wrong.error.contains("the database has no schema 'shp'; did you mean 'shop'?"))
        let file = try Tool.run(["export", store, folder.path + "/x.json", "--upsert"])
        #expect(
            file.error.contains(
                "the option 'upsert' has no effect on the export of json, only of postgres"))
    }

    @Test func `a command and a script keep tables up to date`() throws {
        let rows = try folder.write("id,name\n1,Rex\n", to: "dogs.csv")
        let store = folder.path + "/zoo.moonpool"
        _ = try Tool.run(["import", store, rows, "--class", "Dog"])
        let database = try PostgresWorld()
        let publishing = ["publish", store, database.address, "--schema", "zoo", "--once"]
        let first = try Tool.run(publishing)
        #expect(first.output.hasPrefix("published up to version "), "\(first.error)")
        let script = try Tool.run(
            script: """
                local store = moonpool.open(arg[1])
                local publication = store:publish { url = arg[2], schema = "zoo", acknowledged = true }
                store:write(function() store:create("Dog", { id = 2, name = "Max" }) end)
                print(publication.version == store.version, publication.lag, publication.last_error)
                """, arguments: [store, database.address])
        #expect(script.output == "true\t0\tnil\n", "\(script.error)")
        #expect(try database.query("SELECT name FROM zoo.\"Dog\" ORDER BY id") == ["Rex", "Max"])
        let stats = try Tool.run(["stats", store]).output
        #expect(stats.contains("publishes to    schema 'zoo' at postgres://"), "\(stats)")
        let wrong = try Tool.run(["publish", store, "nats://127.0.0.1:1", "--replace"])
        #expect(wrong.error.contains("--schema and --replace are for PostgreSQL databases"))
    }

    @Test func `the example prints the output in its header`() throws {
        let database = try PostgresWorld()
        let path = Tool.root + "/examples/postgres.lua"
        let outcome = try Tool.run([path, database.address])
        #expect(outcome.error == "")
        let expected = ExampleTests.linesWithAddress(try contents(of: path))
        #expect(outcome.output.split(separator: "\n") == expected)
    }
}
