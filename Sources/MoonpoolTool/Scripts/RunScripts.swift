import ArgumentParser
import EventLoops
import REPL
import ScriptHost
import SystemCalls

/// The command `moonpool run a.lua b.lua`: several scripts at the same time, each on its own thread.
struct RunScripts: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run several scripts at the same time, each on its own thread.",
        discussion: """
            Scripts that open the same path, or the same name in memory, share the store. The exit code is the first one \
            that is not 0, in the order of the scripts. The output of each print call stays together. Ctrl-C stops all scripts. \
            Limits of memory and time apply to each script separately.
            """)

    @Flag(help: "Prefix each printed line with the name of its script, such as [zoo].")
    var labels = false

    @OptionGroup(title: "Restricting options") var host: HostOptionGroup

    @Argument(help: "The scripts.", completion: .file(extensions: ["lua"]))
    var scripts: [String]

    func run() throws {
        let options = try host.options
        let lines = try scripts.map { path throws in
            try LuaCommandLine(["moonpool", "--", path])
        }
        options.limitProcess()
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
