import Testing

/// The Lua in README.md runs.
@Suite struct ReadmeTests {
    /// The text of each block that is fenced as this language.
    static func blocks(_ language: String) throws -> [String] {
        var blocks: [String] = []
        var current: [Substring]?
        let text = try contents(of: Tool.root + "/README.md")
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

    @Test func `every Lua block runs as a script`() throws {
        let blocks = try Self.blocks("lua")
        #expect(!blocks.isEmpty)
        for block in blocks {
            let outcome = try Tool.run(script: block)
            #expect(outcome.error == "", "\(block)")
            #expect(outcome.exitCode == 0)
        }
    }
}
