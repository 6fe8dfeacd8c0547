import ArgumentParser
import EventLoops
import ScriptHost

/// `moonpool run a.lua b.lua`: several scripts at once, each on a thread of its own.
struct RunScripts: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run several scripts at once, each on a thread of its own.",
        discussion: """
            They share the stores that they open by the same path, or in memory by the same name. The exit code is that of \
            the first script, in the order given, whose code is not 0.
            """)

    @Argument(help: "The scripts.", completion: .file(extensions: ["lua"]))
    var scripts: [String]

    func run() throws {
        let lines = try scripts.map { path throws in
            try LuaCommandLine(["moonpool", "--", path])
        }
        ProcessServices.exit(
            ScriptRunner.run(
                lines.map { line in
                    (
                        ScriptConfiguration(name: ScriptRunner.name(of: line)),
                        { @Sendable context in try RunCommand.runProgram(line, in: context) }
                    )
                }))
    }
}
