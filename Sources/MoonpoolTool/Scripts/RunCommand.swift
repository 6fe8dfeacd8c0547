import EventLoops
import LuaHost
import REPL
import ScriptHost

/// What `moonpool` does with `lua`'s words: a script, standard input, or a prompt.
enum RunCommand {
    static func run(_ line: LuaCommandLine) -> Int32 {
        var line = line
        var store: String?
        var realm: RealmPrompt?
        var data: DataPrompt?
        if case .file(let path) = line.source, RealmCopy.isRealm(path) {
            realm = RealmPrompt(path, line.arguments)
            line.arguments = []
            line.source = .none
            store = path
        } else if case .file(let path) = line.source, StoreFile.isStore(path) {
            // A store takes the place of a script: a script on it may follow, else a prompt or standard input.
            store = path
            line.takeScriptBehindFile()
            guard mayOpen(path, line) else { return 1 }
        } else if case .file(let path) = line.source, let found = DataPrompt(path) {
            data = found
            store = path
            line.takeScriptBehindFile()
        } else if case .file(let path) = line.source, let problem = CommandSuggestion.problem(path)
        {
            ProcessServices.writeError(problem)
            return ExitStatus.usage
        }
        let hasNothingElse =
            line.source == .none && (store != nil || !line.hasChunks && !line.showsVersion)
        // What is shown may go through a pipe, as in `moonpool | tee log`.
        let isAtTerminal = ProcessServices.isTerminal(0)
        if isAtTerminal, line.isInteractive || hasNothingElse {
            return Prompt.run(line, store: store, realm: realm, data: data)
        }
        if line.showsVersion { ProcessServices.writeOutput(Texts.versionLine + "\n") }
        let name = ScriptRunner.name(of: line)
        var configuration = ScriptConfiguration(
            name: name, usesEnvironment: !line.ignoresEnvironment, endsProcess: true,
            programName: line.words.first ?? "moonpool")
        configuration.prepare = { InspectFunction.install(in: $0) }
        line.host.apply(to: &configuration, store: store)
        let final = line
        let path = store
        let copy = realm
        let file = data
        return ScriptRunner.run(
            host: line.host,
            [
                (
                    configuration,
                    { @Sendable context in
                        if let copy {
                            try copy.open(in: context)
                        } else if let file {
                            try file.open(in: context)
                        } else if let path {
                            try openStore(path, in: context)
                        }
                        let status = try runProgram(final, in: context)
                        if status != 0 { return status }
                        if final.isInteractive { return try LuaPlainPrompt(context).run() ? 0 : 1 }
                        guard hasNothingElse else { return 0 }
                        return try LuaProgram(final, in: context).runStandardInput() ? 0 : 1
                    }
                )
            ])
    }

    /// Asks at a terminal before a store is created, whose name may be misspelt.
    private static func mayOpen(_ path: String, _ line: LuaCommandLine) -> Bool {
        guard line.source == .none, ProcessServices.isTerminal(0), ProcessServices.isTerminal(1),
            !ProcessServices.exists(path)
        else { return true }
        ProcessServices.writeOutput("create new store '\(path)'? y/n ")
        guard let answer = readLine(), let first = answer.first(where: { !$0.isWhitespace }) else {
            return false
        }
        return first == "y" || first == "Y"
    }

    /// The part that is `lua`'s: `LUA_INIT`, `-e`, `-l`, the script.
    static func runProgram(_ line: LuaCommandLine, in context: ScriptContext) throws -> Int32 {
        try LuaProgram(line, in: context).run() ? 0 : 1
    }

    /// Opens the store of the command line as the global `store`.
    static func openStore(_ path: String, in context: ScriptContext) throws {
        do throws(LuaError) {
            let open = try context.module.get("open")
            let store = try context.state.call(open, [.text(path)])
            context.state.globals["store"] = store.first ?? .nil
        } catch {
            ProcessServices.writeError("moonpool: \(error.message)\n")
            throw error
        }
    }
}
