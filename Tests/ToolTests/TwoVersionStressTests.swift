import Glibc
import Testing

/// Programs of two schema versions write and observe one store, while its migration is interrupted at random moments.
///
/// The model needs no concurrency: the writers have different objects, and each of their writes depends on a number
/// only. So the same writes, made one after the other in a store that was migrated offline and in one that was not, give
/// the contents that the two versions must have.
///
/// `MOONPOOL_KILLS` sets the number of interruptions.
@Suite struct TwoVersionStressTests {
    private static let kills =
        getenv("MOONPOOL_KILLS").flatMap { Int(String(cString: $0)) } ?? 4
    private static let count = 600

    private static let dogs = """
        return {
          schema = {
            Dog = {
              id = "int primary", first = "string", last = "string", age = "string", born = "string",
              tag = "string",
            },
          },
          up = function(m)
            for id = 1, \(count) do
              m:create("Dog", {
                id = id, first = "F" .. id, last = "L" .. id, age = tostring(id), born = "b" .. id, tag = "t" .. id,
              })
            end
          end,
        }
        """
    private static let names = """
        return {
          changes = {
            Dog = { name = "string indexed", age = "int", size = { type = "double?", default = 1.5 } },
            Walk = { id = "int primary", dog = "Dog" },
          },
          renames = { ["Dog.born"] = "birthday" },
          drops = { "Dog.first", "Dog.last", "Dog.tag" },
          each = { Dog = {
            up = function(old, new) new.name = old.first .. " " .. old.last end,
            down = function(new, old) old.first, old.last = new.name:match "^(%S*) ?(.*)$" end,
          } },
        }
        """

    /// `operations(version)` returns a function that makes the write `k` of the writer of a version, in a store of
    /// either version.
    private static let operations = """
        local half = \(count / 2)
        return function(version)
          if version == 1 then
            return function(store, k)
              local dog = store:object("Dog", k % half + 1)
              local kind = k % 5
              if kind == 0 then
                store:create("Dog", {
                  id = 100000 + k, first = "O" .. k, last = "P" .. k, age = tostring(k), born = "n", tag = "t",
                })
              elseif kind == 1 then dog.first = "X" .. k
              elseif kind == 2 then dog.age = tostring(k)
              elseif kind == 3 then dog.tag = "g" .. k
              elseif k % 10 == 9 then store:delete(store:object("Dog", 100000 + k - 4))
              end
            end
          end
          return function(store, k)
            local is_new = store.schema_version == 2
            local dog = store:object("Dog", half + k % half + 1)
            local kind = k % 5
            if kind == 0 and is_new then
              store:create("Dog", { id = 200000 + k, name = "O" .. k .. " P" .. k, age = k, birthday = "n" })
            elseif kind == 0 then
              store:create("Dog", {
                id = 200000 + k, first = "O" .. k, last = "P" .. k, age = tostring(k), born = "n", tag = "",
              })
            elseif kind == 1 and is_new then dog.name = "Y" .. k .. " " .. "Z" .. k
            elseif kind == 1 then dog.first, dog.last = "Y" .. k, "Z" .. k
            elseif kind == 2 then dog.age = is_new and k or tostring(k)
            elseif kind == 3 and is_new then dog.size = k + 0.25
            elseif is_new then store:create("Walk", { id = k, dog = dog })
            end
          end
        end
        """

    /// Writes until a file exists, and prints the number of the last write.
    ///
    /// The pauses limit the number of writes, which the model repeats; they vary, so that writers meet at all moments.
    private static let writer = """
        local version = tonumber(arg[2])
        local store = moonpool.open { path = arg[1], schema_version = version }
        local write = dofile(arg[0]:match "^(.*/)" .. "operations.lua")(version)
        local k = 0
        while not io.open(arg[3]) do
          store:write(function() write(store, k + 1) end)
          k = k + 1
          require "luv".sleep(k * 7 % 11)
          if k % 20 == 0 then print(k) io.flush() end
        end
        print("end", k)
        """

    /// Makes the first `n` writes of the writer of a version.
    private static let replay = """
        local store = moonpool.open { path = arg[1], durability = "memory" }
        local write = dofile(arg[0]:match "^(.*/)" .. "operations.lua")(tonumber(arg[2]))
        for k = 1, tonumber(arg[3]) do store:write(function() write(store, k) end) end
        """

    /// Follows the dogs by the changes that it receives until a file exists; prints an error for a call without a change
    /// of its own properties, and for objects that differ at the end.
    private static let observer = """
        local version = tonumber(arg[2])
        local store = moonpool.open { path = arg[1], schema_version = version }
        local dogs = store:objects("Dog"):sorted "id"
        local names = version == 1 and { "id", "first", "last", "age", "born", "tag" }
          or { "id", "name", "age", "birthday", "size" }
        local function row(dog)
          local values = {}
          for i, name in ipairs(names) do values[i] = tostring(dog[name]) end
          return table.concat(values, "|")
        end
        local rows, failed = {}, false
        local function fail(...) failed = true print(...) io.flush() end
        token = dogs:observe(function(change)
          if change.type == "initial" then
            for i = 1, #dogs do rows[i] = row(dogs[i]) end
            print "ready" io.flush()
            return
          end
          if change.type == "error" then return fail(change.error) end
          for i = #change.deletions, 1, -1 do table.remove(rows, change.deletions[i]) end
          for _, i in ipairs(change.insertions) do table.insert(rows, i, row(dogs[i])) end
          for _, i in ipairs(change.modifications) do
            local present = row(dogs[i])
            if present == rows[i] then fail("unchanged", present) end
            rows[i] = present
          end
        end)
        local is_ending = false
        timer = moonpool.every(0.02, function()
          if is_ending or not io.open(arg[3]) then return end
          is_ending = true
          store:refresh()
          moonpool.after(0.05, function()
            if #rows ~= #dogs then fail("count", #rows, #dogs) end
            for i = 1, #dogs do
              if rows[i] ~= row(dogs[i]) then fail("differs", rows[i], row(dogs[i])) end
            end
            token:invalidate()
            print(failed and "failed" or "sound") io.flush()
            os.exit(0)
          end)
        end)
        """

    /// One store, its programs and what they have written.
    private struct Round {
        let shop: MigrationShop
        let original: String
        var scripts: [String: String] = [:]
        private(set) var killed = 0
        /// The time that the last complete run of a command took.
        private(set) var seconds: [String: Double]

        init(_ seconds: [String: Double]) throws {
            self.seconds = seconds
            shop = try MigrationShop([dogs, names])
            original = shop.folder.path + "/original.moonpool"
            try shop.migrate("up", "--to", "1").expectSuccess()
            try Tool.run(["backup", shop.store, original]).expectSuccess()
            for (name, text) in [
                "operations": operations, "writer": writer, "replay": replay, "observer": observer,
            ] {
                scripts[name] = try shop.folder.write(text, to: name + ".lua")
            }
        }

        func program(_ name: String, _ version: Int, until stop: String) throws -> Subprocess {
            try Subprocess(
                Tool.path,
                [scripts[name] ?? "", shop.store, "\(version)", shop.folder.path + "/" + stop])
        }

        /// Runs a command and stops it at a random moment until it ends by itself.
        mutating func interrupt(_ command: String, _ options: String..., atMost maximum: Int) throws
            -> Tool.Outcome
        {
            var attempts = 0
            while true {
                let process = try Subprocess(
                    Tool.path, ["migrate", command, shop.store, "--dir", "migrations"] + options,
                    in: shop.folder.path)
                let start = ContinuousClock.now
                let usual = seconds[command] ?? 0.3
                let delay = attempts < maximum ? usual * Double.random(in: 0.2...1.05) : 300
                do {
                    let outcome = try process.finish(within: delay)
                    seconds[command] = (ContinuousClock.now - start) / .seconds(1)
                    return outcome
                } catch is Subprocess.Late {
                    attempts += 1
                    killed += 1
                    let signal = Int.random(in: 0..<4) == 0 ? SIGINT : SIGKILL
                    process.send(signal)
                    let outcome = try process.finish(within: 60)
                    // It has ended before the signal.
                    if outcome.exitCode < 128 { return outcome }
                    if signal == SIGINT { try checkMessage(outcome) }
                }
            }
        }

        /// Checks that the message of an interrupted command is true.
        private func checkMessage(_ outcome: Tool.Outcome) throws {
            let status = try shop.migrate("status", "--json")
            let state = try MigrationShop.json(
                status, "started ~= moonpool.null and r.started.state")
            let version = try MigrationShop.json(status, "schema_version")
            if outcome.error.contains("all objects are converted") {
                #expect(state == "both", "\(outcome.error)")
            } else if outcome.error.contains("is started") {
                #expect(state == "converting" || state == "both", "\(outcome.error)")
            } else if outcome.error.contains("it was rolled back") {
                #expect(state == "false" && version == "1", "\(outcome.error)")
            } else if outcome.error.contains("it is applied") {
                #expect(state == "false" && version == "2", "\(outcome.error)")
            } else if outcome.output.isEmpty {
                // The command was interrupted before it began its work; otherwise it has printed its report.
                #expect(
                    outcome.error.isEmpty || outcome.error.hasSuffix("interrupted\n"),
                    "\(outcome.error)")
            }
        }

        /// Returns the sorted lines of an export, because the order of creation differs.
        func export(_ store: String, _ version: Int) throws -> [String] {
            try MigrationShop.export(store, "--schema-version", "\(version)")
                .split(separator: "\n").map(String.init).sorted()
        }

        /// Returns the export that a version must have after writes of both writers.
        func model(_ version: Int, _ old: Int, _ new: Int) throws -> [String] {
            let store = shop.folder.path + "/model-\(version)-\(old)-\(new).moonpool"
            try Tool.run(["backup", original, store]).expectSuccess()
            func run(_ words: [String]) throws {
                let outcome = try Tool.run(words, in: shop.folder.path)
                #expect(outcome.exitCode == 0, "\(words): \(outcome.error)")
            }
            try run([scripts["replay"] ?? "", store, "1", "\(old)"])
            if version == 2 { try run(["migrate", "up", store, "--dir", "migrations"]) }
            try run([scripts["replay"] ?? "", store, "2", "\(new)"])
            return try export(store, version)
        }

        /// Ends a writer; returns the number of its writes.
        func end(_ writer: Subprocess) throws -> Int {
            let outcome = try writer.finish(within: 60).expectSuccess()
            let last = outcome.output.split(whereSeparator: \.isNewline).last ?? ""
            return try #require(Int(last.replacing("end\t", with: "")), "\(outcome.output)")
        }

        func expectSound(_ observer: Subprocess) throws {
            let outcome = try observer.finish(within: 60)
            #expect(outcome.output == "ready\nsound\n", "\(outcome.output)\(outcome.error)")
        }

        /// Returns the number of interruptions.
        mutating func run(completes: Bool, _ maximum: Int) throws -> Int {
            let old = try program("writer", 1, until: "stop-writers")
            let oldObserver = try program("observer", 1, until: "stop-old")
            try old.wait(within: 60) { old.output.contains("20\n") }
            try oldObserver.wait(within: 60) { oldObserver.output.contains("ready") }
            try interrupt("start", "--pace", "100", atMost: maximum).expectSuccess()
            let new = try program("writer", 2, until: "stop-writers")
            let newObserver = try program("observer", 2, until: "stop-new")
            try new.wait(within: 60) { new.output.contains("40\n") }
            try newObserver.wait(within: 60) { newObserver.output.contains("ready") }
            let before = old.output.count
            try old.wait(within: 60) { old.output.count > before + 4 }
            _ = try shop.folder.write("", to: "stop-writers")
            let (oldWrites, newWrites) = (try end(old), try end(new))
            let (one, two) = (
                try model(1, oldWrites, newWrites), try model(2, oldWrites, newWrites)
            )
            #expect(try export(shop.store, 1) == one)
            #expect(try export(shop.store, 2) == two)
            _ = try shop.folder.write("", to: completes ? "stop-old" : "stop-new")
            try expectSound(completes ? oldObserver : newObserver)
            let end =
                try completes
                ? interrupt("complete", "--no-backup", atMost: maximum)
                : interrupt("abort", atMost: maximum)
            #expect(
                end.exitCode == 0 || end.error.contains("no migration of"),
                "\(end.error)\(end.output)")
            #expect(try export(shop.store, completes ? 2 : 1) == (completes ? two : one))
            _ = try shop.folder.write("", to: completes ? "stop-new" : "stop-old")
            try expectSound(completes ? newObserver : oldObserver)
            try Tool.run(["check", shop.store]).expectSuccess()
            #expect(try shop.migrate("status", "--json").output.contains("\"started\":null"))
            return killed
        }
    }

    @Test(arguments: [true, false])
    func `both versions have all writes after a migration that was interrupted`(
        completes: Bool
    ) throws {
        var killed = 0
        var seconds: [String: Double] = [:]
        repeat {
            var round = try Round(seconds)
            killed += try round.run(completes: completes, 4)
            seconds = round.seconds
        } while killed < Self.kills / 2
    }
}
