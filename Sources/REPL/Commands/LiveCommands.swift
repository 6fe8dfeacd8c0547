import ObjectStore
import StoreBindings

extension MetaCommand {
    static let live: [MetaCommand] = [
        MetaCommand(
            "watch", "QUERY",
            "Show a query as a table that follows the data: new, changed and removed rows in color; q leaves.",
            argument: .query
        ) { session, text in
            guard !text.isEmpty else {
                throw CommandError(
                    "expected a query, such as Dog where age > 3, or an expression, such as "
                        + "store:objects \"Dog\":sorted \"age\"")
            }
            session.open(try WatchPanel(session, text))
        },
        MetaCommand(
            "observers", "[live]",
            """
            List the observers, their cost and their source location; live: update until Ctrl-C. Last, mean and longest are \
            the times of the function (running: it has not returned); finding is the average time to compute a change.
            """,
            argument: .words(["live"])
        ) { session, argument in
            switch argument {
            case "":
                session.screen.beginPage()
                for line in session.observerLines() { session.write(line + "\n") }
            case "live":
                try session.showLive(every: .milliseconds(250)) { session.observerLines() }
            default: throw CommandError("expected nothing or live, got '\(argument)'")
            }
        },
    ]
}
