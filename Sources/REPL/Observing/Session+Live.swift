import LineEditing
import LuaHost
import ObjectStore
import StoreBindings

extension Session {
    /// Shows lines and redraws them in place when they change, until Ctrl-C.
    ///
    /// Observers and timers run while it waits.
    ///
    /// On a terminal that cannot redraw, shows the lines once.
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
                    let next = fitting(try lines())
                    if next != shown { footer(next) }
                    shown = next
                    _ = context.loop.wait(for: interval) { [context] in
                        context.isExiting || context.state.isStopping
                    }
                }
            }
        } catch let error as LuaError where error.kind == .interrupted {
            // Ctrl-C ends the view.
        }
    }

    /// Returns at most as many lines as the window has rows, with a remark about the others.
    private func fitting(_ lines: [String]) -> [String] {
        let rows = max(1, window.rows - 1)
        guard lines.count > rows else { return lines.map(fitting) }
        let more =
            "… \(ValueText.count(lines.count - rows + 1)) more lines; enlarge the window"
        return lines.prefix(rows - 1).map(fitting) + [fitting(style.paint(more, .dim))]
    }

    /// Returns a line for the terminal, truncated to one row of the window.
    func fitting(_ line: String) -> String {
        let line = Style.rendered(line, onOneLine: true)
        let plain = TerminalText.plain(line)
        return TerminalText.width(plain) < window.columns
            ? line : TerminalText.truncate(plain, to: window.columns - 1)
    }

    // MARK: - Observers

    /// Returns the observers as a table: calls, durations of the function, and the average time to compute a change.
    ///
    /// In a narrow window, the observed collection and the source location appear on a line below the numbers. A set of
    /// numbers marks these observers with ● and a color.
    func observerLines(marking marked: Set<Int>? = nil) -> [String] {
        let tokens = context.storeModule.activeTokens
        guard !tokens.isEmpty else { return ["no observers"] }
        var header = ["N", "name", "of"] + Self.observerNumbers + ["from", "depends on"]
        let rows = tokens.map { token in
            [
                (marked?.contains(token.number) == true ? Self.callMark : "") + "\(token.number)",
                token.name.isEmpty ? "-" : token.name, token.subject,
            ]
                + numbers(of: token)
                + [token.location, token.dependencies.joined(separator: ", ")]
        }
        // The mark must not move the columns.
        if marked != nil { header[0] = "  " + header[0] }
        let table = lines(of: [header] + rows, numeric: [0, 3, 4, 5, 6, 7, 8])
        let fits = table.allSatisfy {
            TerminalText.width(TerminalText.plain($0)) < window.columns
        }
        let shown =
            fits ? table : folded(header, rows, at: [2, 4, header.count - 2, header.count - 1])
        return shown.map { $0.contains(Self.callMark) ? style.paint($0, .added) : $0 }
    }

    /// The mark of an observer that was called a moment ago.
    private static let callMark = "● "

    /// Lays out a table with the columns at `columns` on lines below their row.
    private func folded(
        _ header: [String], _ rows: [[String]], at columns: Set<Int>
    ) -> [String] {
        func narrow(_ row: [String]) -> [String] {
            row.indices.filter { !columns.contains($0) }.map { row[$0] }
        }
        func table(nameWidth: Int) -> [String] {
            let rows = rows.map { row in
                var row = narrow(row)
                row[1] = TerminalText.truncate(row[1], to: nameWidth)
                return row
            }
            return lines(of: [narrow(header)] + rows, numeric: [0, 2, 3, 4, 5, 6])
        }
        func excess(_ lines: [String]) -> Int {
            let widest = lines.map { TerminalText.width(TerminalText.plain($0)) }.max() ?? 0
            return widest + 1 - window.columns
        }
        var shown = table(nameWidth: .max)
        if excess(shown) > 0 {
            let longest = rows.map { TerminalText.width($0[1]) }.max() ?? 0
            shown = table(nameWidth: max(8, longest - excess(shown)))
        }
        var folded = [shown[0]]
        for (line, row) in zip(shown.dropFirst(), rows) {
            folded.append(line)
            var texts = ""
            for column in columns.sorted() where !["", "0"].contains(row[column]) {
                let text = "\(header[column]) \(row[column])"
                let longer = texts.isEmpty ? "   " + text : texts + " · " + text
                if !texts.isEmpty, TerminalText.width(longer) >= window.columns {
                    folded.append(style.paint(texts, .dim))
                    texts = "   " + text
                } else {
                    texts = longer
                }
            }
            folded.append(style.paint(texts, .dim))
        }
        return folded
    }

    private static let observerNumbers = [
        "calls", "coalesced", "last", "mean", "longest", "finding", "last calls",
    ]

    private func numbers(of token: TokenHandle) -> [String] {
        func time(_ microseconds: Double) -> String {
            Session.text(of: .nanoseconds(Int64(min(microseconds, 1e12) * 1_000)))
        }
        let numbers = token.statistics
        return [
            ValueText.count(numbers.calls), ValueText.count(numbers.coalescedCommits),
            observers.isRunning(token) ? "running" : time(numbers.handling.last),
            time(numbers.handling.mean),
            time(numbers.handling.maximum), time(numbers.finding.mean),
            observers.sparkline(of: token),
        ]
    }
}
