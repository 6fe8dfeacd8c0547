import TestServers
import Testing

/// Replication while its processes are killed.
///
/// `scripts/kill-replication` runs the same test longer, with a cluster of three servers.
@Suite(.enabled(if: NatsServer.isInstalled, NatsServer.missing))
struct KilledReplicationTests {
    private func write(_ store: String, from first: Int, to last: Int) throws {
        let outcome = try Tool.run(
            script: """
                local store = moonpool.open { path = arg[1], schema = {
                  Dog = { id = "int primary", name = "string", friend = "Dog", friends = "Dog[]" },
                  Note = { text = "string" },
                } }
                for n = math.tointeger(arg[2]), math.tointeger(arg[3]) do
                  store:write(function()
                    local dogs = store:objects "Dog"
                    local dog = store:create("Dog", { id = n, name = "dog " .. n, friend = dogs[#dogs // 2 + 1] })
                    dog.friends:append(dogs[1])
                    store:create("Note", { text = "note " .. n })
                    if n % 3 == 0 then store:delete(dogs[#dogs // 3 + 1]) end
                    if n % 4 == 0 then dogs[#dogs].name = "renamed " .. n end
                    if n % 5 == 0 then store:delete(store:objects("Note")[1]) end
                  end)
                end
                """, arguments: [store, "\(first)", "\(last)"])
        try #require(outcome.error == "", "\(outcome.error)")
    }

    @Test func `stores are identical after publisher, follower and server were killed`() throws {
        let server = try NatsServer()
        let folder = try TemporaryFolder()
        let (zoo, copy) = (folder.path + "/zoo.moonpool", folder.path + "/copy.moonpool")
        try write(zoo, from: 1, to: 2)
        let stream = ["--stream", "zoo"]
        func publish() throws -> Subprocess {
            try Subprocess(Tool.path, ["publish", zoo, server.address] + stream)
        }
        func follow() throws -> Subprocess {
            try Subprocess(Tool.path, ["follow", server.address, copy] + stream)
        }
        var (publisher, follower) = (try publish(), try follow())
        for round in 0..<9 {
            try write(zoo, from: 10 + 20 * round, to: 29 + 20 * round)
            switch round % 3 {
            case 0:
                try publisher.kill().expectExit(137)
                publisher = try publish()
            case 1:
                try follower.kill().expectExit(137)
                follower = try follow()
            default:
                server.stop()
                try server.start()
            }
        }
        for process in [publisher, follower] {
            try process.kill()
        }
        try Tool.run(["publish", zoo, server.address, "--once"] + stream).expectSuccess()
        try Tool.run(["follow", server.address, copy, "--once"] + stream).expectSuccess()
        let exports = try [zoo, copy].map { try Tool.run(["export", $0, "-"]).output }
        #expect(exports[0] == exports[1])
        #expect(exports[0].contains("\"dog 189\"") || exports[0].contains("renamed"))
    }
}
