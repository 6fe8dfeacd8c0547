import ObjectStore
import Replication
import TestServers
import TestThreads
import Testing

@testable import NATSReplication

/// What a stream may contain and lose, and what a backlog contains.
@Suite(.enabled(if: NatsServer.isInstalled, NatsServer.missing))
struct StreamContentTests {
    private let server: NatsServer
    private let world: ReplicationWorld

    init() throws {
        server = try NatsServer()
        world = try ReplicationWorld()
    }

    private static let dogs = [
        "Dog": ["id": "int primary", "name": "string"],
        "Log": ["id": "int primary", "text": "string"],
    ]

    private func make(_ count: Int, _ schema: [String: [String: String]] = dogs) throws {
        let store = try world.open("a", ReplicationWorld.schema(schema))
        defer { store.close() }
        try store.write {
            for id in 0..<count {
                try create("Dog", id, ["name": .string("d\(id)")], store)
                try create("Log", id, ["text": .string("t\(id)")], store)
            }
        }
    }

    private func create(_ name: String, _ id: Int, _ values: ValueMap, _ store: Store) throws {
        var all = values
        all["id"] = .int(Int64(id))
        let text = name == "Dog" ? "name" : "text"
        if all[text] == nil { all[text] = .string("new") }
        try store.create(name, .dictionary(all))
    }

    private func write(_ body: (Store) throws -> Void) throws {
        let store = try world.open("a")
        defer { store.close() }
        try store.write { try body(store) }
    }

    private func redefine(_ schema: [String: [String: String]]) throws {
        let store = try world.open("a")
        defer { store.close() }
        try store.redefine(ReplicationWorld.schema(schema))
    }

    private func publish(_ change: (inout Publisher.Options) -> Void = { _ in }) throws {
        try world.publish("a", server.address, change)
    }

    /// Makes and publishes the store "a", which the store "b" follows.
    private func makeAndFollow(_ count: Int) throws {
        try make(count)
        try publish()
        try world.follow("b", server.address)
    }

    private func expectCopy(_ name: String = "b") throws {
        #expect(try world.export(name) == world.export("a"))
    }

    // MARK: Schema changes

    /// The objects of the follower that its last commits have modified, by class.
    private func modified(since version: UInt64) throws -> [String: Int] {
        let store = try world.open("b")
        defer { store.close() }
        let change = try #require(try store.replicatedChanges(since: version))
        return try Dictionary(
            uniqueKeysWithValues: change.classes.map {
                ($0.classSchema.name, $0.modified.underestimatedCount)
            }
        ).filter { $0.value > 0 }
    }

    private func version(_ name: String) throws -> UInt64 {
        let store = try world.open(name)
        defer { store.close() }
        return store.version
    }

    @Test(arguments: [
        (["Dog": ["id": "int primary", "name": "string", "age": "int"]], ["Dog": 20]),
        (["Dog": ["id": "int primary", "name": "string", "age": "int?"]], [:]),
        (["Cat": ["id": "int primary"]], [:]),
        (["Dog": ["id": "int primary", "name": "string indexed"]], [:]),
        (["Dog": ["id": "int primary", "name": "string?"]], [:]),
    ])
    func `a schema change in a backlog sends only what it has added`(
        change: [String: [String: String]], expected: [String: Int]
    ) throws {
        try makeAndFollow(20)
        let before = try version("b")
        try write { try create("Log", 100, [:], $0) }
        try redefine(change)
        try write { try create("Log", 101, [:], $0) }
        try publish()
        try world.follow("b", server.address)
        try expectCopy()
        #expect(try modified(since: before) == expected)
    }

    @Test func `several schema changes in a backlog arrive`() throws {
        try makeAndFollow(5)
        for round in 0..<4 {
            var dog = ["id": "int primary", "name": "string"]
            for added in 0...round { dog["n\(added)"] = "int?" }
            try redefine(["Dog": dog])
            try write { store in
                try store.object("Dog", primaryKey: .int(Int64(round)))?
                    .set("n\(round)", .int(7))
            }
            if round == 1 { try publish() }
        }
        try publish()
        try world.follow("b", server.address)
        try expectCopy()
        try world.follow("c", server.address)
        try expectCopy("c")
    }

    // MARK: Large objects

    @Test func `an object above the server's message limit is sent in parts`() throws {
        try makeAndFollow(1)
        for id in 100..<104 {
            try write { store in
                let text = String(repeating: "é\n\"", count: 300_000 + id)
                try create("Dog", id, ["name": .string(text)], store)
                try create("Log", id, ["text": .string("small")], store)
            }
            if id == 101 { try publish() }
        }
        try publish()
        try world.follow("b", server.address)
        try expectCopy()
        try publish { $0.snapshotInterval = 0 }
        try write { try create("Log", 200, [:], $0) }
        try publish { $0.snapshotInterval = 0 }
        try world.follow("c", server.address)
        try expectCopy("c")
    }

    // MARK: Limits of the stream

    private func ask(_ subject: String, _ body: String) throws -> JSONAnswer {
        let connection = try NatsConnection(NatsOptions(server.address))
        return try JSONAnswer(connection.request("$JS.API.\(subject)", body))
    }

    private func createStream(_ settings: String) throws {
        let answer = try ask(
            "STREAM.CREATE.zoo",
            "{\"name\":\"zoo\",\"subjects\":[\"moonpool.zoo.*\"],\"storage\":\"file\",\(settings)}")
        try #require(!answer.hasError)
    }

    @Test func `a stream that drops old messages always has a snapshot`() throws {
        try createStream("\"retention\":\"limits\",\"discard\":\"old\",\"max_msgs\":4")
        try make(2)
        try publish()
        try world.follow("early", server.address)
        for id in 10..<30 {
            try write { try create("Dog", id, [:], $0) }
            try publish()
            if id % 7 == 0 {
                try world.follow("c\(id)", server.address)
                try expectCopy("c\(id)")
            }
        }
        try world.follow("early", server.address)
        try expectCopy("early")
    }

    @Test func `a stream that is too short for a snapshot is an error that names its limit`() throws
    {
        try createStream("\"retention\":\"limits\",\"discard\":\"old\",\"max_msgs\":2")
        try make(2)
        try write { store in
            for id in 100..<106 {
                try create(
                    "Dog", id, ["name": .string(String(repeating: "x", count: 400_000))], store)
            }
        }
        let reason = message {
            try publish()
            try write { try create("Dog", 500, [:], $0) }
            try publish()
        }
        #expect(reason.contains("max_msgs = 2"), "\(reason)")
    }

    @Test(arguments: [
        ("\"retention\":\"workqueue\"", "retention = workqueue"),
        ("\"retention\":\"interest\"", "retention = interest"),
        ("\"max_msgs_per_subject\":5", "max_msgs_per_subject = 5"),
        ("\"discard\":\"new\",\"max_msgs\":50", "discard = new with max_msgs = 50"),
        ("\"max_msg_size\":1000", "max_msg_size = 1000"),
        ("\"no_ack\":true", "no_ack = true"),
    ])
    func `a stream that cannot keep the commits is refused with its setting`(
        settings: String, expected: String
    ) throws {
        try createStream(settings)
        try make(1)
        let reason = message { try publish() }
        #expect(reason.contains(expected), "\(reason)")
    }

    // MARK: Strange messages

    /// Sends a message to the stream, with the headers of its last message after some changes.
    private func send(
        _ lines: String, copying: Bool = true, _ change: (inout [String: String]) -> Void = { _ in }
    ) throws {
        let connection = try NatsConnection(NatsOptions(server.address))
        let stream = JetStream(connection, "zoo")
        var headers: [String: String] = [:]
        if copying {
            let last = try #require(try stream.state()).last
            headers = try #require(try stream.message(last)).headers
            headers = headers.filter { $0.key.hasPrefix("Moonpool-") }
        }
        change(&headers)
        let inbox = try connection.makeInbox()
        let answers = try connection.subscribe(inbox)
        try connection.publish(
            stream.commits, reply: inbox, headers: headers.map { ($0.key, $0.value) },
            Array(lines.utf8))
        let answer = try #require(try answers.next(within: 10_000))
        try #require(try !JSONAnswer(answer.data).hasError)
    }

    /// Makes the headers those of a commit that follows the last one.
    private func following(_ headers: inout [String: String]) {
        let version = UInt64(headers["Moonpool-Version"] ?? "") ?? 0
        headers["Moonpool-Since"] = String(version)
        headers["Moonpool-Version"] = String(version + 1)
        headers["Moonpool-Since-Commit"] = headers["Moonpool-Commit"]
        headers["Moonpool-Commit"] = String(repeating: "ab", count: 16)
        headers["Moonpool-Part"] = "1"
        headers["Moonpool-Last"] = "1"
    }

    private static let begin = "{\"$replica\":1,\"version\":9,\"since\":8}\n"

    private static let hostile = [
        "", "garbage", "{\"$replica\":1", begin + "{\"inserted\":\"Dog\"}\n",
        begin + "{\"inserted\":\"Dog\",\"object\":4294967296,\"values\":{\"id\":500}}\n",
        begin + "{\"inserted\":\"Dog\",\"object\":-5,\"values\":{\"id\":500}}\n",
        begin + "{\"inserted\":\"Dog\",\"object\":7,\"values\":{\"id\":0}}\n",
        begin + "{\"inserted\":\"Dog\",\"object\":7,\"values\":{\"id\":\"x\"}}\n",
        begin + "{\"inserted\":\"Cow\",\"object\":7,\"values\":{}}\n",
        begin + "{\"modified\":\"Dog\",\"object\":700,\"values\":{\"name\":\"x\"}}\n",
        begin + "{\"modified\":\"Dog\",\"object\":0,\"values\":{\"nmae\":\"x\"}}\n",
        begin + "{\"schema\":{},\"catalog\":\"AQAABQ==\"}\n",
    ]

    @Test func `hostile commits are skipped and counted, and the next one is applied`() throws {
        try makeAndFollow(2)
        let before = try world.export("b")
        var headers: [String: String] = [:]
        for lines in Self.hostile {
            try send(lines, copying: headers.isEmpty) {
                if headers.isEmpty {
                    following(&$0)
                    headers = $0
                }
                $0 = headers
            }
        }
        let status = try world.follow("b", server.address)
        #expect(status.skipped == Self.hostile.count)
        #expect(try world.export("b") == before)
        try write { try create("Dog", 50, [:], $0) }
        let reason = message { try publish() }
        // The publisher does not know the commit that the stream claims to have.
        #expect(reason.contains("another copy of the store"), "\(reason)")
        try publish { $0.takeover = .adoption }
        try world.follow("b", server.address)
        try expectCopy()
    }

    @Test func `two commits after the same one are an error, not loaded again and again`() throws {
        try makeAndFollow(2)
        var headers: [String: String] = [:]
        for id in 50...51 {
            let line = "{\"inserted\":\"Dog\",\"object\":2,\"values\":{\"id\":\(id)}}\n"
            try send(Self.begin + line, copying: headers.isEmpty) {
                if headers.isEmpty { following(&$0) } else { $0 = headers }
                $0["Moonpool-Commit"] = String(repeating: "\(id)", count: 16)
                headers = $0
            }
        }
        let reason = message { try world.follow("b", server.address) }
        #expect(reason.contains("of another history"), "\(reason)")
    }

    @Test func `stray and repeated messages are skipped by publisher and follower`() throws {
        try makeAndFollow(2)
        try send("hello", copying: false)
        try write { try create("Dog", 50, [:], $0) }
        try publish()
        #expect(try world.follow("b", server.address).skipped == 1)
        try expectCopy()
        // A repeated message has the same content and headers.
        try send(Self.begin + "{\"inserted\":\"Dog\",\"object\":2,\"values\":{\"id\":50}}\n")
        try send("{}") { $0["Moonpool-Store"] = "another" }
        #expect(try world.follow("b", server.address).skipped == 2)
        try send("bye", copying: false)
        try expectCopy()
    }

    @Test func `a follower whose consumer only sends heartbeats begins another one`() throws {
        try make(2)
        try publish()
        var options = Follower.Options()
        options.limits.silence = .seconds(2)
        options.limits.pause = .milliseconds(100)
        let status = ReplicationStatus()
        let (path, address) = (world.path("b"), server.address)
        let thread = RunningThread { [options] in
            // The test checks what has been applied.
            try? Follower(
                path, NatsOptions(address), stream: "zoo", options: options, status: status
            ).run()
        }
        defer {
            status.stop()
            thread.wait()
        }
        let before = try version("a")
        #expect(status.wait(atMost: .seconds(60)) { $0.version >= before })
        try silenceConsumer()
        try write { try create("Dog", 60, [:], $0) }
        try publish()
        let expected = try version("a")
        #expect(status.wait(atMost: .seconds(60)) { $0.version >= expected })
        let error = status.snapshot.lastError?.message ?? "none"
        #expect(error.hasPrefix("the server does not send message"), "\(error)")
    }

    /// Makes the server send no more messages to the only consumer of the stream.
    private func silenceConsumer() throws {
        let connection = try NatsConnection(NatsOptions(server.address))
        func ask(_ subject: String, _ body: String) throws -> String {
            let answer = try connection.request("$JS.API.CONSUMER.\(subject)", body)
            try #require(!JSONAnswer(answer).hasError)
            return String(decoding: answer, as: UTF8.self)
        }
        let names = try #require(ask("NAMES.zoo", "").firstMatch(of: /"consumers":\["(\w+)"\]/))
        let configuration = try #require(
            ask("INFO.zoo.\(names.1)", "").firstMatch(of: /"config":\{([^}]*)\}/))
        let subject = "moonpool.zoo.none"
        _ = try ask(
            "CREATE.zoo.\(names.1).\(subject)",
            """
            {"stream_name":"zoo","config":{"name":"\(names.1)","filter_subject":"\(subject)",\(configuration.1)}}
            """)
    }

    @Test func `a publisher continues after a message that another program sends while it runs`()
        throws
    {
        try make(1)
        try publish()
        let status = ReplicationStatus()
        let (path, address) = (world.path("a"), server.address)
        let thread = RunningThread {
            // The test checks what has been published.
            try? Publisher(path, NatsOptions(address), stream: "zoo", status: status).run()
        }
        #expect(status.wait(atMost: .seconds(20)) { $0.isConnected })
        try send("hello", copying: false)
        try write { try create("Dog", 60, [:], $0) }
        let expected = try version("a")
        #expect(status.wait(atMost: .seconds(60)) { $0.version >= expected })
        status.stop()
        thread.wait()
        #expect(try world.follow("b", server.address).skipped <= 1)
        try expectCopy()
    }
}
