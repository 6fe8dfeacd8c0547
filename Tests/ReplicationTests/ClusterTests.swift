import Glibc
import ObjectStore
import Replication
import TestServers
import TestThreads
import Testing
import Transfer

@testable import NATSReplication

/// The members of a cluster as threads of this process.
@Suite(.enabled(if: NatsServer.isInstalled, NatsServer.missing))
struct ClusterTests {
    private let server: NatsServer
    private let world: ReplicationWorld

    init() throws {
        server = try NatsServer()
        world = try ReplicationWorld()
    }

    private func member(_ name: String) throws -> ReplicationTask {
        var options = ClusterMember.Options()
        options.name = name
        // A busy machine renews it in time.
        options.leaseDuration = .seconds(12)
        return try ReplicationTask(
            NatsJob.join(NatsOptions(server.address), stream: "zoo", options), world.path(name))
    }

    private func add(_ id: Int, _ name: String, isReplicating: Bool = false) throws {
        let store = try world.open(name)
        defer { store.close() }
        store.isReplicating = isReplicating
        try store.write { try store.create("Dog", .dictionary(["id": .int(Int64(id))])) }
    }

    private func make(_ name: String) throws {
        try world.open(name, ReplicationWorld.schema(["Dog": ["id": "int primary"]])).close()
    }

    private func wait(
        _ task: ReplicationTask, _ condition: (ReplicationStatus.Snapshot) -> Bool
    ) throws {
        let isReached = task.status.wait(atMost: .seconds(60), until: condition)
        try #require(isReached, "\(task.status.snapshot)")
    }

    @Test func `a member refuses writes without the lease, until it is detached`() throws {
        try make("a")
        let refused = { message { try add(1, "a") } }
        let writer = try member("a")
        try wait(writer) { $0.isWriter }
        try add(1, "a")
        writer.stop()
        #expect(refused().contains("the lease of"))
        // A new member follows, and takes the lease that was released.
        let second = try member("b")
        try wait(second) { $0.isWriter }
        try add(2, "b")
        second.stop()
        #expect(message { try add(3, "b") }.contains("the lease of"))
        #expect(message { try add(3, "a") }.contains("the lease of"))
        try ReplicationRecord.detach(world.path("a"))
        try add(3, "a")
    }

    @Test func `commits from before a lease have the number of the lease before`() throws {
        try make("a")
        try world.publish("a", server.address) { $0.lease = 5 }
        try add(1, "a", isReplicating: true)
        let status = ReplicationStatus()
        var options = Publisher.Options()
        options.lease = 9
        let (path, address) = (world.path("a"), server.address)
        let thread = RunningThread { [options] in
            // The test checks what has been published.
            try? Publisher(
                path, NatsOptions(address), stream: "zoo", options: options, status: status
            ).run()
        }
        func wait(forVersionOf id: Int) throws {
            let store = try world.open("a")
            defer { store.close() }
            let version = store.version
            #expect(try store.objects("Dog").count() == id)
            try #require(status.wait(atMost: .seconds(60)) { $0.version >= version })
        }
        try wait(forVersionOf: 1)
        try add(2, "a", isReplicating: true)
        try wait(forVersionOf: 2)
        status.stop()
        thread.wait()
        let stream = JetStream(try NatsConnection(NatsOptions(server.address)), "zoo")
        let leases = try (1...3).map {
            try #require(try stream.message($0)).headers[MessageHeader.lease]
        }
        #expect(leases == ["5", "5", "9"])
    }

    @Test func `a member that joins with an empty store holds no old version`() throws {
        try make("a")
        let writer = try member("a")
        try wait(writer) { $0.isWriter }
        let second = try member("b")
        try wait(second) { $0.version > 0 && $0.lag == 0 }
        for id in 1...3 { try add(id, "a") }
        try wait(second) { $0.commits >= 4 && $0.lag == 0 }
        let store = try world.open("b")
        #expect(try store.objects("Dog").count() == 3)
        #expect(try store.pins().map(\.summary) == [])
        store.close()
        for task in [second, writer] { task.stop() }
    }

    @Test func `commits after a change of the schema are kept as a copy of the store`() throws {
        try make("a")
        let first = try member("a")
        try wait(first) { $0.isWriter }
        let second = try member("b")
        try wait(second) { $0.version > 0 && $0.lag == 0 }
        first.stop()
        try wait(second) { $0.isWriter }
        // Commits that the first member has not published.
        let changed = try world.open("a")
        changed.isReplicating = true
        try changed.define(
            ReplicationWorld.schema(["Dog": ["id": "int primary"], "Cat": ["name": "string"]]))
        changed.close()
        try add(7, "a", isReplicating: true)
        try add(8, "b")
        let returned = try member("a")
        try wait(returned) { $0.commits > 0 && $0.lag == 0 && $0.isConnected && !$0.lost.isEmpty }
        try #require(returned.waitForEnd(atMost: .seconds(60)))
        #expect(try world.export("a") == world.export("b"))
        #expect(try world.export("a").contains("\"id\":8"))
        let lost = try Store(
            StoreConfiguration(.file(world.path("a") + "-lost-1.moonpool")),
            scheduler: ReplicationThread())
        defer { lost.close() }
        #expect(try lost.objects("Dog").count() == 1 && lost.schema.classes.count == 2)
        for task in [second, returned] { task.stop() }
    }

    @Test func `a writer that was killed in its first snapshot publishes it again`() throws {
        try make("a")
        try add(1, "a")
        let store = try world.open("a")
        store.isReplicating = true
        let record = try ReplicationRecord.publisher(
            store, world.path("a"), "zoo", isClustered: true)
        let stream = JetStream(try NatsConnection(NatsOptions(server.address)), "zoo")
        try stream.create(replicas: 1)
        try stream.connection.publish(
            stream.snapshots,
            headers: [
                (MessageHeader.store, record.identity), (MessageHeader.part, "1"),
                (MessageHeader.first, "1"), (MessageHeader.version, "\(store.version)"),
                (MessageHeader.commit, try store.view.commitIdentity(of: store.version)),
            ], Array("{\"$replica\":1,".utf8))
        try stream.connection.flush()
        store.close()
        let second = try member("b")
        let first = try member("a")
        try wait(first) { $0.isWriter }
        try wait(second) { $0.version > 0 && $0.lag == 0 }
        #expect(try world.export("a") == world.export("b"))
        for task in [second, first] { task.stop() }
    }

    @Test func `a new member has the commits of the stream before it becomes the writer`() throws {
        try make("a")
        try add(1, "a")
        try world.publish("a", server.address)
        let task = try member("b")
        try wait(task) { $0.isWriter || $0.hasFailed }
        #expect(task.status.snapshot.isWriter)
        task.stop()
        #expect(try world.export("a") == world.export("b"))
    }

    @Test func `a store with other data is refused by a cluster, and can be written`() throws {
        try make("a")
        try world.publish("a", server.address)
        try make("b")
        try add(1, "b")
        let task = try member("b")
        try wait(task) { $0.hasFailed }
        #expect(
            task.status.snapshot.lastError?.message.contains("moonpool follow … --rebuild") == true)
        task.stop()
        try add(2, "b")
    }

    @Test func `the number of a lease grows after the values of the bucket have ended`() throws {
        func take() throws -> UInt64 {
            let status = ReplicationStatus()
            let lease = WriterLease(
                NatsOptions(server.address), stream: "zoo", name: "x", replicas: 1,
                span: .seconds(12), store: world.path("x"), status: status)
            lease.setPosition(WriterLease.Position(sequence: 1))
            try lease.start()
            defer { lease.stop() }
            try #require(status.wait(atMost: .seconds(60)) { $0.lease?.isValid == true })
            return try #require(status.snapshot.lease?.number)
        }
        let first = try take()
        let bucket = JetStream(try NatsConnection(NatsOptions(server.address)), "KV_moonpool-zoo")
        let last = try #require(try bucket.state()?.last)
        try bucket.purge(before: last + 1)
        #expect(try bucket.state()?.messages == 0)
        #expect(try take() > first)
    }

    @Test func `the member that is furthest takes the lease, and then the next one`() throws {
        let positions: [(String, UInt64)] = [("x", 5), ("y", 9), ("z", 7)]
        let members = positions.map { name, sequence in
            let status = ReplicationStatus()
            let lease = WriterLease(
                NatsOptions(server.address), stream: "zoo", name: name, replicas: 1,
                span: .seconds(12),
                store: world.path(name), status: status)
            lease.setPosition(WriterLease.Position(sequence: sequence))
            return (status: status, lease: lease)
        }
        for member in members { try member.lease.start() }
        func holder(_ index: Int) throws -> UInt64 {
            let status = members[index].status
            try #require(status.wait(atMost: .seconds(60)) { $0.lease?.isValid == true })
            return try #require(status.snapshot.lease?.number)
        }
        let first = try holder(1)
        #expect(members[0].status.snapshot.lease?.isValid == false)
        #expect(members[2].status.snapshot.lease?.isValid == false)
        members[1].lease.stop()
        let second = try holder(2)
        #expect(second > first)
        members[2].lease.stop()
        #expect(try holder(0) > second)
        members[0].lease.stop()
        #expect(access(Store.leaseFile(world.path("x")), F_OK) != 0)
    }
}
