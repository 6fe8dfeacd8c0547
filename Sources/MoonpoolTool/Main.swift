import EventLoops
import ObjectStore
import ScriptHost

// The program `moonpool`: what `lua` does with the same words, plus stores, a prompt, and commands.
//
// A first word that is a command's name, `--help` or `--version` goes to the commands; anything else is read as `lua`
// reads it. A script that bears a command's name is run as `./backup` or `-- backup`. The main thread runs no script: it waits for the scripts' ends and for Ctrl-C.

@main
enum Main {
    static func main() {
        ProcessServices.unblockSignals()
        // A file that may not grow any larger is an error to report, not a reason to die.
        ProcessServices.ignoreFileSizeSignal()
        StoreFiles.explainLostPages(as: "moonpool", exitStatus: lostPagesStatus)
        let words = CommandLine.arguments
        if words.count > 1, MoonpoolCommand.takes(words[1]) {
            if words.count == 3, words[1] == "--generate-completion-script",
                let script = MoonpoolCommand.completionScript(for: words[2])
            {
                ProcessServices.writeOutput(script)
                return
            }
            MoonpoolCommand.run(Array(words.dropFirst()))
            return
        }
        ProcessServices.exit(runAsLua(words))
    }

    /// What the system's own tools call an input/output error.
    private static let lostPagesStatus: Int32 = 74

    private static func runAsLua(_ words: [String]) -> Int32 {
        do throws(LuaCommandLine.UsageError) {
            return RunCommand.run(try LuaCommandLine(words))
        } catch {
            ProcessServices.writeError(
                "\(words.first ?? "moonpool"): \(error.problem)\n\(Texts.usage)")
            return 1
        }
    }
}
