import REPL
import ScriptHost

/// Starts the prompt at a terminal.
enum Prompt {
    /// Runs the prompt on a store file, or on an in-memory store.
    ///
    /// Runs the `-e`, `-l` and script arguments of the command line before the first prompt.
    static func run(
        _ line: LuaCommandLine, store: String?, realm: RealmPrompt? = nil, data: DataFile? = nil
    ) -> Int32 {
        var options = ReplOptions(
            storePath: store, skipsInitFile: line.skipsInitFile,
            usesEnvironment: !line.ignoresEnvironment, host: line.host, greeting: Texts.greeting)
        if let realm { options.openStore = { try realm.open(in: $0) } }
        if let data {
            options.openStore = { try data.open(in: $0) }
            options.openingCode = data.code
        }
        return ReplSession.run(options) { context in
            try LuaProgram(line, in: context).run()
        }
    }
}
