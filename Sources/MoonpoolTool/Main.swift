import EventLoops
import LuaHost
import ObjectStore
import OptionalProducts
import ScriptHost
import SystemCalls

// The program `moonpool`: compatible with the command line of `lua`, plus stores, a prompt, and commands.
//
// A first argument that is a command name, `--help` or `--version` selects a command; any other command line has the
// syntax of `lua`. To run a script with the name of a command, write `./backup` or `-- backup`. Scripts run on their
// own threads; the main thread waits for them and for Ctrl-C.

@main
enum Main {
    static func main() {
        ProcessServices.openStandardStreams()
        ProcessServices.unblockSignals()
        ProcessServices.restoreQuitSignal()
        // A file that reaches its size limit must raise an error instead of ending the process.
        ProcessServices.ignoreFileSizeSignal()
        OptionalProducts.register()
        let words = ProgramArguments.words
        if words.count > 1, MoonpoolCommand.takes(words[1]) {
            if words.count == 3, words[1] == "--generate-completion-script",
                let script = MoonpoolCommand.completionScript(for: words[2])
            {
                ProcessServices.writeOutput(script)
                ProcessServices.exit(0)
            }
            ProgramArguments.hideSecrets()
            MoonpoolCommand.run(Array(words.dropFirst()))
            ProcessServices.exit(0)
        }
        ProcessServices.exit(runAsLua(words))
    }

    private static func runAsLua(_ words: [String]) -> Int32 {
        do throws(LuaCommandLine.UsageError) {
            return try RunCommand.run(LuaCommandLine(words))
        } catch {
            ProcessServices.writeError(
                "\(words.first ?? "moonpool"): \(error.problem)\n\(Texts.usage)")
            return 1
        }
    }
}
