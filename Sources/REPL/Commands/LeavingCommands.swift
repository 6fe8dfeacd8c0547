import LuaHost

extension MetaCommand {
    /// Words of other prompts for leaving.
    static let leaving: [MetaCommand] = [
        MetaCommand("exit", "", "End the session, as .quit does.") { session, _ in session.end() }
    ]
}

extension Session {
    /// What other prompts take without a dot: `exit`, `quit` and `help`; true if the entry was one of them.
    ///
    /// A variable of that name wins.
    func runWord(_ entry: String) -> Bool {
        let word = entry.filter { !$0.isWhitespace && $0 != ";" }
        switch word {
        case "exit", "quit", "exit()", "quit()":
            let name = String(word.prefix(4))
            guard evaluator.local(name) == nil, context.state.globals[name].isNil else {
                return false
            }
            end()
        case "help":
            guard evaluator.local("help") == nil, context.state.globals["help"] == installedHelp,
                installedHelp != .nil
            else { return false }
            writeHelp()
        default: return false
        }
        return true
    }
}
