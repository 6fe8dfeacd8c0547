import Testing

@Suite struct HelpWidthTests {
    private static let commands =
        [
            [], ["run"], ["import"], ["export"], ["backup"], ["check"], ["compact"], ["schema"],
            ["stats"], ["luals"], ["lint"], ["transcript"], ["watch"], ["studio"], ["attach"],
            ["migrate"],
        ]
        + [
            "init", "plan", "lint", "test", "up", "status", "check", "down", "undo", "baseline",
            "merge", "repair", "squash",
        ].map { ["migrate", $0] }

    @Test(arguments: [60, 120])
    func `Help of commands fits the window`(columns: Int) throws {
        for command in Self.commands {
            let outcome = try Tool.run(command + ["--help"], environment: ["COLUMNS": "\(columns)"])
                .expectSuccess()
            let name = (["moonpool"] + command).joined(separator: " ")
            #expect(outcome.output.contains("USAGE: \(name)"))
            for line in outcome.lines {
                #expect(line.count <= columns, "moonpool \(command): \(line)")
            }
        }
    }

    @Test(arguments: [60, 120])
    func `Usage errors of commands fit the window`(columns: Int) throws {
        let lines = [
            ["import"], ["export", "a", "b", "--bogus"], ["migrate", "up", "a"], ["-x"],
            ["migrate", "check", "a", "--dir", "b", "--fail-on", "everything"],
        ]
        for words in lines {
            let outcome = try Tool.run(words, environment: ["COLUMNS": "\(columns)"])
            #expect(outcome.exitCode != 0)
            #expect(outcome.output == "")
            let path = Tool.path + ":"
            for line in outcome.error.split(separator: "\n") where !line.contains(path) {
                #expect(line.count <= columns, "moonpool \(words): \(line)")
            }
        }
    }
}
