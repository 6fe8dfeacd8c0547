import ObjectStore
import StoreBindings

extension MetaCommand {
    static var live: [MetaCommand] {
        [
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
                List the observers with their cost and source location. live: update the list until Ctrl-C, and mark called \
                observers with ●. Columns: last, mean and longest are durations of the function (running: it has not \
                returned), and finding is the average time to compute a change.
                """,
                argument: .words(["live"])
            ) { session, argument in
                switch argument {
                case "":
                    session.screen.beginPage()
                    for line in session.observerLines() { session.write(line + "\n") }
                case "live":
                    var calls = RecentCalls()
                    try session.showLive(every: .milliseconds(250)) {
                        session.observerLines(marking: calls.update(session))
                    }
                default: throw CommandError("expected nothing or live, got '\(argument)'")
                }
            },
        ]
    }
}

/// The observers that were called within the last second.
private struct RecentCalls {
    private var calls: [Int: Int]?
    private var times: [Int: ContinuousClock.Instant] = [:]

    /// The time for which an observer stays marked after a call.
    private static let duration = Duration.seconds(1)

    /// Compares the numbers of calls with those of the previous update.
    ///
    /// Returns the numbers of the observers to mark.
    mutating func update(_ session: Session) -> Set<Int> {
        let now = ContinuousClock.now
        let tokens = session.context.storeModule.activeTokens
        if let calls {
            for token in tokens where token.statistics.calls > calls[token.number] ?? 0 {
                times[token.number] = now
            }
        }
        calls = Dictionary(
            tokens.map { ($0.number, $0.statistics.calls) }, uniquingKeysWith: { $1 })
        times = times.filter { now - $0.value < Self.duration }
        return Set(times.keys)
    }
}
