import REPL
import ScriptHost

/// The prompt at a terminal.
enum Prompt {
    /// Runs the prompt, on the store named or on one in memory; the exit code.
    ///
    /// What stands on the command line (`-e`, `-l`, a script with `-i`) is run before the first prompt.
    static func run(
        _ line: LuaCommandLine, store: String?, realm: RealmPrompt? = nil, data: DataPrompt? = nil
    ) -> Int32 {
        var options = ReplOptions(
            storePath: store, skipsInitFile: line.skipsInitFile,
            usesEnvironment: !line.ignoresEnvironment, host: line.host, greeting: Texts.greeting)
        if let realm { options.openStore = { try realm.open(in: $0) } }
        if let data, let store {
            options.openStore = { try data.open(in: $0) }
            options.opening = DataPrompt.opening(of: store)
        }
        return ReplSession.run(options) { context in
            try LuaProgram(line, in: context).run()
        }
    }
}
