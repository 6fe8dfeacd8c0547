import ObjectStore
import StoreBindings

extension MetaCommand {
    static let live: [MetaCommand] = [
        MetaCommand(
            "watch", "QUERY",
            "Show the results of a query and update them after each change, until Ctrl-C.",
            argument: .query
        ) { session, text in
            guard !text.isEmpty else {
                throw CommandError(
                    "expected a query, such as Dog where age > 3, or an expression, such as "
                        + "store:objects \"Dog\":sorted \"age\"")
            }
            try session.watch(text)
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
        MetaCommand(
            "why", "N",
            "Explain the last call of an observer, given by number, name or source location.",
            argument: .number, isPaged: true
        ) { session, text in try session.writeReason(text) },
    ]
}

extension Session {
    /// The number of objects to show.
    private static let shownObjects = 5

    /// Returns lines for the objects of a call.
    ///
    /// For an observer on another thread, only their number is known.
    private func objects(_ token: TokenHandle, _ reason: DeliveryReason) -> [String] {
        let shown = token.reasonObjects(atMost: Self.shownObjects)
        var lines = ["objects: \(ValueText.count(reason.objects.count))"]
        for object in shown {
            guard let text = try? context.state.describe(object) else { continue }
            lines.append("  \(text)")
        }
        let gone = min(reason.objects.count, Self.shownObjects) - shown.count
        if gone > 0 { lines.append("  \(ValueText.count(gone)) deleted") }
        let more = reason.objects.count - Self.shownObjects
        if more > 0 { lines.append("  … \(ValueText.count(more)) more") }
        return lines
    }

    fileprivate func writeReason(_ text: String) throws {
        let tokens = context.storeModule.activeTokens
        guard !tokens.isEmpty else {
            throw CommandError("there are no observers; register one with results:observe(fn)")
        }
        guard
            let token = tokens.first(where: {
                "\($0.number)" == text || $0.name == text || $0.place == text
            })
        else {
            let known = tokens.map { "\($0.number) \($0.name.isEmpty ? $0.place : $0.name)" }
            throw CommandError(
                "expected the number, name or location of an observer: "
                    + known.prefix(12).joined(separator: ", "))
        }
        guard let reason = token.reason else {
            return write("\(token.title) has not been called for a change yet\n")
        }
        var lines = [
            "\(token.title) was called for version \(reason.version), after \(reason.previousVersion)"
        ]
        if !reason.properties.isEmpty {
            lines.append("properties: \(reason.properties.joined(separator: ", "))")
        }
        if let path = reason.keyPath { lines.append("key path: \(path)") }
        lines += objects(token, reason)
        if !token.cost.isEmpty { lines.append("cost: it \(token.cost)") }
        write(
            lines.flatMap { wrap.lines($0, indent: String($0.prefix { $0 == " " })) }
                .map { $0 + "\n" }.joined())
    }
}
