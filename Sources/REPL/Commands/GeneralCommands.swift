import LuaHost
import StoreBindings

extension MetaCommand {
    static let general: [MetaCommand] = [
        MetaCommand(
            "help", "[name]", "Show all commands, or help on a command, class, method or topic.",
            argument: .help, isPaged: true, isUnsaved: true
        ) { session, name in
            if name.isEmpty { session.writeHelp() } else { try session.writeHelp(on: name) }
        },
        MetaCommand("timing", "on | off", "Show how long each entry takes.", argument: .onOff) {
            session, argument in
            switch argument {
            case "on": session.isTiming = true
            case "off": session.isTiming = false
            case "": session.isTiming.toggle()
            default: throw CommandError("expected on or off, got '\(argument)'")
            }
            session.write("timing is \(session.isTiming ? "on" : "off")\n")
        },
        MetaCommand(
            "quit", "", "End the session, like .exit, exit, quit, and Ctrl-D on an empty line.",
            isUnsaved: true, aliases: ["exit"]
        ) { session, _ in session.end() },
    ]
}

extension Session {
    /// Writes an overview of the prompt and of all commands.
    func writeHelp() {
        var lines = wrap.lines(
            """
            Type Lua. An expression prints its value. Locals stay visible to later entries. _ is the last result; _1, _2 … \
            are the results by number.
            The prompt >> continues an unfinished entry. Ctrl-C clears the entry or interrupts running code. Tab completes, \
            Ctrl-R searches the history, and Ctrl-D on an empty line ends the session.
            """)
        lines.append("")
        lines += wrap.definitions(
            MetaCommand.all.map { (".\($0.name) \($0.usage)", $0.summary) }
        ) { style.paint($0, .key) }
        lines.append("")
        lines += wrap.lines(
            """
            The module is moonpool. For help on the Lua API, type .help NAME, for example .help store, .help Results or \
            .help observe. The keys are in .help shortcuts.
            """)
        write(lines.map { $0 + "\n" }.joined())
    }
}
