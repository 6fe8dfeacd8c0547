import Glibc
import NATSReplication
import ObjectStore
import Replication

/// W20: publishes commits to a NATS server and follows them, on loopback.
///
/// Without nats-server and libnats its rows are missing.
enum ReplicationWorkload {
    private static let publishing = Row(
        title: "W20 publish small commits, one message each", unit: .perSecond,
        swift: .atLeast(20_000))
    private static let together = Row(
        title: "W20 publish small commits while they are written", unit: .perSecond)
    private static let following = Row(
        title: "W20 follow small commits", unit: .perSecond)
    private static let snapshot = Row(
        title: "W20 publish a snapshot of all people", unit: .milliseconds)
    private static let bootstrap = Row(
        title: "W20 new follower of all people", unit: .milliseconds, swift: .atMost(5000))

    static func run(_ bench: Bench) throws {
        let program = ServerFolder.program(["/usr/sbin/nats-server", "/usr/bin/nats-server"])
        guard bench.options.includes(contestant: Report.swift), let program,
            NatsOptions.isAvailable
        else { return }
        let port = 20_000 + Int(getpid()) % 10_000
        let server = try ServerFolder(
            "\(bench.folder)/nats", "\(program) -a 127.0.0.1 -p \(port) -js -sd \"$0/data\" &")
        defer { server.stop() }
        let world = World(bench, NatsOptions("nats://127.0.0.1:\(port)"))
        let repetitions = min(3, bench.options.repetitions)
        for number in 0..<repetitions { try world.commits(number, server) }
        for number in 0..<repetitions { try world.people(number) }
    }

    private struct World {
        let bench: Bench
        let servers: NatsOptions

        init(_ bench: Bench, _ servers: NatsOptions) {
            self.bench = bench
            self.servers = servers
        }

        func open(_ name: String) throws -> Store {
            try Store(
                StoreConfiguration(
                    .file(path(name)), schema: SwiftContestant.schema, durability: .async,
                    history: 1_000_000), scheduler: BenchmarkScheduler())
        }

        func path(_ name: String) -> String { "\(bench.folder)/\(name).moonpool" }

        func publish(_ name: String) throws {
            var options = Publisher.Options()
            options.stopsAtEnd = true
            let publisher = try Publisher(path(name), servers, stream: name, options: options)
            defer { publisher.close() }
            try publisher.run()
        }

        func follow(_ stream: String, as name: String) throws {
            var options = Follower.Options()
            options.stopsAtEnd = true
            let follower = try Follower(path(name), servers, stream: stream, options: options)
            defer { follower.close() }
            try follower.run()
        }

        func add(_ row: Row, _ seconds: Double, count: Int = 1) {
            guard bench.options.includes(row) else { return }
            bench.report.add(row.unit.value(seconds, count: count), to: row, of: Report.swift)
        }

        /// Small commits: first published while they are written, then when all of them wait.
        func commits(_ number: Int, _ server: ServerFolder) throws {
            let name = "commits\(number)"
            let count = bench.options.size / 20
            let store = try open(name)
            defer { store.close() }
            try server.waitUntilReady { try publish(name) }
            try follow(name, as: name + "-copy")
            printError("\(ReplicationWorkload.publishing.title) ...")
            func write(_ range: Range<Int>) throws {
                for index in range {
                    try store.write {
                        _ = try store.create(
                            "Person",
                            .dictionary([
                                "id": .int(Int64(index)), "name": .string("person \(index)"),
                                "age": .int(7), "score": .double(0.5), "active": .bool(true),
                            ]))
                    }
                }
            }
            let task = try ReplicationTask(
                NatsJob.publish(servers, stream: name), path(name))
            let live = try seconds {
                try write(0..<count)
                guard task.wait(forVersion: store.version, atMost: .seconds(300)) else {
                    throw BenchmarkError("not published")
                }
            }
            task.stop()
            add(ReplicationWorkload.together, live, count: count)
            try write(count..<2 * count)
            add(ReplicationWorkload.publishing, try seconds { try publish(name) }, count: count)
            add(
                ReplicationWorkload.following,
                try seconds { try follow(name, as: name + "-copy") }, count: 2 * count)
        }

        func people(_ number: Int) throws {
            let name = "people\(number)"
            let store = try open(name)
            defer { store.close() }
            try TransferWorkload.fill(store, bench.people)
            printError("\(ReplicationWorkload.bootstrap.title) ...")
            add(ReplicationWorkload.snapshot, try seconds { try publish(name) })
            add(
                ReplicationWorkload.bootstrap,
                try seconds { try follow(name, as: name + "-copy") })
        }
    }
}
