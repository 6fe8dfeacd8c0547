import RealmFiles
import RealmFixtures
import Testing

/// Commands and the prompt on Realm files.
@Suite(.enabled(if: RealmSamples.areReadable, "built without the trait RealmFiles"))
struct RealmCommandTests {
    private struct Kennel {
        let folder: TemporaryFolder
        let path: String

        init(damaged: Bool = false) throws {
            folder = try TemporaryFolder()
            path = folder.path + "/app.realm"
            let tables = [
                RealmWriter.Table(
                    "class_Dog",
                    [
                        .init("id", .int), .init("name", .string, isIndexed: true),
                        .init("owner", .link, isNullable: true, target: 1),
                    ], primaryKey: 0,
                    rows: [
                        (
                            key: 0,
                            values: [.int(1), .string("Rex"), .link(RealmLink(target: 1, key: 0))]
                        ),
                        (key: 1, values: [.int(2), .string("Max"), .null]),
                    ]),
                RealmWriter.Table(
                    "class_Person", [.init("name", .string)],
                    rows: [(key: 0, values: [.string("Ann")])]),
                RealmWriter.Table(
                    "metadata", [.init("version", .int)], rows: [(key: 0, values: [.int(3)])]),
            ]
            var bytes = RealmWriter.file(format: 24, tables)
            if damaged { bytes.removeLast(16) }
            RealmWriter.write(bytes, to: path)
        }

        /// Files beside the Realm file, which no command creates.
        var others: [String] {
            TemporaryFolder.names(in: folder.path).filter { $0 != "app.realm" }
        }
    }

    @Test("stats, check and schema read a Realm file and create no file")
    func looking() throws {
        let kennel = try Kennel()
        try Tool.run(["stats", kennel.path]).expectSuccess(
            "format          24", "schema version  3", "class_Dog")
        let json = try Tool.run(["stats", kennel.path, "--json"])
        #expect(json.output.hasPrefix("{\"realm\":"))
        let check = try Tool.run(["check", kennel.path])
        #expect(
            check.output.contains("is intact: Realm format 24, 2 classes, 3 objects"),
            "\(check.error)")
        let schema = try Tool.run(["schema", kennel.path])
        #expect(schema.output.contains("\"string indexed\""), "\(schema.output)")
        try Tool.run(["schema", kennel.path, "--format", "mermaid"]).expectSuccess()
        #expect(kennel.others.isEmpty)
    }

    @Test("import and export copy the objects of a Realm file")
    func moving() throws {
        let kennel = try Kennel()
        let store = kennel.folder.path + "/zoo.moonpool"
        let taken = try Tool.run(["import", store, kennel.path])
        #expect(taken.output.contains("3 created, 0 updated"), "\(taken.error)")
        #expect(
            taken.output.contains("note: tables that are not classes are omitted: metadata (1)"))
        try Tool.run(
            script: "print(moonpool.open(arg[1]):object('Dog', 1).owner.name)", arguments: [store]
        ).expectOutput("Ann\n")
        for ending in ["jsonl", "json", "sqlite", "lua"] {
            let target = kennel.folder.path + "/out." + ending
            let exported = try Tool.run(["export", kennel.path, target])
            #expect(exported.output.hasPrefix("3 objects"), "\(exported.error)")
        }
        let csv = try Tool.run(["export", kennel.path, "-", "--class", "Dog", "--format", "csv"])
        #expect(csv.output.hasPrefix("id,name,owner\r\n1,Rex,"))
        try Tool.run(
            script: """
                local store = moonpool.open { in_memory = "copy" }
                local report = store:import(arg[1], { class = { "Dog", "Person" } })
                print(report.created, #store:objects "Dog")
                """, arguments: [kennel.path]
        ).expectOutput("3\t2\n")
    }

    @Test("A Realm file given as a store opens as a read-only copy, or with --to as a new store")
    func prompt() throws {
        let kennel = try Kennel()
        let input = """
            print(store:object("Dog", 1).owner.name, store.version > 0)
            print(pcall(store.write, store, function() end))
            """
        let copy = try Tool.run([kennel.path], input: input)
        #expect(copy.output.hasPrefix("Ann\ttrue\nfalse\t"), "\(copy.error)")
        #expect(copy.output.contains("read-only"))
        #expect(kennel.others.isEmpty)
        let target = kennel.folder.path + "/kept.moonpool"
        let kept = try Tool.run(
            [kennel.path, "--to", target], input: "print(#store:objects 'Dog')")
        #expect(kept.output == "2\n", "\(kept.error)")
        #expect(kennel.others.contains("kept.moonpool"))
        try Tool.run([kennel.path, "-e", "print(1)"]).expectError("Usage: moonpool [", code: 64)
        try Tool.run([kennel.path, "--to", target], input: "").expectError("already exists")
    }

    @Test("The error for a Realm file opened as a store names the solution")
    func openError() throws {
        let kennel = try Kennel()
        try Tool.run(script: "moonpool.open(arg[1])", arguments: [kennel.path]).expectError(
            "is a Realm file, not a store", "moonpool import")
        #expect(kennel.others.isEmpty)
    }

    @Test("migrate plan writes the schema of a Realm file as the first migration")
    func plan() throws {
        let kennel = try Kennel()
        let folder = try TemporaryFolder()
        try Tool.run(["migrate", "plan", "--dir", folder.path, kennel.path]).expectSuccess()
        #expect(TemporaryFolder.names(in: folder.path) == ["0001_from_realm.lua"])
        let store = kennel.folder.path + "/new.moonpool"
        try Tool.run(["migrate", "up", store, "--dir", folder.path]).expectSuccess()
        let taken = try Tool.run(["import", store, kennel.path])
        #expect(taken.output.contains("3 created"), "\(taken.error)")
        try Tool.run(["migrate", "plan", "--dir", folder.path, kennel.path]).expectError(
            "already contains migrations")
    }

    @Test("The error for a damaged file names --rescue, which reads the intact objects")
    func rescue() throws {
        let kennel = try Kennel(damaged: true)
        try Tool.run(["check", kennel.path]).expectError("--rescue")
        let store = kennel.folder.path + "/rescued.moonpool"
        let rescued = try Tool.run(["import", store, kennel.path, "--rescue"])
        #expect(rescued.output.contains("3 created"), "\(rescued.error)")
        #expect(rescued.output.contains("note: damaged: "))
    }

    @Test("A wrong key and a text that is not a key are different errors")
    func keys() throws {
        let kennel = try Kennel()
        try Tool.run(["stats", kennel.path, "--key", "abc"]).expectError("128 hexadecimal digits")
    }
}
