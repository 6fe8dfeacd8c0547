import Glibc
import Testing

/// Several processes on one file.
@Suite struct TwoProcessTests {
    private let folder = try! TemporaryFolder()
    private var store: String { folder.path + "/shared.moonpool" }

    private static let schema = """
        local store = moonpool.open {
          path = arg[1], durability = "memory",
          schema = { Entry = { id = "int primary", writer = "string" } },
        }

        """

    @Test(arguments: ["memory", "full"])
    func `opening a file during a write does not truncate it, with any map size`(
        durability: String
    ) throws {
        let writer = try folder.write(
            """
            local store = moonpool.open {
              path = arg[1], durability = arg[2],
              schema = { Entry = { id = "int primary", writer = "string" } },
            }
            local round = 0
            repeat
              store:write(function()
                for id = round * 1000, round * 1000 + 999 do
                  store:create("Entry", { id = id, writer = ("w"):rep(id % 97) })
                end
              end)
              round = round + 1
              if round == 1 then print "ready" io.flush() end
            until io.open(arg[1] .. ".stop") or round == 500
            print(round)
            """, to: "writer.lua")
        let opener = try folder.write(
            """
            -- The first of these stores may have too small a map for the other process's writes, which is an error.
            moonpool.on_error = function() end
            for round = 1, 40 do
              pcall(function()
                moonpool.open { path = arg[1], durability = "memory", max_size = 1 << 20 }:close()
              end)
              local store = moonpool.open { path = arg[1], durability = "memory" }
              assert(#store:objects "Entry" % 1000 == 0)
              store:close()
            end
            """, to: "opener.lua")
        let writing = try Subprocess(Tool.path, [writer, store, durability], until: "ready")
        for _ in 0..<3 {
            try Tool.run([opener, store]).expectSuccess()
        }
        _ = try folder.write("", to: "shared.moonpool.stop")
        let outcome = try writing.finish().expectSuccess()
        let rounds = try #require(Int(outcome.lines.last ?? ""))
        let sound = try Tool.run(["check", store])
        #expect(sound.output.contains("\(rounds)000 objects"), "\(sound.output)\(sound.error)")
    }

    @Test(arguments: ["os.rename(arg[1], arg[2])", "os.remove(arg[2])"])
    func `writes to a replaced or deleted file are errors`(change: String) throws {
        let (new, old) = (folder.path + "/new.moonpool", folder.path + "/old.moonpool")
        let fill = try folder.write(
            Self.schema + """
                for id = 1, tonumber(arg[2]) do
                  store:write(function() store:create("Entry", { id = id, writer = "a" }) end)
                end
                store:close()
                """, to: "fill.lua")
        try Tool.run([fill, new, "3"]).expectSuccess()
        try Tool.run([fill, old, "1"]).expectSuccess()
        let user = try folder.write(
            Self.schema + """
                print("ready") io.flush()
                moonpool.wait_until(function() return io.open(arg[1] .. ".go") end, 60)
                local ok, err = pcall(store.begin_write, store)
                print(ok, err.code, err.message)
                """, to: "user.lua")
        let using = try Subprocess(Tool.path, [user, old], until: "ready")
        let newcomer = try folder.write(
            "assert(\(change)) print(pcall(moonpool.open, arg[2]))", to: "newcomer.lua")
        let outcome = try Tool.run([newcomer, new, old])
        if change.contains("rename") {
            #expect(outcome.output.contains("false"), "\(outcome.output)")
            #expect(outcome.output.contains("renamed, deleted, replaced or overwritten"))
        }
        _ = try folder.write("", to: "old.moonpool.go")
        let ended = try using.finish()
        #expect(ended.output.contains("false\tfile_replaced"), "\(ended.output)\(ended.error)")
        #expect(ended.output.contains("'\(old)' was renamed, deleted, replaced or overwritten"))
        guard change.contains("rename") else { return }
        // After all processes have closed the old file, the new file is unchanged.
        let count = try folder.write(
            "print(#moonpool.open(arg[1]):objects 'Entry')", to: "count.lua")
        #expect(try Tool.run([count, old]).output == "3\n")
    }

    @Test func `a file that another process has migrated stays usable`() throws {
        let user = try folder.write(
            """
            local store = moonpool.open {
              path = arg[1], schema = { Dog = { id = "int primary", name = "string", age = "string?" } },
            }
            store:write(function()
              for i = 1, 3 do store:create("Dog", { id = i, name = "dog " .. i, age = tostring(i) }) end
            end)
            local old, rex = store:objects("Dog"):where "age == '2'", store:object("Dog", 1)
            local errors = {}
            moonpool.on_error = function() end
            local token = old:observe(function(change) errors[#errors + 1] = change.type end)
            print("ready") io.flush()
            moonpool.wait_until(function() return store.schema_version == 2 end, 60)
            local function code(f) return select(2, pcall(f)).code end
            print(errors[#errors], code(function() return #old end), code(function() return rex.age end))
            print(rex.name, rex.years, #store:objects("Dog"):where "years > 1")
            store:write(function() rex.years = 20 end)
            local same = { Dog = { id = "int primary", name = "string", age = "string?" } }
            print(code(function() moonpool.open { path = arg[1], schema = same } end))
            """, to: "user.lua")
        let using = try Subprocess(Tool.path, [user, store], until: "ready")
        try Tool.lua(
            """
            local store = moonpool.open {
              path = "\(store)", schema_version = 2, drops = { "Dog.age" },
              schema = { Dog = { id = "int primary", name = "string", years = "int" } },
              migration = function(m) m:each("Dog", function(old, new) new.years = tonumber(old.age) end) end,
            }
            print(store.schema_version, store:object("Dog", 3).years)
            """
        ).expectOutput("2\t3\n")
        let outcome = try using.finish()
        #expect(
            outcome.lines == [
                "ready", "error\tunknown_property\tunknown_property", "dog 1\t1\t2",
                "version_too_low",
            ], "\(outcome.error)")
    }
}
