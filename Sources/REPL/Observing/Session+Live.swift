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
}
