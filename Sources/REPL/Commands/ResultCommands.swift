extension MetaCommand {
    static var results: [MetaCommand] {
        [
            MetaCommand("last", "", "Show the last result completely.", isPaged: true) {
                session, _ in
                guard !session.lastValues.isEmpty else {
                    throw CommandError("there is no result; run an expression first")
                }
                session.print(session.lastValues, isGenerous: true)
                session.screen.endOnce()
            },
            MetaCommand(
                "mode", modes.joined(separator: " | "), "Set the output format of results.",
                argument: .words(modes)
            ) { session, name in
                if !name.isEmpty {
                    guard let mode = OutputMode(rawValue: name) else {
                        throw CommandError(
                            "unknown mode '\(name)'; use \(modes.joined(separator: ", "))")
                    }
                    session.mode = mode
                }
                session.screen.writeToScreen("output mode: \(session.mode.rawValue)\n")
            },
            MetaCommand(
                "once", "FILE | '|'COMMAND",
                "Write the next result to a file or a program; FILE.svg and FILE.html become pictures.",
                argument: .file
            ) { session, path in
                guard !path.isEmpty else {
                    throw CommandError("expected a file name, or | and a command")
                }
                try session.screen.redirect(to: path, isOnce: true)
            },
            MetaCommand(
                "output", "[FILE]",
                "Write results to a file. Without FILE, write to the screen again.",
                argument: .file
            ) { session, path in try session.screen.redirect(to: path.isEmpty ? nil : path) },
        ]
    }

    private static let modes = OutputMode.allCases.map(\.rawValue)
}
