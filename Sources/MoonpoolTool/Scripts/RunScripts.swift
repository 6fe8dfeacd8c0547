import ArgumentParser
import EventLoops
import REPL
import ScriptHost

/// `moonpool run a.lua b.lua`: several scripts at once, each on a thread of its own.
struct RunScripts: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run several scripts at once, each on a thread of its own.",
        discussion: """
            They share the stores that they open by the same path, or in memory by the same name. The exit code is that of \
            the first script, in the order given, whose code is not 0. Each call of print is written in one piece. \
            Ctrl-C stops them all. What confines a script holds for each of them: each has so much memory and time.
            """)

    @Flag(help: "Begin each line that print writes with the name of its script, such as [zoo].")
    var labels = false

    @OptionGroup(title: "Confining options") var host: HostOptionGroup

    @Argument(help: "The scripts.", completion: .file(extensions: ["lua"]))
    var scripts: [String]

    func run() throws {
        let options = try host.options
        let lines = try scripts.map { path throws in
            try LuaCommandLine(["moonpool", "--", path])
        }
        ProcessServices.exit(
            ScriptRunner.run(host: options, lines.map { job($0, options) }))
    }

    private func job(_ line: LuaCommandLine, _ options: HostOptions) -> ScriptRunner.Job {
        var configuration = ScriptConfiguration(name: ScriptRunner.name(of: line))
        configuration.prepare = { InspectFunction.install(in: $0) }
        options.apply(to: &configuration)
        if labels { configuration.outputLabel = configuration.name }
        return (
            configuration,
            { @Sendable context in
                context.usePrintInOnePiece()
                return try RunCommand.runProgram(line, in: context)
            }
        )
    }
}
