import TestServers
import Testing

/// `moonpool publish` and `follow` with a NATS server, and the same from Lua.
@Suite(.enabled(if: NatsServer.isInstalled, NatsServer.missing))
struct ReplicationCommandTests {
    private let folder = try! TemporaryFolder()
    private var store: String { folder.path + "/a.moonpool" }

    private func addDogs(_ store: String, _ first: Int, _ last: Int) throws {
        let outcome = try Tool.run(
            script: """
                local store = moonpool.open { path = arg[1], schema = { Dog = { id = "int primary", name = "string" } } }
                for id = math.tointeger(arg[2]), math.tointeger(arg[3]) do
                  store:write(function() store:create("Dog", { id = id, name = "dog " .. id }) end)
                end
                """, arguments: [store, "\(first)", "\(last)"])
        try #require(outcome.error == "", "\(outcome.error)")
    }

    private func export(_ store: String) throws -> String {
        try Tool.run(["export", store, "-"]).output
    }

    @Test func `a script publishes with acknowledgment, and another script follows`() throws {
        let server = try NatsServer()
        let publisher = try Tool.run(
            script: """
                local store = moonpool.open { path = arg[1], schema = { Dog = { id = "int primary", name = "string" } } }
                local publication = store:publish { url = arg[2], stream = "zoo", acknowledged = true }
                for id = 1, 5 do
                  store:write(function() store:create("Dog", { id = id, name = "dog " .. id }) end)
                  assert(publication.version >= store.version and publication.lag == 0)
                end
                print(publication.role, publication.stream, publication.is_running, publication.is_connected)
                print(publication.position > 0, publication.commits > 0, publication.rate >= 0, publication.last_error)
                print(publication, publication:wait(), store.is_follower)
                print(pcall(store.publish, store, { url = arg[2], stream = "zoo" }))
                store:close()
                print(publication.is_running)
                """, arguments: [store, server.address])
        #expect(publisher.error == "")
        let lines = publisher.output.split(separator: "\n")
        try #require(lines.count == 5, "\(publisher.output)")
        #expect(lines[0] == "publisher\tzoo\ttrue\ttrue")
        #expect(lines[1] == "true\ttrue\ttrue\tnil")
        #expect(lines[2] == "publisher of 'zoo' (running)\ttrue\tfalse")
        #expect(lines[3].contains("is already replicated"))
        #expect(lines[4] == "false")

        try Tool.run(
            script: """
                local store = moonpool.open { path = arg[1] }
                local following = store:follow { url = arg[2], stream = "zoo" }
                print(following:wait(60), following.role, store.is_follower, #store:objects "Dog")
                print(select(2, pcall(store.write, store, function() store:create("Dog", { id = 9, name = "x" }) end)).code)
                following:stop()
                print(following.is_running, store:freeze().is_follower)
                """, arguments: [folder.path + "/b.moonpool", server.address]
        ).expectOutput("true\tfollower\ttrue\t5\nread_only\nfalse\ttrue\n", error: "")
        #expect(try export(folder.path + "/b.moonpool") == export(store))
    }

    @Test func `a script receives the error of its publisher, and no write is acknowledged`() throws
    {
        let server = try NatsServer()
        try addDogs(store, 1, 1)
        try addDogs(folder.path + "/b.moonpool", 1, 1)
        let publishing = ["publish", store, server.address, "--stream", "zoo", "--once"]
        try #require(try Tool.run(publishing).exitCode == 0)
        let rows = try folder.write("id,name\n7,Rex\n", to: "rows.csv")
        try Tool.run(
            script: """
                local errors = {}
                moonpool.on_error = function(err) errors[#errors + 1] = err.message end
                local store = moonpool.open { path = arg[1], history = 10 }
                local publication = store:publish { url = arg[2], stream = "zoo", acknowledged = true }
                assert(moonpool.wait_until(function() return #errors > 0 end, 60))
                print(#errors, errors[1]:match "contains the commits of another store", publication.is_running)
                local recording = store:record(arg[1] .. "-changes.jsonl")
                local function try(name, ...)
                  local ok, err = pcall(store[name], store, ...)
                  print(name, ok, err.code)
                end
                local function write() store:object("Dog", 1).name = "Bo" end
                try("write", write)
                recording:stop()
                try("undo")
                try("redo")
                try("undo", store.version - 1)
                try("define", { Cat = { name = "string" } })
                try("import", arg[3], { class = "Dog" })
                print("replay", select(2, pcall(moonpool.replay, recording.path, store)).code)
                local code
                store:write_async(write, function(err) code = err.code end)
                assert(moonpool.wait_until(function() return code end, 60))
                print("write_async", code)
                """, arguments: [folder.path + "/b.moonpool", server.address, rows]
        ).expectOutput(
            """
            1\tcontains the commits of another store\tfalse
            write\tfalse\tlimit_exceeded
            undo\tfalse\tlimit_exceeded
            redo\tfalse\tlimit_exceeded
            undo\tfalse\tlimit_exceeded
            define\tfalse\tlimit_exceeded
            import\tfalse\tlimit_exceeded
            replay\tlimit_exceeded
            write_async\tlimit_exceeded

            """, error: "")
    }

    @Test func `observers of a follower receive commits of the publisher`() throws {
        let server = try NatsServer()
        let (first, second) = (store, folder.path + "/b.moonpool")
        try addDogs(first, 1, 1)
        let publishing = ["publish", first, server.address, "--stream", "zoo", "--once"]
        #expect(try Tool.run(publishing).output.hasPrefix("published up to version"))
        let script = try folder.write(
            """
            local moonpool = require "moonpool"
            local store = moonpool.open { path = arg[1] }
            local following = store:follow { url = arg[2], stream = "zoo" }
            assert(following:wait(60))
            local token = store:objects("Dog"):observe(function(change)
              for _, index in ipairs(change.insertions) do
                print("arrived", store:objects("Dog")[index].name)
                moonpool.stop()
              end
            end)
            print("ready")
            """, to: "follow.lua")
        let process = try Subprocess(Tool.path, [script, second, server.address], until: "ready")
        try addDogs(first, 2, 2)
        try Tool.run(publishing).expectSuccess()
        let outcome = try process.finish()
        #expect(outcome.output.contains("arrived\tdog 2"), "\(outcome.output) \(outcome.error)")
        // A process that only reads can open the follower, and observe it.
        try Tool.run(
            script: """
                local store = moonpool.open { path = arg[1], read_only = true }
                local token = store:objects("Dog"):observe(function(change) print(change.type) moonpool.stop() end)
                """, arguments: [second]
        ).expectOutput("initial\n")
    }

    @Test func `stats and the prompt show position, lag, rate and last error`() throws {
        let server = try NatsServer()
        let (first, second) = (store, folder.path + "/b.moonpool")
        try addDogs(first, 1, 3)
        #expect(!(try Tool.run(["stats", first]).output.contains("publishes")))
        _ = try Tool.run(["publish", first, server.address, "--stream", "zoo", "--once"])
        _ = try Tool.run(["follow", server.address, second, "--stream", "zoo", "--once"])
        let publisher = try Tool.run(["stats", first]).output
        #expect(publisher.contains("publishes to    zoo at \(server.address)"), "\(publisher)")
        #expect(publisher.contains("state           not running"))
        #expect(publisher.contains("lag             0 versions"))
        #expect(publisher.contains("last error      none"))
        let follower = try Tool.run(["stats", second]).output
        #expect(follower.contains("follows         zoo at \(server.address)"), "\(follower)")
        #expect(follower.contains("position        version "))
        let json = try Tool.run(["stats", second, "--json"]).output
        #expect(json.contains("\"replication\":{\"role\":\"follower\",\"stream\":\"zoo\""))
        try addDogs(first, 4, 4)
        #expect(try Tool.run(["stats", first]).output.contains("lag             1 version\n"))
        server.stop()
        try Tool.run(["publish", first, server.address, "--stream", "zoo", "--fail-fast"])
            .expectError("cannot connect to")
        #expect(
            try Tool.run(["stats", first]).output.contains("last error      cannot connect to"))
    }

    @Test(arguments: [
        ["nats://ann:hidden@127.0.0.1:1,nats://bob:hidden@localhost:1", "--stream", "zoo"],
        ["nats://127.0.0.1:1", "--stream", "zoo", "--user", "ann", "--password", "hidden"],
        ["nats://127.0.0.1:1", "--stream", "zoo", "--user=ann", "--password=hidden"],
        ["nats://127.0.0.1:1", "--stream", "zoo", "--token", "hidden"],
        ["postgres://ann:hidden@127.0.0.1:1/zoo?password=hidden&connect_timeout=1"],
        ["http://ann:hidden@127.0.0.1"],
    ])
    func `a password is in no message, status file or list of processes`(words: [String]) throws {
        try addDogs(store, 1, 1)
        let process = try Subprocess(Tool.path, ["publish", store] + words, in: folder.path)
        if words[0].hasPrefix("http") {
            try process.finish().expectExit(1)
        } else {
            // The first attempt to connect has failed.
            try process.wait { process.error.contains("\n") }
            let command = try contents(of: "/proc/\(process.identifier)/cmdline")
            #expect(command.contains("publish") && !command.contains("hidden"), "\(command)")
            let status = try Tool.run(["stats", store])
            #expect(status.output.contains("last error"))
            #expect(!(status.output + status.error).contains("hidden"), "\(status.output)")
            #expect(!(try contents(of: store + "-replication")).contains("hidden"))
            try process.kill()
        }
        #expect(!(process.output + process.error).contains("hidden"), "\(process.error)")
    }

    @Test func `commands promote and detach a follower`() throws {
        let server = try NatsServer()
        let paths = ["a", "b", "c"].map { folder.path + "/\($0).moonpool" }
        try addDogs(paths[0], 1, 2)
        let zoo = ["--stream", "zoo", "--once", "--fail-fast"]
        _ = try Tool.run(["publish", paths[0], server.address] + zoo)
        _ = try Tool.run(["follow", server.address, paths[1]] + zoo)
        _ = try Tool.run(["follow", server.address, paths[2]] + zoo)
        try Tool.run(["publish", paths[1], server.address] + zoo).expectError("--promote")
        try Tool.run(["follow", server.address, paths[1], "--promote"] + zoo).expectSuccess()
        try addDogs(paths[1], 3, 3)
        try Tool.run(["publish", paths[1], server.address] + zoo).expectSuccess()
        try Tool.run(["publish", paths[0], server.address] + zoo).expectError(
            "that the store does not have")
        try Tool.run(["follow", server.address, paths[2]] + zoo).expectSuccess()
        #expect(try export(paths[2]) == export(paths[1]))
        try Tool.run(["follow", server.address, paths[0], "--rebuild"] + zoo).expectSuccess()
        #expect(try export(paths[0]) == export(paths[1]))
        try Tool.run(["follow", paths[2], "--detach"]).expectSuccess()
        try addDogs(paths[2], 50, 50)
    }

    @Test func `undo works after the first publication, and migrate undo names the stream`() throws
    {
        let server = try NatsServer()
        let migrations = folder.file("migrations")
        try folder.make("migrations")
        try folder.write(
            #"return { schema = { Dog = { id = "int primary", name = "string" } } }"#,
            to: "migrations/0001_dogs.lua")
        try folder.write(
            #"return { schema = { Dog = { id = "int primary", name = "string", age = "int?" } } }"#,
            to: "migrations/0002_age.lua")
        let migrate = { (command: [String]) in
            try Tool.run(["migrate"] + command + ["--dir", migrations, store])
        }
        try migrate(["up", "--to", "1"]).expectSuccess()
        let add =
            "for id = 1, 2 do store:write(function() store:create('Dog', { id = id, name = 'x' }) end) end"
        try Tool.run([store, "-e", add]).expectSuccess()
        let publish = [
            "publish", store, server.address, "--stream", "zoo", "--once", "--fail-fast",
        ]
        try Tool.run(publish).expectSuccess()
        try Tool.run(
            script: """
                local store = moonpool.open { path = arg[1] }
                store:undo()
                print(#store:objects "Dog")
                store:redo()
                print(#store:objects "Dog")
                """, arguments: [store]
        ).expectOutput("1\n2\n")
        try Tool.run(publish).expectSuccess()
        try migrate(["up", "--backup"]).expectSuccess()
        try Tool.run(publish).expectSuccess()
        let outcome = try migrate(["undo"])
        #expect(
            outcome.output.contains("the stream 'zoo' has commits that the store lacks now"),
            "\(outcome.output)\(outcome.error)")
        try Tool.run(publish).expectExit(1)
        try Tool.run(publish + ["--adopt"]).expectSuccess()
    }

    @Test func `a second publisher stops with an error`() throws {
        let server = try NatsServer()
        try addDogs(store, 1, 1)
        let publishing = ["publish", store, server.address, "--stream", "zoo"]
        let first = try Subprocess(Tool.path, publishing)
        try first.wait { first.error.contains("published a snapshot") }
        let second = try Subprocess(Tool.path, publishing)
        // The server refuses each publisher after the other one has published.
        func isStopped(_ process: Subprocess) -> Bool {
            let reason = "another process publishes to the stream"
            return (try? process.wait(within: 0.3) { process.error.contains(reason) }) != nil
        }
        let deadline = ContinuousClock.now + .seconds(120)
        var id = 1
        while !isStopped(first), !isStopped(second) {
            try #require(ContinuousClock.now < deadline)
            id += 1
            try addDogs(store, id, id)
        }
        first.send(15)
        second.send(15)
        _ = try first.finish()
        _ = try second.finish()
    }

    @Test func `the example of a service prints the output in its header`() throws {
        let server = try NatsServer()
        let path = Tool.root + "/examples/serve.lua"
        let outcome = try Tool.run([path, server.address])
        #expect(outcome.error == "")
        #expect(
            outcome.output.split(separator: "\n")
                == ExampleTests.linesWithAddress(try contents(of: path)))
    }

    @Test func `another machine writes through a service and reads from its follower`() throws {
        let server = try NatsServer()
        let owner = try Subprocess(
            lua: """
                local moonpool = require "moonpool"
                local schema = { Dog = { id = "int primary" } }
                store = moonpool.open { path = "\(folder.path)/zoo.moonpool", schema = schema }
                store:publish { url = "\(server.address)", stream = "zoo", acknowledged = true }
                moonpool.serve { url = "\(server.address)", subject = "zoo.add", handler = function(request)
                  store:write(function() store:create("Dog", request.body) end)
                  return store.version
                end }
                """)
        let visitor = try Tool.lua(
            """
            local moonpool = require "moonpool"
            local store = moonpool.open { path = "\(folder.path)/copy.moonpool" }
            local following = store:follow { url = "\(server.address)", stream = "zoo" }
            local function add(id)
              return moonpool.request { url = "\(server.address)", subject = "zoo.add", body = { id = id }, timeout = 60 }
            end
            moonpool.wait_until(function() return pcall(add, 0) end, 60)
            for id = 1, 5 do
              local version = add(id)
              moonpool.wait_until(function() return following.version >= version end, 60)
              store:refresh()
              print(#store:objects "Dog")
            end
            """)
        #expect(visitor.output == "2\n3\n4\n5\n6\n", "\(visitor.error)")
        owner.send(15)
        _ = try owner.finish()
    }
}
