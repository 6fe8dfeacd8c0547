import LineEditing

/// A view that temporarily replaces the prompt: lines that are redrawn in place, and commands of a single key.
///
/// Thread: the script's thread.
protocol Panel: AnyObject {
    /// Returns the lines for a window of this size.
    func lines(columns: Int, rows: Int) -> [String]

    /// Handles a key; returns true if it closes the panel.
    func press(_ key: PanelKey) -> Bool

    /// Calls a function whenever the lines may have changed; nil ends the calls.
    func whenChanged(_ show: (() -> Void)?)
}

extension Session {
    /// Replaces the prompt with a panel, once the entry has ended.
    ///
    /// If the output cannot be redrawn in place, prints the lines of the panel once.
    func open(_ panel: any Panel) {
        self.panel?.whenChanged(nil)
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
        let lines = module.using(self) { panel.lines(columns: window.columns, rows: window.rows) }
        return PanelFrame(lines: fittingPanel(lines))
    }

    /// Passes a key to the open panel and returns the new content.
    func pressInPanel(_ key: PanelKey) -> PanelFrame {
        guard let panel else { return PanelFrame(lines: [], isOver: true) }
        let size = output.window() ?? window
        window = size
        let (isOver, shown) = module.using(self) {
            (panel.press(key), panel.lines(columns: size.columns, rows: size.rows))
        }
        let lines = fittingPanel(shown)
        if isOver {
            panel.whenChanged(nil)
            self.panel = nil
        }
        return PanelFrame(lines: lines, isOver: isOver)
    }

    /// Closes the panel if the terminal has ended it.
    func closePanel() {
        panel?.whenChanged(nil)
        panel = nil
    }

    private func fittingPanel(_ lines: [String]) -> [String] {
        lines.prefix(max(1, window.rows - 1)).map(fitting)
    }
}
