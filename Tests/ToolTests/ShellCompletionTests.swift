import Testing

/// Help for the commands, and shell scripts that complete them.
@Suite struct ShellCompletionTests {
    static let commands = [
        "run", "import", "export", "backup", "check", "compact", "schema", "stats", "luals", "lint",
        "migrate", "transcript", "watch", "studio",
    ]

    @Test func `help shows the help of a command`() throws {
        #expect(try Tool.run(["help", "import"]).output.hasPrefix("OVERVIEW: "))
    }

    @Test func `the general help lists every command once`() throws {
        let outcome = try Tool.run(["--help"]).expectSuccess()
        for command in Self.commands {
            let lines = outcome.lines.filter { $0.hasPrefix("  \(command) ") }
            #expect(lines.count == 1, "\(command)")
        }
        #expect(try Tool.run(["--version"]).output.hasPrefix("Moonpool "))
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `each shell has a completion script`(shell: String) throws {
        let outcome = try Tool.run(["--generate-completion-script", shell]).expectSuccess()
        for command in Self.commands { #expect(outcome.output.contains(command), "\(command)") }
        #expect(try Tool.run(["--generate-completion-script", "nosuchshell"]).exitCode != 0)
    }

    @Test func `bash completes commands, their options, and files`() throws {
        let folder = try TemporaryFolder()
        let script = try folder.write(
            try Tool.run(["--generate-completion-script", "bash"]).output, to: "completion.bash")
        func complete(_ words: [String]) throws -> [String] {
            let line = words.joined(separator: " ")
            let code = """
                source \(script)
                COMP_WORDS=(\(words.map { "'\($0)'" }.joined(separator: " ")))
                COMP_CWORD=\(words.count - 1) COMP_LINE='\(line)' COMP_POINT=\(line.utf8.count)
                _moonpool moonpool '\(words[words.count - 1])' '\(words[words.count - 2])'
                printf '%s\\n' "${COMPREPLY[@]}"
                complete -p moonpool
                """
            return try Subprocess("/bin/bash", ["--norc", "-c", code], in: folder.path).finish()
                .lines
        }
        #expect(try complete(["moonpool", "sch"]).first == "schema")
        #expect(try complete(["moonpool", "stats", "--js"]).contains("--json"))
        #expect(try complete(["moonpool", "schema", "--form"]).contains("--format"))
        #expect(try complete(["moonpool", "x"]).last?.contains("-o default") == true)
    }
}
