import Glibc
import ObjectStore
import Replication
import Synchronization
import TestServers
import TestThreads
import Testing
import Transfer

@testable import NATSReplication

/// Stores that are published to a NATS server and followed from it.
@Suite(.enabled(if: NatsServer.isInstalled, NatsServer.missing))
struct ReplicationTests {
    private let server: NatsServer
    private let world: ReplicationWorld

    init() throws {
        server = try NatsServer()
        world = try ReplicationWorld()
    }

    private func make(_ dogs: Int, _ name: String = "a") throws {
        let store = try world.open(
            name, ReplicationWorld.schema(["Dog": ["id": "int primary", "name": "string"]]))
        defer { store.close() }
        for id in 0..<dogs { try add(id, store) }
    }

    /// Makes and publishes the store "a", which the store "b" follows.
    private func makeAndFollow(_ dogs: Int) throws {
        try make(dogs)
        try world.publish("a", server.address)
        try world.follow("b", server.address)
    }

    private func add(_ id: Int, _ store: Store) throws {
        try store.write {
            try store.create(
                "Dog", .dictionary(["id": .int(Int64(id)), "name": .string("d\(id)")]))
        }
    }

    private func add(_ ids: Range<Int>, _ name: String) throws {
        let store = try world.open(name)
        defer { store.close() }
        for id in ids { try add(id, store) }
    }

    @Test func `a follower equals its publisher after restarts and a compaction`() throws {
        try make(3)
        try world.publish("a", server.address)
        let start = try world.follow("b", server.address)
        #expect(try world.export("b") == world.export("a"))
        for round in 0..<4 {
            // Each commit is a message, although the publisher is not running.
            try add(10 * round + 10..<10 * round + 15, "a")
            if round == 2 {
                server.stop()
                try server.start()
            }
            try world.publish("a", server.address)
            try world.publish("a", server.address)
            let end = try world.follow("b", server.address)
            #expect(end.commits == 5)
            #expect(round > 0 || end.sequence == start.sequence + 5)
            #expect(try world.export("b") == world.export("a"))
            if round == 2 { _ = try StoreFiles.compact(world.path("a")) }
        }
        try world.follow("c", server.address)
        #expect(try world.export("c") == world.export("a"))
    }

    @Test func `a follower refuses other writes until it is detached`() throws {
        try makeAndFollow(1)
        #expect(message { try add(7..<8, "b") }.contains("follows a stream and cannot be written"))
        #expect(message { try world.publish("b", server.address) }.contains("--promote"))
        try ReplicationRecord.detach(world.path("b"))
        try add(7..<8, "b")
        #expect(
            message { try world.follow("b", server.address) }.contains(
                "has data and does not follow a stream"))
        try world.follow("b", server.address) { $0.rebuilds = true }
        #expect(try world.export("b") == world.export("a"))
    }

    @Test func `a promoted follower publishes, and the old publisher stops`() throws {
        try makeAndFollow(5)
        try world.follow("c", server.address)
        try world.publish("b", server.address) { $0.takeover = .promotion }
        #expect(message { try world.publish("a", server.address) }.contains(Self.refused))
        try add(50..<53, "b")
        try world.publish("b", server.address)
        try add(60..<61, "a")
        #expect(message { try world.publish("a", server.address) }.contains(Self.refused))
        let snapshot = try world.follow("c", server.address)
        #expect(snapshot.commits == 4)
        #expect(try world.export("c") == world.export("b"))
        // The copies have the same commits, with different version numbers.
        let (b, c) = (try world.open("b"), try world.open("c"))
        defer { for store in [b, c] { store.close() } }
        let common = try #require(try b.lastCommonVersion(with: c))
        #expect(common.own == b.version && common.other == c.version)
    }

    @Test func `a late message of the old publisher does not fit after a promotion`() throws {
        try makeAndFollow(2)
        let relay = Relay(to: server.port)
        defer { relay.end() }
        let status = ReplicationStatus()
        let ended = Mutex("")
        let path = world.path("a")
        let old = RunningThread {
            let reason = message {
                let servers = NatsOptions("nats://127.0.0.1:\(relay.port)")
                try Publisher(path, servers, stream: "zoo", status: status).run()
            }
            ended.withLock { $0 = reason }
        }
        defer {
            status.stop()
            old.wait()
        }
        #expect(status.wait(atMost: .seconds(20)) { $0.isConnected })
        relay.setCut(true)
        // Several messages are under way when the other store becomes the publisher.
        let before = status.snapshot.commits
        for id in 10..<15 { try add(id..<id + 1, "a") }
        #expect(status.wait(atMost: .seconds(20)) { $0.commits == before + 5 })
        try world.publish("b", server.address) { $0.takeover = .promotion }
        relay.setCut(false)
        #expect(status.wait(atMost: .seconds(20)) { $0.hasEnded || $0.lastError != nil })
        try add(20..<22, "b")
        try world.publish("b", server.address)
        let copy = try world.follow("c", server.address)
        #expect(copy.skipped == 0)
        #expect(try world.export("c") == world.export("b"))
        old.wait()
        let reason = ended.withLock { $0 }
        #expect(reason.contains("another process publishes") || reason.contains(Self.refused))
    }

    private static let refused = "that the store does not have"

    @Test func `a store that went back is refused, and can be adopted`() throws {
        try makeAndFollow(2)
        let store = try world.open("a")
        try store.backup(to: world.path("copy"))
        store.close()
        // A copy with the last commit of the stream continues it.
        try add(10..<12, "copy")
        try world.publish("copy", server.address)
        try world.follow("b", server.address)
        #expect(try world.export("b") == world.export("copy"))
        // The original lacks these commits, with a lower, the same and a higher version.
        for id in 20..<24 {
            #expect(message { try world.publish("a", server.address) }.contains(Self.refused))
            try add(id..<id + 1, "a")
        }
        // The history is no longer long enough to contain the commits of the stream.
        try add(1000..<1300, "a")
        #expect(message { try world.publish("a", server.address) }.contains(Self.refused))
        let before = try world.export("b")
        try world.follow("b", server.address)
        #expect(try world.export("b") == before)
        try world.publish("a", server.address) { $0.takeover = .adoption }
        try add(30..<31, "a")
        try world.publish("a", server.address)
        #expect(message { try world.publish("copy", server.address) }.contains(Self.refused))
        try world.follow("b", server.address)
        #expect(try world.export("b") == world.export("a"))
    }

    @Test func `a copy from before the first commit of the stream can be adopted`() throws {
        try make(2)
        let store = try world.open("a")
        try store.backup(to: world.path("copy"))
        store.close()
        try world.publish("a", server.address)
        try world.follow("b", server.address)
        try add(30..<32, "copy")
        let refused = "contains the commits of another store"
        let advice = message { try world.publish("copy", server.address) }
        #expect(advice.contains(refused) && advice.contains("--adopt"))
        try world.publish("copy", server.address) { $0.takeover = .adoption }
        try world.follow("b", server.address)
        #expect(try world.export("b") == world.export("copy"))
        // A store that has another stream keeps it.
        try make(1, "other")
        try world.publish("other", server.address, stream: "other")
        let refusal = message {
            try world.publish("other", server.address) { $0.takeover = .adoption }
        }
        #expect(refusal.contains(refused) && !refusal.contains("--adopt"))
        try add(1..<2, "other")
        try world.publish("other", server.address, stream: "other")
    }

    @Test func `a promotion that the stream has not accepted changes nothing`() throws {
        try makeAndFollow(2)
        try add(10..<12, "a")
        try world.publish("a", server.address)
        let isLate = message {
            try world.publish("b", server.address) { $0.takeover = .promotion }
        }
        #expect(isLate.contains("follow it to its end first"))
        #expect(message { try add(7..<8, "b") }.contains("follows a stream"))
        try world.follow("b", server.address)
        server.stop()
        let isCutOff = message {
            try world.publish("b", server.address) { $0.takeover = .promotion }
        }
        #expect(isCutOff.contains("cannot connect"))
        #expect(message { try add(7..<8, "b") }.contains("follows a stream"))
        try server.start()
        // The process ends after the stream has accepted the promotion: the copy has lost the commit that follows.
        let store = try world.open("b")
        try store.backup(to: world.path("copy"))
        store.close()
        try world.publish("b", server.address) { $0.takeover = .promotion }
        let isBehind = message {
            try world.publish("copy", server.address) { $0.takeover = .promotion }
        }
        #expect(isBehind.contains("follow it to its end first"))
        try world.follow("copy", server.address)
        try world.publish("copy", server.address) { $0.takeover = .promotion }
        try add(20..<22, "copy")
        try world.publish("copy", server.address)
        #expect(message { try world.publish("b", server.address) }.contains(Self.refused))
        try world.follow("c", server.address)
        #expect(try world.export("c") == world.export("copy"))
    }

    @Test func `a failed rebuild keeps the old store`() throws {
        try make(2)
        try world.publish("a", server.address)
        let other = try world.open("b", ReplicationWorld.schema(["Cat": ["n": "int"]]))
        try other.write { try other.create("Cat", .dictionary(["n": .int(1)])) }
        other.close()
        let before = try world.export("b")
        server.stop()
        let reason = message {
            try world.follow("b", server.address) { $0.rebuilds = true }
        }
        #expect(reason.contains("cannot connect"))
        #expect(try world.export("b") == before)
        try server.start()
        // A process that has the store open keeps it, and nothing is left of the new one.
        let open = try world.open("b")
        #expect(
            message { try world.follow("b", server.address) { $0.rebuilds = true } }.contains(
                "open"))
        open.close()
        #expect(try world.export("b") == before)
        try world.follow("b", server.address) { $0.rebuilds = true }
        #expect(try world.export("b") == world.export("a"))
    }

    @Test func `large commits are split and applied together`() throws {
        try makeAndFollow(0)
        let store = try world.open("a")
        try store.write {
            for id in 0..<20_000 {
                try store.create(
                    "Dog",
                    .dictionary([
                        "id": .int(Int64(id)), "name": .string(String(repeating: "x", count: 60)),
                    ]))
            }
        }
        store.close()
        try world.publish("a", server.address)
        let before = try world.open("b").version
        let end = try world.follow("b", server.address)
        #expect(end.commits == 1)
        #expect(try world.open("b").version == before + 1)
        #expect(try world.export("b") == world.export("a"))
    }

    @Test func `a snapshot replaces a deleted history`() throws {
        try makeAndFollow(2)
        // More commits than the history contains; the file keeps their identities.
        try add(100..<700, "a")
        try world.publish("a", server.address)
        try world.follow("b", server.address)
        #expect(try world.export("b") == world.export("a"))
        // Frequent snapshots remove the messages before them.
        for round in 0..<3 {
            try add(1000 + round * 10..<1005 + round * 10, "a")
            try world.publish("a", server.address) { $0.snapshotInterval = 0 }
        }
        try world.follow("c", server.address)
        try world.follow("b", server.address)
        #expect(try world.export("b") == world.export("a"))
        #expect(try world.export("c") == world.export("a"))
    }

    /// Sends a request to the JetStream API.
    private func ask(_ subject: String, _ body: String) throws {
        let connection = try NatsConnection(NatsOptions(server.address))
        let answer = try connection.request("$JS.API.\(subject)", body, within: .seconds(60))
        let text = String(decoding: answer, as: UTF8.self)
        try #require(text.contains("\"success\":true"), "\(text)")
    }

    @Test func `a follower loads the newest snapshot of a stream that has lost messages`() throws {
        try makeAndFollow(2)
        try add(10..<13, "a")
        try world.publish("a", server.address)
        // The snapshot is message 1, and the commits are 2 to 4.
        try ask("STREAM.MSG.DELETE.zoo", "{\"seq\":2}")
        #expect(message { try world.follow("b", server.address) }.contains("of another history"))
        try add(20..<22, "a")
        try world.publish("a", server.address) { $0.snapshotInterval = 0 }
        try world.follow("b", server.address)
        #expect(try world.export("b") == world.export("a"))
    }

    @Test func `a follower continues with a stream that its publisher has created again`() throws {
        try make(2)
        try world.publish("a", server.address)
        try add(10..<13, "a")
        try world.publish("a", server.address)
        try world.follow("b", server.address)
        try ask("STREAM.DELETE.zoo", "")
        #expect(message { try world.follow("b", server.address) }.contains("does not exist"))
        try add(20..<22, "a")
        try world.publish("a", server.address)
        // The last message belongs to neither store.
        let connection = try NatsConnection(NatsOptions(server.address))
        try connection.publish("moonpool.zoo.commit", Array("hello".utf8))
        try connection.publish(
            "moonpool.zoo.commit", headers: [(MessageHeader.store, "another")], [])
        try connection.flush()
        try world.follow("b", server.address)
        #expect(try world.export("b") == world.export("a"))
    }

    @Test func `random commits arrive with every way of publishing`() throws {
        let store = try world.open("a", ReplicationWorld.schema(RandomCommits.schema))
        var commits = RandomCommits(seed: 42)
        for round in 0..<RandomSeeds.count(8, of: 12) {
            for _ in 0..<(round * 3 + 1) { try commits.commit(store) }
            try world.publish("a", server.address) {
                $0.snapshotInterval = round % 4 == 3 ? 0 : 1000
            }
            if round % 2 == 0 { try world.follow("b", server.address) }
        }
        try world.follow("b", server.address)
        #expect(try world.export("b") == ReplicationWorld.export(store, world.folder + "/x"))
    }

    @Test func `an unreachable server is an error with fail-fast`() throws {
        try make(1)
        let address = "nats://user:secret@127.0.0.1:1"
        let reason = message { try world.publish("a", address) }
        #expect(
            reason == "cannot connect to nats://127.0.0.1:1: No server available for connection")
        #expect(message { try world.follow("b", address) }.hasPrefix("cannot connect to"))
    }
}
