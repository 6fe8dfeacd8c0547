import Glibc
import TestServers
import Testing

/// Work on files that ends at any system call, or in which one call fails, leaves the state before or after the work.
///
/// With `MOONPOOL_INTERRUPTIONS=all`, as in `scripts/check --long`, every call of each work is tested, otherwise a few.
@Suite(.enabled(if: FileCalls.compiler != nil, "needs a C compiler"))
struct InterruptedFileWorkTests {
    enum Work: String, CaseIterable {
        case compact, backup, migrate, undo, follow, rebuild

        var needsServer: Bool { self == .follow || self == .rebuild }
    }

    private static let works = Work.allCases.filter { !$0.needsServer || NatsServer.isInstalled }
    private static let testsAll = getenv("MOONPOOL_INTERRUPTIONS") != nil
    private static let count = 3

    @Test(arguments: works)
    func `killed work leaves the state before or after it`(work: Work) throws {
        try interrupt(work, error: nil)
    }

    // A few calls are tested only for work that makes the same calls in each run.
    @Test(arguments: testsAll ? works : [.compact, .backup], testsAll ? [EIO, ENOSPC] : [EIO])
    func `work in which a call fails leaves the state before or after it`(work: Work, error: Int32)
        throws
    {
        try interrupt(work, error: error)
    }

    private func interrupt(_ work: Work, error: Int32?) throws {
        let scene = try Scene(work, error)
        let whole = try scene.run(0)
        try #require(whole.outcome.exitCode == 0, "\(whole.outcome.error)")
        let total = try scene.calls()
        try #require(total > 10)
        let positions =
            Self.testsAll ? Array(1...total) : (1...Self.count).map { total * $0 / Self.count }
        var runs: [Scene.Run] = []
        for position in positions {
            let run = try scene.run(position)
            runs.append(run)
            let outcome = run.outcome
            if error == nil {
                // Threads that work in the background do not always reach the last calls.
                #expect(outcome.exitCode == 137 || outcome.exitCode == 0, "call \(position)")
            } else {
                #expect([0, 1].contains(outcome.exitCode), "call \(position): \(outcome.error)")
                #expect(outcome.exitCode == 0 || outcome.error != "", "call \(position)")
            }
            for file in scene.stores where access(run.folder + file, F_OK) == 0 {
                let checked = try Tool.run(["check", run.folder + file])
                #expect(
                    checked.exitCode == 0,
                    "call \(position): \(outcome.error)\(checked.output)\(checked.error)")
            }
        }
        let before = try scene.states(of: [scene.template])[0]
        let after = try scene.states(of: [whole.folder])[0]
        #expect(before != after || work == .compact)
        let states = try scene.states(of: runs.map(\.folder))
        for (run, state) in zip(runs, states) {
            let isDone = run.outcome.exitCode == 0
            #expect(
                state == after || !isDone && state == before,
                "call \(run.position): \(run.outcome.error)")
        }
        // The same work succeeds afterward, and removes what the interrupted process has left.
        let again = try zip(runs, states).filter { work != .undo || $1 == before }.map {
            try scene.complete($0.0)
        }
        for (run, state) in zip(again, try scene.states(of: again.map(\.folder))) {
            #expect(state == after, "call \(run.position): \(run.outcome.error)")
            let left = TemporaryFolder.names(in: run.folder).filter {
                $0.contains(".copy-") || $0.contains(".work-") || $0.hasSuffix(".part")
            }
            #expect(left == [], "call \(run.position)")
        }
    }
}

/// A folder with the state before some work, and copies of it in which the work is interrupted.
private final class Scene {
    struct Run {
        let position: Int
        let folder: String
        let outcome: Tool.Outcome
    }

    let stores: [String]
    var template: String { folder.path + "/template/" }
    private let folder: TemporaryFolder
    private let words: [String]
    private let library: String
    private let error: Int32?
    private let server: NatsServer?
    private let reader: String

    private static let fill = """
        local store = moonpool.open { path = arg[1], schema = { Dog = { id = "int primary", first = "string" } } }
        for round = 1, 3 do
          store:write(function()
            store:delete_all "Dog"
            for id = 1, 200 do store:create("Dog", { id = id, first = arg[2] .. ("x"):rep(id) }) end
          end)
        end
        store:close()
        """

    /// Prints the content of the store with the name `arg[1]` in each of a list of folders: a line each.
    private static let read = """
        for folder in io.lines(arg[2]) do
          local ok, state = pcall(function()
            local file = io.open(folder .. arg[1])
            if not file or file:seek "end" == 0 then return "nothing" end
            local store = moonpool.open(folder .. arg[1])
            if not store:schema().Dog then return "nothing" end
            local parts = { tostring(store.schema_version) }
            for dog in store:objects "Dog":each() do
              parts[#parts + 1] = dog.id .. "=" .. (store.schema_version == 2 and dog.name or dog.first)
            end
            store:close()
            return table.concat(parts, " ")
          end)
          print((tostring(state):gsub("%s+", " ")))
        end
        """

    private static let migrations = [
        """
        return { schema = { Dog = { id = "int primary", first = "string" } } }
        """,
        """
        return {
          schema = { Dog = { id = "int primary", name = "string" } },
          drops = { "Dog.first" },
          up = function(m) m:each("Dog", function(old, new) new.name = old.first .. "!" end) end,
          down = function(m) m:each("Dog", function(old, new) new.first = old.name:sub(1, -2) end) end,
        }
        """,
    ]

    init(_ work: InterruptedFileWorkTests.Work, _ error: Int32?) throws {
        self.error = error
        folder = try TemporaryFolder()
        library = try FileCalls.compile(in: folder)
        reader = try folder.write(Self.read, to: "read.lua")
        let (home, template) = (folder.path, folder.path + "/template/")
        mkdir(template, 0o755)
        let fill = try folder.write(Self.fill, to: "fill.lua")
        func run(_ words: [String]) throws {
            let outcome = try Tool.run(words, in: template)
            try #require(outcome.exitCode == 0, "\(words): \(outcome.error)")
        }
        let (zoo, copy) = ("zoo.moonpool", "copy.moonpool")
        var server: NatsServer?
        switch work {
        case .compact:
            try run([fill, zoo, "new"])
            (stores, words) = ([zoo], ["compact", zoo])
        case .backup:
            try run([fill, zoo, "new"])
            try run([fill, copy, "old"])
            (stores, words) = ([copy, zoo], ["backup", zoo, copy, "--force"])
        case .migrate, .undo:
            mkdir(template + "migrations", 0o755)
            for (number, text) in zip(1..., Self.migrations) {
                _ = try folder.write(text, to: "template/migrations/000\(number)_dogs.lua")
            }
            try run(["migrate", "up", zoo, "--dir", "migrations", "--to", "1"])
            try run([
                "-e",
                "local s = moonpool.open(arg[1]) s:write(function() for id = 1, 200 do "
                    + "s:create('Dog', { id = id, first = 'dog ' .. id }) end end)", "-", zoo,
            ])
            if work == .undo { try run(["migrate", "up", zoo, "--dir", "migrations"]) }
            let verb = work == .undo ? "undo" : "up"
            (stores, words) = ([zoo], ["migrate", verb, zoo, "--dir", "migrations"])
        case .follow, .rebuild:
            let started = try NatsServer()
            server = started
            try run([fill, home + "/zoo.moonpool", "new"])
            try run([
                "publish", home + "/zoo.moonpool", started.address, "--stream", "zoo", "--once",
            ])
            if work == .rebuild { try run([fill, copy, "old"]) }
            stores = [copy]
            words =
                ["follow", started.address, copy, "--stream", "zoo", "--once", "--fail-fast"]
                + (work == .rebuild ? ["--rebuild"] : [])
        }
        self.server = server
    }

    /// Runs the work in a new copy of the folder, and interrupts it before a call; 0 does not interrupt it.
    func run(_ position: Int) throws -> Run {
        let target = "\(folder.path)/run-\(position)/"
        let copying = try Subprocess("/bin/cp", ["-r", template, target]).finish()
        try #require(copying.exitCode == 0)
        let counter = folder.path + "/count"
        unlink(counter)
        var environment = [
            "LD_PRELOAD": library, "FILECALLS_FOLDER": target, "FILECALLS_COUNT": counter,
            "FILECALLS_AT": "\(position)",
        ]
        if let error {
            environment["FILECALLS_ERROR"] = "\(error)"
            environment["FILECALLS_KIND"] = "all"
        }
        return Run(
            position: position, folder: target,
            outcome: try Tool.run(words(in: target), in: target, environment: environment))
    }

    /// Does the work again, without an interruption.
    func complete(_ run: Run) throws -> Run {
        let outcome = try Tool.run(words(in: run.folder), in: run.folder)
        return Run(position: run.position, folder: run.folder, outcome: outcome)
    }

    private func words(in target: String) -> [String] {
        words.map { $0.hasSuffix(".moonpool") || $0 == "migrations" ? target + $0 : $0 }
    }

    /// The number of calls of the last run.
    func calls() throws -> Int { try FileCalls.count(folder.path + "/count") }

    /// The contents of the first store in each folder.
    func states(of folders: [String]) throws -> [String] {
        let list = try folder.write(folders.joined(separator: "\n") + "\n", to: "list")
        let outcome = try Tool.run([reader, stores[0], list])
        try #require(outcome.lines.count == folders.count, "\(outcome.error)")
        return outcome.lines
    }
}
