import Glibc
import Testing

/// The Lua blocks of README.md and of the articles run.
@Suite struct ReadmeTests {
    /// Returns the text of each code block in this language.
    static func blocks(_ language: String, in page: String) throws -> [String] {
        var blocks: [String] = []
        var current: [Substring]?
        let text = try contents(of: "\(Tool.root)/\(page)")
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if let lines = current {
                if line == "```" {
                    blocks.append(lines.joined(separator: "\n") + "\n")
                    current = nil
                } else {
                    current = lines + [line]
                }
            } else if line == "```\(language)" {
                current = []
            }
        }
        return blocks
    }

    /// The DocC catalogs, as paths below the package's folder.
    static let catalogs = TemporaryFolder.names(in: Tool.root + "/Sources").flatMap { module in
        TemporaryFolder.names(in: "\(Tool.root)/Sources/\(module)")
            .filter { $0.hasSuffix(".docc") }.map { "Sources/\(module)/\($0)" }
    }

    /// README.md and the pages of every DocC catalog.
    static let pages =
        ["README.md"]
        + catalogs.flatMap { catalog in
            TemporaryFolder.names(in: "\(Tool.root)/\(catalog)")
                .filter { $0.hasSuffix(".md") }.map { "\(catalog)/\($0)" }
        }

    @Test func `README has at maximum 150 lines`() throws {
        #expect(
            try contents(of: Tool.root + "/README.md").split(
                separator: "\n", omittingEmptySubsequences: false
            ).count <= 151)
    }

    @Test func `every link and picture of README exists`() throws {
        let text = try contents(of: Tool.root + "/README.md")
        let targets = text.matches(of: /\]\(([^)]+)\)/).map { String($0.1) }
        #expect(targets.count > 10)
        for target in targets where !target.hasPrefix("https://") {
            #expect(access("\(Tool.root)/\(target)", R_OK) == 0, "\(target)")
        }
    }

    @Test func `README's first migration has the documented result`() throws {
        let folder = try TemporaryFolder()
        let migration = try #require(
            Self.blocks("lua", in: "README.md").first { $0.contains("m:each") })
        try #require(mkdir(folder.path + "/migrations", 0o755) == 0)
        _ = try folder.write(migration, to: "migrations/0001_full_names.lua")
        let path = folder.path + "/zoo.moonpool"
        try Tool.run(
            script: """
                local dog = { id = "int primary", first = "string", last = "string" }
                local store <close> = moonpool.open { path = arg[1], schema = { Dog = dog } }
                store:write(function() store:create("Dog", { id = 1, first = "Rex", last = "Lee" }) end)
                """, arguments: [path]
        ).expectSuccess()
        let commands = try Self.blocks("sh", in: "README.md").joined().split(separator: "\n")
            .filter { $0.hasPrefix("moonpool migrate") }
        #expect(commands.count == 3)
        for command in commands {
            let words = command.prefix { $0 != "#" }.split(separator: " ").dropFirst()
            let outcome = try Tool.run(words.map(String.init), in: folder.path)
            #expect(outcome.exitCode == 0, "\(command): \(outcome.error)")
        }
        let name = try Tool.run(
            script: "print(moonpool.open(arg[1]):object('Dog', 1).name)", arguments: [path])
        #expect(name.output == "Rex Lee\n", "\(name.error)")
        #expect(TemporaryFolder.names(in: folder.path).contains("zoo.moonpool.backup-0"))
    }

    @Test func `the pages are found`() throws {
        #expect(Self.pages.contains("Sources/ObjectStore/ObjectStore.docc/DataModel.md"))
        #expect(try !Self.blocks("lua", in: "README.md").isEmpty)
    }

    /// The pages whose blocks are complete scripts; the other pages show parts of scripts.
    static let scripts = [
        "README.md", "Sources/ObjectStore/ObjectStore.docc/DataModel.md",
        "Sources/ObjectStore/ObjectStore.docc/Observing.md",
        "Sources/ObjectStore/ObjectStore.docc/History.md",
        "Sources/ObjectStore/ObjectStore.docc/Collections.md",
        "Sources/ObjectStore/ObjectStore.docc/DecimalAndMixedValues.md",
        "Sources/ScriptHost/ScriptHost.docc/NumberedMigrations.md",
        "Sources/Transfer/Transfer.docc/Transfer.md",
        "Sources/ScriptHost/ScriptHost.docc/Workers.md",
        "Sources/Reference/Reference.docc/ComingFromRealm.md",
        "Sources/Reference/Reference.docc/LeavingRealm.md",
    ]

    @Test(arguments: scripts) func `every Lua block runs as a script`(page: String) throws {
        for block in try Self.blocks("lua", in: page) {
            let outcome = try Tool.run(script: block).expectSuccess()
            #expect(outcome.error == "", "\(block)")
        }
    }

    @Test(arguments: pages) func `every Lua block compiles`(page: String) throws {
        let outcome = try Tool.run(
            ["-e", "for block in io.read('a'):gmatch '[^\\0]+' do assert(load(block)) end"],
            input: Self.blocks("lua", in: page).joined(separator: "\0"))
        #expect(outcome.error == "")
    }
}
