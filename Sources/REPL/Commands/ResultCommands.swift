extension MetaCommand {
    static let results: [MetaCommand] = [
        MetaCommand("last", "", "The last result again, whole.", isPaged: true) { session, _ in
            guard !session.lastValues.isEmpty else { throw CommandError("there is no result yet") }
            session.print(session.lastValues, isGenerous: true)
            session.screen.endOnce()
        },
        MetaCommand(
            "mode", modes.joined(separator: " | "), "How results are written; all of them.",
            argument: .words(modes)
        ) { session, name in
            if !name.isEmpty {
                guard let mode = OutputMode(rawValue: name) else {
                    throw CommandError(
                        "there is no mode '\(name)': \(modes.joined(separator: ", "))")
                }
                session.mode = mode
            }
            session.screen.writeToScreen("results are written as \(session.mode.rawValue)\n")
        },
        MetaCommand(
            "once", "FILE | '|'COMMAND", "Gives the next result to a file or a program, whole.",
            argument: .file
        ) { session, path in
            guard !path.isEmpty else {
                throw CommandError(".once takes the name of a file, or | and a command")
            }
            try session.screen.redirect(to: path, isOnce: true)
        },
        MetaCommand(
            "output", "[FILE]", "Writes results to a file from now on; without one, here again.",
            argument: .file
        ) { session, path in try session.screen.redirect(to: path.isEmpty ? nil : path) },
    ]

    private static let modes = OutputMode.allCases.map(\.rawValue)
}
