/// A dot command: its behavior, help and completion.
struct MetaCommand: Sendable {
    /// The kind of completion for the argument.
    enum Argument: Sendable {
        case none, className, help, file, onOff, expression, query, number
        case words([String])
        case module, schema
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
    var run: @Sendable (Session, String) throws -> Void

    init(
        _ name: String, _ usage: String, _ summary: String, argument: Argument = .none,
        isPaged: Bool = false, code: String? = nil, isUnsaved: Bool = false,
        aliases: [String] = [],
        run: @escaping @Sendable (Session, String) throws -> Void
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

    /// The commands by topic, in the order of `.help`.
    static let topics: [(name: String, commands: [MetaCommand])] = [
        ("session", general + tutorial), ("inspecting", looking),
        ("observing", live + reasons + expressions), ("debugging", frames),
        ("past", history), ("transactions", writing), ("formats", results), ("files", files),
    ]

    static let all: [MetaCommand] = topics.flatMap(\.commands)

    static func find(_ name: String) -> MetaCommand? {
        all.first { $0.name == name || $0.aliases.contains(name) }
    }
}

/// An error in the use of a command.
struct CommandError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
