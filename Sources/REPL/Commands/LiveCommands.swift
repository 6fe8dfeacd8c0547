import StoreBindings

extension MetaCommand {
    static let live: [MetaCommand] = [
        MetaCommand(
            "watch", "QUERY", "Shows a query, drawn again after each change, until Ctrl-C.",
            argument: .expression
        ) { session, text in
            guard !text.isEmpty else {
                throw CommandError(
                    ".watch takes an expression, such as store:objects \"Dog\":sorted \"age\"")
            }
            try session.watch(text)
        },
        MetaCommand(
            "observers", "[live]",
            """
            The observers, what they cost and where they are from; live until Ctrl-C. Last, mean and longest are what the \
            function took, finding what the store took on average to find out what to tell.
            """,
            argument: .words(["live"])
        ) { session, argument in
            switch argument {
            case "":
                session.screen.beginPage()
                for line in session.observerLines() { session.write(line + "\n") }
            case "live":
                try session.showLive(every: .milliseconds(250)) { session.observerLines() }
            default: throw CommandError(".observers takes nothing, or live")
            }
        },
        MetaCommand(
            "why", "N", "What the last call of an observer was for, by its number or name.",
            argument: .number, isPaged: true
        ) { session, text in try session.writeReason(text) },
    ]
}

extension Session {
    fileprivate func writeReason(_ text: String) throws {
        let tokens = context.storeModule.activeTokens
        guard !tokens.isEmpty else { throw CommandError("there are no observers") }
        guard let token = tokens.first(where: { "\($0.number)" == text || $0.name == text }) else {
            let known = tokens.map { $0.name.isEmpty ? "\($0.number)" : "\($0.number) \($0.name)" }
            throw CommandError(
                ".why takes the number or the name of an observer: "
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
        lines.append("objects: \(ValueText.count(reason.objects.count))")
        if !token.cost.isEmpty { lines.append("cost: it \(token.cost)") }
        write(lines.joined(separator: "\n") + "\n")
    }
}
