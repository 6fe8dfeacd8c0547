/// A dot command: one declaration for running it, for `.help` and for completion.
struct MetaCommand: Sendable {
    /// What may be completed after it.
    enum Argument: Sendable {
        case none, className, help, file, onOff, expression, query, number
        case words([String])
        case module, schema
    }

    var name: String
    /// What follows the name, as help shows it.
    var usage: String
    /// One sentence.
    var summary: String
    var argument: Argument
    /// Whether its answer goes to the pager when it is longer than the window.
    ///
    /// Not for commands that run code of the user, whose output is seen as it comes.
    var isPaged: Bool
    var run: @Sendable (Session, String) throws -> Void

    init(
        _ name: String, _ usage: String, _ summary: String, argument: Argument = .none,
        isPaged: Bool = false,
        run: @escaping @Sendable (Session, String) throws -> Void
    ) {
        self.name = name
        self.usage = usage
        self.summary = summary
        self.argument = argument
        self.isPaged = isPaged
        self.run = run
    }

    /// All commands, in the order of `.help`.
    static let all: [MetaCommand] =
        general + leaving + tutorial + looking + live + reasons + expressions + history + writing
        + results
        + files

    static func find(_ name: String) -> MetaCommand? { all.first { $0.name == name } }
}

/// A mistake in using a command.
struct CommandError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
