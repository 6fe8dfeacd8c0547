import LineEditing

/// Something that takes the place of the prompt for a while: lines that change in place, and single keys.
///
/// On the script's thread.
protocol Panel: AnyObject {
    /// The lines for a window of that size.
    func lines(columns: Int, rows: Int) -> [String]

    /// Takes a key; true if the panel is over.
    func press(_ key: PanelKey) -> Bool

    /// Calls a function whenever the lines may have become others; nil ends that.
    func whenChanged(_ show: (() -> Void)?)
}

extension Session {
    /// Gives the place of the prompt to a panel, once the entry has ended.
    ///
    /// Where nothing can be drawn in place, its lines are shown once.
    func open(_ panel: any Panel) {
        guard output.hasPanels else {
            for line in panel.lines(columns: window.columns, rows: .max) { write(line + "\n") }
            return panel.whenChanged(nil)
        }
        self.panel = panel
    }

    /// The content of the open panel; nil if none is open.
    func panelFrame() -> PanelFrame? {
        guard let panel else { return nil }
        if let size = output.window() { window = size }
        return PanelFrame(
            lines: fittingPanel(panel.lines(columns: window.columns, rows: window.rows)))
    }

    /// Hands a key to the open panel; what it shows then.
    func pressInPanel(_ key: PanelKey) -> PanelFrame {
        guard let panel else { return PanelFrame(lines: [], isOver: true) }
        let isOver = panel.press(key)
        let size = output.window() ?? window
        window = size
        let lines = fittingPanel(panel.lines(columns: size.columns, rows: size.rows))
        if isOver {
            panel.whenChanged(nil)
            self.panel = nil
        }
        return PanelFrame(lines: lines, isOver: isOver)
    }

    /// Ends the panel if the terminal has ended it.
    func closePanel() {
        panel?.whenChanged(nil)
        panel = nil
    }

    private func fittingPanel(_ lines: [String]) -> [String] {
        lines.prefix(max(1, window.rows - 1)).map { line in
            let plain = TerminalText.plain(line)
            return TerminalText.width(plain) < window.columns
                ? line : TerminalText.truncate(plain, to: window.columns - 1)
        }
    }
}
