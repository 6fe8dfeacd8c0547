import Glibc
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

        func start(_ name: String, through relay: Relay? = nil, lease: Int = 3) throws {
            let address = relay.map { "nats://127.0.0.1:\($0.port)" } ?? server.address
            members[name] = try Subprocess(
                Tool.path,
                [
                    "cluster", path(name), address, "--stream", "zoo", "--name", name,
                    "--lease", "\(lease)",
                ])
        }

        func member(_ name: String) throws -> Subprocess { try #require(members[name]) }

        func kill(_ name: String) throws {
            try member(name).kill().expectExit(137)
        }

        /// Starts a script that is a member; it prints its role, and the number of dogs that each remote write returns.
        func startScript(_ name: String, _ first: Int) throws -> Subprocess {
            let script = try folder.write(
                """
                local moonpool = require "moonpool"
                local name, id = arg[3], math.tointeger(arg[4])
                local store = moonpool.open { path = arg[1], schema = { Dog = { id = "int primary" } } }
                local member = store:cluster { url = arg[2], stream = "zoo", name = name, acknowledged = true }
                store:on_role(function(role)
                  assert(store.is_writer == (role == "writer") and member.role == role)
                  print(role)
                end)
                moonpool.serve { store = store, name = "add", handler = function(request)
                  store:create("Dog", { id = request.body.id })
                  return { by = name, version = store.version }
                end }
                moonpool.every(0.05, function()
                  if os.remove(arg[1] .. "-block") then os.execute "sleep 3" end
                end)
                moonpool.after(0.1, function()
                  local ok, err = pcall(store.remote_write, store, "unknown", nil, { timeout = 4 })
                  print("unknown", err.code, err.message:match "serves .-;")
                end)
                local function add(id) return store:remote_write("add", { id = id }, { timeout = 30 }).by end
                moonpool.every(0.01, function()
                  id = id + 1
                  local ok, result = pcall(add, id)
                  assert(not ok or store:object("Dog", id))
                  -- The result of a writer that was stopped can be lost.
                  assert(ok or result.code == "unavailable", result)
                  if ok then print("added", result) end
                end)
                """, to: name + ".lua")
            let process = try Subprocess(
                Tool.path, [script, path(name), server.address, name, "\(first)"])
            members[name] = process
            return process
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

        /// Tries a write until it succeeds.
        func waitToAdd(_ id: Int, to name: String) throws {
            let deadline = ContinuousClock.now + .seconds(60)
            while let code = try add(id, to: name) {
                #expect(code == "not_writer\n")
                try #require(ContinuousClock.now < deadline)
            }
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

    /// Replaces the writer's lease by that of an unknown process, and then by a free one that only the writer takes.
    private static let interrupt = """
        local function ask(subject, body)
          return moonpool.request { url = arg[1], subject = subject, body = body }
        end
        local data = ask("$JS.API.STREAM.MSG.GET.KV_moonpool-zoo", { last_by_subj = "$KV.moonpool-zoo.writer" }).message.data
        local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        local text, bits, count = {}, 0, 0
        for digit in data:gmatch "[%w+/]" do
          bits, count = bits << 6 | digits:find(digit, 1, true) - 1, count + 6
          if count >= 8 then
            count = count - 8
            text[#text + 1] = string.char(bits >> count & 255)
          end
        end
        local value = moonpool.json.decode(table.concat(text))
        local process = value.process
        value.process, value.lease = "another", value.lease + 10
        ask("$KV.moonpool-zoo.writer", value)
        moonpool.sleep(1.5)
        value.process = process
        ask("$KV.moonpool-zoo.writer", value)
        """

    @Test func `a writer that takes its lease again answers the requests to the new lease`() throws
    {
        let cluster = try Cluster()
        let a = try cluster.startScript("a", 0)
        try a.wait { a.output.contains("added\ta") && a.output.contains("unknown\t") }
        #expect(a.output.contains("unknown\tunavailable\tserves 'unknown';"))
        let b = try cluster.startScript("b", 1_000_000)
        try b.wait { b.output.contains("added\ta") }
        // The script of the writer does not see that its role has ended and begun.
        _ = try cluster.folder.write("", to: "a.moonpool-block")
        try Tool.run(script: Self.interrupt, arguments: [cluster.server.address]).expectSuccess()
        let before = b.output.utf8.count
        try b.wait { b.output.dropFirst(before).contains("added\ta") }
        #expect(!b.output.contains("writer"))
    }

    @Test func `migrate undo of a member names what the cluster needs`() throws {
        let cluster = try Cluster()
        try cluster.folder.make("m")
        let schema = #"return { schema = { Dog = { id = "int primary"COLUMN } } }"#
        for (name, column) in [("m/0001_dogs.lua", ""), ("m/0002_age.lua", #", age = "int?""#)] {
            _ = try cluster.folder.write(schema.replacing("COLUMN", with: column), to: name)
        }
        let migrate = { (command: [String]) in
            try Tool.run(
                ["migrate"] + command + ["--dir", cluster.folder.file("m"), cluster.path("a")])
        }
        try migrate(["up", "--to", "1"]).expectSuccess()
        try cluster.start("a")
        let member = try cluster.member("a")
        try member.wait { member.error.contains("published a snapshot") }
        try migrate(["up", "--backup"]).expectSuccess()
        try cluster.kill("a")
        try migrate(["undo"]).expectSuccess(
            "the cluster of the stream 'zoo' has commits", "moonpool follow … --rebuild")
    }

    @Test func `a remote write that fails changes nothing`() throws {
        let cluster = try Cluster()
        try Tool.run(
            script: """
                local store = moonpool.open { path = arg[1], schema = { Dog = { id = "int primary" } } }
                local member = store:cluster { url = arg[2], stream = "zoo" }
                local function serve(name, ending)
                  moonpool.serve { store = store, name = name, handler = function(request)
                    store:create("Dog", { id = request.body })
                    return ending()
                  end }
                end
                serve("add", function() return "added" end)
                serve("commit", function() store:commit_write() end)
                serve("cancel", function() store:cancel_write() end)
                serve("long", function() return ("x"):rep(2000000) end)
                serve("function", function() return print end)
                local function try(name, id)
                  local ok, result = pcall(store.remote_write, store, name, id, { timeout = 60 })
                  print(name, ok, ok and result or result.code, store:objects("Dog"):count())
                end
                try("add", 1)
                try("commit", 2)
                try("cancel", 3)
                try("long", 4)
                try("function", 5)
                try("add", 6)
                moonpool.stop()
                """, arguments: [cluster.path("a"), cluster.server.address]
        ).expectOutput(
            """
            add\ttrue\tadded\t1
            commit\tfalse\talready_in_write\t1
            cancel\tfalse\talready_in_write\t1
            long\tfalse\tlimit_exceeded\t1
            function\tfalse\tinvalid_argument\t1
            add\ttrue\tadded\t2

            """, error: "")
    }

    @Test func `a killed writer is replaced, keeps its unpublished commits, and follows`() throws {
        let cluster = try Cluster()
        #expect(try cluster.add(1, to: "a") == nil)
        // After the last renewal, a write has at least four seconds.
        try cluster.start("a", lease: 12)
        let first = try cluster.member("a")
        try first.wait { first.error.contains("published a snapshot") }
        try cluster.start("b", lease: 12)
        try cluster.waitForEqual("a", "b")
        #expect(try cluster.add(2, to: "a") == nil)
        #expect(try cluster.add(3, to: "b") == "not_writer\n")
        try cluster.waitForEqual("a", "b")
        try cluster.kill("a")
        // The lease of the file has not ended, but nothing publishes the commit.
        #expect(try cluster.add(4, to: "a") == nil)
        try cluster.waitToAdd(5, to: "b")
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

    @Test func `a writer that is cut off refuses writes, is replaced, and follows`() throws {
        let cluster = try Cluster()
        let relay = Relay(to: cluster.server.port)
        defer { relay.end() }
        #expect(try cluster.add(1, to: "a") == nil)
        try cluster.start("a", through: relay)
        let first = try cluster.member("a")
        try first.wait { first.error.contains("published a snapshot") }
        try cluster.start("b")
        try cluster.waitForEqual("a", "b")
        relay.setCut(true)
        var id = 1
        while try cluster.add(id + 1, to: "a") == nil { id += 1 }
        try cluster.waitToAdd(1000, to: "b")
        #expect(try cluster.add(1001, to: "a") == "not_writer\n")
        relay.setCut(false)
        try cluster.waitForEqual("a", "b")
        let all = try cluster.export("a")
        #expect(all.contains("\"id\":1000}"))
        // The messages that the relay has not forwarded arrive after those of the new writer.
        let lost = id > 1 ? try contents(of: cluster.path("a") + "-lost-1.jsonl") : ""
        for id in 2..<id + 1 {
            #expect(!all.contains("\"id\":\(id)}"))
            #expect(lost.contains("\"class\":\"Dog\",\"key\":\(id),"), "\(lost)")
        }
    }

    @Test func `scripts write remotely while the writer is stopped and continues`() throws {
        let cluster = try Cluster()
        let first = try cluster.startScript("a", 1_000_000)
        try first.wait { first.output.contains("added\ta") }
        let second = try cluster.startScript("b", 2_000_000)
        try second.wait { second.output.contains("added\ta") }
        first.send(SIGSTOP)
        try second.wait { second.output.contains("writer\n") }
        try second.wait { second.output.contains("added\tb") }
        first.send(SIGCONT)
        try first.wait { first.output.contains("follower\n") }
        try first.wait { first.output.contains("added\tb") }
        // A script that ends releases the lease.
        let length = first.output.count
        second.send(SIGTERM)
        _ = try second.finish()
        try first.wait { first.output.dropFirst(length).contains("writer\n") }
        first.send(SIGTERM)
        _ = try first.finish()
        #expect(first.error == "" && second.error == "", "\(first.error) \(second.error)")
        // The last commits of the first script were not followed.
        let lines = { try cluster.export($0).split(separator: "\n") }
        let (all, followed) = (try lines("a"), try lines("b"))
        // When the second script ended, one write of each script was under way, and may be in its store only.
        #expect(Set(followed).subtracting(all).count <= 2)
        #expect(Set(all).count == all.count)
    }
}
