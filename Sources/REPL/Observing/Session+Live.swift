import LineEditing
import LuaHost
import ObjectStore

extension Session {
    /// Shows lines that are drawn again in place when they have changed, until Ctrl-C; observers and timers run meanwhile.
    ///
    /// Where nothing can be drawn in place they are shown once.
    func showLive(every interval: Duration, _ lines: @escaping () throws -> [String]) throws {
        guard let footer = output.footer else {
            for line in try lines() { write(line + "\n") }
            return
        }
        screen.finishLine()
        defer { output.keepFooter() }
        do {
            try stoppable { [self] in
                var shown: [String] = []
                while !context.isExiting, !context.state.isStopping {
                    if let size = output.window() { window = size }
                    let next = try lines().prefix(max(1, window.rows - 1)).map(fitting)
                    if next != shown { footer(next) }
                    shown = next
                    _ = context.loop.wait(for: interval) { [context] in
                        context.isExiting || context.state.isStopping
                    }
                }
            }
        } catch let error as LuaError where error.kind == .interrupted {
            // That is how it ends.
        }
    }

    /// A line that takes one row of the window.
    private func fitting(_ line: String) -> String {
        let plain = TerminalText.plain(line)
        return TerminalText.width(plain) < window.columns
            ? line : TerminalText.truncate(plain, to: window.columns - 1)
    }

    /// Evaluates an expression again whenever a store has a new version, and shows what it gives.
    func watch(_ text: String) throws {
        let evaluate = try evaluator.prepare("= " + text)
        var versions: [UInt64] = []
        var size = (columns: 0, rows: 0)
        var lines: [String] = []
        try showLive(every: .milliseconds(100)) { [self] in
            let now = context.openStores.map(\.version)
            if now == versions, size == window, !lines.isEmpty { return lines }
            (versions, size) = (now, window)
            let values = try evaluate()
            var printer = printer()
            printer.limits.rows = max(1, window.rows - 6)
            printer.limits.items = max(1, window.rows - 6)
            let title = "\(text) · \(store.map { "v\($0.store.version)" } ?? "") · Ctrl-C ends"
            lines = [style.paint(title, .dim)]
            for value in values {
                let shown = printer.print(value).text.replacing(": .last shows them", with: "")
                lines += shown.split(separator: "\n", omittingEmptySubsequences: false)
                    .map(String.init)
            }
            return lines
        }
    }

    // MARK: - Observers

    /// The observers as a table: what they cost, and how long their last calls took.
    func observerLines(width: Int?) -> [String] {
        let tokens = context.storeModule.activeTokens
        guard !tokens.isEmpty else { return ["no observers"] }
        func time(_ microseconds: Double) -> String {
            Session.text(of: .nanoseconds(Int64(min(microseconds, 1e12) * 1_000)))
        }
        let rows = tokens.map { token in
            let numbers = token.statistics
            return [
                "\(token.number)", token.name.isEmpty ? "-" : token.name, token.subject,
                ValueText.count(numbers.calls), ValueText.count(numbers.coalescedCommits),
                time(numbers.lastMicroseconds), time(numbers.meanMicroseconds),
                time(numbers.maximumMicroseconds), observers.sparkline(of: token),
                token.place, token.dependencies.joined(separator: ", "),
            ]
        }
        let header = [
            "N", "name", "of", "calls", "coalesced", "last", "mean", "longest", "last calls",
            "from", "depends on",
        ]
        return lines(of: [header] + rows, numeric: [0, 3, 4, 5, 6, 7], width: width)
    }
}
