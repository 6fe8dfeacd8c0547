import NATSReplication
import ObjectStore
import TestServers
import Testing

@testable import Replication

/// How publishers and followers connect: TLS, users, tokens, and servers that stop.
@Suite(.enabled(if: NatsServer.isInstalled, NatsServer.missing))
struct ConnectionTests {
    private func store(_ world: ReplicationWorld) throws {
        let store = try world.open("a", ReplicationWorld.schema(["Dog": ["id": "int primary"]]))
        defer { store.close() }
        try store.write { try store.create("Dog", .dictionary(["id": .int(1)])) }
    }

    /// Publishes and follows; both connect in the same way.
    private func copy(_ address: String, _ change: (inout NatsOptions) -> Void = { _ in }) throws {
        var servers = NatsOptions(address)
        change(&servers)
        let world = try ReplicationWorld()
        let stream = "zoo-\(UUIDValue.random())"
        try store(world)
        var publishing = Publisher.Options()
        publishing.stopsAtEnd = true
        publishing.failsFast = true
        let publisher = try Publisher(world.path("a"), servers, stream: stream, options: publishing)
        defer { publisher.close() }
        try publisher.run()
        var following = Follower.Options()
        following.stopsAtEnd = true
        following.failsFast = true
        let follower = try Follower(world.path("b"), servers, stream: stream, options: following)
        defer { follower.close() }
        try follower.run()
        #expect(try world.export("b") == world.export("a"))
    }

    private func tlsAddress(_ server: NatsServer) -> String { "tls://localhost:\(server.port)" }

    // MARK: TLS

    @Test(.enabled(if: Certificates.canMake))
    func `only a server with a certificate of a trusted authority is accepted`() throws {
        let certificates = try Certificates()
        let server = try NatsServer(
            "tls { cert_file: \"\(certificates.server)\", key_file: \"\(certificates.serverKey)\" }"
        )
        try copy(tlsAddress(server)) { $0.authority = certificates.authority }
        // With an authority, the scheme of the address does not matter.
        try copy("nats://localhost:\(server.port)") { $0.authority = certificates.authority }
        let distrusted = message { try copy(tlsAddress(server)) }
        #expect(distrusted.hasPrefix("cannot connect to tls://localhost:"), "\(distrusted)")
        #expect(distrusted.contains("certificate"), "\(distrusted)")
        let other = try Certificates()
        let wrong = message { try copy(tlsAddress(server)) { $0.authority = other.authority } }
        #expect(wrong.contains("certificate"), "\(wrong)")
        let plain = message { try copy("nats://localhost:\(server.port)") }
        #expect(plain.contains("cannot connect to"), "\(plain)")
    }

    @Test(.enabled(if: Certificates.canMake))
    func `a server that requires a certificate accepts one of its authority`() throws {
        let certificates = try Certificates()
        let server = try NatsServer(
            """
            tls {
              cert_file: "\(certificates.server)", key_file: "\(certificates.serverKey)"
              ca_file: "\(certificates.authority)", verify: true
            }
            """)
        try copy(tlsAddress(server)) {
            $0.authority = certificates.authority
            $0.certificate = .init(certificates.client, key: certificates.clientKey)
        }
        let missing = message {
            try copy(tlsAddress(server)) { $0.authority = certificates.authority }
        }
        #expect(missing.contains("cannot connect to") || missing.contains("failed"), "\(missing)")
    }

    @Test func `an unreadable file is an error with its name`() throws {
        let server = try NatsServer()
        let missing = "/nowhere/ca.pem"
        #expect(message { try copy(server.address) { $0.authority = missing } }.contains(missing))
        #expect(
            message {
                try copy(server.address) { $0.certificate = .init(missing, key: missing) }
            }.contains(missing))
        #expect(message { try copy(server.address) { $0.credentials = missing } }.contains(missing))
    }

    // MARK: Users

    @Test func `a user and a password are checked`() throws {
        let server = try NatsServer("authorization { user: ann, password: secret }")
        let address = "127.0.0.1:\(server.port)"
        try copy("nats://ann:secret@\(address)")
        try copy("nats://\(address)") {
            $0.user = "ann"
            $0.password = "secret"
        }
        let refusal = "nats://\(address) refused the client: check user and password"
        #expect(message { try copy("nats://ann:wrong@\(address)") }.hasPrefix(refusal))
        #expect(message { try copy("nats://\(address)") }.hasPrefix(refusal))
        #expect(
            message {
                try copy("nats://\(address)") {
                    $0.user = "bob"
                    $0.password = "secret"
                }
            }.hasPrefix(refusal))
    }

    @Test func `passwords and tokens are read from files at each connection`() throws {
        let world = try ReplicationWorld()
        let file = world.folder + "/secret"
        let users = try NatsServer("authorization { user: ann, password: secret }")
        let options: (inout NatsOptions) -> Void = {
            $0.user = "ann"
            $0.passwordFile = file
        }
        #expect(message { try copy(users.address, options) }.contains("cannot read '\(file)'"))
        try ReplicationWorld.write("secret\n", to: file)
        try copy(users.address, options)
        try ReplicationWorld.write("wrong", to: file)
        #expect(message { try copy(users.address, options) }.contains("refused the client"))
        let tokens = try NatsServer("authorization { token: t0ken }")
        try ReplicationWorld.write("t0ken", to: file)
        try copy(tokens.address) { $0.tokenFile = file }
        for (name, change) in [
            (
                "given twice",
                { (options: inout NatsOptions) in
                    options.user = "ann"
                    options.password = "secret"
                    options.passwordFile = file
                }
            ),
            ("needs the option 'user'", { $0.passwordFile = file }),
        ] {
            var wrong = NatsOptions(users.address)
            change(&wrong)
            #expect(message { try wrong.check() }.contains(name))
        }
    }

    @Test func `a token is checked`() throws {
        let server = try NatsServer("authorization { token: t0ken }")
        let address = "127.0.0.1:\(server.port)"
        try copy("nats://t0ken@\(address)")
        try copy("nats://\(address)") { $0.token = "t0ken" }
        let wrong = message { try copy("nats://\(address)") { $0.token = "other" } }
        #expect(wrong.hasPrefix("nats://\(address) refused the client"), "\(wrong)")
        #expect(!wrong.contains("other"))
    }

    @Test func `a credentials file is checked`() throws {
        let credentials = try NatsCredentials()
        let server = try NatsServer(credentials.configuration)
        try copy(server.address) { $0.credentials = credentials.file }
        let refusal = "\(server.address) refused the client"
        let forged = message {
            try copy(server.address) { $0.credentials = credentials.forgedFile }
        }
        #expect(forged.hasPrefix(refusal), "\(forged)")
        #expect(message { try copy(server.address) }.hasPrefix(refusal))
    }

    @Test func `a wrong password ends a publisher that retries other failures`() throws {
        let server = try NatsServer("authorization { user: ann, password: secret }")
        let world = try ReplicationWorld()
        try store(world)
        let task = try ReplicationTask(
            NatsJob.publish(
                NatsOptions("nats://ann:wrong@127.0.0.1:\(server.port)"), stream: "zoo"),
            world.path("a"))
        #expect(task.status.wait(atMost: .seconds(60), until: \.hasEnded))
        #expect(task.status.snapshot.lastError?.message.contains("refused the client") == true)
        task.stop()
    }

    // MARK: Servers that stop

    @Test func `publisher and follower connect again, and nothing is lost`() throws {
        let server = try NatsServer()
        let world = try ReplicationWorld()
        try store(world)
        let servers = NatsOptions(server.address)
        let publishing = try ReplicationTask(
            NatsJob.publish(servers, stream: "zoo"), world.path("a"))
        let following = try ReplicationTask(NatsJob.follow(servers, stream: "zoo"), world.path("b"))
        defer {
            publishing.stop()
            following.stop()
        }
        let source = try world.open("a")
        func isThere(_ version: UInt64) -> Bool {
            following.status.wait(atMost: .seconds(60)) { $0.version >= version }
        }
        #expect(isThere(source.version))
        for round in 1...2 {
            server.stop()
            #expect(publishing.status.wait(atMost: .seconds(60)) { !$0.isConnected })
            // Writing does not wait for the server.
            for id in 1...20 {
                try source.write {
                    try source.create("Dog", .dictionary(["id": .int(Int64(round * 100 + id))]))
                }
            }
            #expect(publishing.isRunning && following.isRunning)
            #expect(publishing.status.snapshot.lastError != nil)
            try server.start()
            #expect(isThere(source.version), "\(following.status.snapshot)")
            let error = try #require(publishing.status.snapshot.lastError)
            #expect(try error.time < #require(error.recovery))
            #expect(error.summary.contains(", recovered at \(try #require(error.recovery))"))
        }
        publishing.stop()
        following.stop()
        source.close()
        #expect(try world.export("b") == world.export("a"))
    }

    @Test func `stopping does not wait for the next attempt to connect`() throws {
        let world = try ReplicationWorld()
        try store(world)
        let task = try ReplicationTask(
            NatsJob.publish(NatsOptions("nats://127.0.0.1:1"), stream: "zoo"), world.path("a"))
        #expect(task.status.wait(atMost: .seconds(60)) { $0.lastError != nil })
        task.stop()
        #expect(!task.isRunning)
    }

    @Test func `the attempts of a member of a cluster fit into its lease`() {
        let limits = ConnectionLimits(lease: .seconds(3))
        var pauses = BackOff(maximum: limits.pause)
        let taken = (0..<50).map { _ in pauses.next() }
        #expect(taken[0] <= 125 && taken.max().map { $0 <= 625 } == true)
        // A request without an answer and the longest pause, twice.
        let attempt = limits.request + .milliseconds(625)
        #expect(attempt * 2 < .seconds(3))
        var others = BackOff()
        #expect((0..<50).map { _ in others.next() }.max().map { $0 >= 5000 } == true)
    }
}
