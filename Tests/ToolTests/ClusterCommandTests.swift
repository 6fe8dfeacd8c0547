import TestServers
import Testing

/// `moonpool cluster` with a NATS server: a writer that ends is replaced.
@Suite(.enabled(if: NatsServer.isInstalled, NatsServer.missing))
struct ClusterCommandTests {
    /// The members of a cluster, each a process with a store.
    private final class Cluster {
        let server: NatsServer
        let folder: TemporaryFolder
        private var members: [String: Subprocess] = [:]

        init() throws {
            server = try NatsServer()
            folder = try TemporaryFolder()
        }

        deinit { for member in members.values { member.send(9) } }

        func path(_ name: String) -> String { folder.path + "/\(name).moonpool" }

        func start(_ name: String) throws {
            members[name] = try Subprocess(
                Tool.path,
                ["cluster", path(name), server.address, "--stream", "zoo", "--name", name])
        }

        func member(_ name: String) throws -> Subprocess { try #require(members[name]) }

        func kill(_ name: String) throws {
            let member = try member(name)
            member.send(9)
            #expect(try member.finish().exitCode == 137)
        }

        /// Adds a dog, and returns the code of the error; nil after success.
        func add(_ id: Int, to name: String) throws -> String? {
            let outcome = try Tool.run(
                script: """
                    local store = moonpool.open { path = arg[1], schema = { Dog = { id = "int primary" } } }
                    local ok, err = pcall(store.write, store, function()
                      store:create("Dog", { id = math.tointeger(arg[2]) })
                    end)
                    print(ok and "written" or err.code)
                    """, arguments: [path(name), "\(id)"])
            #expect(outcome.error == "")
            return outcome.output == "written\n" ? nil : outcome.output
        }

        /// Tries a write until it succeeds; returns the time that this takes.
        func waitToAdd(_ id: Int, to name: String) throws -> Duration {
            let start = ContinuousClock.now
            while let code = try add(id, to: name) {
                #expect(code == "not_writer\n")
                try #require(ContinuousClock.now - start < .seconds(60))
            }
            return .now - start
        }

        func export(_ name: String) throws -> String {
            try Tool.run(["export", path(name), "-"]).output
        }

        /// Waits until two stores are equal.
        func waitForEqual(_ first: String, _ second: String) throws {
            let deadline = ContinuousClock.now + .seconds(60)
            while try export(first) != export(second) {
                try #require(ContinuousClock.now < deadline)
            }
        }
    }

    @Test func `a killed writer is replaced, keeps its unpublished commits, and follows`() throws {
        let cluster = try Cluster()
        #expect(try cluster.add(1, to: "a") == nil)
        try cluster.start("a")
        let first = try cluster.member("a")
        try first.wait { first.error.contains("published a snapshot") }
        try cluster.start("b")
        try cluster.waitForEqual("a", "b")
        #expect(try cluster.add(2, to: "a") == nil)
        #expect(try cluster.add(3, to: "b") == "not_writer\n")
        try cluster.waitForEqual("a", "b")
        try cluster.kill("a")
        // The lease of the file has not ended, but nothing publishes the commit.
        #expect(try cluster.add(4, to: "a") == nil)
        _ = try cluster.waitToAdd(5, to: "b")
        let report = try Tool.run(["stats", cluster.path("b")]).output
        #expect(report.contains("cluster         writer, lease "), "\(report)")
        #expect(try cluster.add(6, to: "a") == "not_writer\n")
        try cluster.start("a")
        try cluster.waitForEqual("a", "b")
        #expect(try cluster.export("a").contains("\"id\":5}"))
        let lost = try contents(of: cluster.path("a") + "-lost-1.jsonl")
        #expect(lost.contains("\"change\":\"inserted\",\"class\":\"Dog\",\"key\":4,"), "\(lost)")
        #expect(!lost.contains("\"key\":2,"))
    }
}
