import Glibc
import TestThreads
import Testing

/// Opening a damaged store uses at most 256 MiB in addition to the size of its file.
///
/// `MOONPOOL_DAMAGES=500` tests 500 damaged files.
@Suite struct DamagedMemoryTests {
    private static let rounds =
        getenv("MOONPOOL_DAMAGES").flatMap { Int(String(cString: $0)) } ?? 4

    private static let fill = """
        local store = moonpool.open { path = arg[1], schema = {
          Dog = { id = "int primary", name = "string indexed", text = "string fulltext", any = "mixed",
            friends = "Dog[]", tags = "string<>", notes = "double{}", photo = "data" },
        } }
        for round = 1, 12 do
          store:write(function()
            for id = round * 40, round * 40 + 60 do
              store:create("Dog", { id = id, name = "dog " .. id, text = ("word" .. id .. " "):rep(id % 30),
                any = { a = { id, "x" } }, friends = store:objects("Dog"):where("id < $1 limit(5)", id):to_table(),
                tags = { "t" .. id % 7 }, notes = { k = id / 2 }, photo = ("p"):rep(id * 7 % 3000) }, "all")
            end
          end)
        end
        store:close()
        """

    /// Performs all operations on a store, ignoring errors, and prints the peak memory of the process in KiB.
    private static let use = """
        local path = arg[1]
        local function try(body) local ok, value = pcall(body) return ok and value or nil end
        local store = try(function() return moonpool.open(path) end)
        if store then
          try(function() for dog in store:objects "Dog":each() do try(function() return dog:to_table() end) end end)
          try(function() return #store:objects "Dog":where "any friends.id > 3 and name contains 'd' sort(text)" end)
          try(function() return store:objects "Dog":where "text text 'word5*'":first() end)
          for back = 1, 4 do
            try(function() for dog in store:at(store.version - back):objects "Dog":each() do dog:to_table() end end)
          end
          try(function() return store:diff(store.version - 3, store.version) end)
          try(function() store:write(function() store:create("Dog", { id = 5000, name = "n", text = "new" }) end) end)
          try(function() store:write(function() store:objects "Dog":update { name = "all" } end) end)
          try(function() store:write(function() store:delete_all "Dog" end) end)
          try(function() return store:undo() end)
          try(function() store:backup(path .. ".backup") end)
          try(function() return store:export(path .. ".jsonl") end)
          try(function() store:close() end)
        end
        for line in io.lines "/proc/self/status" do
          local size = line:match "^VmHWM:%s*(%d+)"
          if size then print(size) end
        end
        """

    @Test func `the memory of every operation on a damaged store is limited`() throws {
        let folder = try TemporaryFolder()
        let fill = try folder.write(Self.fill, to: "fill.lua")
        let use = try folder.write(Self.use, to: "use.lua")
        let store = folder.path + "/base.moonpool"
        let copy = folder.path + "/copy.moonpool"
        let filled = try Tool.run([fill, store])
        try #require(filled.exitCode == 0, "\(filled.error)")
        var random = SeededGenerator(seed: 1)
        for _ in 0..<Self.rounds {
            try StoreFiles.copy(store, to: copy)
            for ending in [".backup", ".backup-lock", ".jsonl"] { unlink(copy + ending) }
            let file = open(copy, O_RDWR)
            let size = Int(lseek(file, 0, SEEK_END))
            var changes: [String] = []
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                // Page headers, which contain sizes and counts, and random other offsets.
                let page = Int.random(in: 0..<size / 4096, using: &random) * 4096
                let isHead = Bool.random(using: &random)
                let offset = page + Int.random(in: 0..<(isHead ? 48 : 4096), using: &random)
                var byte = UInt8.random(in: 0...255, using: &random)
                _ = pwrite(file, &byte, 1, off_t(offset))
                changes.append("\(offset) = \(byte)")
            }
            close(file)
            let used = try Tool.run([use, copy])
            #expect(used.exitCode == 0, "\(changes): \(used.error)")
            let peak = Int(used.output.filter(\.isNumber)) ?? .max
            #expect(peak <= size / 1024 + 256 << 10, "\(changes): \(peak) KiB")
            for command in [["check"], ["stats"], ["schema"], ["compact"]] {
                let outcome = try Tool.run(command + [copy])
                #expect(outcome.exitCode < 128, "\(command), \(changes): \(outcome.error)")
            }
        }
    }
}
