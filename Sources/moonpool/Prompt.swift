import EventLoops
import ScriptHost

/// The prompt at a terminal.
enum Prompt {
    /// Runs what stands on the command line, then the prompt, on the store named or on one in memory; the exit code.
    static func run(_ line: LuaCommandLine, store: String?) -> Int32 {
        let configuration = ScriptConfiguration(
            name: "prompt", usesEnvironment: !line.ignoresEnvironment, isInteractive: false)
        return ScriptRunner.run([
            (
                configuration,
                { @Sendable context in
                    try RunCommand.openStore(store, in: context)
                    let status = try RunCommand.runProgram(line, in: context)
                    if status != 0 { return status }
                    return try LuaPlainPrompt(context).run() ? 0 : 1
                }
            )
        ])
    }
}
