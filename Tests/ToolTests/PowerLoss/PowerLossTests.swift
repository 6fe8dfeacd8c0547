import Glibc
import TestThreads
import Testing

/// A power failure at any time loses no acknowledged commit, and leaves every store usable.
///
/// The tool's writes and flushes are recorded. Each image contains all flushed writes, and a random part of the other
/// writes.
@Suite(.enabled(if: FileCalls.compiler != nil, "needs a C compiler"))
struct PowerLossTests {
    /// Writer `arg[2]` increments its count up to `arg[3]`, once per commit, and also changes items with links,
    /// collections and long texts.
    ///
    /// After each `arg[5]` commits, it renames the log.
    private static let writer = """
        local path, writer, last, durability = arg[1], tonumber(arg[2]), tonumber(arg[3]), arg[4]
        local period = tonumber(arg[5] or last)
        local store = moonpool.open { path = path, durability = durability, schema = {
          Writer = { id = "int primary", count = "int", sum = "int", log = "int[]" },
          Item = { id = "int primary", value = "int indexed", text = "string", before = "Item",
            tags = "string<>", numbers = "int{}" },
        } }
        local own = store:object("Writer", writer)
        for step = (own and own.count or 0) + 1, last do
          store:write(function()
            own = own or store:create("Writer", { id = writer, count = 0, sum = 0 })
            assert(own.count == step - 1, "a commit is missing")
            own.count = step
            own.sum = own.sum + step
            own.log:append(step)
            if #own.log > 50 then own.log:remove(1) end
            local id = writer * 1000000 + step
            local text = step % 37 == 0 and ("x"):rep(step * 977 % 60000) or "t" .. step
            store:create("Item", { id = id, value = step * 7 % 1000, text = text, before = store:object("Item", id - 1),
              tags = { "a" .. step % 5, "b" }, numbers = { step = step } })
            local older = store:object("Item", id - step % 9)
            if step % 3 == 0 and older then older.tags:add("changed") end
            local oldest = step % 5 == 0 and store:object("Item", id - 20)
            if oldest then store:delete(oldest) end
          end)
          os.getenv("ACKNOWLEDGE:" .. writer * 1000000 + step)
          if step % period == 0 and step < last then os.rename(path .. "-log", path .. ".away") end
          if step % 60 == 0 then moonpool.sleep(0.15) end
        end
        store:close()
        """

    /// Prints, for each folder of a list, the counts of both writers, and "sound" or the inconsistency.
    private static let checker = """
        for folder in io.lines(arg[2]) do
          local counts = {}
          local ok, message = pcall(function()
            local store = moonpool.open(folder .. "/" .. arg[1])
            if store:schema().Writer then
              local expected = 0
              for writer in store:objects "Writer":each() do
                local count = writer.count
                counts[#counts + 1] = writer.id .. "=" .. count
                assert(writer.sum == count * (count + 1) // 2, "sum")
                assert(#writer.log == math.min(count, 50) and writer.log:last() == count, "log")
                for step = 1, count do
                  local item = store:object("Item", writer.id * 1000000 + step)
                  local isDeleted = step % 5 == 0 and step + 20 <= count
                  assert((item == nil) == isDeleted, "item " .. step)
                  if item then
                    expected = expected + 1
                    assert(item.value == step * 7 % 1000 and item.numbers.step == step, "value of " .. step)
                    assert(item.before == nil or item.before.id == item.id - 1, "link of " .. step)
                    assert(item.tags:contains("b"), "tags of " .. step)
                  end
                end
              end
              assert(#store:objects "Item" == expected, "items")
              assert(#store:objects "Item":where "value >= 0" == expected, "index")
            end
            store:define { Probe = { id = "int primary" } }
            store:write(function() store:create("Probe", { id = 1 }) end)
            store:close()
          end)
          print(folder .. "\\t" .. table.concat(counts, " ") .. "\\t" .. (ok and "sound" or tostring(message):gsub("%s+", " ")))
        end
        """

    /// The counts of the writers in a line of the checker, and the error; nil for no error.
    private func parse(_ line: String) -> (counts: [Int: Int], fault: String?) {
        let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
        var counts: [Int: Int] = [:]
        for word in parts[0].split(separator: " ") {
            let sides = word.split(separator: "=").compactMap { Int($0) }
            if sides.count == 2 { counts[sides[0]] = sides[1] }
        }
        let state = parts.count > 1 ? String(parts[1]) : "no state"
        return (counts, state == "sound" ? nil : state)
    }

    /// Verifies images of a store that writers have changed; the commits of `waiting` writers are durable when they
    /// return.
    ///
    /// The store has at least the commits `atLeast`; if `isResumed` is true, they are from before the recording.
    /// `isWhole` returns whether the store of an image must be complete.
    private func verify(
        _ experiment: PowerLossExperiment, _ trace: WriteTrace,
        count: Int = PowerLossExperiment.count,
        seed: UInt64, waiting: Set<Int>, atLeast: [Int: Int] = [:], isResumed: Bool = false,
        isWhole: (PowerLossExperiment.Image) -> Bool = { _ in true }
    ) throws {
        let script = try experiment.folder.write(Self.checker, to: "checker.lua")
        var random = SeededGenerator(seed: seed &+ 1)
        try experiment.inspect(trace, count: count, seed: seed) { images in
            var pristine: [String: String] = [:]
            for image in images { pristine[image.folder] = try experiment.copy(image) }
            let results = try experiment.results(of: script, on: "a.moonpool", images)
            for image in images where isWhole(image) {
                func fault(_ what: String) {
                    experiment.fault(image, pristine[image.folder], what)
                }
                var acknowledged = atLeast
                for (writer, number) in image.acknowledged {
                    acknowledged[writer] = max(number, acknowledged[writer] ?? 0)
                }
                guard image.names.contains("a.moonpool") else {
                    if acknowledged.contains(where: { waiting.contains($0.key) && $0.value > 0 }) {
                        fault("the store is missing")
                    }
                    continue
                }
                guard let line = results[image.folder] else {
                    fault("nothing was printed")
                    continue
                }
                let (counts, wrong) = parse(line)
                if let wrong { fault(wrong) }
                for writer in Set(acknowledged.keys).union(counts.keys) {
                    let found = counts[writer] ?? 0
                    let promised = acknowledged[writer] ?? 0
                    if waiting.contains(writer), found < promised {
                        fault("writer \(writer): \(found) of \(promised) commits")
                    }
                    // A resumed writer begins after a commit that may not be acknowledged.
                    let isFirst = isResumed && image.acknowledged[writer] == nil
                    if found > promised + (isFirst ? 2 : 1) {
                        fault("writer \(writer): \(found) commits, \(promised) acknowledged")
                    }
                }
                if Int.random(in: 0..<4, using: &random) == 0 {
                    let checked = try Tool.run(["check", image.folder + "/a.moonpool"])
                    if checked.exitCode != 0 { fault("check: \(checked.output)\(checked.error)") }
                }
            }
        }
    }

    /// Runs writers with the given durabilities on the same store at the same time, and records the writes.
    ///
    /// The first writer renames the log whenever it has made `period` commits.
    private func write(
        _ durabilities: [String], commits: Int, period: Int? = nil
    ) throws -> PowerLossExperiment {
        let experiment = try PowerLossExperiment()
        let script = try experiment.folder.write(Self.writer, to: "writer.lua")
        let store = experiment.device + "/a.moonpool"
        let writers = try durabilities.enumerated().map { index, durability in
            try experiment.start(
                [script, store, "\(index + 1)", "\(commits)", durability]
                    + (index == 0 ? period.map { ["\($0)"] } ?? [] : []))
        }
        for writer in writers {
            let outcome = try writer.finish(within: 300)
            try #require(outcome.exitCode == 0, "\(outcome.error)")
        }
        return experiment
    }

    @Test(arguments: [
        ["full"], ["async"], ["full", "full"], ["full", "async"], ["async", "async"],
    ])
    func `acknowledged commits of writers are on the device`(_ durabilities: [String]) throws {
        let experiment = try write(durabilities, commits: durabilities.count == 1 ? 120 : 60)
        let waiting = durabilities.indices.filter { durabilities[$0] == "full" }.map { $0 + 1 }
        try verify(experiment, experiment.trace(), seed: 1, waiting: Set(waiting))
    }

    @Test(arguments: [["full"], ["full", "full"], ["full", "async"]])
    func `acknowledged commits after the log was renamed are on the device`(
        _ durabilities: [String]
    ) throws {
        let period = 7
        let experiment = try write(durabilities, commits: 60, period: period)
        let waiting = durabilities.indices.filter { durabilities[$0] == "full" }.map { $0 + 1 }
        // Until the next commit, the device has no log.
        try verify(experiment, experiment.trace(), seed: 6, waiting: Set(waiting)) {
            $0.acknowledged[1, default: 0] % period != 0
        }
    }

    @Test func `a new store is missing, empty or complete`() throws {
        let experiment = try write(["full"], commits: 3)
        try verify(experiment, experiment.trace(), seed: 2, waiting: [1])
    }

    @Test func `a power failure during recovery loses nothing`() throws {
        let first = try write(["full"], commits: 120)
        let trace = try first.trace()
        let script = try first.folder.write(Self.writer, to: "writer.lua")
        let rounds = max(1, PowerLossExperiment.count / 8)
        var seed: UInt64 = 3
        try first.inspect(trace, count: rounds, seed: seed) { images in
            for image in images where image.names.contains("a.moonpool") {
                let second = try PowerLossExperiment { device in
                    for name in image.names {
                        let copying = try Subprocess(
                            "/bin/cp", [image.folder + "/" + name, device + "/" + name])
                        try #require(copying.finish().exitCode == 0)
                    }
                }
                // Recovers the store and continues from there.
                try second.run([script, second.device + "/a.moonpool", "1", "125", "full"])
                seed += 1
                try verify(
                    second, second.trace(), count: 8, seed: seed, waiting: [1],
                    atLeast: image.acknowledged, isResumed: true)
            }
        }
    }

    // MARK: Operations on complete files

    private static let peopleCount = 1500

    private static let people = """
        local store = moonpool.open { path = arg[1], durability = "full", schema_version = 1,
          schema = { Person = { id = "int primary", first = "string", last = "string" } } }
        for part = 0, 4 do
          store:write(function()
            for id = part * 300 + 1, part * 300 + 300 do
              store:create("Person", { id = id, first = "F" .. id, last = ("L"):rep(id % 90) })
            end
          end)
        end
        store:write(function() store:delete(store:objects "Person":where "id > \(peopleCount - 100)") end)
        store:close()
        """

    /// Prints, for each folder of a list, "before", "after", or the inconsistency.
    private static let peopleChecker = """
        for folder in io.lines(arg[2]) do
          local ok, state = pcall(function()
            local store = moonpool.open(folder .. "/" .. arg[1])
            local people = store:objects "Person"
            assert(#people == \(peopleCount - 100), "people")
            local isMigrated = store:schema().Person.name ~= nil
            for person in people:each() do
              local last = ("L"):rep(person.id % 90)
              if isMigrated then
                assert(person.name == "F" .. person.id .. " " .. last, "name of " .. person.id)
              else
                assert(person.first == "F" .. person.id and person.last == last, "person " .. person.id)
              end
            end
            store:write(function() store:delete(people:first()) end)
            store:close()
            return isMigrated and "after" or "before"
          end)
          print(folder .. "\\t" .. tostring(state):gsub("%s+", " "))
        end
        """

    private func people() throws -> PowerLossExperiment {
        try PowerLossExperiment { device in
            let filled = try Tool.run(script: Self.people, arguments: [device + "/a.moonpool"])
            try #require(filled.exitCode == 0, "\(filled.error)")
        }
    }

    /// The states of a file, by image, if the image has the file; `check` has already verified some of them.
    private func states(
        _ experiment: PowerLossExperiment, _ images: [PowerLossExperiment.Image], of name: String
    ) throws -> [String: String] {
        let script = try experiment.folder.write(Self.peopleChecker, to: "people.lua")
        return try experiment.results(of: script, on: name, images)
    }

    @Test(arguments: ["compact", "backup"])
    func `a store and its copy are complete after any power failure`(command: String) throws {
        let experiment = try people()
        let store = experiment.device + "/a.moonpool"
        let copy = command == "backup" ? [experiment.device + "/b.moonpool"] : []
        try experiment.run([command, store] + copy)
        var trace = try experiment.trace()
        trace.acknowledge(1)
        try experiment.inspect(trace, seed: 4) { images in
            let originals = try states(experiment, images, of: "a.moonpool")
            let copies = try states(experiment, images, of: "b.moonpool")
            for image in images {
                if originals[image.folder] != "before" {
                    experiment.fault(
                        image, nil, "the store is \(originals[image.folder] ?? "missing")")
                }
                let hasCopy = image.names.contains("b.moonpool")
                if hasCopy, copies[image.folder] != "before" {
                    experiment.fault(image, nil, "the copy is \(copies[image.folder] ?? "missing")")
                }
                if !copy.isEmpty, image.acknowledged[0] == 1, !hasCopy {
                    experiment.fault(image, nil, "the copy is missing")
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func `a store has its content before or after its migration`(hasBackup: Bool) throws {
        let experiment = try people()
        mkdir(experiment.folder.path + "/migrations", 0o755)
        _ = try experiment.folder.write(
            """
            return {
              schema = { Person = { id = "int primary", first = "string", last = "string" } },
            }
            """, to: "migrations/0001_people.lua")
        _ = try experiment.folder.write(
            """
            return {
              schema = { Person = { id = "int primary", name = "string indexed" } },
              drops = { "Person.first", "Person.last" },
              up = function(m)
                m:each("Person", function(old, new) new.name = old.first .. " " .. old.last end)
              end,
            }
            """, to: "migrations/0002_names.lua")
        let store = experiment.device + "/a.moonpool"
        try experiment.run(["migrate", "baseline", store, "--dir", "migrations", "--to", "1"])
        try experiment.run(
            ["migrate", "up", store, "--dir", "migrations"] + (hasBackup ? [] : ["--no-backup"]))
        var trace = try experiment.trace()
        trace.acknowledge(1)
        try experiment.inspect(trace, seed: 5) { images in
            let found = try states(experiment, images, of: "a.moonpool")
            let backups = Set(images.flatMap(\.names)).filter {
                $0.hasSuffix(".moonpool") && $0 != "a.moonpool"
            }
            for image in images {
                let state = found[image.folder] ?? "missing"
                if state != "after", state != "before" || image.acknowledged[0] == 1 {
                    experiment.fault(image, nil, "the store is \(state)")
                }
            }
            for backup in backups.sorted() {
                for (folder, state) in try states(experiment, images, of: backup)
                where state != "before" {
                    Issue.record("\(folder): the backup is \(state)")
                }
            }
        }
    }
}
