import EventLoops
import LuaHost
import REPL
import ScriptHost
import SystemCalls

/// Runs a command line in the syntax of `lua`: a script, standard input, or a prompt.
enum RunCommand {
    static func run(_ line: LuaCommandLine) throws(LuaCommandLine.UsageError) -> Int32 {
        var line = line
        var store: String?
        var realm: RealmPrompt?
        var data: DataFile?
        if case .file(let path) = line.source, RealmCopy.isRealm(path) {
            realm = RealmPrompt(path, line.arguments)
            line.arguments = []
            line.source = .none
            store = path
        } else if case .file(let path) = line.source, StoreFile.isStore(path) {
            // The argument is a store instead of a script; options and a script can follow.
            store = path
            try line.readAfterSource()
        } else if case .file(let path) = line.source, let found = DataFile(path) {
            data = found
            store = path
            try line.readAfterSource()
        } else if case .file(let path) = line.source, let error = unknownCommand(path) {
            ProcessServices.writeError("moonpool: \(error)\n")
            return 64
        }
        line.host.limitProcess()
        let hasNothingElse =
            line.source == .none && !line.hasChunks && (store != nil || !line.showsVersion)
        // Output can go to a pipe, as in `moonpool | tee log`, so only the input is checked.
        let isAtTerminal = Descriptor.isTerminal(0)
        if isAtTerminal, line.isInteractive || hasNothingElse {
            if let store, data == nil, realm == nil, !NewStore.isWanted(at: store) { return 1 }
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

    /// Returns the error for an argument that is not a file or a command, but similar to a command.
    private static func unknownCommand(_ word: String) -> String? {
        guard !word.contains("/"), !word.contains("."), ProcessServices.size(of: word) == nil,
            let near = MoonpoolCommand.nearest(to: word)
        else { return nil }
        return "there is no file or command '\(word)'; did you mean 'moonpool \(near)'?"
    }

    /// Runs `LUA_INIT`, the `-e` and `-l` options, and the script.
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
