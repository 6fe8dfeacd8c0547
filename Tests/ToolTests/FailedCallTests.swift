import Glibc
import Testing

/// One failed system call on a store is one failed operation: its error names the device, the next write succeeds, and the
/// file has exactly the acknowledged commits.
///
/// With `MOONPOOL_INTERRUPTIONS=all`, as in `scripts/check --long`, each call fails once, otherwise a few.
@Suite(.enabled(if: FileCalls.compiler != nil, "needs a C compiler"))
struct FailedCallTests {
    private static let testsAll = getenv("MOONPOOL_INTERRUPTIONS") != nil
    private static let count = 6

    /// Opens the store `arg[1]` and creates objects; writes each failed one again, under another number.
    ///
    /// Prints the error of an opening, and `done` or the error for each write.
    private static let write = """
        local function try(name, ...)
          local ok, result = pcall(...)
          if ok then print("done", name) else print("failed", name, result.code, tostring(result)) end
          return ok, result
        end
        local opened, store = try("open", moonpool.open, {
          path = arg[1], schema = { Dog = { id = "int primary", text = "string" } }, durability = arg[2] })
        if not opened then os.exit(0) end
        local frozen = store:freeze()
        local count = #frozen:objects "Dog"
        for id = 1, 25 do
          local function write(id)
            return try(id, store.write, store, function() store:create("Dog", { id = id, text = ("x"):rep(id * 40) }) end)
          end
          if not write(id) then assert(write(id + 1000)) end
          assert(#store:objects "Dog" >= id)
        end
        assert(#frozen:objects "Dog" == count)
        store:close()
        """

    /// Writes all the time, until the other process has created its last object: number 25 or 1025.
    private static let answer = """
        local store = moonpool.open(arg[1])
        print "ready" io.stdout:flush()
        local number = 10000
        timer = moonpool.every(0.005, function()
          number = number + 1
          store:write(function() store:create("Dog", { id = number, text = "" }) end)
          print("done", number)
          if store:object("Dog", 25) or store:object("Dog", 1025) then
            timer:cancel()
            store:close()
          end
        end)
        """

    /// Prints the numbers of the objects in the store of each folder: a line each.
    private static let read = """
        for folder in io.lines(arg[1]) do
          local numbers = {}
          local store = moonpool.open(folder .. "/zoo.moonpool")
          if store:schema().Dog then
            for dog in store:objects "Dog":each() do numbers[#numbers + 1] = dog.id end
          end
          store:close()
          print(table.concat(numbers, " "))
        end
        """

    @Test(arguments: [EIO, ENOSPC], ["full", "async"])
    func `a failed write is one failed commit`(error: Int32, durability: String) throws {
        try test(kind: "change", error: error, durability: durability)
    }

    @Test func `a failed write does not disturb another process`() throws {
        try test(kind: "change", error: EIO, durability: "full", isAnswered: true)
    }

    @Test func `a failed read is reported as one`() throws {
        try test(kind: "read", error: EIO, durability: "full")
    }

    private func test(
        kind: String, error: Int32, durability: String, isAnswered: Bool = false
    ) throws {
        let folder = try TemporaryFolder()
        let library = try FileCalls.compile(in: folder)
        let write = try folder.write(Self.write, to: "write.lua")
        let answer = try folder.write(Self.answer, to: "answer.lua")
        let counter = folder.path + "/count"
        /// Runs the script in a new folder; the call with the number fails.
        func run(_ position: Int) throws -> (
            folder: String, acknowledged: Set<String>, text: String
        ) {
            let target = "\(folder.path)/run-\(position)"
            mkdir(target, 0o755)
            let store = target + "/zoo.moonpool"
            var other: Subprocess?
            if isAnswered {
                let created = try Tool.lua(
                    "moonpool.open { path = arg[1], schema = { Dog = { id = 'int primary', "
                        + "text = 'string' } } }:close()", store)
                try #require(created.exitCode == 0, "\(created.error)")
                other = try Subprocess(Tool.path, [answer, store])
                try other?.wait { other?.output.contains("ready") == true }
            }
            let outcome = try Tool.run(
                [write, store, durability],
                environment: [
                    "LD_PRELOAD": library, "FILECALLS_FOLDER": target, "FILECALLS_COUNT": counter,
                    "FILECALLS_AT": "\(position)", "FILECALLS_ERROR": "\(error)",
                    "FILECALLS_KIND": kind,
                ])
            var text = outcome.output + outcome.error
            #expect(outcome.exitCode == 0, "call \(position): \(text)")
            if let other {
                let outcome = try other.finish(within: 60)
                #expect(
                    outcome.exitCode == 0 && outcome.error == "",
                    "call \(position): \(outcome.error)")
                text += outcome.output
            }
            var acknowledged: Set<String> = []
            for line in text.split(separator: "\n") {
                let words = line.split(separator: "\t").map(String.init)
                if words[0] == "done", words[1] != "open" { acknowledged.insert(words[1]) }
                if words[0] == "failed" {
                    let code = error == ENOSPC ? "disk_full" : "io_error"
                    #expect(words[2] == code, "call \(position): \(line)")
                }
            }
            return (target, acknowledged, text)
        }
        _ = try run(0)
        let total = try FileCalls.count(counter)
        try #require(total > 20)
        let positions =
            Self.testsAll ? Array(1...total) : (1...Self.count).map { total * $0 / Self.count }
        let runs = try positions.map { try run($0) }
        let list = try folder.write(runs.map(\.folder).joined(separator: "\n") + "\n", to: "list")
        let reading = try Tool.run([try folder.write(Self.read, to: "read.lua"), list])
        let contents = reading.output.split(separator: "\n", omittingEmptySubsequences: false)
        try #require(contents.count == runs.count + 1, "\(reading.error)")
        for ((position, run), content) in zip(zip(positions, runs), contents) {
            let numbers = Set(content.split(separator: " ").map(String.init))
            #expect(
                numbers == run.acknowledged,
                "call \(position): \(numbers.symmetricDifference(run.acknowledged)) \(run.text)")
            let checked = try Tool.run(["check", run.folder + "/zoo.moonpool"])
            #expect(
                checked.exitCode == 0,
                "call \(position): \(run.text)\(checked.output)\(checked.error)")
        }
    }
}
