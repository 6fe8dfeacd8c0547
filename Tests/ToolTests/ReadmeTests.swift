import Testing

/// The Lua in README.md, and in the articles of the documentation, runs.
@Suite struct ReadmeTests {
    /// The text of each block that is fenced as this language.
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

    /// README.md and the pages of every documentation catalogue.
    static let pages =
        ["README.md"]
        + TemporaryFolder.names(in: Tool.root + "/Sources").flatMap { module in
            let catalogue = "Sources/\(module)/\(module).docc"
            return TemporaryFolder.names(in: "\(Tool.root)/\(catalogue)")
                .filter { $0.hasSuffix(".md") }.map { "\(catalogue)/\($0)" }
        }

    @Test func `the pages are found`() throws {
        #expect(Self.pages.contains("Sources/ObjectStore/ObjectStore.docc/DataModel.md"))
        #expect(try !Self.blocks("lua", in: "README.md").isEmpty)
    }

    /// The pages whose blocks are scripts that run by themselves; the others show parts of scripts.
    static let scripts = [
        "README.md", "Sources/ObjectStore/ObjectStore.docc/DataModel.md",
        "Sources/ScriptHost/ScriptHost.docc/NumberedMigrations.md",
        "Sources/Transfer/Transfer.docc/Transfer.md",
        "Sources/ScriptHost/ScriptHost.docc/Workers.md",
        "Sources/Reference/Reference.docc/ComingFromRealm.md",
    ]

    @Test(arguments: scripts) func `every Lua block runs as a script`(page: String) throws {
        for block in try Self.blocks("lua", in: page) {
            let outcome = try Tool.run(script: block)
            #expect(outcome.error == "", "\(block)")
            #expect(outcome.exitCode == 0)
        }
    }

    @Test(arguments: pages) func `every Lua block compiles`(page: String) throws {
        for block in try Self.blocks("lua", in: page) {
            let outcome = try Tool.run(["-e", "assert(load(io.read 'a'))"], input: block)
            #expect(outcome.error == "", "\(block)")
        }
    }
}
