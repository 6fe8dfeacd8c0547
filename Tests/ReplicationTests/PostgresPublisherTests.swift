import DataFormats
import ObjectStore
import PostgresConnections
import PostgresTransfer
import Replication
import TestServers
import Testing
import Transfer

/// Stores that are published to tables of a PostgreSQL database.
@Suite(.enabled(if: PostgresServer.isInstalled, PostgresServer.missing))
struct PostgresPublisherTests {
    private let database: PostgresWorld
    private let world: ReplicationWorld

    init() throws {
        database = try PostgresWorld()
        world = try ReplicationWorld()
    }

    private func publish(
        _ name: String, _ change: (inout PostgresPublisher.Options) -> Void = { _ in }
    ) throws -> [String] {
        var options = PostgresPublisher.Options()
        options.stopsAtEnd = true
        options.failsFast = true
        change(&options)
        var reports: [String] = []
        let publisher = try PostgresPublisher(
            world.path(name), database.address, options: options, report: { reports.append($0) })
        defer { publisher.close() }
        try publisher.run()
        return reports
    }

    /// All rows of the tables in a schema, as text.
    private func contents(_ schema: String) throws -> [String: [String]] {
        let tables = try database.query(
            "SELECT tablename FROM pg_tables WHERE schemaname = '\(schema)' ORDER BY 1")
        var rows: [String: [String]] = [:]
        for table in tables {
            rows[table] = try database.query(
                "SELECT t::text FROM \(schema).\"\(table)\" t ORDER BY 1")
        }
        return rows
    }

    private func expectExport(of store: Store) throws {
        var options = ExportOptions()
        options.postgres.schema = "expected"
        options.postgres.existingTables = .replace
        _ = try Exporter(.store(store), as: .postgres, options).write(to: database.address)
        let (found, expected) = (try contents("public"), try contents("expected"))
        #expect(found == expected)
        try database.server.run("DROP SCHEMA expected CASCADE")
    }

    @Test(arguments: 0..<3)
    func `tables that are published in steps have the rows of an export`(seed: Int) throws {
        let store = try world.open("a", ReplicationWorld.schema(RandomCommits.schema))
        var commits = RandomCommits(seed: UInt64(seed))
        for _ in 0..<10 { try commits.commit(store) }
        #expect(try publish("a").count == 1)
        try expectExport(of: store)
        for round in 0..<8 {
            for _ in 0..<(round + 1) { try commits.commit(store) }
            #expect(try publish("a") == [], "no second copy of all objects")
            try expectExport(of: store)
            #expect(
                try database.query("SELECT version FROM moonpool.publications") == [
                    "\(store.version)"
                ])
        }
        _ = try store.undo()
        try store.write { try store.deleteAll("Dog") }
        #expect(try publish("a") == [])
        try expectExport(of: store)
    }

    @Test func `a running publisher writes each commit`() throws {
        let store = try world.open("a", ReplicationWorld.schema(RandomCommits.schema))
        let task = try ReplicationTask(DatabaseJob(database.address), world.path("a"))
        var commits = RandomCommits(seed: 9)
        for _ in 0..<40 { try commits.commit(store) }
        #expect(task.wait(forVersion: store.version, atMost: .seconds(60)))
        #expect(task.status.snapshot.lag == 0 || task.status.snapshot.isConnected)
        task.stop()
        #expect(!task.isRunning)
        try expectExport(of: store)
    }

    @Test func `a deleted history or a new schema writes all objects again`() throws {
        let store = try world.open(
            "a", ReplicationWorld.schema(["Dog": ["id": "int primary"], "Cat": ["n": "int"]]))
        _ = try publish("a")
        try database.server.run("CREATE VIEW ids AS SELECT id FROM \"Dog\"")
        for id in 0..<300 {
            try store.write { try store.create("Dog", .dictionary(["id": .int(Int64(id))])) }
        }
        // The tables are emptied, not dropped, because the view depends on one of them.
        #expect(try publish("a").count == 1)
        #expect(try database.query("SELECT count(*) FROM ids") == ["300"])
        try database.server.run("DROP VIEW ids")
        try store.redefine(ReplicationWorld.schema(["Dog": ["id": "int primary", "age": "int?"]]))
        #expect(try publish("a").count == 1)
        try expectExport(of: store)
    }

    @Test func `other tables, other stores and older copies are refused`() throws {
        try database.server.run("CREATE TABLE \"Dog\" (id integer)")
        let store = try world.open("a", ReplicationWorld.schema(["Dog": ["id": "int primary"]]))
        #expect(message { _ = try publish("a") }.contains("already has a table 'public.Dog'"))
        _ = try publish("a") { $0.replaces = true }
        try expectExport(of: store)
        try store.backup(to: world.path("copy"))
        _ = try publish("copy")
        try store.write { try store.create("Dog", .dictionary(["id": .int(1)])) }
        _ = try publish("a")
        let refused = "that the store does not have"
        #expect(message { _ = try publish("copy") }.contains(refused))
        let copy = try world.open("copy")
        for id in 2..<5 {
            try copy.write { try copy.create("Dog", .dictionary(["id": .int(Int64(id))])) }
        }
        #expect(message { _ = try publish("copy") }.contains(refused))
        _ = try publish("copy") { $0.adopts = true }
        try expectExport(of: copy)
        #expect(message { _ = try publish("a") }.contains(refused))
        _ = try world.open("other", ReplicationWorld.schema(["Dog": ["id": "int primary"]]))
        #expect(message { _ = try publish("other") }.contains("contains another store"))
        _ = try publish("other") { $0.schema = "second" }
        #expect(try database.query("SELECT count(*) FROM moonpool.publications") == ["2"])
    }

    @Test func `a copy from before the first step can be adopted`() throws {
        let store = try world.open("a", ReplicationWorld.schema(["Dog": ["id": "int primary"]]))
        try store.backup(to: world.path("copy"))
        _ = try publish("a")
        let copy = try world.open("copy")
        for id in 0..<2 {
            try copy.write { try copy.create("Dog", .dictionary(["id": .int(Int64(id))])) }
            _ = try publish("copy") { $0.adopts = true }
            try expectExport(of: copy)
        }
        #expect(message { _ = try publish("a") }.contains("contains another store"))
    }

    @Test func `a value that PostgreSQL cannot hold stops the publisher with the row`() throws {
        let store = try world.open(
            "a", ReplicationWorld.schema(["Dog": ["id": "int primary", "name": "string"]]))
        _ = try publish("a")
        try store.refresh()
        let version = store.version
        try store.write {
            try store.create("Dog", .dictionary(["id": .int(7), "name": .string("a\0b")]))
        }
        let reason = message { _ = try publish("a") }
        #expect(reason.contains("'name' contains a zero byte") && reason.contains("id = 7"))
        #expect(try database.query("SELECT version FROM moonpool.publications") == ["\(version)"])
    }
}
