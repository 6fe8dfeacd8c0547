import LuaHost
import StoreBindings

extension MetaCommand {
    static let general: [MetaCommand] = [
        MetaCommand(
            "help", "[name]", "What there is, or what a name is: a command, a class, a method.",
            argument: .help, isPaged: true
        ) { session, name in
            if name.isEmpty { session.writeHelp() } else { try session.writeHelp(on: name) }
        },
        MetaCommand("timing", "on | off", "Tells how long each entry took.", argument: .onOff) {
            session, argument in
            switch argument {
            case "on": session.isTiming = true
            case "off": session.isTiming = false
            case "": session.isTiming.toggle()
            default: throw CommandError(".timing takes on or off")
            }
            session.write("timing is \(session.isTiming ? "on" : "off")\n")
        },
        MetaCommand("quit", "", "Ends the session, as Ctrl-D on an empty line does.") {
            session, _ in session.end()
        },
    ]
}

extension Session {
    func writeHelp() {
        write(
            """
            Type Lua. An expression shows its value; locals stay for the next entries;
            _ is the last result, _1, _2 … are the earlier ones.
            An entry goes on (>>) until it is whole. Ctrl-C leaves it, and stops code that runs.
            Tab completes, Ctrl-R searches the history, Ctrl-D on an empty line ends.


            """)
        writeTable(
            MetaCommand.all.map { [".\($0.name) \($0.usage)", $0.summary] }, header: false)
        write(
            """

            The module is moonpool; .help store, .help Results, .help observe and the like tell more.

            """)
    }
}
