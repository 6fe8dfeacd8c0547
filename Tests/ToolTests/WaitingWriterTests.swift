import Glibc
import Testing

/// Writes that wait while another process writes.
@Suite struct WaitingWriterTests {
    private let folder: TemporaryFolder
    private var store: String { folder.path + "/shared.moonpool" }
    private var sign: String { folder.path + "/go" }

    private static let schema = """
        local store = moonpool.open {
          path = arg[1], durability = "memory",
          schema = { Entry = { id = "int primary", writer = "string" } },
        }
        local function create(id, writer) store:create("Entry", { id = id, writer = writer }) end

        """

    init() throws { folder = try TemporaryFolder() }

    private func start(
        _ name: String, _ script: String, until text: String? = nil
    ) throws -> Subprocess {
        let path = try folder.write(Self.schema + script, to: name + ".lua")
        return try Subprocess(Tool.path, [path, store, sign], until: text)
    }

    /// A process with an open write, until the test signals it.
    private func holder() throws -> Subprocess {
        try start(
            "holder",
            """
            store:begin_write()
            create(0, "holder")
            print "writing" io.flush()
            moonpool.wait_until(function() return io.open(arg[2]) end)
            store:commit_write()
            """, until: "writing")
    }

    private func giveSign() throws { _ = try folder.write("", to: "go") }

    private func entries() throws -> String {
        let outcome = try Tool.lua(
            """
            local names = moonpool.open(arg[1]):objects("Entry"):map(function(entry)
              return entry.id .. entry.writer
            end)
            print(table.concat(names, " "))
            """, store)
        #expect(outcome.error == "")
        return String(outcome.output.dropLast())
    }

    private func expectSuccess(_ process: Subprocess) throws -> [String] {
        let outcome = try process.finish().expectSuccess()
        #expect(outcome.error == "")
        return outcome.lines
    }

    /// Queues three writes, and reports after twenty ticks of a timer that the loop runs.
    private static let waiter = """
        local ticks, done = 0, {}
        local timer = moonpool.every(0.002, function()
          ticks = ticks + 1
          if ticks == 20 then print "ticking" io.flush() end
        end)
        for id = 1, 3 do
          store:write_async(function()
            create(id, "waiter")
            done[#done + 1] = id
            if id == 3 then timer:cancel() print(table.concat(done, " ")) end
          end)
        end
        print "queued" io.flush()

        """

    @Test(arguments: [false, true])
    func `queued writes leave the loop to timers while another process writes`(isKilled: Bool)
        throws
    {
        let holder = try holder()
        let waiter = try start("waiter", Self.waiter, until: "ticking")
        if isKilled {
            holder.send(SIGKILL)
        } else {
            try giveSign()
            _ = try expectSuccess(holder)
        }
        #expect(try expectSuccess(waiter) == ["queued", "ticking", "1 2 3"])
        #expect(try entries() == (isKilled ? "" : "0holder ") + "1waiter 2waiter 3waiter")
    }

    @Test func `Ctrl-C ends a script with queued writes while another process writes`() throws {
        let holder = try holder()
        let waiter = try start("waiter", Self.waiter, until: "ticking")
        waiter.send(SIGINT)
        try waiter.finish().expectExit(130)
        try giveSign()
        _ = try expectSuccess(holder)
        #expect(try entries() == "0holder")
    }

    @Test func `the end of a script and of a store end its queued writes`() throws {
        let holder = try holder()
        let exiting = try start("exiting", Self.waiter + "os.exit(7, true)")
        try exiting.finish().expectExit(7)
        let closing = try start(
            "closing",
            """
            local why
            store:write_async(function() create(1, "closing") end, function(err) why = err.code end)
            moonpool.sleep(0.01)
            store:close()
            print(why)
            """)
        #expect(try expectSuccess(closing) == ["closed"])
        try giveSign()
        _ = try expectSuccess(holder)
        #expect(try entries() == "0holder")
    }

    @Test(arguments: [
        "store:write(function() create(1, 'waiter') end)", "store:begin_write()",
        "store:define { Other = { x = 'int' } }",
        "store:close() moonpool.open { path = arg[1], schema = { Other = { x = 'int' } } }",
        "store:close() moonpool.open { path = arg[1], schema = { Entry = { id = 'int primary' } }, schema_version = 1 }",
        """
        moonpool.worker("w", function(path)
          moonpool.open { path = path, durability = "memory" }:begin_write()
        end, arg[1]):join()
        """,
    ])
    func `Ctrl-C ends the wait for another process's write`(wait: String) throws {
        let holder = try holder()
        let waiter = try start(
            "waiter",
            """
            print "waiting" io.flush()
            \(wait)
            print "not reached"
            """, until: "waiting")
        waiter.send(SIGINT)
        let outcome = try waiter.finish().expectExit(130)
        #expect(outcome.lines == ["waiting"])
        try giveSign()
        _ = try expectSuccess(holder)
        #expect(try entries() == "0holder")
    }

    @Test(arguments: [false, true])
    func `a write outside of the queue runs first, and the queue continues`(isKilled: Bool) throws {
        let holder = try holder()
        let waiter = try start(
            "waiter",
            """
            for id = 1, 2 do store:write_async(function() create(id, "queued") end) end
            moonpool.sleep(0.01)
            print "waiting" io.flush()
            store:write(function()
              print(#store:objects "Entry")
              create(3, "now")
            end)
            """, until: "waiting")
        if isKilled { holder.send(SIGKILL) } else { try giveSign() }
        #expect(try expectSuccess(waiter) == ["waiting", isKilled ? "0" : "1"])
        #expect(try entries() == (isKilled ? "" : "0holder ") + "3now 1queued 2queued")
    }

    @Test(arguments: ["script", "import"])
    func `A write that waits longer than a second says so`(kind: String) throws {
        let holder = try holder()
        let waiter: Subprocess
        if kind == "script" {
            waiter = try start("waiter", "store:write(function() create(1, 'waiter') end)")
        } else {
            _ = try folder.write("id,writer\n1,waiter\n", to: "Entry.csv")
            waiter = try Subprocess(
                Tool.path, ["import", store, folder.path + "/Entry.csv", "--class", "Entry"])
        }
        try waiter.wait { waiter.error.contains("waiting for process") }
        try giveSign()
        _ = try expectSuccess(holder)
        let outcome = try waiter.finish().expectSuccess()
        #expect(outcome.error.contains("is writing to '\(store)'\n"))
        #expect(outcome.error.split(separator: "\n").count == 1)
        #expect(try entries() == "0holder 1waiter")
    }

    @Test func `queued writes of several processes alternate and lose nothing`() throws {
        let script = """
            local last = 0
            for number = 1, 60 do
              store:write_async(function()
                assert(number == last + 1)
                last = number
                create(#store:objects "Entry" + 1, arg[2])
              end)
            end
            for _ = 1, 20 do
              store:write(function() create(#store:objects "Entry" + 1, arg[2]) end)
              moonpool.sleep(0)
            end
            """
        let processes = try (1...3).map { try start("writer\($0)", script) }
        for process in processes { _ = try expectSuccess(process) }
        try Tool.lua(
            "local e = moonpool.open(arg[1]):objects 'Entry' print(#e, e:max 'id', e:min 'id')",
            store
        ).expectOutput("240\t240\t1\n")
    }
}
