import LuaHost
import Reference
import StoreBindings

extension MetaCommand {
    static var general: [MetaCommand] {
        [
            MetaCommand(
                "help", "[name]",
                "Show the topics of help, or help on a topic, command, class, method or function of Lua.",
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
}

extension Session {
    /// Writes an overview of the prompt and of the topics of help.
    func writeHelp() {
        var lines = wrap.lines(
            """
            Type Lua. An expression prints its value. Locals stay visible to later entries. _ is the last result; _1, _2 … \
            are the results by number.
            The prompt >> continues an unfinished entry. Ctrl-C clears the entry or interrupts running code. Tab completes, \
            Ctrl-R searches the history, and Ctrl-D on an empty line ends the session.
            """)
        lines += ["", "Topics, for .help TOPIC:"]
        lines += wrap.definitions(
            commands.topics.map { topic in
                (topic.name, topic.commands.map { "." + $0.name }.joined(separator: " "))
            } + [
                ("commands", "all dot commands"), ("shortcuts", "the keys"),
                ("api", "the module moonpool: stores, objects, Results …"),
                ("errors", "the codes of errors"),
                ("lua", LuaLibrary.libraries.joined(separator: ", ") + ": Lua's own library"),
            ], indent: "  "
        ) { style.paint($0, .key) }
        lines.append("")
        lines += wrap.lines(
            """
            For help on a name, type .help NAME, for example .help .watch, .help store, .help Results, .help observe or \
            .help string.format.
            """)
        write(lines.map { $0 + "\n" }.joined())
    }

    /// The names of pages with several entries.
    var helpTopics: [String] {
        commands.topics.map(\.name) + ["commands", "shortcuts", "api", "errors", "lua"]
    }

    /// Writes a page with several entries; returns false for other names.
    func writeHelp(onTopic name: String) -> Bool {
        var rows: [(term: String, text: String)]
        switch name {
        case "shortcuts", "keys":
            writeShortcuts()
            return true
        case "api": rows = HelpCatalog.types.map { ($0.name, $0.summary) }
        case "errors": rows = HelpCatalog.errors.map { ($0.name, $0.summary) }
        case "lua":
            rows = LuaLibrary.libraries.map { library in
                let names = LuaLibrary.find(library).map { entry in
                    String(entry.name.split { $0 == "." || $0 == ":" }.last ?? "")
                }
                return (library, names.joined(separator: ", "))
            }
        default:
            let topic = commands.topics.first { $0.name == name }
            guard let commands = name == "commands" ? commands.all : topic?.commands else {
                return false
            }
            rows = commands.map { (".\($0.name) \($0.usage)", $0.summary) }
        }
        let lines = wrap.definitions(rows) { style.paint($0, .key) }
        write(lines.map { $0 + "\n" }.joined())
        return true
    }
}
