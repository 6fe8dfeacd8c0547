import ObjectStore
import Replication
import TestThreads
import Testing
import Transfer

/// Commits and snapshots as lines create exact copies, without a server.
@Suite struct ReplicationLineTests {
    private func lines(_ store: Store, since: UInt64?, known: Schema?) throws -> [[UInt8]] {
        var parts: [[UInt8]] = []
        var lines = ReplicationLines(partSize: 2000) { parts.append($0) }
        if let since {
            let change = try #require(try store.replicatedChanges(since: since))
            parts.append(
                try lines.commit(change, since: since, catalog: store.schemaCatalog(), known: known)
            )
        } else {
            parts.append(try lines.snapshot(store.frozenView(), catalog: store.schemaCatalog()))
        }
        return parts
    }

    @Test(arguments: RandomSeeds.sample(2, of: 0..<6))
    func `a copy that follows random commits has the same export`(seed: Int) throws {
        let world = try ReplicationWorld()
        let source = try world.open("source", ReplicationWorld.schema(RandomCommits.schema))
        let copy = try world.open("copy")
        var commits = RandomCommits(seed: UInt64(seed))
        for _ in 0..<10 { try commits.commit(source) }
        try ReplicationWorld.apply(lines(source, since: nil, known: nil), to: copy)
        var version = source.version
        for round in 0..<RandomSeeds.count(30, of: 60) {
            for _ in 0..<(round % 3 + 1) { try commits.commit(source) }
            let parts = try lines(source, since: version, known: source.schema)
            version = source.version
            try ReplicationWorld.apply(parts, to: copy)
            guard round % 10 == 9 else { continue }
            try world.expectEqual(copy, source)
        }
        // A later snapshot does not change a current copy, and updates an older one.
        for _ in 0..<10 { try commits.commit(source) }
        try ReplicationWorld.apply(lines(source, since: nil, known: nil), to: copy)
        try world.expectEqual(copy, source)
        let empty = try world.open("empty")
        try ReplicationWorld.apply(lines(source, since: nil, known: nil), to: empty)
        try world.expectEqual(empty, source)
    }

    @Test func `renamed, new and removed properties and classes are replicated`() throws {
        let world = try ReplicationWorld()
        let source = try world.open(
            "source",
            ReplicationWorld.schema([
                "Dog": ["id": "int primary", "name": "string", "age": "int"],
                "Cat": ["name": "string"],
            ]))
        let copy = try world.open("copy")
        try source.write {
            for id in 0..<600 {
                try source.create(
                    "Dog",
                    .dictionary(["id": .int(Int64(id)), "name": .string("n\(id)"), "age": .int(1)]))
            }
            try source.create("Cat", .dictionary(["name": .string("c")]))
        }
        try ReplicationWorld.apply(lines(source, since: nil, known: nil), to: copy)
        var version = source.version
        let known = source.schema
        try source.redefine(
            ReplicationWorld.schema([
                "Dog": ["id": "int primary", "title": "string", "weight": "double"]
            ])
        ) { migration in
            try migration.renameProperty("Dog", from: "name", to: "title")
            try migration.each("Dog") { old, new in try new.set("weight", .double(2.5)) }
        }
        try ReplicationWorld.apply(lines(source, since: version, known: known), to: copy)
        try world.expectEqual(copy, source)
        version = source.version
        try source.write {
            try source.deleteAll("Cat")
            try source.create(
                "Dog", .dictionary(["id": .int(1000), "title": .string("t"), "weight": .double(1)]))
        }
        try ReplicationWorld.apply(lines(source, since: version, known: source.schema), to: copy)
        try world.expectEqual(copy, source)
    }

    @Test func `a new optional property has lines for the objects with a value`() throws {
        let world = try ReplicationWorld()
        let source = try world.open(
            "source", ReplicationWorld.schema(["Dog": ["id": "int primary"]]))
        let copy = try world.open("copy")
        try source.write {
            for id in 0..<3 { try source.create("Dog", .dictionary(["id": .int(Int64(id))])) }
        }
        try ReplicationWorld.apply(lines(source, since: nil, known: nil), to: copy)
        let (version, known) = (source.version, source.schema)
        try source.redefine(
            ReplicationWorld.schema([
                "Dog": ["id": "int primary", "age": "int?", "name": "string?"]
            ])
        ) { migration in
            try migration.each("Dog") { old, new in
                if try old.value("id") == .int(1) { try new.set("age", .int(7)) }
            }
        }
        let parts = try lines(source, since: version, known: known)
        let text = parts.map { String(decoding: $0, as: UTF8.self) }.joined()
        #expect(!text.contains("\"object\":0") && !text.contains("\"object\":2"), "\(text)")
        try ReplicationWorld.apply(parts, to: copy)
        try world.expectEqual(copy, source)
    }

    @Test func `skipped and reused keys are the same in a copy`() throws {
        let world = try ReplicationWorld()
        let source = try world.open("source", ReplicationWorld.schema(["Dog": ["n": "int"]]))
        let copy = try world.open("copy")
        try source.write {
            for n in 0..<3000 { try source.create("Dog", .dictionary(["n": .int(Int64(n))])) }
        }
        try source.write {
            let all = try source.objects("Dog").keys().array
            try source.delete(Array(all[10..<2995]), of: source.schema.require("Dog"))
        }
        try ReplicationWorld.apply(lines(source, since: nil, known: nil), to: copy)
        let version = source.version
        try source.write { try source.create("Dog", .dictionary(["n": .int(-1)])) }
        try ReplicationWorld.apply(lines(source, since: version, known: source.schema), to: copy)
        try world.expectEqual(copy, source)
        let before = source.version
        try source.write { try source.deleteAll("Dog") }
        try ReplicationWorld.apply(lines(source, since: before, known: source.schema), to: copy)
        let emptied = source.version
        _ = try source.undo()
        try ReplicationWorld.apply(lines(source, since: emptied, known: source.schema), to: copy)
        try world.expectEqual(copy, source)
        #expect(try copy.objects("Dog").count() == 16)
    }
}
