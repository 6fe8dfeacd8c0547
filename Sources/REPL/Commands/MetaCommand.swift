import LuaHost

/// A dot command: its behavior, help and completion.
struct MetaCommand {
    /// The kind of completion for the argument.
    enum Argument {
        case none, className, help, file, onOff, expression, query, number
        case words([String])
        case module, schema
        /// A Lua function that receives the argument and returns the candidates for its last word.
        case function(LuaFunction)
    }

    var name: String
    /// The arguments, in the notation of the help text.
    var usage: String
    /// A description of one sentence.
    var summary: String
    var argument: Argument
    /// Whether long output goes to the pager.
    ///
    /// False for commands that run user code, whose output appears immediately.
    var isPaged: Bool
    /// The Lua call that `.save` writes for the command; nil for a comment.
    var code: String?
    /// Whether `.save` omits the command.
    var isUnsaved: Bool
    /// Other names of the command.
    var aliases: [String]
    /// Whether a script has added the command with `moonpool.prompt.command`.
    var isOfUser = false
    /// The topic of a command of a user; nil for the default.
    var topic: String?
    var run: (Session, String) throws -> Void

    init(
        _ name: String, _ usage: String, _ summary: String, argument: Argument = .none,
        isPaged: Bool = false, code: String? = nil, isUnsaved: Bool = false,
        aliases: [String] = [], run: @escaping (Session, String) throws -> Void
    ) {
        self.name = name
        self.usage = usage
        self.summary = summary
        self.argument = argument
        self.isPaged = isPaged
        self.code = code
        self.isUnsaved = isUnsaved
        self.aliases = aliases
        self.run = run
    }

    /// The commands that are written in Swift; those of `prompt/commands.lua` complete them.
    static var written: [MetaCommand] {
        general + looking + live + expressions + frames + writing + results
            + files
    }
}

/// The dot commands of a script's prompts by topic, in the order of `.help`.
struct CommandList {
    /// The topic of commands that the user adds without naming a topic.
    static let ownTopic = "yours"

    private(set) var topics: [(name: String, commands: [MetaCommand])] = []

    /// All commands.
    var all: [MetaCommand] { topics.flatMap(\.commands) }

    /// Returns the command with a name or an alias.
    func find(_ name: String) -> MetaCommand? {
        let all = all
        return all.first { $0.name == name } ?? all.first { $0.aliases.contains(name) }
    }

    /// Adds a command to the end of a topic; a command with the same name keeps its place.
    mutating func add(_ command: MetaCommand, to topic: String?) {
        for index in topics.indices {
            guard let place = topics[index].commands.firstIndex(where: { $0.name == command.name })
            else { continue }
            if topic == nil || topic == topics[index].name {
                topics[index].commands[place] = command
                return
            }
            topics[index].commands.remove(at: place)
        }
        let name = topic ?? Self.ownTopic
        if let index = topics.firstIndex(where: { $0.name == name }) {
            topics[index].commands.append(command)
        } else {
            topics.append((name, [command]))
        }
        topics.removeAll { $0.commands.isEmpty }
    }
}

/// An error in the use of a command.
struct CommandError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
