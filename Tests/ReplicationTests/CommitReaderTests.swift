import Glibc
import ObjectStore
import Replication
import TestThreads
import Testing
import Transfer

/// Reads earlier commits one by one, without a server.
@Suite struct CommitReaderTests {
    private typealias Lines = (since: UInt64, version: UInt64, parts: [[UInt8]])

    /// Returns the lines of each commit after a version, the oldest first.
    private func commits(
        _ store: Store, _ reader: CommitReader, after since: UInt64
    ) throws -> [Lines] {
        var found: [Lines] = []
        // A reader of a store that is written to without a pause finds nothing, and tries again.
        _ = try reader.forEachNewestFirst(after: since) { commit in
            var parts: [[UInt8]] = []
            var lines = ReplicationLines(partSize: 2000) { parts.append($0) }
            parts.append(
                try lines.commit(
                    commit.change, since: commit.since, catalog: store.schemaCatalog(), known: nil))
            found.append((commit.since, commit.version, parts))
        }
        return found.reversed()
    }

    private func snapshot(_ store: Store, to copy: Store) throws {
        var parts: [[UInt8]] = []
        var lines = ReplicationLines { parts.append($0) }
        parts.append(try lines.snapshot(store.frozenView(), catalog: store.schemaCatalog()))
        try ReplicationWorld.apply(parts, to: copy)
    }

    @Test(arguments: RandomSeeds.sample(1, of: 0..<4), [false, true])
    func `a copy shows each version of the source, and the file is unchanged`(
        seed: Int, withUndo: Bool
    ) throws {
        let world = try ReplicationWorld()
        let source = try world.open("source", ReplicationWorld.schema(RandomCommits.schema))
        let copy = try world.open("copy")
        let reader = CommitReader(source)
        var random = RandomCommits(seed: UInt64(500 + seed))
        for _ in 0..<10 { try random.commit(source) }
        try snapshot(source, to: copy)
        for round in 1...4 {
            let start = source.version
            var exports: [UInt64: String] = [:]
            for step in 0..<RandomSeeds.count(5, of: 10) * round {
                if withUndo, step % 9 == 8 {
                    _ = try source.undo()
                } else {
                    try random.commit(source)
                }
                exports[source.version] = try ReplicationWorld.export(source, world.folder + "/a")
            }
            var commits: [Lines] = []
            // The log may be copied to the file in the meantime, but not each time.
            var isChanged = true
            for _ in 0..<5 where isChanged {
                let before = try ReplicationWorld.bytes(world.path("source"))
                commits = try self.commits(source, reader, after: start)
                isChanged = try ReplicationWorld.bytes(world.path("source")) != before
            }
            #expect(!isChanged)
            #expect(commits.map(\.since) == [start] + commits.dropLast().map(\.version))
            #expect(commits.last?.version == source.version)
            #expect(commits.count == Int(source.version - start))
            for commit in commits {
                try ReplicationWorld.apply(commit.parts, to: copy)
                #expect(
                    try ReplicationWorld.export(copy, world.folder + "/b")
                        == exports[commit.version])
            }
        }
        copy.close()
        #expect(try source.verify().isEmpty)
        source.close()
    }

    @Test func `commits up to a schema change are combined, and later ones are not`() throws {
        let world = try ReplicationWorld()
        let source = try world.open("source", ReplicationWorld.schema(["Dog": ["n": "int"]]))
        let reader = CommitReader(source)
        func add() throws {
            try source.write { try source.create("Dog", .dictionary(["n": .int(1)])) }
        }
        try add()
        let start = source.version
        for _ in 0..<3 { try add() }
        #expect(try commits(source, reader, after: start).count == 3)
        try source.redefine(ReplicationWorld.schema(["Dog": ["n": "int", "name": "string?"]]))
        let changed = source.version
        for _ in 0..<5 { try add() }
        let found = try commits(source, reader, after: start)
        #expect(found.map(\.since) == [start] + (changed..<changed + 5))
        #expect(found.map(\.version) == Array(changed...changed + 5))
        let copy = try world.open("copy")
        try snapshot(source, to: copy)
        #expect(try copy.objects("Dog").count() == 9)
    }

    @Test func `a history that does not reach back is reported`() throws {
        let world = try ReplicationWorld()
        let source = try world.open("source", ReplicationWorld.schema(["Dog": ["n": "int"]]))
        let start = source.version
        for _ in 0..<300 {
            try source.write { try source.create("Dog", .dictionary(["n": .int(1)])) }
        }
        #expect(
            try !CommitReader(source).forEachNewestFirst(after: start) { _ in
                Issue.record("there is no commit to read")
            })
    }

    @Test func `commits are read while another thread writes`() throws {
        let world = try ReplicationWorld()
        let source = try world.open(
            "source", ReplicationWorld.schema(["Dog": ["id": "int primary", "tags": "string[]"]]))
        let copy = try world.open("copy")
        try snapshot(source, to: copy)
        var position = source.version
        // The file keeps the history while this version is open.
        let held = try source.frozenView()
        defer { withExtendedLifetime(held) {} }
        let count = 3000
        let path = world.path("source")
        let writer = RunningThread {
            #expect(throws: Never.self) {
                let store = try Store(
                    StoreConfiguration(.file(path), durability: .async),
                    scheduler: ReplicationThread())
                defer { store.close() }
                for id in 0..<count {
                    try store.write {
                        try store.create(
                            "Dog",
                            .dictionary([
                                "id": .int(Int64(id)),
                                "tags": .list([.string("a"), .string("b\(id)")]),
                            ]))
                    }
                }
            }
        }
        let reader = CommitReader(source)
        let deadline = ContinuousClock.now + .seconds(120)
        while try copy.objects("Dog").count() < count, ContinuousClock.now < deadline {
            source.fileMayHaveChanged()
            try source.refresh()
            guard source.version > position else { continue }
            for commit in try commits(source, reader, after: position) {
                #expect(commit.since == position)
                position = commit.version
                try ReplicationWorld.apply(commit.parts, to: copy)
            }
        }
        writer.wait()
        try world.expectEqual(copy, source)
    }
}
