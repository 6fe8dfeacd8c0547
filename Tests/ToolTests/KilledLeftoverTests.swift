import Glibc
import Testing

/// A killed process leaves no files, or files that the next process with the same work removes.
///
/// `MOONPOOL_KILLS=100` kills 100 processes for each kind of work.
@Suite struct KilledLeftoverTests {
    private static let rounds =
        getenv("MOONPOOL_KILLS").flatMap { Int(String(cString: $0)) } ?? 3

    /// A kind of work, and the files in its folder when it is complete.
    struct Work: CustomTestStringConvertible {
        let name: String
        let arguments: [String]
        var input = ""
        let files: [String]
        var testDescription: String { name }
    }

    private static let kept = ["kept.moonpool", "kept.moonpool-lock", "migrations"]

    static let works = [
        Work(
            name: "a store in memory",
            arguments: [
                "-e",
                """
                for number = 1, 20 do
                  local store = moonpool.open { in_memory = "m" .. number, schema = { Dog = { id = "int primary" } } }
                  store:write(function() store:create("Dog", { id = number }) end)
                  store:close()
                end
                """,
            ], files: kept),
        Work(
            name: "earlier versions",
            arguments: [
                "-e",
                """
                local store = moonpool.open(arg[1])
                for version = store.version, store.version - 3, -1 do
                  local past = store:at(version)
                  assert(#past:objects "Entry" >= 0)
                end
                """, "-", "kept.moonpool",
            ], files: kept),
        Work(
            name: "a backup", arguments: ["backup", "kept.moonpool", "copy.moonpool", "--force"],
            files: ["copy.moonpool"] + kept),
        Work(name: "compaction", arguments: ["compact", "kept.moonpool"], files: kept),
        Work(
            name: "an export", arguments: ["export", "kept.moonpool", "out.json"],
            files: kept + ["out.json"]),
        Work(
            name: "an export to SQLite", arguments: ["export", "kept.moonpool", "out.sqlite"],
            files: kept + ["out.sqlite"]),
        Work(
            name: "an import from a pipe",
            arguments: ["import", "kept.moonpool", "-", "--class", "Row", "--format", "csv"],
            input: "a,b\n" + (0..<3000).map { "\($0),x\($0)\n" }.joined(), files: kept),
        Work(
            name: "creation",
            arguments: [
                "-e", "moonpool.open { path = arg[1], schema = { Dog = { id = 'int' } } }:close()",
                "-", "new.moonpool",
            ], files: kept + ["new.moonpool", "new.moonpool-lock"]),
        Work(
            name: "a rehearsal of migrations",
            arguments: ["migrate", "up", "kept.moonpool", "--dir", "migrations", "--dry-run"],
            files: kept),
    ]

    private func fill(_ folder: TemporaryFolder) throws {
        mkdir(folder.path + "/migrations", 0o755)
        _ = try folder.write(
            """
            return {
              schema = { Entry = { id = "int primary", text = "string", size = "int" } },
              up = function(m)
                m:each("Entry", function(old, new) new.size = #old.text end)
              end,
            }
            """, to: "migrations/0001_size.lua")
        let outcome = try Tool.lua(
            """
            local store = moonpool.open {
              path = arg[1], schema = { Entry = { id = "int primary", text = "string" } },
            }
            for round = 1, 5 do
              store:write(function()
                for id = 1, 300 do
                  store:create("Entry", { id = round * 1000 + id, text = ("x"):rep(id) })
                end
              end)
            end
            store:close()
            """, "kept.moonpool", in: folder.path)
        try #require(outcome.exitCode == 0, "\(outcome.error)")
    }

    @Test(arguments: works)
    func `the next process removes the files of a killed one`(work: Work) throws {
        let folder = try TemporaryFolder()
        let temporary = try TemporaryFolder()
        try fill(folder)
        let environment = ["TMPDIR": temporary.path]
        var random = SystemRandomNumberGenerator()
        for _ in 1...Self.rounds {
            for ending in ["", "-lock", "-log"] { unlink(folder.path + "/new.moonpool" + ending) }
            let process = try Subprocess(
                Tool.path, work.arguments, in: folder.path, environment: environment,
                input: work.input)
            usleep(UInt32.random(in: 0...150_000, using: &random))
            try process.kill()
        }
        try Tool.run(work.arguments, input: work.input, in: folder.path, environment: environment)
            .expectSuccess()
        #expect(TemporaryFolder.names(in: folder.path) == work.files.sorted())
        try Tool.run(Self.works[0].arguments, environment: environment).expectSuccess()
        #expect(TemporaryFolder.names(in: temporary.path) == [])
    }

    /// The files that a kill leaves between two calls, which random kills rarely hit.
    @Test func `abandoned drafts and work folders are removed, others stay`() throws {
        let folder = try TemporaryFolder()
        let temporary = try TemporaryFolder()
        try fill(folder)
        let (abandoned, used) = ("abcdefghijklmnop", "ponmlkjihgfedcba")
        var locks: [Int32] = []
        defer { for lock in locks { close(lock) } }
        for name in [abandoned, used] {
            for path in [
                "\(temporary.path)/moonpool-\(name)", folder.path + "/kept.moonpool.work-\(name)",
            ] {
                mkdir(path, 0o700)
                symlink("/nowhere", path + "/store")
                symlink("/nowhere", path + "/store-lock")
                if name == used { locks.append(open(path, O_RDONLY | O_DIRECTORY)) }
            }
            for draft in ["out.json.\(name).part", "copy.moonpool.copy-\(name)"] {
                let path = try folder.write("half", to: draft)
                if name == used { locks.append(open(path, O_RDONLY)) }
            }
        }
        for lock in locks { try #require(flock(lock, LOCK_EX | LOCK_NB) == 0) }
        for arguments in [
            ["export", "kept.moonpool", "out.json"], ["backup", "kept.moonpool", "copy.moonpool"],
            ["migrate", "up", "kept.moonpool", "--dir", "migrations", "--dry-run"],
            Self.works[0].arguments,
        ] {
            try Tool.run(arguments, in: folder.path, environment: ["TMPDIR": temporary.path])
                .expectSuccess()
        }
        #expect(TemporaryFolder.names(in: temporary.path) == ["moonpool-\(used)"])
        let names = TemporaryFolder.names(in: folder.path)
        #expect(names.filter { $0.contains(abandoned) } == [])
        #expect(
            names.filter { $0.contains(used) } == [
                "copy.moonpool.copy-\(used)", "kept.moonpool.work-\(used)",
                "out.json.\(used).part",
            ])
    }
}
