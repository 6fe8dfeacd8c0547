import Glibc
import Testing

/// Threads and processes make random writes, and observers of every kind check each call.
///
/// `MOONPOOL_CHANGES=1000000` sets the total number of changes.
@Suite struct RandomObserverTests {
    private static let wanted = getenv("MOONPOOL_CHANGES").flatMap { Int(String(cString: $0)) }

    @Test func `observers on all threads of two processes receive exactly the changes`() throws {
        let folder = try TemporaryFolder()
        let store = folder.path + "/random.moonpool"
        let writer = try folder.write(RandomObserverScripts.writer, to: "writer.lua")
        let observer = try folder.write(RandomObserverScripts.observer, to: "observer.lua")
        let total = Self.wanted ?? 1500
        let seconds = max(240, Double(total) / 50)
        func variables(_ seed: Int) -> [String: String] {
            [
                "STORE": store, "SEED": "\(seed)", "CHANGES": "\(total / 3)", "PARTIES": "6",
                "ROUNDS": "\(max(20, total / 2500))", "SECONDS": "60",
            ]
        }
        let seed = Int.random(in: 1...1_000_000)
        // The first process has two observing threads and a writing thread, the second process has one of each, and the
        // third process only writes.
        let observers = try [[observer, observer], [observer]].enumerated().map { index, scripts in
            return try Subprocess(
                Tool.path, ["run"] + scripts + [writer], environment: variables(seed + index),
                until: "ready")
        }
        let alone = try Subprocess(Tool.path, [writer], environment: variables(seed + 7))
        let written = try alone.finish(within: seconds)
        #expect(written.exitCode == 0, "seed \(seed): \(written.error)")
        for process in observers {
            let outcome = try process.finish(within: seconds)
            // A writer that waits for the others longer than a second says so.
            let errors = outcome.error.split(separator: "\n").filter {
                !$0.contains("hint: waiting for ")
            }
            #expect(
                outcome.exitCode == 0 && !outcome.output.contains("PROBLEM") && errors.isEmpty,
                "seed \(seed): \(outcome.output)\(outcome.error)")
            if Self.wanted != nil { print(outcome.output) }
        }
        let checked = try Tool.run(["check", store])
        #expect(checked.exitCode == 0, "seed \(seed): \(checked.output)\(checked.error)")
    }

    @Test func `killed processes leave no reader, no lock, and no waiting observer`() throws {
        let folder = try TemporaryFolder()
        let store = folder.path + "/killed.moonpool"
        let open = """
            local store = moonpool.open {
              path = arg[1], durability = "memory", schema = { Entry = { id = "int primary" } },
            }

            """
        let observer = try folder.write(
            open + """
                local seen, last = 0, nil
                local entries = store:objects "Entry"
                local token
                token = entries:observe(function(change)
                  if change.type == "initial" then print("ready") io.flush() end
                  assert(seen + #change.insertions == #entries, "missed one")
                  seen = #entries
                  if store:object("Entry", -1) then
                    -- A killed process no longer holds locks; the last process still runs, at its commit or before it.
                    for _, pin in ipairs(store:pins()) do
                      if pin.version < store.version - 1 then print(pin.kind, pin.version) end
                    end
                    print("seen all of " .. seen)
                    token:invalidate()
                  end
                end)
                """, to: "observer.lua")
        let writer = try folder.write(
            open + """
                local held = store:freeze()
                while true do
                  -- Counted in the write: what a killed process committed last may show only there.
                  local id = store:write(function()
                    return store:create("Entry", { id = #store:objects "Entry" + 1 }).id
                  end)
                  io.write(id, "\\n")
                  io.flush()
                end
                """, to: "writer.lua")
        let observing = try Subprocess(Tool.path, [observer, store], until: "ready")
        for _ in 1...5 {
            let process = try Subprocess(Tool.path, [writer, store])
            let enough = Int.random(in: 1...40)
            try process.wait { process.output.utf8.count { $0 == 10 } >= enough }
            try process.kill()
        }
        let last = try folder.write(
            open + "store:write(function() store:create(\"Entry\", { id = -1 }) end)",
            to: "last.lua")
        try Tool.run([last, store]).expectSuccess()
        let outcome = try observing.finish().expectSuccess()
        #expect(outcome.lines.last?.hasPrefix("seen all of") == true)
        #expect(!outcome.output.contains("process"))
    }
}
